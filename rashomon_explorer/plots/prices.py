"""Guarantee by privacy cost, one curve for each number of draws; no row is read."""

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from numpy.typing import ArrayLike

from rashomon_explorer._utils.bisection import bisect
from rashomon_explorer.mechanisms.costs import draws_guarantee as priced
from rashomon_explorer.mechanisms.exact import hit_rate_at
from rashomon_explorer.mechanisms.langevin.states import StatesDetails
from rashomon_explorer.mechanisms.plans import Plan, Rejected
from rashomon_explorer.mechanisms.registry import MECHANISMS, TREES
from rashomon_explorer.mechanisms.request import Request
from rashomon_explorer.mechanisms.select import compare
from rashomon_explorer.plots.marks import add_marks
from rashomon_explorer.plots.registry import BOTH, FigureSpec
from rashomon_explorer.plots.text import at_least, at_most, cost_text, join_notes, plural
from rashomon_explorer.plots.theme import BLUE, CATEGORIES, new_figure

DRAWS = (1, 5, 20, 100)
LEAST_PRICE, MOST_PRICE = 0.05, 100.0
_ETAS = tuple(np.geomspace(1e-3, MOST_PRICE, 41).tolist())  # bounded ranges η of one draw
_PLANNED = 9  # costs that are planned one by one, without a closed form
_TREES_PLANNED = 25
_APART = 0.75  # powers of ten of the cost between two labels
ANY_NUMBER = "any number of models"
_DASHES = ("solid", "dash", "dashdot", "dot", "longdash")


def guarantee_curves(planned: Plan, draws: Sequence[int] = DRAWS) -> pd.DataFrame:
    """Privacy costs and guarantees, by number of draws; for a path, of any number of them."""
    draws = () if _is_a_path(planned) else draws
    counts = sorted({*draws, planned.n_draws})
    curves = [
        _closed(planned, count) if _has_closed_form(planned) else _one_by_one(planned, count)
        for count in counts
    ]
    return pd.concat(curves, ignore_index=True)


def guarantee_at(planned: Plan, epsilon: float, n_draws: int) -> float:
    """Guarantee at another privacy cost and number of draws; NaN if infeasible or unknown."""
    if planned.of_trees:
        outcome = TREES.plan(replace(planned.request, epsilon=epsilon, n_draws=n_draws))
        if isinstance(outcome, Rejected):
            return np.nan
        return _promise(outcome, by_hits=planned.hit_rate is not None)
    if _has_closed_form(planned):
        prices = [_total(eta, n_draws, planned.ledger, planned.delta) for eta in _ETAS]
        eta = np.exp(np.interp(np.log(epsilon), np.log(prices), np.log(_ETAS)))
        return hit_rate_at(planned, float(eta))
    if planned.law is None or planned.mechanism not in MECHANISMS:
        return np.nan
    request = replace(planned.request, epsilon=epsilon, n_draws=n_draws)
    return _planned_promise(planned.mechanism, request, by_hits=planned.hit_rate is not None)


@lru_cache(maxsize=2048)  # independent of the plan's own cost
def _planned_promise(mechanism: str, request: Request, *, by_hits: bool) -> float:
    outcome = MECHANISMS[mechanism].plan(request)
    return np.nan if isinstance(outcome, Rejected) else _promise(outcome, by_hits=by_hits)


def draws_at(planned: Plan, epsilon: float, promise: float) -> int:
    """Largest number of draws with a given guarantee at a given privacy cost."""
    lowest, highest = DRAWS[0], DRAWS[-1]
    sign = 1.0 if planned.hit_rate is not None else -1.0

    def enough(count: float) -> bool:
        return sign * guarantee_at(planned, epsilon, int(count)) >= sign * promise

    first, last = (guarantee_at(planned, epsilon, count) for count in (lowest, highest))
    if np.isnan(first) or np.isclose(first, last, rtol=1e-3):
        return planned.n_draws
    if enough(highest):
        return highest
    return (
        int(bisect(enough, lowest, highest, halvings=10, width=0.5)) if enough(lowest) else lowest
    )


