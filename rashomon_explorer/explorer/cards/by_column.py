"""The column by which people are told apart, chosen once for every figure of groups."""

from typing import TYPE_CHECKING

import ipywidgets

from rashomon_explorer.explorer.session import Session

if TYPE_CHECKING:
    from rashomon_explorer.explorer.state import ExplorerState


class ByColumn:
    """Adds a list of columns to a card, of which one is chosen for the whole view."""

    session: Session
    state: "ExplorerState"

    def pick_column(self) -> ipywidgets.Dropdown:
        """Make the list; it follows the choice that is made elsewhere."""
        self._offering = False
        self._by = ipywidgets.Dropdown(description="by", options=[])
        self._by.observe(self._by_chosen, "value")
        self.state.observe(lambda _: self._offer_columns(), ["data", "group_column", "view"])
        self._offer_columns()
        return self._by

    @property
    def column(self) -> str:
        """The chosen column; the first one that there is before anyone chose."""
        columns = self.session.picked.columns
        chosen = self.state.group_column
        return chosen if chosen in columns else columns[0] if columns else ""

    def _by_chosen(self, _: object) -> None:
        if not self._offering:
            self.state.group_column = self._by.value or ""

    def _offer_columns(self) -> None:
        """Offer every column by which people can be told apart, the chosen one chosen."""
        self._offering = True
        self._by.options = self.session.picked.columns
        self._by.value = self.column or None
        self._offering = False
