"""Work of a panel that takes a while: done in a worker thread, and only while somebody looks."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

from rashomon_explorer.exceptions import DataError
from rashomon_explorer.explorer.aside import aside
from rashomon_explorer.explorer.guard import LOGGER
from rashomon_explorer.explorer.state import ExplorerState
from rashomon_explorer.explorer.whole import whole_of


class Later:
    """Find something and show it, again whenever what it is made of has changed.

    Parameters
    ----------
    state : ExplorerState
        What is watched.
    needs : sequence of str
        Traits that it is made of.
    page : str
        The view in which somebody looks; elsewhere nothing is done.
    find : callable
        Finds it; safe to run in another thread.
    show : callable
        Shows what was found, or the exception that came instead.

    Notes
    -----
    Without an event loop, in a script, it is done at once. In the release it is done on every view,
    so that what a curator saw is taken away.
    """

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
            self.show(await aside(self._attempt, passes=whole_of(self.state.data) is not None))

    def _attempt(self) -> Any:
        try:
            return self.find()
        except DataError as error:  # its words say what to do
            return error
        except Exception as error:
            LOGGER.error("a panel of the view %s failed", self.page, exc_info=error)
            return error
