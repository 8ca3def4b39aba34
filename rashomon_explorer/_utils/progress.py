"""Progress bar with a time estimate for work of more than two seconds in interactive sessions."""

import sys
import time
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar

_SECONDS = 2.0

T = TypeVar("T")

# A context variable, so that progress displayed by a page does not affect other threads.
_ELSEWHERE: ContextVar[bool] = ContextVar("_ELSEWHERE", default=False)


def progress(
    items: Collection[T] | Iterable[T], what: str, *, total: int | None = None
) -> Iterator[T]:
    """Iterate over items; after two seconds show a bar with count and remaining time."""
    if total is None:
        assert isinstance(items, Collection)  # otherwise the remaining time is unknown
        total = len(items)
    if total < 2 or not _has_display():
        yield from items
        return
    from tqdm.auto import tqdm  # asks for widgets, which take long to import

    yield from tqdm(items, desc=what, total=total, delay=_SECONDS, leave=False)


@contextmanager
def tally(total: int, what: str, *, shown: bool = True) -> Iterator[Callable[[int], None]]:
    """Yield a callback that takes the number of items done; show a bar as in :func:`progress`."""
    if not shown or not _has_display():
        before = _ELSEWHERE.set(not shown or _ELSEWHERE.get())
        try:
            yield lambda count: None
        finally:
            _ELSEWHERE.reset(before)
        return
    begun, bars = time.monotonic(), list[Any]()  # a bar of a notebook takes long to make

    def done(count: int) -> None:
        if not bars and time.monotonic() - begun >= _SECONDS:
            from tqdm.auto import tqdm

            bars.append(tqdm(desc=what, total=total, leave=False))
        for bar in bars:
            bar.update(count - bar.n)

    try:
        yield done
    finally:
        for bar in bars:
            bar.close()


def _has_display() -> bool:
    if _ELSEWHERE.get() or sys.stderr is None:
        return False
    return bool(sys.stderr.isatty() or _in_notebook())


def _in_notebook() -> bool:
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return hasattr(shell, "kernel")
