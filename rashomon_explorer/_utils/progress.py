"""A bar with a time estimate for what takes more than two seconds, where somebody can see it."""

import sys
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar

_SECONDS = 2.0

T = TypeVar("T")

# A context variable: a worker whose work is shown by a page is no other thread's matter.
_ELSEWHERE: ContextVar[bool] = ContextVar("_ELSEWHERE", default=False)


def progress(
    items: Collection[T] | Iterable[T], what: str, *, total: int | None = None
) -> Iterator[T]:
    """Go through items; after two seconds a bar says how many are done and how long the rest takes.

    In a notebook it is a widget, in a terminal a line on stderr; elsewhere, and in calls that end
    sooner, nothing is written. It goes when the work is done. The environment variable
    ``TQDM_DISABLE=1`` turns all bars off.

    Parameters
    ----------
    items : collection
        Pieces of work of about the same size.
    what : str
        The words before the bar.
    total : int, optional
        Number of items, where they do not know it themselves.

    Examples
    --------
    >>> sum(progress([1, 2, 3], "adding"))
    6
    """
    if total is None:
        assert isinstance(items, Collection)  # or nobody knows how long the rest takes
        total = len(items)
    if total < 2 or not _is_seen():
        yield from items
        return
    from tqdm.auto import tqdm  # asks for widgets, which take long to import

    yield from tqdm(items, desc=what, total=total, delay=_SECONDS, leave=False)


@contextmanager
def tally(total: int, what: str, *, shown: bool = True) -> Iterator[Callable[[int], None]]:
    """Hand out what is told how many of ``total`` are done; a bar as of :func:`progress`.

    Telling it the same number again shows that work goes on.

    Parameters
    ----------
    total : int
    what : str
        The words before the bar.
    shown : bool, default=True
        False where somebody else shows it: then no bar of a part of the work is shown either.

    Examples
    --------
    >>> with tally(3, "drawing") as done:
    ...     done(3)
    """
    if not shown or not _is_seen():
        before = _ELSEWHERE.set(not shown or _ELSEWHERE.get())
        try:
            yield lambda count: None
        finally:
            _ELSEWHERE.reset(before)
        return
    from tqdm.auto import tqdm

    with tqdm(desc=what, total=total, delay=_SECONDS, leave=False) as bar:
        yield lambda count: _moved(bar, count)


def _moved(bar: Any, count: int) -> None:
    bar.update(count - bar.n)


def _is_seen() -> bool:
    if _ELSEWHERE.get() or sys.stderr is None:
        return False
    return bool(sys.stderr.isatty() or _in_notebook())


def _in_notebook() -> bool:
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return hasattr(shell, "kernel")
