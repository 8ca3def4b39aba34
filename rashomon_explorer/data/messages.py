"""Messages about columns and cells."""

import difflib
import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from numbers import Real
from typing import Any

from rashomon_explorer.exceptions import DataError

RowName = Callable[[int], str]
"""Function that converts a row position (0-based) to text such as ``"line 7"``."""


def numbered_row(position: int) -> str:
    """Row by its 1-based number, for tables without file lines."""
    return f"row {position + 1}"


def suggestion(name: str, candidates: Iterable[str]) -> str:
    """Return ``" (did you mean ...?)"`` if a known name is similar, else empty text."""
    close = difflib.get_close_matches(str(name), [str(k) for k in candidates], n=1)
    return f" (did you mean {close[0]!r}?)" if close else ""


def quoted(names: Iterable[object], limit: int = 12) -> str:
    """Join names for a message, the first ``limit`` of them."""
    names = list(names)
    text = ", ".join(repr(name) for name in names[:limit])
    return f"{text} and {len(names) - limit} more" if len(names) > limit else text


Bounds = tuple[float, float]
Level = str | int | float | bool


def listed_columns(names: Any, what: str, columns: Collection[str] | None = None) -> list[str]:
    """Names in the argument ``what``; raise for text, or for one that is not among the columns."""
    if isinstance(names, str):
        raise DataError(f"{what} must be a list of column names, got the str {names!r}")
    for name in (listed := list(names)):
        if columns is not None and name not in columns:
            raise DataError(
                f"{what} names {name!r}, which is not a column{suggestion(name, columns)}; the "
                f"columns are {quoted(columns)}"
            )
    return listed


def check_unique(columns: Iterable[str]) -> None:
    """Raise if two columns have the same name."""
    for column, times in Counter(columns).items():
        if times > 1:
            raise DataError(
                f"column {column!r} occurs {times} times: give every column its own name"
            )


def check_bounds(pair: Any, what: str) -> Bounds:
    """Return (low, high) as floats, or raise unless both are finite with low < high."""
    ends = () if isinstance(pair, str) or not isinstance(pair, Iterable) else tuple(pair)
    if len(ends) != 2 or not all(isinstance(end, Real) for end in ends):
        raise DataError(f"{what} must be two numbers (low, high), got {pair!r}")
    low, high = (float(end) for end in ends)
    if not (math.isfinite(low) and math.isfinite(high)):
        raise DataError(f"{what} must be finite numbers, got ({low:g}, {high:g})")
    if low >= high:
        raise DataError(f"{what} must have low < high, got ({low:g}, {high:g})")
    return low, high


def check_among(value: object, allowed: Sequence[str], what: str) -> None:
    """Raise unless a value is one of the known words."""
    if not isinstance(value, str) or value not in allowed:
        raise DataError(
            f"{what} must be one of {quoted(allowed)}, got {value!r}"
            f"{suggestion(str(value), allowed)}"
        )
