"""Slow work beside the page: in a worker where there is a loop, at once where there is none."""

import asyncio
from collections.abc import Callable
from typing import Any

from rashomon_explorer.explorer.aside import aside
from rashomon_explorer.explorer.guard import LOGGER


class Newest:
    """Does one thing at a time; only the newest thing asked for is shown.

    Examples
    --------
    >>> seen = []
    >>> Newest().do(lambda: 6 * 7, seen.append)
    >>> seen
    [42]
    """

    def __init__(self) -> None:
        self._newest = 0
        self._task: asyncio.Task[None] | None = None

    def do(
        self, work: Callable[[], Any], show: Callable[[Any], object], *, passes: bool = False
    ) -> None:
        """Call ``show`` with what ``work`` returns, unless something else was asked meanwhile.

        ``passes`` says that it may read all rows in blocks.
        """
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
            found = await aside(work, passes=passes)
        except Exception as error:
            LOGGER.error("what was to be shown later failed", exc_info=error)
            return
        if number == self._newest:
            show(found)
