"""Cards that cost nothing to look at: the price of a hit rate, and what was spent."""

from functools import partial
from typing import Any

from rashomon_explorer.explorer.cards.base import (
    NO_DATA,
    NO_PLAN,
    FigureCard,
    Recipe,
    empty,
)
from rashomon_explorer.explorer.guard import guarded
from rashomon_explorer.explorer.session import Session
from rashomon_explorer.plots import budget_bar, draws_at, plot_prices
from rashomon_explorer.plots.budget import HEIGHT
from rashomon_explorer.plots.prices import LEAST_PRICE, MOST_PRICE
from rashomon_explorer.plots.tables import charges_table, prices_table
from rashomon_explorer.plots.text import number


class PlanCard(FigureCard):
    """What every price and number of draws promises; the plan is dragged, or a point clicked."""

    name = "plan"
    title = "What every price promises"
    label = "Curves of what is promised over the total price epsilon, one a number of draws"
    needs = ("plan", "data")

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self.view.observe(guarded(self.state, "Planning it", self._clicked), "clicked")
        self.view.observe(guarded(self.state, "Planning it", self._dragged), "dragged")

    def _clicked(self, change: dict[str, Any]) -> None:
        """Set price and draws to those of a point of a curve."""
        point = change["new"]
        draws = self.view.figure.get("layout", {}).get("meta", {}).get("draws", [])
        curve, epsilon = point.get("trace", -1), point.get("x")
        if not 0 <= curve < len(draws) or not isinstance(epsilon, int | float):
            return
        self._plan(epsilon, draws[curve])

    def _dragged(self, change: dict[str, Any]) -> None:
        """Set price and draws to where the plan was dragged: on a curve, or between two."""
        point, plan = change["new"], self.state.plan
        epsilon, promise = point.get("x"), point.get("y")
        if plan is None or not isinstance(epsilon, int | float):
            return
        epsilon = min(max(epsilon, LEAST_PRICE), MOST_PRICE)
        curve = point.get("curve")
        self._plan(epsilon, curve if curve is not None else draws_at(plan, epsilon, promise))

    def _plan(self, epsilon: float, draws: int) -> None:
        state = self.state
        if state.busy:
            return
        with state.hold_trait_notifications():
            state.epsilon = float(number(epsilon).replace(",", ""))
            if draws != state.asked_draws:
                state.n_draws = draws

    def recipe(self) -> Recipe:
        """See `FigureCard.recipe`."""
        plan = self.state.plan
        if plan is None:
            why = NO_DATA if self.state.data is None else NO_PLAN
            return empty(self.title, why, HEIGHT)
        return Recipe(
            partial(plot_prices, plan),
            partial(prices_table, plan),
            ("from rashomon_explorer.plots import plot_prices", "plot_prices(explorer.plan)"),
        )


class BudgetCard(FigureCard):
    """What was spent, what the planned draw adds, what is left."""

    name = "budget"
    title = "What it cost"
    label = "Bar of the privacy budget: spent, planned and left"
    needs = ("plan", "account", "data", "phase")

    def recipe(self) -> Recipe:
        """See `FigureCard.recipe`."""
        account, plan = self.state.account, self.state.plan
        if account is None:
            return empty(self.title, NO_DATA, HEIGHT)
        charged = self.state.data is not None and not self.state.uncharged
        planned = plan.guarantee if plan is not None and charged and not self.state.spent else None
        return Recipe(
            partial(
                budget_bar,
                account.guarantees,
                account.budget,
                account.delta,
                planned,
                order=account.totals.order,
                told=[entry.divergence for entry in account.charges if entry.counts],
                notes=[f"{e.note}<br>{e.day}, {e.standing}" for e in account.charges if e.counts],
            ),
            partial(charges_table, account.charges, account.delta, order=account.totals.order)
            if account.charges
            else None,
            (
                "from rashomon_explorer.plots import plot_budget",
                "plot_budget(explorer.ledger, explorer.plan)",
            )
            if account.exists
            else ("explorer.budget",),
        )