def plot_costs(
    planned: Plan, draws: Sequence[int] = DRAWS, *, clicked: bool = True, cost: float | None = None
) -> go.Figure:
    """Plot guarantees by privacy cost, one curve for each number of draws.

    Parameters
    ----------
    planned : Plan
        Plan shown as the large dot.
    draws : sequence of int
        Numbers of draws.
    clicked : bool, default=True
        Whether a click on a point plans it, as on the page; the figure then states so.
    cost : float, optional
        ε that a ledger adds for the plan, beside what it holds; the default is the plan's own.

    Returns
    -------
    plotly.graph_objects.Figure
        One trace per number of draws, in increasing order, then the plan.
    """
    table = guarantee_curves(planned, draws)
    finding = _finding(planned, planned.cost[0] if cost is None else cost)
    figure = new_figure(finding, _note(planned, clicked))
    hint = "<br>click to plan it" if clicked else ""
    yaxis: dict[str, object] = {"title": "excess loss at most", "type": "log"}
    yaxis["exponentformat"] = "none"
    if planned.hit_rate is not None:
        yaxis = {"title": "guaranteed within ψ", "range": [0, 1.04], "tickformat": ".0%"}
    figure.update_layout(yaxis={**yaxis, "nticks": 5})
    counts = table["n_draws"].unique().tolist()
    # The label of a number close to the plan's own would lie on that of the plan.
    labelled = [n for n in counts if n == planned.n_draws or not 0.5 < n / planned.n_draws < 2]
    # Where the guarantee is the same for any number of draws, labels would overlap.
    first, *rest = (table.loc[table["n_draws"] == count, "promise"].to_numpy() for count in counts)
    alike = bool(rest) and all(
        curve.shape == first.shape and np.allclose(curve, first, rtol=1e-3) for curve in rest
    )
    for number, count in enumerate(counts):
        curve = table[table["n_draws"] == count]
        is_plan = count == planned.n_draws
        width, size, opacity = (3, 6, 1.0) if is_plan else (1.5, 4, 0.6)
        line = {"color": BLUE, "width": width, "dash": _DASHES[number % len(_DASHES)]}
        hover = [
            f"{cost_text(row.epsilon)}, {plural(int(row.n_draws), 'draw')}: "
            f"{_worded(planned, row.promise)}{hint}"
            for row in curve.itertuples()
        ]
        look = {"mode": "lines+markers", "line": line, "marker": {"size": size, "color": BLUE}}
        x, y = curve["epsilon"].to_numpy(), curve["promise"].to_numpy()
        add_marks(figure, x, y, plural(count, "draw"), hover, opacity=opacity, **look)
        last = count == (counts if alike else labelled)[-1]
        if alike and last:
            _label(figure, curve, f"same for {counts[0]} to {plural(count, 'draw')}", last=True)
        elif not alike and count in labelled:
            words = ANY_NUMBER if _is_a_path(planned) else plural(count, "draw")
            _label(figure, curve, words, last=last)
    marker = {"size": 14, "color": CATEGORIES[1], "line": {"color": BLUE, "width": 2}}
    y = [_promise(planned, by_hits=planned.hit_rate is not None)]
    add_marks(figure, [planned.epsilon], y, "this plan", f"this plan: {finding}", marker=marker)
    # The draggable point of the plan, its curve, and the labels of the curves.
    handle = {"trace": len(counts), "own": counts.index(planned.n_draws), "curves": counts}
    handle["label"] = "The plan: drag it to another privacy cost and number of draws"
    handle["words"] = finding
    xaxis = {"type": "log", "title": "total privacy cost ε of all draws"}
    limits = [np.log10(LEAST_PRICE), np.log10(MOST_PRICE)]
    figure.update_layout(
        xaxis={**xaxis, "range": limits, "tickvals": [0.1, 0.3, 1, 3, 10, 30, 100]},
        showlegend=False,
        meta={"view": "plan", "draws": counts, "handle": handle},
        uirevision=f"{planned.mechanism}",
    )
    return figure


def _label(figure: go.Figure, curve: pd.DataFrame, words: str, *, last: bool) -> None:
    """Label a curve with its number of draws, where no other label stands."""
    if curve.empty:
        return
    ends = curve["promise"].min(), curve["promise"].max()
    middle = curve.iloc[(curve["promise"] - sum(ends) / 2).abs().argmin()]
    log = figure.layout.yaxis.type == "log"
    x = np.log10(middle["epsilon"])
    if any(abs(x - other.x) < _APART for other in figure.layout.annotations):
        return
    last = last and x < np.log10(MOST_PRICE) - _APART  # else the words would be cut
    figure.add_annotation(
        x=x,
        y=np.log10(middle["promise"]) if log else middle["promise"],
        text=words,
        showarrow=False,
        xanchor="left" if last else "right",
        xshift=8 if last else -6,
        yshift=-24 if words == ANY_NUMBER else 6,  # below a line that is level there
        font={"size": 11.5},
    )


def _is_a_path(planned: Plan) -> bool:
    return planned.n_draws > 1 and isinstance(planned.details, StatesDetails)


def _has_closed_form(planned: Plan) -> bool:
    return planned.has_gibbs_law and planned.centre_excess is None


def _closed(planned: Plan, count: int) -> pd.DataFrame:
    """Privacy costs and hit rates of a law in closed form, by bounded range."""
    prices = np.array([_total(eta, count, planned.ledger, planned.delta) for eta in _ETAS])
    in_range = (prices >= LEAST_PRICE) & (prices <= MOST_PRICE)
    rates = [hit_rate_at(planned, eta) for eta in np.asarray(_ETAS)[in_range]]
    return _frame(count, prices[in_range], rates)


