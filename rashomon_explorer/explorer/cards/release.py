"""Cards of what was paid for: the aggregates, and what all of it can tell about one record."""

from functools import partial

from rashomon_explorer.explorer.cards.base import NO_DATA, FigureCard, Recipe, empty
from rashomon_explorer.explorer.marks import PAID
from rashomon_explorer.plots import plot_released, plot_tradeoff, tradeoff_table

_NOTHING = "No aggregates were bought of these models.<br>Fill the basket and press <b>Pay</b>."


class AggregatesCard(FigureCard):
    """The aggregates of the rows that were bought last, with their noise."""

    name = "aggregates"
    title = "Released aggregates"
    label = "Numbers of the private rows that were paid for, each with its interval"
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
    """What the models on screen, or those planned, can tell about one record."""

    name = "tradeoff"
    title = "What can be told about one record"
    label = "Least share of misses of any attack at each share of false alarms"
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
            told = "Nothing was paid for, and nothing is planned." if state.data else NO_DATA
            return empty(self.title, told)
        return Recipe(
            partial(plot_tradeoff, guarantee, of),
            partial(tradeoff_table, guarantee),
            ("from rashomon_explorer.plots import plot_tradeoff", f"plot_tradeoff({line}, {of!r})"),
        )
