"""Checks that every loader shares: a table and its declaration must agree before rows are used."""

import difflib
import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from numbers import Real
from typing import Any

from rashomon_explorer.datasets.declaration import Bounds, Declaration
from rashomon_explorer.exceptions import DataError

Place = Callable[[int], str]
"""Turns a position among the rows (0-based) into words such as ``"line 7"``."""

TASKS = ("classification", "regression")


def row_place(position: int) -> str:
    """Name a row by its 1-based number, for tables that have no file lines.

    Examples
    --------
    >>> row_place(0)
    'row 1'
    """
    return f"row {position + 1}"


def check_declaration(declared: Declaration, columns: Sequence[str], n_rows: int) -> None:
    """Raise unless the declaration fits a table with these columns and this many rows."""
    check_unique(columns)
    _check_target(declared, columns)
    check_known(declared.sensitive, columns, "sensitive")
    check_known(declared.bounds, columns, "bounds")
    check_known(declared.categories, columns, "categories")
    _check_roles(declared)
    for column, pair in declared.bounds.items():
        check_bounds(pair, f"bounds of column {column!r}")
    for column, levels in declared.categories.items():
        _check_levels(column, levels)
    _check_task(declared)
    if n_rows < 2:
        raise DataError(
            f"the table has {_count(n_rows, 'row')}, but at least 2 are needed: add rows"
        )
    if not set(columns) - {declared.target, *declared.sensitive}:
        raise DataError(
            f"no feature columns are left beside target {declared.target!r} and "
            f"sensitive {list(declared.sensitive)}: add a column to learn from"
        )


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


def check_known(names: Iterable[str], columns: Collection[str], role: str) -> None:
    """Raise if a name in an argument called ``role`` is not one of the columns.

    Examples
    --------
    >>> check_known(["agee"], ["age", "income"], "bounds")
    Traceback (most recent call last):
    rashomon_explorer.exceptions.DataError: bounds names 'agee', which is not a column \
(did you mean 'age'?); the columns are 'age', 'income'
    """
    for name in names:
        if name not in columns:
            raise DataError(
                f"{role} names {name!r}, which is not a column{suggestion(name, columns)}; "
                f"the columns are {quoted(columns)}"
            )


def check_bounds(pair: Any, what: str) -> Bounds:
    """Return (low, high) as floats, or raise unless both are finite with low < high.

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


def undeclared_features(
    columns: Iterable[str], sensitive: Collection[str], declared: Declaration
) -> list[str]:
    """List the features that have neither bounds nor categories, in column order."""
    known = {declared.target, *sensitive, *declared.bounds, *declared.categories}
    return [column for column in columns if column not in known]


def suggestion(name: str, known: Iterable[str]) -> str:
    """Say ``" (did you mean ...?)"`` if a known name is close, else nothing."""
    close = difflib.get_close_matches(str(name), [str(k) for k in known], n=1)
    return f" (did you mean {close[0]!r}?)" if close else ""


def quoted(names: Iterable[object], limit: int = 12) -> str:
    """Join names for a message, the first ``limit`` of them.

    Examples
    --------
    >>> quoted(["a", "b", "c"], limit=2)
    "'a', 'b' and 1 more"
    """
    names = list(names)
    shown = ", ".join(repr(name) for name in names[:limit])
    return f"{shown} and {len(names) - limit} more" if len(names) > limit else shown


def _check_target(declared: Declaration, columns: Sequence[str]) -> None:
    if declared.target not in columns:
        raise DataError(
            f"target column {declared.target!r} is not in the table"
            f"{suggestion(declared.target, columns)}; the columns are {quoted(columns)}"
        )
    roles: Mapping[str, Collection[str]] = {
        "sensitive": declared.sensitive,
        "bounds": declared.bounds,
        "categories": declared.categories,
    }
    for role, names in roles.items():
        if declared.target in names:
            hint = "; a regression target is bounded by target_bounds" if role == "bounds" else ""
            raise DataError(
                f"column {declared.target!r} is the target, so it cannot be in {role}: "
                f"take it out{hint}"
            )


def _check_roles(declared: Declaration) -> None:
    for column in declared.bounds:
        if column in declared.categories:
            raise DataError(
                f"column {column!r} is in bounds and in categories: it is either a number "
                "or a category, so keep one of the two"
            )
        if column in declared.sensitive:
            raise DataError(
                f"column {column!r} is sensitive, so no model sees it: take it out of bounds"
            )


def _check_levels(column: str, levels: Any) -> None:
    if isinstance(levels, str | bytes) or not isinstance(levels, Sequence) or len(levels) < 2:
        raise DataError(
            f"categories of column {column!r} must be a list of at least 2 levels, got {levels!r}"
        )
    texts = [str(level) for level in levels]
    for level in texts:
        if texts.count(level) > 1:
            raise DataError(f"categories of column {column!r} name level {level!r} twice: keep one")


def _check_task(declared: Declaration) -> None:
    if declared.task not in (None, *TASKS):
        raise DataError(f"task must be one of {quoted(TASKS)}, got {declared.task!r}")
    if declared.target_bounds is not None:
        check_bounds(declared.target_bounds, "target_bounds")
        if declared.task == "classification":
            raise DataError(
                f"target_bounds is for regression, but task='classification' for target "
                f"{declared.target!r}: take one of them out"
            )


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
