"""Privacy budget of a ledger, and trade-off functions."""

import math
from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from rashomon_explorer._utils.formatting import epsilon_text, left_text
from rashomon_explorer.mechanisms.plans import Plan
from rashomon_explorer.plots import registry, text, theme
from rashomon_explorer.plots.marks import add_marks
from rashomon_explorer.privacy import Guarantee, Ledger, LedgerEntry, best_attack
from rashomon_explorer.privacy.guarantee import Divergence
from rashomon_explorer.privacy.ledger.totals import Totals, counted_guarantees, running_epsilon

HEIGHT = 230


def plot_budget(ledger: Ledger, planned: Plan | None = None) -> go.Figure:
    """Plot the charges of a ledger against its budget, and the additional cost of a plan.

    Parameters
    ----------
    ledger : Ledger
        Ledger of a data set.
    planned : Plan, optional
        Plan of a draw that is not charged yet; hatched.

    Returns
    -------
    plotly.graph_objects.Figure
        One bar: a segment for each charge, for the plan, and for the remaining budget.
    """
    if ledger.budget is None:
        return theme.empty_figure(
            "Privacy budget spent", "This ledger has no budget.", height=HEIGHT
        )
    budget, delta = ledger.budget
    entries = [entry for entry in ledger.entries() if entry.counts]
    return budget_bar(
        counted_guarantees(entries),
        budget,
        delta,
        None if planned is None else planned.guarantee,
        rule=ledger.totals,
        divergences=[entry.divergence for entry in entries],
        notes=[f"{entry.who}, {entry.day}<br>{entry.standing}" for entry in entries],
    )


def budget_bar(
    charges: list[Guarantee],
    budget: float,
    delta: float,
    planned: Guarantee | None = None,
    *,
    rule: Totals | None = None,
    divergences: list[Divergence | None] | None = None,
    notes: list[str] | None = None,
) -> go.Figure:
    """Plot the cumulative privacy cost of guarantees against a budget."""
    recorded, every = divergences or [None] * len(charges), charges
    if planned is not None:
        recorded, every = [*recorded, None], [*charges, planned]
    running = running_epsilon(every, delta, totals=rule, divergences=recorded, budget=budget)
    totals, after = running[: len(charges) + 1], running[-1]
    spent = totals[-1]
    note = f"{text.cost_text(spent)} of {epsilon_text(budget)} spent"
    if after > spent:
        note += f" · {text.cost_text(after)} with the planned draw"
    figure = theme.new_figure("Privacy budget spent", note, height=HEIGHT)
    for k, (low, high) in enumerate(pairwise(totals)):
        hover = f"charge {k + 1}: adds {text.cost_text(high - low)}<br>{notes[k] if notes else ''}"
        marker = {"color": theme.BLUE, "opacity": 1 - 0.35 * (k % 2), "line": {"width": 0}}
        _segment(figure, low, high - low, "spent", hover, marker, showlegend=k == 0)
    _add_planned(figure, spent, after, budget)
    left = max(0.0, budget - max(spent, after))
    grey = {"color": "rgba(138,143,152,0.22)", "line": {"width": 0}}
    _segment(figure, budget - left, left, "left", f"left: ε = {left_text(left)}", grey)
    figure.add_vline(x=budget, line={"color": theme.GREY, "width": 2})
    figure.update_layout(
        barmode="overlay",
        xaxis={
            "title": f"privacy spent, ε at δ = {text.number(delta)}",
            "range": [0, 1.04 * max(budget, _finite(after))],
        },
        yaxis={"visible": False, "range": [-0.5, 0.5], "fixedrange": True},
        margin={"t": 76},
        legend={"y": -0.62},
        meta={"view": "plan"},
    )
    return figure


def _add_planned(figure: go.Figure, spent: float, after: float, budget: float) -> None:
    if not after > spent:
        return
    over = after > budget
    colour = theme.VERMILLION if over else theme.GREEN
    marker = {
        "color": "rgba(0,0,0,0)",
        "line": {"width": 1.5, "color": colour},
        "pattern": {"shape": "/", "fgcolor": colour, "size": 7},
    }
    end = _finite(after) or 1.2 * budget
    hover = f"planned draw: adds {text.cost_text(after - spent)}"
    name = "planned: over the budget" if over else "planned"
    _segment(figure, spent, end - spent, name, hover, marker)


def _segment(
    figure: go.Figure,
    start: float,
    length: float,
    name: str,
    hover: str,
    marker: dict[str, Any],
    **look: Any,
) -> None:
    shape = {"y": [0], "orientation": "h", "width": 0.5, "marker": marker, **look}
    template = f"{hover}<extra></extra>"
    figure.add_bar(x=[length], base=[start], name=name, hovertemplate=template, **shape)


