"""Methods of low floors that a higher floor carries out.

Imports run one way, so a set cannot import the room that writes its report. It asks here by name,
and the front door, which knows every room, has said where the name is found. Nothing is imported
before it is asked for.
"""

from collections.abc import Callable
from typing import Any

_FINDERS: dict[str, Callable[[], Callable[..., Any]]] = {}


def provide(name: str, find: Callable[[], Callable[..., Any]]) -> None:
    """Say how the function of a name is found; a later word replaces an earlier one.

    Parameters
    ----------
    name : str
    find : callable
        Without arguments; returns the function, importing it first if it must.

    Examples
    --------
    >>> provide("half", lambda: lambda x: x / 2)
    >>> carry_out("half", 3)
    1.5
    """
    _FINDERS[name] = find


def carry_out(name: str, *args: Any, **kwargs: Any) -> Any:
    """Find the function of a name and call it.

    Raises
    ------
    LookupError
        If nobody provides it.
    """
    if name not in _FINDERS:
        raise LookupError(f"nothing provides {name!r}: import rashomon_explorer, not a part of it")
    return _FINDERS[name]()(*args, **kwargs)
