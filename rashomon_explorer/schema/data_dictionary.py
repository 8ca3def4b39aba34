"""A data dictionary, as people keep it: a CSV with a line a column."""

import csv
import io
from collections.abc import Callable, Mapping
from typing import Any

from rashomon_explorer.exceptions import DataError
from rashomon_explorer.schema.words import quoted, suggestion

_OTHER_WORDS = {
    "column": "name",
    "variable": "name",
    "type": "kind",
    "min": "low",
    "max": "high",
    "values": "levels",
}
_PAIRS = {"low": "bounds", "high": "bounds", "typical_low": "typical", "typical_high": "typical"}


def dictionary_values(text: str) -> dict[str, Any]:
    r"""Read a data dictionary as the plain values of a schema.

    Parameters
    ----------
    text : str
        With a header.

    Raises
    ------
    DataError
        Naming the line or the word of the header that cannot be used.

    Examples
    --------
    >>> dictionary_values("column,type,min,max\nage,numeric,18,90\n")
    {'columns': {'age': {'kind': 'numeric', 'bounds': [18.0, 90.0]}}}
    """
    reader = csv.reader(io.StringIO(text.removeprefix("\ufeff")), skipinitialspace=True)
    lines = [(reader.line_num, cells) for cells in reader if any(cell.strip() for cell in cells)]
    if not lines:
        raise DataError("the data dictionary is empty: it needs a header and a line a column")
    header = _header(lines[0][1])
    columns: dict[str, Any] = {}
    for line, cells in lines[1:]:
        if len(cells) != len(header):
            raise DataError(
                f"line {line} of the data dictionary has {len(cells)} cells, expected "
                f"{len(header)}: put text with a comma in double quotes"
            )
        said = {word: cell.strip() for word, cell in zip(header, cells, strict=True)}
        name = said.pop("name")
        if not name or name in columns:
            wrong = f"names {name!r} a second time" if name else "names no column"
            raise DataError(f"line {line} of the data dictionary {wrong}")
        columns[name] = _settings({word: cell for word, cell in said.items() if cell}, line)
    return {"columns": columns}


def _header(cells: list[str]) -> list[str]:
    words = [cell.strip().lower().replace(" ", "_") for cell in cells]
    header = [_OTHER_WORDS.get(word, word) for word in words]
    known = ["name", "kind", *_PAIRS, *_PLAIN]
    for word in header:
        if word not in known:
            raise DataError(
                f"the data dictionary's header has {word!r}{suggestion(word, known)}; it can have "
                f"{quoted(known, limit=20)}"
            )
        if header.count(word) > 1:
            raise DataError(f"the data dictionary's header says {word!r} twice: keep one")
    for word in ("name", "kind"):
        if word not in header:
            raise DataError(f"the data dictionary's header must have {word!r}, got {quoted(cells)}")
    return header


def _settings(said: Mapping[str, str], line: int) -> dict[str, Any]:
    told: dict[str, Any] = {"kind": said["kind"]} if "kind" in said else {}
    for low, high in (("low", "high"), ("typical_low", "typical_high")):
        if low in said or high in said:
            ends = [_number(said.get(end, ""), end, line) for end in (low, high)]
            told[_PAIRS[low]] = ends
    return told | {word: _PLAIN[word](cell) for word, cell in said.items() if word in _PLAIN}


def _number(text: str, what: str, line: int) -> float:
    try:
        return float(text)
    except ValueError:
        raise DataError(
            f"line {line} of the data dictionary says {text!r} for {what}, expected a number"
        ) from None


def _several(text: str) -> list[Any]:
    """Levels; whole numbers if all of them are, as they would be in the table."""
    parts = [part.strip() for part in text.split("|")]
    try:
        whole = [int(part) for part in parts]
    except ValueError:
        return parts
    return whole if [str(number) for number in whole] == parts else parts


def _numbers(text: str) -> list[Any]:
    """Thresholds; what is no number is left for the column to refuse, which names itself."""
    return [_one(part.strip()) for part in text.split("|")]


def _one(text: str) -> Any:
    try:
        return float(text)
    except ValueError:
        return text


_PLAIN: Mapping[str, Callable[[str], Any]] = {
    "levels": _several,
    "role": str,
    "missing": str,
    "missing_values": _several,
    "fill": _one,
    "thresholds": _numbers,
    "unknown": str,
    "unit": str,
    "description": str,
}
