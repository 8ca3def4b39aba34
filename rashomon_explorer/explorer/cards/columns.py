"""Card of one column of the table: how its values lie within what is declared."""

from functools import partial

import ipywidgets

from rashomon_explorer.explorer.cards.base import (
    CURATOR_FIGURE,
    NO_DATA,
    FigureCard,
    Recipe,
    empty,
)
from rashomon_explorer.plots import column_table, plot_column
from rashomon_explorer.schema import Anything

_ALL_ANYTHING = "No column has declared bounds or levels."


class ColumnsCard(FigureCard):
    """A histogram within declared bounds, a column at a time."""

    name = "columns"
    title = "How the values lie"
    label = "How many rows have which value of a column, within its declared bounds"
    needs = ("data", "view")
    asked = True

    def controls(self) -> list[ipywidgets.Widget]:
        """Choose a column."""
        self._column = ipywidgets.Dropdown(description="column", options=[])
        self._column.observe(lambda _: self.changed(), "value")
        self.state.observe(lambda _: self._offer(), "data")
        self._offer()
        return [self._column]

    def _offer(self) -> None:
        data = self.state.data
        columns = () if data is None else data.schema.columns
        names = [one.name for one in columns if not isinstance(one, Anything)]
        if list(self._column.options) != names:
            self._column.options = names
            if names:
                self._column.value = names[0]

    def recipe(self) -> Recipe:
        """See `FigureCard.recipe`."""
        data, name = self.state.data, self._column.value
        if data is None:
            return empty(self.title, NO_DATA)
        if self.state.view == "release":
            return empty(self.title, CURATOR_FIGURE)
        if name is None:
            return empty(self.title, _ALL_ANYTHING)
        known = data.frame[name], data.schema[name]
        return Recipe(
            partial(plot_column, *known),
            partial(column_table, *known),
            (
                "from rashomon_explorer.plots import plot_column",
                f"plot_column(explorer.data.frame[{name!r}], explorer.data.schema[{name!r}])",
            ),
            of_people=True,
        )