@lru_cache(maxsize=2048)  # independent of the rows; cached for sliders
def _total(eta: float, count: int, ledger: bool | str, delta: float) -> float:
    return priced(eta, count, ledger=ledger).epsilon(delta)


def _one_by_one(planned: Plan, count: int) -> pd.DataFrame:
    """Privacy costs and guarantees of new plans, without those that are infeasible."""
    count_planned = _TREES_PLANNED if planned.of_trees else _PLANNED
    prices = np.geomspace(LEAST_PRICE, MOST_PRICE, count_planned)
    guarantees = np.array([guarantee_at(planned, float(cost), count) for cost in prices])
    is_feasible = ~np.isnan(guarantees)
    return _frame(count, prices[is_feasible], guarantees[is_feasible])


def _frame(count: int, prices: ArrayLike, guarantees: ArrayLike) -> pd.DataFrame:
    columns = {"n_draws": count, "epsilon": np.asarray(prices), "promise": np.asarray(guarantees)}
    return pd.DataFrame(columns).astype({"epsilon": float, "promise": float})


def _promise(planned: Plan, *, by_hits: bool) -> float:
    """Hit rate or excess of a plan: the same quantity at every point of a curve."""
    return planned.hit_rate_bound if by_hits else planned.stated_excess


def _worded(planned: Plan, promise: float) -> str:
    return at_least(promise) if planned.hit_rate is not None else at_most(promise)


def _finding(planned: Plan, cost: float) -> str:
    priced = f"{cost_text(cost)} for {plural(planned.n_draws, 'draw')}"
    if planned.hit_rate is not None:
        return f"{priced}, each within ψ with {_worded(planned, planned.hit_rate_bound)}"
    return f"{priced}, excess loss {_worded(planned, planned.stated_excess)} on average"


def _note(planned: Plan, clicked: bool) -> str:
    dragged = "drag the dot to change the plan" if clicked else ""
    composed = f"composed by “{planned.certificate}”, the curves by bounded range only"
    is_other = planned.has_gibbs_law and not planned.certified_by_bounded_range
    is_other &= not planned.of_trees
    return join_notes(dragged, "no row is read", composed if is_other else "")


def costs_table(planned: Plan, draws: Sequence[int] = DRAWS) -> pd.DataFrame:
    """Tabulate the guarantee for every privacy cost and number of draws."""
    table = guarantee_curves(planned, draws).sort_values(["n_draws", "epsilon"])
    hits = planned.hit_rate is not None
    name = "guaranteed hit rate" if hits else "excess loss at most"
    frame = table.rename(columns={"n_draws": "draws", "epsilon": "ε", "promise": name})
    frame = frame.set_index("draws")
    frame.attrs["rounding"] = {"ε": "up", name: "down" if hits else "up"}
    return frame


def options_table(planned: Plan) -> pd.DataFrame:
    """Tabulate the candidate mechanisms for a plan's budget, the best first; empty if unknown."""
    if planned.law is None:
        return pd.DataFrame(columns=_CANDIDATE_COLUMNS).set_index("mechanism")
    candidates = planned.candidates or compare(planned.request)
    rows = [_candidate_row(candidate, planned) for candidate in candidates]
    return pd.DataFrame(rows, columns=_CANDIDATE_COLUMNS).set_index("mechanism")


_CANDIDATE_COLUMNS = ["mechanism", "draw", "within ψ", "draws within ψ", "privacy cost", "reason"]


def _candidate_row(candidate: Plan | Rejected, planned: Plan) -> dict[str, str]:
    """Row of the plan of a mechanism, or of the reason why there is none."""
    mechanism = MECHANISMS[candidate.mechanism]
    chosen = ", this plan" * (candidate.mechanism == planned.mechanism)
    uniform = mechanism.traits.uniform_on
    row = {
        "mechanism": mechanism.name.replace("_", " ") + chosen,
        "draw": mechanism.summary,
        "draws within ψ": "uniform on the set" if uniform else "concentrated near the best model",
    }
    if isinstance(candidate, Rejected):
        missing = {"within ψ": "not applicable", "privacy cost": "–", "reason": candidate.reason}
        return row | missing
    cost = cost_text(candidate.guarantee.epsilon(planned.delta))
    # A rate may round to 1 in doubles, although no law here reaches it.
    share = at_least(min(candidate.hit_rate_bound, math.nextafter(1.0, 0.0)))
    share = "no guarantee" if share == at_least(0.0) else share
    return row | {"within ψ": share, "privacy cost": cost, "reason": candidate.certificate}


FIGURES = (
    FigureSpec(
        name="plan",
        title="Guarantee by privacy cost",
        label="Guarantee against total privacy cost ε, one curve per number of draws",
        terms=("guaranteed hit rate", "privacy cost"),
        plot=plot_costs,
        table=costs_table,
        audience=BOTH,
        needs=("plan", "budget"),
    ),
)
