"""How far the models of the set disagree about each feature: coefficients and importances."""

from collections.abc import Sequence
from dataclasses import replace
from html import escape

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from numpy.typing import ArrayLike, NDArray

from rashomon_explorer.measures import (
    coefficient_spread,
    importance_spread,
    permutation_importance,
)
from rashomon_explorer.plots._checks import need_curator, need_release
from rashomon_explorer.plots.coefficients import paid_band
from rashomon_explorer.plots.nested_bars import nested_bars
from rashomon_explorer.plots.text import number, plural, short_names
from rashomon_explorer.plots.theme import (
    BLUE,
    GREY,
    PURPLE,
    SKY,
    VERMILLION,
    curator_band,
    new_figure,
)
from rashomon_explorer.rashomon_set import RashomonSet, ReleasedSet

MOST_FEATURES = 12
"""More features than this are left to the table, the widest first."""

MOST_ROWS = 2_000
"""Rows that permutation importance reads at most; the figure says how many it read."""

_ALL_DRAWS = "all draws"


def plot_coefficient_spread(
    rashomon_set: RashomonSet, *, highlight: Sequence[int] = ()
) -> go.Figure:
    """Plot the range of every coefficient over the draws, with the best model's.

    Parameters
    ----------
    rashomon_set : RashomonSet
        The draws and the certified best model (curator only).
    highlight : sequence of int
        Draws to ring, by row number.

    Returns
    -------
    plotly.graph_objects.Figure
        One row a feature, widest first.

    Raises
    ------
    TypeError
        If given a `ReleasedSet`.
    """
    rashomon_set = need_curator(rashomon_set, "plot_coefficient_spread")
    table = coefficient_spread(rashomon_set)
    figure = _coefficient_ranges(table, over=_whole(rashomon_set))
    _ring(figure, table, np.asarray(rashomon_set.coef)[list(highlight)])
    return curator_band(figure, guaranteed=rashomon_set.guarantee.holds)


def plot_released_spread(released: ReleasedSet) -> go.Figure:
    """Plot the range of every coefficient over released draws.

    Parameters
    ----------
    released : ReleasedSet
        The draws, already paid.

    Returns
    -------
    plotly.graph_objects.Figure
        One row a feature, under a green band with the price.

    Raises
    ------
    TypeError
        If given a `RashomonSet`.
    """
    released = need_release(released, "plot_released_spread")
    return paid_band(_coefficient_ranges(coefficient_spread(released)), released)


def importances(
    rashomon_set: RashomonSet, X: ArrayLike, y: ArrayLike, *, max_rows: int = MOST_ROWS
) -> tuple[NDArray[np.float64], int]:
    """Measure permutation importance of every feature for every draw, on some rows.

    Parameters
    ----------
    rashomon_set : RashomonSet
        The draws.
    X : array-like of shape (n_rows, n_features)
        Private rows, scaled as the draws were fitted.
    y : array-like of shape (n_rows,)
        Targets as the estimator was given them.
    max_rows : int
        More rows than this are subsampled, always the same ones.

    Returns
    -------
    importances : ndarray of shape (n_draws + 1, n_features)
        Increase of the mean loss when the feature is shuffled; the best model's row comes last.
    n_read : int
        Rows read.
    """
    X, y = np.asarray(X, dtype=float), np.asarray(y)
    if len(X) > max_rows:
        rows = np.sort(np.random.default_rng(0).choice(len(X), max_rows, replace=False))
        X, y = X[rows], y[rows]
    with_best = replace(
        rashomon_set,
        coef=np.vstack([rashomon_set.coef, rashomon_set.best]),
        losses=np.append(rashomon_set.losses, rashomon_set.minimum.value),
    )
    return permutation_importance(with_best, X, y, n_repeats=5, random_state=0), len(X)


def importance_ranges(rashomon_set: RashomonSet, values: NDArray[np.float64]) -> pd.DataFrame:
    """Summarise what `importances` measured, with the best model's in a column of its own.

    Parameters
    ----------
    rashomon_set : RashomonSet
        The draws.
    values : ndarray of shape (n_draws + 1, n_features)
        Their importances, the best model's last.

    Returns
    -------
    DataFrame
        One row a feature: min, q05, median, q95, max, best.
    """
    table = importance_spread(values[:-1], rashomon_set.feature_names[:-1])
    table["best"] = values[-1]
    return table


