"""Checks of what is declared about columns, whatever declares it."""

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from numbers import Real
from typing import Any

from rashomon_explorer.exceptions import DataError
from rashomon_explorer.schema.words import quoted, suggestion

Bounds = tuple[float, float]
Level = str | int | float | bool


def check_unique(columns: Iterable[str]) -> None:
    """Raise if two columns bear one name.

    Examples
    --------
    >>> check_unique(["age", "income", "age"])
    Traceback (most recent call last):
    rashomon_explorer.exceptions.DataError: column 'age' occurs 2 times: give every column its \
own name
    """
    for column, times in Counter(columns).items():
        if times > 1:
            raise DataError(
                f"column {column!r} occurs {times} times: give every column its own name"
            )


def check_bounds(pair: Any, what: str) -> Bounds:
    """Return (low, high) as floats, or raise unless both are finite with low < high.

    Parameters
    ----------
    pair : object
        What was declared; must be two real numbers.
    what : str
        How to call it in the message.

    Examples
    --------
    >>> check_bounds((18, 90), "bounds of column 'age'")
    (18.0, 90.0)
    """
    ends = () if isinstance(pair, str) or not isinstance(pair, Iterable) else tuple(pair)
    if len(ends) != 2 or not all(isinstance(end, Real) for end in ends):
        raise DataError(f"{what} must be two numbers (low, high), got {pair!r}")
    low, high = (float(end) for end in ends)
    if not (math.isfinite(low) and math.isfinite(high)):
        raise DataError(f"{what} must be finite numbers, got ({low:g}, {high:g})")
    if low >= high:
        raise DataError(f"{what} must have low < high, got ({low:g}, {high:g})")
    return low, high


def check_among(value: object, known: Sequence[str], what: str) -> None:
    """Raise unless a word is one of those that are known.

    Examples
    --------
    >>> check_among("indicater", ["fill", "indicator"], "missing of column 'age'")
    Traceback (most recent call last):
    rashomon_explorer.exceptions.DataError: missing of column 'age' must be one of 'fill', \
'indicator', got 'indicater' (did you mean 'indicator'?)
    """
    if not isinstance(value, str) or value not in known:
        raise DataError(
            f"{what} must be one of {quoted(known)}, got {value!r}{suggestion(str(value), known)}"
        )
