"""What equal rates cost among all sparse trees: least loss against the gap between groups."""

from collections.abc import Sequence
from html import escape

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from rashomon_explorer.plots.text import number
from rashomon_explorer.plots.theme import (
    BEST_MODEL,
    BLUE,
    GREEN,
    GREY,
    PURPLE,
    curator_band,
    new_figure,
)


def plot_tree_parity(
    front: pd.DataFrame,
    psi: float,
    *,
    label: str = "1",
    column: str = "groups",
    exact: bool = True,
    drawn: pd.DataFrame | None = None,
    highlight: Sequence[int] = (),
) -> go.Figure:
    """Plot the least gap between groups that trees of every loss reach.

    Parameters
    ----------
    front : pandas.DataFrame
        Columns ``beyond``, loss beyond that of the best tree, and ``gap``; the best tree first.
    psi : float
        Threshold up to which trees count.
    label, column : str
        Whose rate is compared, and what the groups are of.
    exact : bool, default=True
        Whether no tree lies below the line; otherwise it is of uniform draws.
    drawn : pandas.DataFrame, optional
        The same columns for drawn trees, a dot each; the index names them.
    highlight : sequence of int
        Drawn trees to ring.

    Returns
    -------
    plotly.graph_objects.Figure
        Curator only.

    Examples
    --------
    >>> front = pd.DataFrame({"beyond": [0.0, 0.01], "gap": [0.2, 0.05]})
    >>> plot_tree_parity(front, 0.02).layout.title.text.split("<br>")[0]
    'Within ψ = 0.02 the gap falls from 0.2 to 0.05, for 0.01 of loss'
    """
    how = "exact: no tree does better" if exact else "of 2,000 uniform draws: some trees do better"
    figure = new_figure(
        _finding(front, psi), f"gap of the rate of {escape(label)}, by {escape(column)} · {how}"
    )
    if drawn is not None and len(drawn):
        figure.add_trace(_dots(drawn, highlight))
    figure.add_scatter(
        x=front["gap"].to_numpy(),
        y=front["beyond"].to_numpy(),
        mode="lines+markers",
        # From each tree on a smaller gap needs the loss of the next one.
        line={"shape": "vh", "color": BLUE},
        marker={"size": 7},
        name="least loss" if exact else "least loss of the draws",
        hovertemplate="gap %{x:.3g}: %{y:.3g} beyond the best<extra></extra>",
    )
    for place, name, symbol, colour in (
        (0, "best tree", "x", BEST_MODEL),
        (-1, "least gap", "diamond", GREEN),
    ):
        figure.add_scatter(
            x=[front["gap"].iloc[place]],
            y=[front["beyond"].iloc[place]],
            mode="markers",
            name=name,
            marker={"size": 12, "symbol": symbol, "color": colour},
            hovertemplate=f"{name}: gap %{{x:.3g}}, %{{y:.3g}} beyond the best<extra></extra>",
        )
    figure.add_hline(y=psi, line={"color": GREY, "dash": "dot"})
    figure.update_layout(
        xaxis={"title": "gap between groups (0 is equal)", "rangemode": "tozero"},
        yaxis={"title": "loss beyond the best tree", "range": [-0.06 * psi, 1.08 * psi or 1e-6]},
        dragmode="select",
        showlegend=True,
    )
    return curator_band(figure)


def _finding(front: pd.DataFrame, psi: float) -> str:
    first, last = front.iloc[0], front.iloc[-1]
    if len(front) < 2:
        return (
            f"Within ψ = {number(psi)} no tree has a smaller gap than the best one's, "
            f"{number(float(first['gap']), 2)}"
        )
    ends = f"from {number(float(first['gap']), 2)} to {number(float(last['gap']), 2)}"
    return (
        f"Within ψ = {number(psi)} the gap falls {ends}, for {number(float(last['beyond']), 2)} "
        "of loss"
    )


def _dots(drawn: pd.DataFrame, highlight: Sequence[int]) -> go.Scatter:
    ringed = np.isin(drawn.index.to_numpy(), list(highlight))
    return go.Scatter(
        x=drawn["gap"].to_numpy(),
        y=drawn["beyond"].to_numpy(),
        mode="markers",
        name="drawn trees",
        customdata=drawn.index.to_numpy(),
        marker={
            "size": np.where(ringed, 10, 6),
            "color": np.where(ringed, PURPLE, GREY),
            "opacity": np.where(ringed, 1.0, 0.6),
        },
        hovertemplate="draw %{customdata}: gap %{x:.3g}, %{y:.3g} beyond the best<extra></extra>",
    )
