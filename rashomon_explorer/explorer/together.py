"""Acts that change much at once, shown when they are done: each figure is drawn once, not often."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import wraps
from typing import Concatenate, ParamSpec, Protocol, TypeVar


class _Shown(Protocol):
    together: Callable[[], AbstractContextManager[None]]


P = ParamSpec("P")
R = TypeVar("R")
S = TypeVar("S", bound=_Shown)


def shown_together(act: Callable[Concatenate[S, P], R]) -> Callable[Concatenate[S, P], R]:
    """Do an act inside its owner's ``together``, which holds back what is drawn until its end.

    Of acts within acts the outermost shows.

    >>> from contextlib import nullcontext
    >>> class Owner:
    ...     together = nullcontext
    ...
    ...     @shown_together
    ...     def act(self) -> str:
    ...         return "done"
    >>> Owner().act()
    'done'
    """

    @wraps(act)
    def acted(owner: S, /, *args: P.args, **kwargs: P.kwargs) -> R:
        with owner.together():
            return act(owner, *args, **kwargs)

    return acted
