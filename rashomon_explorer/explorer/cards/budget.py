"""Cards of guarantees and of the privacy budget."""

from collections.abc import Sequence
from functools import partial
from html import escape
from typing import Any, ClassVar

import ipywidgets

from rashomon_explorer.explorer.cards.base import (
    NO_DATA,
    NO_PLAN,
    NOT_EXACT,
    FigureCard,
    Recipe,
    empty,
)
from rashomon_explorer.explorer.messages import error_boundary
from rashomon_explorer.explorer.session import Session
from rashomon_explorer.mechanisms.planning.plan import Plan
from rashomon_explorer.mechanisms.planning.trees import TreePlan
from rashomon_explorer.mechanisms.samplers.registry import sampler_traits
from rashomon_explorer.plots import (
    GTU,
    GuaranteeRow,
    list_guarantees,
    plot_bounds,
    plot_costs,
    plot_guarantee,
    plot_tree_guarantee,
)
from rashomon_explorer.plots.budget import HEIGHT, budget_bar, charges_table
from rashomon_explorer.plots.guarantees import excess_table
from rashomon_explorer.plots.prices import LEAST_PRICE, MOST_PRICE, costs_table, draws_at
from rashomon_explorer.plots.text import number
from rashomon_explorer.plots.tree_answers import tree_guarantee_table
from rashomon_explorer.sets import RashomonSet

_GTU = GTU.removeprefix("GTU: ")


class BoundsCard(FigureCard):
    """Guarantees with their theorems; measurements in the curator view after a draw."""

    name = "bounds"
    title = "Measured and guaranteed excess loss"
    label = "Share of draws below each excess loss, and the guaranteed share"
    linear = True
    needs: ClassVar[tuple[str, ...]] = (
        "plan",
        "constants",
        "rashomon_set",
        "view",
        "phase",
        "data",
    )

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self.facts = ipywidgets.HTML()
        self.facts.add_class("rx-promises")
        self.widget.children = (self.view, self.facts, *self.widget.children[1:])

    def recipe(self) -> Recipe:
        """See `FigureCard.recipe`."""
        state = self.state
        models = self._measured()
        planned = state.plan if models is None else getattr(models, "plan", state.plan)
        if planned is None:
            self.facts.value = ""
            return empty(self.title, NO_DATA if state.data is None else NO_PLAN)
        if isinstance(planned, TreePlan):
            self.facts.value = ""
            return Recipe(
                partial(plot_tree_guarantee, planned),
                partial(tree_guarantee_table, planned),
                (
                    "from rashomon_explorer.plots import plot_tree_guarantee",
                    "plot_tree_guarantee(explorer.plan)",
                ),
            )
        if not planned.of_exact_draws:
            self.facts.value = ""
            return empty(self.title, NOT_EXACT)
        if models is None or state.view == "release":
            self._show_facts(planned)
            where = "explorer.plan" if models is None else "explorer.rashomon_set.plan"
            return Recipe(
                partial(plot_guarantee, planned),
                partial(excess_table, planned),
                (
                    "from rashomon_explorer.plots import list_guarantees, plot_guarantee",
                    f"list_guarantees({where}, explorer.constants)",
                    f"plot_guarantee({where})",
                ),
            )
        self._show_facts(models)
        return Recipe(
            partial(plot_bounds, models),
            partial(excess_table, models),
            (
                "from rashomon_explorer.plots import list_guarantees, plot_bounds",
                "list_guarantees(explorer.rashomon_set, explorer.constants)",
                "plot_bounds(explorer.rashomon_set)",
            ),
        )

    def _measured(self) -> RashomonSet | None:
        models: RashomonSet | None = self.state.rashomon_set
        return models if models is not None and models.n_draws else None

    def _show_facts(self, given: Plan | RashomonSet) -> None:
        told = _guarantees_html(
            list_guarantees(given, self.session.constants), measured=isinstance(given, RashomonSet)
        )
        head = "<summary>Guarantees and theorems</summary>"
        self.facts.value = f"<details>{head}{told}{_remark(given)}</details>"


