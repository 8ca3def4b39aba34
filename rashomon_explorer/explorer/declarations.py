"""The bounds of a CSV file as people type them: one line a column."""

from dataclasses import dataclass, field

from rashomon_explorer.exceptions import DataError

_LEAVE_OUT = "leave out"


@dataclass
class Declarations:
    """What a text area says about the columns of a file.

    Attributes
    ----------
    bounds : dict of str to (float, float)
        Public range of each numeric column.
    categories : dict of str to list of str
        Public levels of each categorical column.
    drop : list of str
        Columns to leave out.
    """

    bounds: dict[str, tuple[float, float]] = field(default_factory=dict)
    categories: dict[str, list[str]] = field(default_factory=dict)
    drop: list[str] = field(default_factory=list)


def skeleton(columns: list[str]) -> str:
    """Return lines to fill in, one a column.

    >>> print(skeleton(["age", "sex"]))
    age:
    sex:
    """
    return "\n".join(f"{column}: ".rstrip() for column in columns)


def parse_declarations(text: str) -> Declarations:
    r"""Read ``column: low, high``, ``column: level | level`` and ``column: leave out`` lines.

    >>> said = parse_declarations("age: 18, 90\nsex: female | male\nid: leave out")
    >>> said.bounds, said.categories, said.drop
    ({'age': (18.0, 90.0)}, {'sex': ['female', 'male']}, ['id'])
    """
    said = Declarations()
    for count, line in enumerate(text.splitlines(), start=1):
        if not line.strip():
            continue
        column, colon, rest = (part.strip() for part in line.rpartition(":"))
        if not colon or not column:
            raise DataError(f"line {count} of the bounds is {line!r}, expected 'column: low, high'")
        if column in said.bounds or column in said.categories or column in said.drop:
            raise DataError(f"line {count} of the bounds declares {column!r} a second time")
        if rest.lower() == _LEAVE_OUT:
            said.drop.append(column)
        elif "|" in rest:
            said.categories[column] = [level.strip() for level in rest.split("|")]
        elif rest:
            said.bounds[column] = _range(column, rest, count)
    return said


def _range(column: str, text: str, line: int) -> tuple[float, float]:
    parts = text.replace(";", ",").split(",")
    try:
        low, high = (float(part) for part in parts)
    except ValueError:
        raise DataError(
            f"line {line} of the bounds gives {text!r} for column {column!r}: expected two numbers "
            "'low, high', levels 'a | b | c', or 'leave out'"
        ) from None
    if not low < high:
        raise DataError(
            f"line {line} of the bounds gives {low:g}, {high:g} for column {column!r}: "
            "the low end must be below the high end"
        )
    return low, high