def _finite(value: float) -> float:
    return value if math.isfinite(value) else 0.0


USUAL = 0.05
"""False alarm rate at which the text describes the best attack."""


def tradeoff_table(guarantee: Guarantee) -> pd.DataFrame:
    """Least type II error of any test between neighbours, at several type I errors."""
    levels = np.concatenate([[0.0, 0.001, 0.01], np.linspace(0.02, 1.0, 50)])
    index = pd.Index(levels, name="false alarms at most")
    return pd.DataFrame({"misses at least": guarantee.tradeoff(levels)}, index=index)


def attack_in_words(guarantee: Guarantee, alarms: float = USUAL) -> str:
    """Describe the best attack at a given false alarm rate in one sentence.

    Parameters
    ----------
    guarantee : Guarantee
    alarms : float, default=0.05

    Returns
    -------
    str
        The sentence; its share is rounded up.

    Examples
    --------
    >>> from rashomon_explorer.privacy import pure
    >>> attack_in_words(pure(1.0))
    'with 5% false alarms the best attacker finds at most 14% of the records that are in the table'
    """
    caught = best_attack(guarantee, alarms)
    return (
        f"with {text.percent(alarms)} false alarms the best attacker finds at most "
        f"{text.percent(caught, 'up')} of the records that are in the table"
    )


def plot_tradeoff(guarantee: Guarantee | pd.DataFrame, of: str = "") -> go.Figure:
    """Plot the misses of the best test for one record against its false alarms.

    No test is below the curve.

    Parameters
    ----------
    guarantee : Guarantee or DataFrame
        A guarantee, or its `tradeoff_table`.
    of : str, optional
        Name of what the guarantee covers.

    Returns
    -------
    plotly.graph_objects.Figure
        The proved curve and the line of random guessing.
    """
    note = "no test between neighbouring data sets is below the curve; the diagonal is guessing"
    if isinstance(guarantee, Guarantee):
        note = f"{of}{': ' if of else ''}{attack_in_words(guarantee)}"
    table = tradeoff_table(guarantee) if isinstance(guarantee, Guarantee) else guarantee
    figure = theme.new_figure("Attacks on one record: misses and false alarms", note)
    look = {"mode": "lines", "line": {"color": theme.GREY, "dash": "dot", "width": 2}}
    add_marks(figure, [0, 1], [1, 0], "guessing: perfect privacy", **look)
    look = {"mode": "lines", "line": {"color": theme.BLUE, "width": 2.5}}
    x, y = table.index.to_numpy(), table["misses at least"].to_numpy()
    add_marks(figure, x, y, "proved", "false alarms %{x:.1%}: misses at least %{y:.1%}", **look)
    figure.update_layout(
        xaxis={"title": "false alarms, type I", "range": [0, 1], "tickformat": ".0%"},
        yaxis={"title": "misses, type II", "range": [-0.02, 1.02], "tickformat": ".0%"},
        margin={"b": 96},
        meta={"view": "plan"},
    )
    return figure


def charges_table(
    entries: Sequence[LedgerEntry],
    delta: float,
    *,
    rule: Totals | None = None,
    budget: float = math.inf,
) -> pd.DataFrame:
    """Tabulate the charges of a ledger and the total after each, by the rule of its totals."""
    counted = [entry for entry in entries if entry.counts]
    totals = running_epsilon(
        counted_guarantees(counted),
        delta,
        totals=rule,
        divergences=[entry.divergence for entry in counted],
        budget=budget,
    )
    positions = accumulate(int(entry.counts) for entry in entries)
    frame = pd.DataFrame(
        {
            "when": [entry.day for entry in entries],
            "who": [entry.who for entry in entries],
            "what": [entry.note for entry in entries],
            "state": [entry.standing for entry in entries],
            "ε in total": [totals[index] for index in positions],
        },
        index=pd.Index([entry.id for entry in entries], name="charge"),
    )
    frame.attrs["rounding"] = {"ε in total": "up"}
    return frame


FIGURES = (
    registry.FigureSpec(
        name="budget",
        title="Privacy budget",
        label="Bar of the privacy budget: spent, planned and remaining",
        terms=("privacy cost", "remaining"),
        plot=budget_bar,
        table=charges_table,
        code=plot_budget,
        audience=registry.BOTH,
        needs=("plan", "budget"),
    ),
    registry.FigureSpec(
        name="tradeoff",
        title="Membership attack",
        label="Least false-negative rate of any attack at each false-positive rate",
        terms=("trade-off",),
        plot=plot_tradeoff,
        table=tradeoff_table,
        audience=registry.BOTH,
        needs=("plan", "drawn"),
    ),
)
