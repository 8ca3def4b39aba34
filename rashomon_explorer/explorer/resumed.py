"""A page that is left finishes its draw; the next one in the same tab opens what it showed."""

import os

from rashomon_explorer.explorer.guard import guarded
from rashomon_explorer.explorer.panels.data import DataPanel
from rashomon_explorer.explorer.session import HOME_VARIABLE, Session
from rashomon_explorer.explorer.widgets import KernelWatch
from rashomon_explorer.under_way import mark_under_way


class Resumed:
    """Tells browser and server what goes on, and opens what the page before this one showed.

    Parameters
    ----------
    watch : KernelWatch
        What the browser knows.
    session : Session
        What is on screen.
    panel : DataPanel
        Where a data set is chosen.
    """

    def __init__(self, watch: KernelWatch, session: Session, panel: DataPanel) -> None:
        self.watch = watch
        self.state = session.state
        self.session = session
        self.panel = panel
        watch.served = HOME_VARIABLE in os.environ
        watch.reopen = lambda name: guarded(self.state, "Opening what was shown", self.open)(name)
        self.state.observe(lambda _: self._tell(), ["data", "phase"])
        self._tell()

    def _tell(self) -> None:
        state = self.state
        mark_under_way(state.busy)
        if state.data is not None:
            self.watch.last = str(state.data.name)

    def open(self, name: str) -> None:
        """Open a table by its name, with its last set; say what is needed for one's own file."""
        state = self.state
        if state.busy or not name:
            return
        if state.data is not None and state.data.name == name:
            self._open_last()
        elif name in dict(self.panel.name.options).values():
            self.panel.name.value = name
        else:
            self.watch.last = name  # a page after this one asks for it, too
            self.session.say(
                f"The page before this one showed your own file, {name}. Choose it again under "
                "Data: what was drawn from it is shown then, and nothing is charged."
            )

    def _open_last(self) -> None:
        """Show the newest set: this program was started ahead, before that set was drawn."""
        self.session.refresh_account()
        if self.state.rashomon_set is None and self.state.kept:
            self.session.open_kept(self.state.kept[-1].number)