def plot_importance(
    rashomon_set: RashomonSet,
    X: ArrayLike,
    y: ArrayLike,
    *,
    max_rows: int = MOST_ROWS,
    highlight: Sequence[int] = (),
) -> go.Figure:
    """Plot how important each feature is to the models of the set.

    Parameters
    ----------
    rashomon_set : RashomonSet
        The draws (curator only).
    X : array-like of shape (n_rows, n_features)
        Private rows, scaled as the draws were fitted.
    y : array-like of shape (n_rows,)
        Targets as the estimator was given them.
    max_rows : int
        More rows than this are subsampled, and the figure says so.
    highlight : sequence of int
        Draws to ring, by row number.

    Returns
    -------
    plotly.graph_objects.Figure
        One row a feature: range, 5–95 % range and median over the draws.

    Raises
    ------
    TypeError
        If given a `ReleasedSet`: importances read private rows.
    """
    rashomon_set = need_curator(rashomon_set, "plot_importance")
    values, n_read = importances(rashomon_set, X, y, max_rows=max_rows)
    table = importance_ranges(rashomon_set, values)
    read = f"{n_read:,} of {len(np.asarray(y)):,} rows read"
    figure = _ranges(
        table,
        "How much the models rely on each feature",
        "loss increase when shuffled",
        read,
        over=_whole(rashomon_set),
    )
    _ring(figure, table, values[list(highlight)])
    return curator_band(figure, guaranteed=rashomon_set.guarantee.holds)


def _whole(rashomon_set: RashomonSet) -> str:
    """Name what the widest bars span: draws, or what was chosen of them or of others' models."""
    drawn = isinstance(rashomon_set, RashomonSet) and rashomon_set.as_drawn
    return _ALL_DRAWS if drawn else "all models shown"


def _coefficient_ranges(table: pd.DataFrame, *, over: str = _ALL_DRAWS) -> go.Figure:
    return _ranges(
        table,
        "How far each coefficient can move",
        "coefficient (per unit of scaled feature)",
        of="coefficient",
        over=over,
    )


def _ranges(
    table: pd.DataFrame,
    title: str,
    unit: str,
    note: str = "",
    *,
    of: str = "feature",
    over: str = _ALL_DRAWS,
) -> go.Figure:
    width = (table["max"] - table["min"]).to_numpy()
    order = np.argsort(-width, kind="stable")[:MOST_FEATURES]
    shown = table.iloc[order[::-1]]
    cut = "" if len(table) <= MOST_FEATURES else f"{MOST_FEATURES} widest of {len(table)} {of}s"
    figure = new_figure(title, " · ".join(filter(None, [cut or plural(len(table), of), note])))
    rows = np.arange(len(shown))
    hover = [
        f"<b>{escape(str(name))}</b><br>{number(row['min'])} to {number(row['max'])}"
        f"<br>5–95 %: {number(row['q05'])} to {number(row['q95'])}"
        f"<br>median {number(row['median'])}"
        for name, row in shown.iterrows()
    ]
    bars = [
        ("min", "max", SKY, 0.30, over),
        ("q05", "q95", BLUE, 0.52, "middle 90 %"),
    ]
    nested_bars(figure, shown, bars, hover)
    figure.add_scatter(
        x=shown["median"].to_numpy(np.float32),
        y=rows,
        mode="markers",
        name="median",
        marker={
            "symbol": "diamond",
            "size": 8,
            "color": "white",
            "line": {"width": 1.5, "color": GREY},
        },
        hovertext=hover,
        hovertemplate="%{hovertext}<extra></extra>",
    )
    if "best" in shown and not shown["best"].isna().all():
        figure.add_scatter(
            x=shown["best"].to_numpy(np.float32),
            y=rows,
            mode="markers",
            name="best model",
            marker={"symbol": "x", "size": 9, "color": VERMILLION},
            hovertemplate="best model: %{x:.4g}<extra></extra>",
        )
    figure.update_layout(
        barmode="overlay",
        xaxis={"title": unit, "zeroline": True, "zerolinewidth": 1.5},
        yaxis={
            "tickmode": "array",
            "tickvals": rows,
            "ticktext": short_names(shown.index),
            "range": [-0.6, len(shown) - 0.4],
            "showgrid": False,
        },
        height=max(360, 150 + 24 * len(shown)),
        meta={"features": [str(name) for name in shown.index]},
    )
    return figure


def _ring(figure: go.Figure, table: pd.DataFrame, values: NDArray[np.float64]) -> None:
    if not len(values):
        return
    row_of = {name: row for row, name in enumerate(figure.layout.meta["features"])}
    columns = [(c, row_of[str(n)]) for c, n in enumerate(table.index) if str(n) in row_of]
    figure.add_scatter(
        x=np.concatenate([values[:, column] for column, _ in columns]).astype(np.float32),
        y=np.repeat([row for _, row in columns], len(values)),
        mode="markers",
        name="selected draws",
        marker={
            "symbol": "circle-open",
            "size": 8,
            "color": PURPLE,
            "line": {"width": 2, "color": PURPLE},
        },
        hovertemplate="selected draw: %{x:.4g}<extra></extra>",
    )
