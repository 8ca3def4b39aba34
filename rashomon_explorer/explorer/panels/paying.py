"""Paying for one order at a time, so that the page stays alive meanwhile."""

import asyncio
from collections.abc import Callable
from typing import TypeVar

from rashomon_explorer.explorer.guard import LEDGER_READ, guarded, report
from rashomon_explorer.explorer.session import Session

T = TypeVar("T")


class Paying:
    """Carries out orders: in a loop aside, in a script at once.

    Parameters
    ----------
    session : Session
        Its ledger is read again after each, also after one that failed.
    what : str
        For the sentence "... did not work".
    changed : callable
        Called when an order begins and when it ends.

    Attributes
    ----------
    under_way : bool
        Whether an order is being carried out.
    task : asyncio.Task or None
        The last one of a loop.
    """

    def __init__(self, session: Session, what: str, changed: Callable[[], object]) -> None:
        self._session = session
        self._what = what
        self._changed = changed
        self.under_way = False
        self.task: asyncio.Task[None] | None = None

    def start(self, pay: Callable[[], T], received: Callable[[T], object]) -> None:
        """Pay, and hand over what was bought."""
        self._session.state.alert = None
        self._set(True)
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            try:
                received(pay())
            finally:
                self._end()
        else:
            self.task = loop.create_task(self._aside(pay, received))

    async def _aside(self, pay: Callable[[], T], received: Callable[[T], object]) -> None:
        try:
            received(await asyncio.to_thread(pay))
        except Exception as error:
            report(self._session.state, self._what, error)
        finally:
            self._end()

    def _end(self) -> None:
        self._set(False)
        guarded(self._session.state, LEDGER_READ, self._session.refresh_account)()

    def _set(self, under_way: bool) -> None:
        self.under_way = under_way
        self._changed()
