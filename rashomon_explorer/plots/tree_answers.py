"""What is true of all sparse trees: how many, whose label can flip, and which questions matter."""

from html import escape

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from rashomon_explorer.plots.text import number, percent, plural
from rashomon_explorer.plots.theme import BLUE, CATEGORIES, GREY, ORANGE, curator_band, new_figure

_MOST = 18


def plot_tree_sizes(sizes: pd.DataFrame, psi: float) -> go.Figure:
    """Plot how many trees lie within every ψ, by leaves.

    Parameters
    ----------
    sizes : pandas.DataFrame
        Counts, a row a number of leaves, a column a ψ.
    psi : float
        Threshold that the title speaks of; one of the columns.

    Returns
    -------
    plotly.graph_objects.Figure
        Curator only.

    Examples
    --------
    >>> sizes = pd.DataFrame([[0, 1], [1, 9]], index=[1, 2], columns=[0.0, 0.1])
    >>> plot_tree_sizes(sizes, 0.1).layout.title.text.split("<br>")[0]
    '10 trees are within ψ = 0.1 of the best'
    """
    total = int(sizes[psi].sum())
    figure = new_figure(
        f"{total:,} trees are within ψ = {number(psi)} of the best",
        "all of them counted, drawn or not; by leaves",
    )
    for place, (leaves, row) in enumerate(sizes.iterrows()):
        shown = np.array([float(count) if count else np.nan for count in row])
        if np.isnan(shown).all():
            continue
        figure.add_scatter(
            x=sizes.columns.to_numpy(dtype=float),
            y=shown,
            name=f"{leaves}",
            line={"shape": "hv", "color": CATEGORIES[place % len(CATEGORIES)]},
            hovertemplate=f"{leaves} leaves, ψ = %{{x:.4g}}: %{{y:,.0f}} trees<extra></extra>",
        )
    figure.add_vline(x=psi, line={"color": GREY, "dash": "dot"})
    figure.update_layout(
        xaxis={"title": "ψ: loss beyond the best tree"},
        yaxis={"title": "trees", "type": "log"},
        legend={"title": {"text": "leaves"}},
        showlegend=True,
    )
    return curator_band(figure)


def plot_tree_flips(flips: pd.Series, psi: float, people: tuple[int, ...] = ()) -> go.Figure:
    """Plot how many people have another label in some tree within every ψ.

    Parameters
    ----------
    flips : pandas.Series
        Least ψ at which each person's label can be another.
    psi : float
        Threshold that the title speaks of.
    people : tuple of int, optional
        People to mark.

    Returns
    -------
    plotly.graph_objects.Figure
        Curator only.

    Examples
    --------
    >>> plot_tree_flips(pd.Series([0.01, 0.3]), 0.1, (0,)).layout.title.text.split("<br>")[0]
    '50% of people get another label from some tree within ψ = 0.1'
    """
    values = np.sort(flips.to_numpy(dtype=float))
    steps = np.unique(values[np.isfinite(values)])
    shares = np.searchsorted(values, steps, side="right") / len(values)
    share = float((values <= psi).mean())
    figure = new_figure(
        f"{percent(share)} of people get another label from some tree within ψ = {number(psi)}",
        f"exact, over all trees; {len(values):,} people",
    )
    figure.add_scatter(
        x=np.concatenate([[0.0], steps]).astype(np.float32),
        y=np.concatenate([[0.0], shares]),
        mode="lines",
        name="share of people",
        line={"shape": "hv", "color": BLUE},
        hovertemplate="within ψ = %{x:.4g}: %{y:.1%}<extra></extra>",
    )
    for person in people:
        at = float(flips.loc[person])
        if np.isfinite(at):
            figure.add_scatter(
                x=[at],
                y=[float((values <= at).mean())],
                mode="markers",
                name=f"person {person}",
                marker={"size": 11, "color": ORANGE, "symbol": "diamond"},
                hovertemplate=f"person {person}: from ψ = {number(at)} on<extra></extra>",
            )
    figure.add_vline(x=psi, line={"color": GREY, "dash": "dot"})
    figure.update_layout(
        xaxis={"title": "ψ: loss beyond the best tree"},
        yaxis={"title": "share of people", "tickformat": ".0%", "range": [0, 1.02]},
    )
    return curator_band(figure)


def plot_tree_questions(table: pd.DataFrame, psi: float) -> go.Figure:
    """Plot what it costs at least to ask each question, and not to ask it.

    Parameters
    ----------
    table : pandas.DataFrame
        From ``trees.feature_table``.
    psi : float
        Threshold that the title speaks of.

    Returns
    -------
    plotly.graph_objects.Figure
        Curator only.

    Examples
    --------
    >>> from rashomon_explorer.trees import CountedTrees, feature_table
    >>> counted = CountedTrees([[1, 0], [1, 1], [0, 1]], [1, 1, 0], max_leaves=2)
    >>> figure = plot_tree_questions(feature_table(counted, 0.1), 0.1)
    >>> figure.layout.title.text.split("<br>")[0]
    'Every tree within ψ = 0.1 asks 1 of 2 questions'
    """
    needed = int((table["psi_avoiding"] > psi).sum())
    kept = table.sort_values(["psi_avoiding", "psi_using"], ascending=[False, True], kind="stable")
    shown = kept.iloc[:_MOST][::-1]
    cut = f"{_MOST} shown, the least missed left out · " if len(table) > _MOST else ""
    figure = new_figure(
        f"Every tree within ψ = {number(psi)} asks {needed} of {plural(len(table), 'question')}",
        f"{cut}exact",
        height=max(360, 150 + 22 * len(shown)),
    )
    names = [escape(str(name)) for name in shown.index]
    for column, name, colour, symbol in (
        ("psi_using", "the best tree that asks it", BLUE, "circle"),
        ("psi_avoiding", "the best tree that does not", ORANGE, "diamond"),
    ):
        figure.add_scatter(
            x=shown[column].where(np.isfinite(shown[column])).to_numpy(np.float32),
            y=names,
            mode="markers",
            name=name,
            marker={"size": 9, "color": colour, "symbol": symbol},
            hovertemplate=f"%{{y}}<br>{name}: %{{x:.4g}} beyond the best<extra></extra>",
        )
    figure.add_vline(x=psi, line={"color": GREY, "dash": "dot"})
    figure.update_layout(xaxis={"title": "loss beyond the best tree"}, margin={"l": 170})
    return curator_band(figure)
