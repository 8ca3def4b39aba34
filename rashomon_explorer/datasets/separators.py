"""How a text separates its values: by commas, semicolons, tabs or bars, and with which decimals."""

import csv
import io
import re
from collections.abc import Iterable
from itertools import islice

import pandas as pd

SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
_LOOKED_AT = 20
_COMMA = re.compile(r"\s*[+-]?\d+,\d+\s*")
_NUMBER = re.compile(r"\s*[+-]?\d+(,\d+)?\s*")


def separator_of(text: str) -> str:
    r"""Name the separator under which most of the first lines have as many columns as the header.

    Where the header has one column under each it is the comma.

    Parameters
    ----------
    text : str
        A header and rows, lines ended by ``"\n"``.

    Returns
    -------
    str
        A key of `SEPARATORS`.

    Examples
    --------
    >>> separator_of("age;income\n20;1000,5\n"), separator_of("age\tpaid\n20\tno\n")
    (';', '\t')
    >>> separator_of("name;first,age\nDoe,20\n"), separator_of("one\n1\n")
    (',', ',')
    """
    start = "\n".join(islice((line for line in text.split("\n") if line.strip()), _LOOKED_AT))
    return max(SEPARATORS, key=lambda one: _fit(_widths(start, one)))


def _fit(widths: list[int]) -> tuple[int, int]:
    """Lines that are as wide as the header, and how wide it is; nothing where it is one column."""
    if not widths or widths[0] < 2:
        return 0, 0
    return widths[1:].count(widths[0]), widths[0]


def _widths(start: str, separator: str) -> list[int]:
    reader = csv.reader(
        io.StringIO(start, newline="\n"), delimiter=separator, skipinitialspace=separator != "\t"
    )
    try:
        return [len(cells) for cells in reader]
    except csv.Error:
        return []


def with_points(frame: pd.DataFrame, text_columns: Iterable[str]) -> tuple[pd.DataFrame, bool]:
    """Write numbers with decimal commas as numbers; say whether there were any.

    A column has them if more than half of its cells are numbers, some with a comma.

    Examples
    --------
    >>> frame = pd.DataFrame({"rate": ["1,5", "2"], "place": ["1,5 km", "a,b"]})
    >>> found, any_of_them = with_points(frame, [])
    >>> found["rate"].tolist(), found["place"].tolist(), any_of_them
    ([1.5, 2.0], ['1,5 km', 'a,b'], True)
    """
    kept, found = set(text_columns), {}
    for label, cells in frame.items():
        name = str(label)
        if name in kept or pd.api.types.is_numeric_dtype(cells):
            continue
        words = cells.astype(str)
        comma = words.str.fullmatch(_COMMA)
        if not comma.any() or words.str.fullmatch(_NUMBER).mean() <= 0.5:
            continue
        points = words.where(~comma, words.str.replace(",", ".", regex=False))
        numbers = pd.to_numeric(points, errors="coerce")
        found[name] = points if numbers.isna().any() else numbers
    return (frame.assign(**found) if found else frame), bool(found)
