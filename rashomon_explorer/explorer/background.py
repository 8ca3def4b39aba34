"""Background work: debounced, lazy, and batched updates."""

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from functools import wraps
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

from rashomon_explorer.exceptions import DataError
from rashomon_explorer.explorer.messages import LOGGER
from rashomon_explorer.explorer.state import ExplorerState
from rashomon_explorer.explorer.streamed_table import streamed_table

T = TypeVar("T")

_PASSES = ThreadPoolExecutor(2, thread_name_prefix="rashomon-passes")
"""At most two passes over chunked rows run at a time; other work uses another pool."""


async def run_in_thread(work: Callable[[], T], *, passes: bool = False) -> T:
    """Call ``work`` in another thread and return its result."""
    loop = asyncio.get_running_loop()
    return await loop.run_in_executor(_PASSES if passes else None, work)


class LatestTask:
    """Run tasks in the background; show only the result of the newest one."""

    def __init__(self) -> None:
        self._newest = 0
        self._task: asyncio.Task[None] | None = None

    def do(
        self, work: Callable[[], Any], show: Callable[[Any], object], *, passes: bool = False
    ) -> None:
        """Call ``show`` with the result of ``work``, unless a newer task was started."""
        self._newest += 1
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            show(work())
            return
        self._task = loop.create_task(self._run(self._newest, work, show, passes))

    def forget(self) -> None:
        """Discard the result of the task that is running."""
        self._newest += 1

    async def _run(
        self, number: int, work: Callable[[], Any], show: Callable[[Any], object], passes: bool
    ) -> None:
        try:
            found = await run_in_thread(work, passes=passes)
        except Exception as error:
            LOGGER.error("a background task of the page failed", exc_info=error)
            return
        if number == self._newest:
            show(found)


class LazyUpdate:
    """Compute and show a result; repeat it when its inputs change and its view is visible."""

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
        """Mark the result as out of date, and recompute it if its view is visible."""
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
        except DataError as error:  # its message is shown to the user
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
    """Decorate a method to run inside its owner's ``together``, which delays redraws."""

    @wraps(act)
    def acted(owner: S, /, *args: P.args, **kwargs: P.kwargs) -> R:
        with owner.together():
            return act(owner, *args, **kwargs)

    return acted
