"""Exact ranges of coefficients over a Rashomon set of which nobody drew a model."""

from html import escape

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from rashomon_explorer.plots.nested_bars import nested_bars
from rashomon_explorer.plots.range_bars import MOST_FEATURES
from rashomon_explorer.plots.text import number, plural, short_names
from rashomon_explorer.plots.theme import BEST_MODEL, BLUE, SKY, curator_band, new_figure

_COLUMNS = ("low_outer", "low", "best", "high", "high_outer")


def plot_exact_ranges(exact: pd.DataFrame, *, note: str = "") -> go.Figure:
    """Plot exact ranges as bars; the title counts those that reach both sides of zero.

    Parameters
    ----------
    exact : pandas.DataFrame
        From ``measures.exact_ranges`` and its kin.
    note : str, optional
        More for the line below the title.

    Returns
    -------
    plotly.graph_objects.Figure
        One row a range, widest first; the vermillion × is the best model. Curator only.

    Raises
    ------
    ValueError
        If a column of such a table lacks.

    Examples
    --------
    >>> from rashomon_explorer.problem import Problem
    >>> from rashomon_explorer.measures import exact_coefficient_ranges
    >>> problem = Problem([[0.5, 0.1], [-0.5, 0.2]] * 9, [1, -1] * 9)
    >>> figure = plot_exact_ranges(exact_coefficient_ranges(problem, 0.01))
    >>> figure.layout.title.text.split("<br>")[0]
    '2 of 3 coefficients can have either sign'
    """
    missing = [name for name in _COLUMNS if name not in exact]
    if missing:
        raise ValueError(f"exact must have the columns of measures.exact_ranges, lacks {missing}")
    either = int(((exact["low"] < 0) & (exact["high"] > 0)).sum())
    width = (exact["high_outer"] - exact["low_outer"]).to_numpy()
    shown = exact.iloc[np.argsort(-width, kind="stable")[:MOST_FEATURES][::-1]]
    cut = f"{MOST_FEATURES} widest of {len(exact)}" if len(shown) < len(exact) else ""
    figure = new_figure(
        f"{either} of {plural(len(exact), 'coefficient')} can have either sign",
        " · ".join(filter(None, [cut, "exact, nothing drawn", note])),
    )
    hover = [
        f"<b>{escape(str(name))}</b><br>exact: {number(row['low_outer'])} to "
        f"{number(row['high_outer'])}<br>best: {number(row['best'])}"
        for name, row in shown.iterrows()
    ]
    bars = [
        ("low_outer", "high_outer", SKY, 0.34, "proved not to go beyond"),
        ("low", "high", BLUE, 0.22, "reached by a model of the set"),
    ]
    nested_bars(figure, shown, bars, hover)
    figure.add_scatter(
        x=shown["best"].to_numpy(np.float32),
        y=np.arange(len(shown)),
        mode="markers",
        name="best model",
        marker={"symbol": "x", "size": 9, "color": BEST_MODEL},
        hovertemplate="best model: %{x:.4g}<extra></extra>",
    )
    figure.update_layout(
        barmode="overlay",
        xaxis={"title": "coefficient", "zeroline": True, "zerolinewidth": 1.5},
        yaxis={
            "tickmode": "array",
            "tickvals": np.arange(len(shown)),
            "ticktext": short_names(shown.index),
            "range": [-0.6, len(shown) - 0.4],
            "showgrid": False,
        },
        height=max(360, 150 + 24 * len(shown)),
    )
    return curator_band(figure)
