"""Cards that cost nothing to look at: the price of a hit rate, and what was spent."""

from functools import partial

from rashomon_explorer.explorer.cards.base import (
    NO_DATA,
    NOT_EXACT,
    FigureCard,
    Recipe,
    empty,
)
from rashomon_explorer.plots import budget_bar, plot_plan
from rashomon_explorer.plots.budget import HEIGHT
from rashomon_explorer.plots.tables import charges_table, plan_table


class PlanCard(FigureCard):
    """The hit rate a price guarantees."""

    name = "plan"
    title = "Guaranteed hit rate against the price"
    label = "Curve of the guaranteed hit rate over the total price epsilon"
    needs = ("plan", "data")

    def recipe(self) -> Recipe:
        """See `FigureCard.recipe`."""
        plan = self.state.plan
        if plan is None:
            return empty(self.title, NO_DATA, HEIGHT)
        if not plan.of_exact_draws:
            return empty(self.title, NOT_EXACT, HEIGHT)
        return Recipe(
            partial(plot_plan, plan),
            partial(plan_table, plan),
            ("from rashomon_explorer.plots import plot_plan", "plot_plan(explorer.plan)"),
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
                notes=[f"{e.note}<br>{e.day}, {e.standing}" for e in account.charges if e.counts],
            ),
            partial(charges_table, account.charges, account.delta) if account.charges else None,
            (
                "from rashomon_explorer.plots import plot_budget",
                "plot_budget(explorer.ledger, explorer.plan)",
            )
            if account.exists
            else ("explorer.budget",),
        )
