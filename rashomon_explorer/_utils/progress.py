"""Progress of long work: a bar in interactive sessions, and looks at running Markov chains.

Bars are tqdm's: with ``TQDM_DISABLE=1`` in the environment there are none.
"""

import math
import sys
import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, TypeVar

from rashomon_explorer._utils.arrays import FloatArray

_SECONDS, _SECONDS_BETWEEN_REFRESHES = 2.0, 1.0

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
    with tally(total, what) as done:
        for count, item in enumerate(items, start=1):
            yield item
            done(count)


@contextmanager
def tally(total: int, what: str, *, visible: bool = True) -> Iterator[Callable[[int], None]]:
    """Yield a callback that takes the number of items done; show a bar as in :func:`progress`."""
    if not visible:
        before = _ELSEWHERE.set(True)
        try:
            yield lambda count: None
        finally:
            _ELSEWHERE.reset(before)
        return
    if not _has_display():
        yield lambda count: None
        return
    bar = _Bar(what, total)
    try:
        yield bar.show
    finally:
        bar.close()


_LOCK, _OPEN = threading.RLock(), list["_Bar"]()


class _Bar:
    """A bar that is made after two seconds: one of a notebook takes long to make."""

    def __init__(self, what: str, total: int) -> None:
        self._what, self._total, self._count = what, total, 0
        self._begun, self._bar = time.time(), list[Any]()
        _OPEN.append(self)
        if "bars" not in {thread.name for thread in threading.enumerate()}:
            threading.Thread(target=_refresh_bars, name="bars", daemon=True).start()

    def show(self, count: int) -> None:
        """Show the number of items done, once it is time."""
        self._count = count
        with _LOCK:
            if not self._bar and time.time() - self._begun >= _SECONDS and self in _OPEN:
                if threading.current_thread() is threading.main_thread():
                    from tqdm.auto import tqdm  # asks for widgets, which take long to import
                else:  # widgets are for the thread of a notebook's cell, text is for any
                    from tqdm.std import tqdm
                self._bar.append(tqdm(desc=self._what, total=self._total, leave=False))
                self._bar[0].start_t = self._begun
            for bar in self._bar:
                bar.update(count - bar.n)

    def refresh(self) -> None:
        """Show the time of a step that has not ended."""
        with _LOCK:
            self.show(self._count)
            for bar in self._bar:
                bar.refresh()

    def close(self) -> None:
        """Take the bar away."""
        with _LOCK:
            _OPEN.remove(self)
            for bar in self._bar:
                bar.close()


def _refresh_bars() -> None:
    """Refresh bars every second, until the last is closed."""
    while _OPEN:
        time.sleep(_SECONDS_BETWEEN_REFRESHES)
        for bar in list(_OPEN):
            bar.refresh()


def _has_display() -> bool:
    if _ELSEWHERE.get() or sys.stderr is None:
        return False
    if threading.current_thread() is not threading.main_thread():
        return False  # a page works in threads: a notebook's bar would be widgets beside its own
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return bool(sys.stderr.isatty() or hasattr(shell, "kernel"))


@dataclass(frozen=True, eq=False)
class ChainState:
    """All chains of a mechanism at one step, for the curator: losses are of private rows."""

    step: int
    n_steps: int
    excess: FloatArray  # (n_chains,): of the states
    averages: FloatArray  # (n_chains,): of what would be released now; empty if the states are
    step_size: float = math.nan
    batch: int = 0  # rows a step; 0 for all of them
    acceptance: float = math.nan


# A context variable, so that a page watches only the chains of its own thread.
_OBSERVER: ContextVar[Callable[[ChainState], None] | None] = ContextVar("_OBSERVER", default=None)


@contextmanager
def watch_chains(observer: Callable[[ChainState], None] | None) -> Iterator[None]:
    """Pass looks at the chains that run inside the context to an observer."""
    before = _OBSERVER.set(observer)
    try:
        yield
    finally:
        _OBSERVER.reset(before)


_SECONDS_BETWEEN_LOOKS = 0.1
_SHARE = 10  # a look takes at most about a tenth of the time


class ChainLooks:
    """Looks at chains at most ten times a second, if somebody watches; it uses no randomness."""

    def __init__(self) -> None:
        self._observer = _OBSERVER.get()
        self._next = -math.inf

    def __call__(self, look: Callable[[], ChainState]) -> None:
        """Pass the state that ``look`` computes, if it is time."""
        begun = time.perf_counter()
        if self._observer is None or begun < self._next:
            return
        self._observer(look())
        ended = time.perf_counter()
        self._next = ended + max(_SECONDS_BETWEEN_LOOKS, _SHARE * (ended - begun))
