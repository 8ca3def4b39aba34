"""A table of OpenML, by its name or number."""

import asyncio
from collections.abc import Callable

import ipywidgets
import pandas as pd

from rashomon_explorer.datasets.openml import fetch_table
from rashomon_explorer.explorer.guard import guarded, report
from rashomon_explorer.explorer.state import ExplorerState

_FETCHING = "Fetching from OpenML"


class OpenMLPicker:
    """Fetches a table and hands it over; needs the network, and says so where there is none.

    Parameters
    ----------
    state : ExplorerState
        Told of failures.
    found : callable
        Given the table's name and its rows, the target last.

    Attributes
    ----------
    which : ipywidgets.Text
        Name or number of the table.
    fetch : ipywidgets.Button
        Fetches it.
    widget : ipywidgets.Widget
        Both.
    """

    def __init__(self, state: ExplorerState, found: Callable[[str, pd.DataFrame], None]) -> None:
        self.state = state
        self._found = found
        self._task: asyncio.Task[None] | None = None
        self.which = ipywidgets.Text(
            description="Name or number on OpenML", placeholder="credit-g, or 31"
        )
        self.fetch = ipywidgets.Button(description="Fetch the table", button_style="primary")
        self.fetch.on_click(guarded(state, _FETCHING, lambda _: self._pressed()))
        self.widget = ipywidgets.VBox([self.which, self.fetch])
        self.widget.add_class("rx-schema")

    def _pressed(self) -> None:
        asked = self.which.value.strip()
        self.state.message = f"Fetching {asked} from OpenML…"
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            self._found(*fetch_table(asked))
        else:
            self.fetch.disabled = True
            self._task = loop.create_task(self._fetch(asked))

    async def _fetch(self, asked: str) -> None:
        try:
            self._found(*await asyncio.to_thread(fetch_table, asked))
        except Exception as error:
            self.state.message = "Nothing was fetched."
            report(self.state, _FETCHING, error)
        finally:
            self.fetch.disabled = False
