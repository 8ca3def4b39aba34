"""Guarantees of a plan or of draws, and the plan that is dragged."""

import math
from collections.abc import Sequence
from html import escape
from typing import Any

from rashomon_explorer.explorer.cards.base import NO_DATA, NO_PLAN, FigureCard
from rashomon_explorer.explorer.messages import error_boundary
from rashomon_explorer.mechanisms.planning.plan import Plan
from rashomon_explorer.mechanisms.planning.registry import mechanism_traits
from rashomon_explorer.mechanisms.planning.trees import TreePlan
from rashomon_explorer.plots import budget, guarantees, prices
from rashomon_explorer.plots.registry import Argument, FigureCall, Plot
from rashomon_explorer.plots.text import number
from rashomon_explorer.plots.tree_answers import plot_tree_guarantee, tree_guarantee_table
from rashomon_explorer.sets import RashomonSet

_GTU = guarantees.GTU.removeprefix("GTU: ")


def bounds(card: FigureCard) -> FigureCall | str:
    """Pass plan or draws, and the list of their guarantees below the figure."""
    state, models = card.state, card.state.rashomon_set
    if "drawn" not in card.spec.needs or models is None or not models.n_draws:
        models = None
    planned = state.plan if models is None else getattr(models, "plan", state.plan)
    where = "explorer.plan" if models is None else "explorer.rashomon_set.plan"
    card.facts.value = ""
    if planned is None:
        return NO_DATA if state.data is None else NO_PLAN
    plan = Argument.known(planned, where)
    if isinstance(planned, TreePlan):
        changes = {"plot": plot_tree_guarantee, "tabulate": tree_guarantee_table}
        return card.build({"planned": plan}, **changes)
    if models is not None and not models.as_drawn and state.view != "release":
        return "Guarantees are for all draws,<br>and some of them were selected."
    if math.isnan(planned.beta):
        return "These models were not drawn privately:<br>no bound is guaranteed."
    if not planned.of_exact_draws:
        return (
            "This bound holds for exact draws only;<br>see <b>Plan</b> for this mechanism's "
            "guarantee."
        )
    plot: Plot = guarantees.plot_guarantee
    source = plan
    if models is not None and state.view != "release":
        plot, source = guarantees.plot_bounds, Argument.known(models, "explorer.rashomon_set")
    listed = guarantees.list_guarantees(source.find(), card.session.constants)
    card.facts.value = _guarantees_html(source.find(), listed)
    before = (
        "from rashomon_explorer.plots import list_guarantees",
        f"list_guarantees({source.line}, explorer.constants)",
    )
    arguments = {"planned": source, "models": source, "source": source}
    return card.build(arguments, plot=plot, before=before)


def _guarantees_html(source: Plan | RashomonSet, rows: Sequence[guarantees.GuaranteeRow]) -> str:
    """Fold-out list of guarantees, the strongest first; the papers' bounds are folded away."""
    measured = isinstance(source, RashomonSet)
    head = '<th scope="col">guaranteed</th>'
    if measured:
        head += '<th scope="col">measured<br><span class="rx-amber">not private</span></th>'
    first = sorted((row for row in rows if not row.of_a_paper), key=lambda row: bool(row.missing))
    papers = [row for row in rows if row.of_a_paper]
    caption = "Bounds for exact draws, from public numbers only; the strongest first"
    listed = _table(first, head, caption, measured=measured)
    if papers:
        weaker = _table(papers, head, f"GTU is short for {_GTU}", measured=measured)
        listed += (
            f"<details><summary>Weaker bounds from the papers ({len(papers)})</summary>"
            f"{weaker}</details>"
        )
    remarks = [f"{guarantees.GTU}."]
    if isinstance(source, RashomonSet):
        remarks.append(
            "A mean over few draws can exceed its bound by chance. –: not measurable on one table."
        )
        if not mechanism_traits(source.mechanism).planned_law:
            remarks.append(f"These are draws of {source.mechanism}, which has no guarantee.")
    note = f'<p class="rx-note">{escape(" ".join(remarks))}</p>'
    summary = "<summary>Guarantees and theorems</summary>"
    return f"<details>{summary}<div>{listed}{note}</div></details>"


def _table(
    rows: Sequence[guarantees.GuaranteeRow], head: str, caption: str, *, measured: bool
) -> str:
    body = "".join(_row(row, measured=measured) for row in rows)
    return (
        f'<table class="rx-promise-table"><caption>{escape(caption)}</caption>'
        f'<thead><tr><th scope="col">what</th>{head}</tr></thead><tbody>{body}</tbody></table>'
    )


def _row(row: guarantees.GuaranteeRow, *, measured: bool) -> str:
    kind = ' class="rx-note"' if row.missing else ""
    cells = f"<td{kind}>{escape(row.promised)}</td>"
    if measured:
        cells += f'<td class="rx-curator">{escape(row.found)}</td>'
    name = f'{escape(row.name)}<br><span class="rx-note">{escape(row.theorem)}</span>'
    return f'<tr><th scope="row">{name}</th>{cells}</tr>'


def plan(card: FigureCard) -> FigureCall:
    """Pass the current plan."""
    planned = card.state.plan
    if planned is None:
        return card.message(NO_DATA if card.state.data is None else NO_PLAN, budget.HEIGHT)
    return card.build({"planned": Argument.known(planned, "explorer.plan")})


def follow_handle(card: FigureCard) -> None:
    """Set privacy cost and draws where the plan is dragged to, or a point is clicked."""
    state, view = card.state, card.view

    def set_plan(epsilon: float, draws: int) -> None:
        if state.busy:
            return
        with state.hold_trait_notifications():
            state.epsilon = float(number(epsilon).replace(",", ""))
            if draws != state.requested_draws:
                state.n_draws = draws

    def clicked(change: dict[str, Any]) -> None:
        point = change["new"]
        draws = view.figure.get("layout", {}).get("meta", {}).get("draws", [])
        curve, epsilon = point.get("trace", -1), point.get("x")
        if 0 <= curve < len(draws) and isinstance(epsilon, int | float):
            set_plan(epsilon, draws[curve])

    def dragged(change: dict[str, Any]) -> None:
        point, planned = change["new"], state.plan
        epsilon, bound, curve = point.get("x"), point.get("y"), point.get("curve")
        if planned is None or not isinstance(epsilon, int | float):
            return
        epsilon = min(max(epsilon, prices.LEAST_PRICE), prices.MOST_PRICE)
        set_plan(epsilon, prices.draws_at(planned, epsilon, bound) if curve is None else curve)

    for name, follow in (("clicked", clicked), ("dragged", dragged)):
        view.observe(error_boundary(state, "Setting the plan", follow), name)
