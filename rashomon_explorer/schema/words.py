"""Names in messages: quoted, cut where there are many, and the one that was meant."""

import difflib
from collections.abc import Callable, Iterable

Place = Callable[[int], str]
"""Turns a position among the rows (0-based) into words such as ``"line 7"``."""


def row_place(position: int) -> str:
    """Name a row by its 1-based number, for tables that have no file lines.

    Examples
    --------
    >>> row_place(0)
    'row 1'
    """
    return f"row {position + 1}"


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
