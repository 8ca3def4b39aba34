"""Background work: debounced, lazy, and batched updates."""

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from functools import wraps
from threading import Lock
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

from rashomon_explorer.exceptions import DataError
from rashomon_explorer.explorer.messages import LOGGER
from rashomon_explorer.explorer.state import ExplorerState
from rashomon_explorer.explorer.streamed_table import streamed_table

T = TypeVar("T")

_PASSES = ThreadPoolExecutor(2, thread_name_prefix="rashomon-passes")
"""However many figures ask for passes, memory is that of two, and nothing else waits for them."""


async def run_in_thread(work: Callable[[], T], *, passes: bool = False) -> T:
    """Do something in another thread."""
    loop = asyncio.get_running_loop()
    return await loop.run_in_executor(_PASSES if passes else None, work)


class LatestTask:
    """Does one thing at a time; only the newest thing asked for is shown."""

    def __init__(self) -> None:
        self._newest = 0
        self._task: asyncio.Task[None] | None = None

    def do(
        self, work: Callable[[], Any], show: Callable[[Any], object], *, passes: bool = False
    ) -> None:
        """Call ``show`` with what ``work`` returns, unless something else was asked meanwhile."""
        self._newest += 1
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            show(work())
            return
        self._task = loop.create_task(self._run(self._newest, work, show, passes))

    def forget(self) -> None:
        """Show nothing of what is under way."""
        self._newest += 1

    async def _run(
        self, number: int, work: Callable[[], Any], show: Callable[[Any], object], passes: bool
    ) -> None:
        try:
            found = await run_in_thread(work, passes=passes)
        except Exception as error:
            LOGGER.error("what was to be shown later failed", exc_info=error)
            return
        if number == self._newest:
            show(found)


class LazyUpdate:
    """Find something and show it, again whenever what it is made of has changed."""

    def __init__(
        self,
        state: ExplorerState,
        needs: Sequence[str],
        page: str,
        find: Callable[[], Any],
        show: Callable[[Any], None],
    ) -> None:
        self.state = state
        self.page = page
        self.find = find
        self.show = show
        self._stale = True
        self._task: asyncio.Task[None] | None = None
        state.observe(lambda _: self.mark(), [*needs, "view"])
        state.observe(lambda _: self._go(), ["page", "phase"])

    def mark(self) -> None:
        """Ask for it to be found again."""
        self._stale = True
        self._go()

    def _go(self) -> None:
        looked = self.state.page == self.page or self.state.view == "release"
        if not self._stale or not looked or self.state.busy:
            return
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            self._stale = False
            self.show(self._attempt())
            return
        if self._task is None or self._task.done():
            self._task = loop.create_task(self._run())

    async def _run(self) -> None:
        while self._stale:
            self._stale = False
            passes = streamed_table(self.state.data) is not None
            self.show(await run_in_thread(self._attempt, passes=passes))

    def _attempt(self) -> Any:
        try:
            return self.find()
        except DataError as error:  # its words say what to do
            return error
        except Exception as error:
            LOGGER.error("a panel of the view %s failed", self.page, exc_info=error)
            return error


class _WithBatching(Protocol):
    together: Callable[[], AbstractContextManager[None]]


P = ParamSpec("P")
R = TypeVar("R")
S = TypeVar("S", bound=_WithBatching)


def batch_updates(act: Callable[Concatenate[S, P], R]) -> Callable[Concatenate[S, P], R]:
    """Do an act inside its owner's ``together``, which holds back what is drawn until its end."""

    @wraps(act)
    def acted(owner: S, /, *args: P.args, **kwargs: P.kwargs) -> R:
        with owner.together():
            return act(owner, *args, **kwargs)

    return acted


class SingleEntryCache:
    """Keep one finding, as long as it is of the same things."""

    def __init__(self) -> None:
        self._things: tuple[Any, ...] = ()
        self._key: Any = None
        self._found: Any = None
        self._lock = Lock()

    def of(self, things: tuple[Any, ...], key: Any, find: Callable[[], Any]) -> Any:
        """Find it, unless it was found last: of the very same things, by an equal key."""
        with self._lock:
            same = len(things) == len(self._things) and all(map(_is, things, self._things))
            if not same or key != self._key:
                self._found = find()
                self._things, self._key = things, key
            return self._found


def _is(one: Any, other: Any) -> bool:
    return one is other