class GuaranteeCard(BoundsCard):
    """Guarantees of the current settings; reads no row."""

    name = "promise"
    title = "Guarantees"
    label = "Guaranteed share of draws below each excess loss"
    linear = False
    needs = ("plan", "constants", "data")

    def _measured(self) -> RashomonSet | None:
        return None


def _guarantees_html(rows: Sequence[GuaranteeRow], *, measured: bool) -> str:
    head = '<th scope="col">guaranteed</th>'
    if measured:
        head += '<th scope="col">measured<br><span class="rx-amber">not private</span></th>'
    own = [row for row in rows if not row.of_a_paper]
    papers = [row for row in rows if row.of_a_paper]
    first = sorted(own, key=lambda row: bool(row.missing))
    caption = "Bounds for exact draws, from public numbers only; the strongest first"
    weaker = (
        f"<details><summary>Weaker bounds from the papers ({len(papers)})"
        f"</summary>{_table(papers, head, 'GTU is short for ' + _GTU, measured=measured)}</details>"
    )
    return _table(first, head, caption, measured=measured) + weaker * bool(papers)


def _table(rows: Sequence[GuaranteeRow], head: str, caption: str, *, measured: bool) -> str:
    body = "".join(_row(row, measured=measured) for row in rows)
    return (
        f'<table class="rx-promise-table"><caption>{escape(caption)}</caption>'
        f'<thead><tr><th scope="col">what</th>{head}</tr></thead><tbody>{body}</tbody></table>'
    )


def _row(row: GuaranteeRow, *, measured: bool) -> str:
    kind = ' class="rx-note"' if row.missing else ""
    cells = f"<td{kind}>{escape(row.promised)}</td>"
    if measured:
        cells += f'<td class="rx-curator">{escape(row.found)}</td>'
    name = f'{escape(row.name)}<br><span class="rx-note">{escape(row.theorem)}</span>'
    return f'<tr><th scope="row">{name}</th>{cells}</tr>'


def _remark(given: Plan | RashomonSet) -> str:
    said = [f"{GTU}."]
    if isinstance(given, RashomonSet):
        said.append(
            "A mean over few draws can exceed its bound by chance. –: not measurable on one table."
        )
        if not sampler_traits(given.mechanism).planned_law:
            said.append(f"These are draws of {given.mechanism}, which has no guarantee.")
    return f'<p class="rx-note">{escape(" ".join(said))}</p>'


class PlanCard(FigureCard):
    """Guarantee by privacy cost and number of draws; drag the plan or click a point."""

    name = "plan"
    title = "Guarantee by privacy cost"
    label = "Guarantee against total privacy cost epsilon, one curve per number of draws"
    needs = ("plan", "data")

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self.view.observe(error_boundary(self.state, "Setting the plan", self._clicked), "clicked")
        self.view.observe(error_boundary(self.state, "Setting the plan", self._dragged), "dragged")

    def _clicked(self, change: dict[str, Any]) -> None:
        """Set privacy cost and draws to those of a point on a curve."""
        point = change["new"]
        draws = self.view.figure.get("layout", {}).get("meta", {}).get("draws", [])
        curve, epsilon = point.get("trace", -1), point.get("x")
        if not 0 <= curve < len(draws) or not isinstance(epsilon, int | float):
            return
        self._plan(epsilon, draws[curve])

    def _dragged(self, change: dict[str, Any]) -> None:
        """Set privacy cost and draws to the position to which the plan was dragged."""
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
            if draws != state.requested_draws:
                state.n_draws = draws

    def recipe(self) -> Recipe:
        """See `FigureCard.recipe`."""
        plan = self.state.plan
        if plan is None:
            why = NO_DATA if self.state.data is None else NO_PLAN
            return empty(self.title, why, HEIGHT)
        return Recipe(
            partial(plot_costs, plan),
            partial(costs_table, plan),
            ("from rashomon_explorer.plots import plot_costs", "plot_costs(explorer.plan)"),
        )


class BudgetCard(FigureCard):
    """Privacy budget: spent, added by the planned draw, remaining."""

    name = "budget"
    title = "Privacy budget"
    label = "Bar of the privacy budget: spent, planned and remaining"
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
