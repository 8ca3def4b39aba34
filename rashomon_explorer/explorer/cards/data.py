"""Cards of columns, penalties, released aggregates and the trade-off function."""

import warnings
from functools import cached_property, partial
from html import escape

import ipywidgets
import pandas as pd
import plotly.graph_objects as go

from rashomon_explorer.data import IgnoredColumn
from rashomon_explorer.estimators.tuning_audit import TuningAudit, audit_tuning
from rashomon_explorer.exceptions import PrivacyLeakWarning
from rashomon_explorer.explorer.cards.base import CURATOR_FIGURE, NO_DATA, FigureCard, Recipe, empty
from rashomon_explorer.explorer.html import PAID
from rashomon_explorer.mechanisms.planning.suggestions import suppress_weak_warnings
from rashomon_explorer.plots import plot_column, plot_released, plot_tradeoff
from rashomon_explorer.plots.budget import tradeoff_table
from rashomon_explorer.plots.columns import column_table
from rashomon_explorer.plots.penalties import (
    drawn_table,
    penalties_table,
    plot_drawn_penalties,
    plot_penalties,
)

_ALL_ANYTHING = "No column has declared bounds or levels."


class ColumnsCard(FigureCard):
    """Histogram of one column within its declared bounds."""

    name = "columns"
    title = "Distribution of the values"
    label = "Number of rows for each value of a column, within its declared bounds"
    needs = ("data", "view")
    asked = True

    def controls(self) -> list[ipywidgets.Widget]:
        """Return the list of columns."""
        self._column = ipywidgets.Dropdown(description="column", options=[])
        self._column.observe(lambda _: self.changed(), "value")
        self.state.observe(lambda _: self._offer(), "data")
        self._offer()
        return [self._column]

    def _offer(self) -> None:
        data = self.state.data
        columns = () if data is None else data.schema.columns
        names = [one.name for one in columns if not isinstance(one, IgnoredColumn)]
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


_NONE_PAID = "No penalty was drawn yet:<br>see <b>A penalty, privately</b>."


class PenaltiesCard(FigureCard):
    """Validation loss by penalty, its Rashomon set, the distribution of a draw, and RidgeCV."""

    name = "penalties"
    title = "Which penalty"
    label = "Validation loss and probability of a private draw, for every penalty"
    needs = ("tuning", "tuned", "data", "view", "phase")
    slow = True
    asked = True
    definition = (
        "The loss on held-out rows of the fit with each penalty λ; green dots are within ψ of the "
        "least. A private draw selects λ with probability ∝ exp(−β·max(Φ − min Φ − ψ, 0)). "
        "Ordinary tuning publishes the minimiser, which reveals each single row that moves it."
    )

    def recipe(self) -> Recipe | None:
        """See `FigureCard.recipe`."""
        state, offer = self.state, self.state.tuning
        if state.data is None:
            return empty(self.title, NO_DATA)
        if state.view == "release":
            return self._released()
        if offer is None or offer.search is None:
            return empty(self.title, escape("" if offer is None else offer.why_not))
        if state.busy:
            return self.deferred_recipe()
        look = _Look(offer.search, self.session.rows, state.data.y, state.tuned)
        return Recipe(
            look.figure,
            look.table,
            (
                "from rashomon_explorer.estimators import audit_tuning",
                "from rashomon_explorer.plots import plot_penalties",
                "found = audit_tuning(explorer.tuner.make_search(), explorer.rows, "
                "explorer.data.y)",
                "plot_penalties(found)  # for the curator",
            ),
        )

    def _released(self) -> Recipe:
        made = self.state.tuned
        if made is None:
            return empty(self.title, _NONE_PAID)

        def figure() -> go.Figure:
            return plot_drawn_penalties(made.penalties, made.bounds, made.promised)

        return Recipe(figure, lambda: drawn_table(made.penalties), (), (PAID,))


class _Look:
    """Result of one pass over the rows, for figure and table."""

    def __init__(self, search: object, rows: object, targets: object, tuned: object) -> None:
        self._asked = (search, rows, targets)
        self._drawn = () if tuned is None else tuned.penalties  # type: ignore[attr-defined]

    @cached_property
    def found(self) -> TuningAudit:
        with warnings.catch_warnings(), suppress_weak_warnings():
            warnings.simplefilter("ignore", PrivacyLeakWarning)  # the page marks it as not private
            return audit_tuning(*self._asked)  # type: ignore[arg-type]

    def figure(self) -> go.Figure:
        return plot_penalties(self.found, self._drawn)

    def table(self) -> pd.DataFrame:
        return penalties_table(self.found)


_NOTHING = "No aggregates were released for these models.<br>Fill the basket and press <b>Pay</b>."


class AggregatesCard(FigureCard):
    """The last released aggregates, with their noise."""

    name = "aggregates"
    title = "Released aggregates"
    label = "Released statistics of the private rows, each with its interval"
    needs = ("paid", "data", "rashomon_set")
    asked = True

    def recipe(self) -> Recipe:
        """See `FigureCard.recipe`."""
        if self.state.data is None:
            return empty(self.title, NO_DATA)
        if not self.state.paid:
            return empty(self.title, _NOTHING)
        last = self.state.paid[-1].released
        return Recipe(
            partial(plot_released, last),
            last.table,
            (
                "from rashomon_explorer.plots import plot_released",
                "plot_released(explorer.state.paid[-1].released)",
            ),
            marks=(PAID,),
        )


class TradeoffCard(FigureCard):
    """Trade-off function of the models on screen, or of the planned draws."""

    name = "tradeoff"
    title = "Membership attack"
    label = "Least false-negative rate of any attack at each false-positive rate"
    needs = ("plan", "rashomon_set", "data", "phase")

    def recipe(self) -> Recipe:
        """See `FigureCard.recipe`."""
        state = self.state
        drawn = state.rashomon_set
        if drawn is not None and drawn.n_draws and drawn.guarantee.holds:
            guarantee, of, line = drawn.guarantee, "these models", "explorer.guarantee"
        elif state.plan is not None and not state.uncharged:
            guarantee, of, line = state.plan.guarantee, "the plan", "explorer.plan.guarantee"
        else:
            told = "There is no released result and no plan." if state.data else NO_DATA
            return empty(self.title, told)
        return Recipe(
            partial(plot_tradeoff, guarantee, of),
            partial(tradeoff_table, guarantee),
            ("from rashomon_explorer.plots import plot_tradeoff", f"plot_tradeoff({line}, {of!r})"),
        )
