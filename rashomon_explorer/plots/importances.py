"""How much the models of the set rely on each feature, by shuffling it."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from numpy.typing import ArrayLike

from rashomon_explorer.measures import importance_cloud, importance_spread
from rashomon_explorer.measures.features import Features
from rashomon_explorer.measures.reliance.tree_reliance import trees_of
from rashomon_explorer.plots.annotations import models_band, need_curator
from rashomon_explorer.plots.bars import range_bars, ring
from rashomon_explorer.plots.inside_filter import counted, empty_set_figure
from rashomon_explorer.plots.text import percent, short_name
from rashomon_explorer.sets import RashomonSet

MOST_ROWS = 2_000
"""Rows that permutation importance reads at most; the figure says how many it read."""

_TITLE = "How much the models rely on each feature"


def importances(
    models: RashomonSet,
    X: ArrayLike,
    y: ArrayLike,
    *,
    features: Features = None,
    max_rows: int = MOST_ROWS,
) -> tuple[pd.DataFrame, int]:
    """Measure permutation importance of every feature for every model, on some rows."""
    trees = trees_of(models)
    X = np.asarray(X, dtype=float) if trees is None else trees.rows(X)
    y = np.asarray(y)
    if len(X) > max_rows:
        rows = np.sort(np.random.default_rng(0).choice(len(X), max_rows, replace=False))
        X, y = X[rows], y[rows]
    found = importance_cloud(
        _with_best(models), X, y, measure="permutation", features=features, random_state=0
    )
    return found, len(X)


def _with_best(models: Any) -> Any:
    """Put the best model after the others."""
    if (trees := trees_of(models)) is not None:
        return replace(
            models,
            models=replace(trees, trees=(*trees.trees, *models.reference.trees)),
            losses=np.append(models.losses, models.least),
            names=(*models.names, "best"),
        )
    return replace(
        models,
        coef=np.vstack([models.coef, models.best]),
        losses=np.append(models.losses, models.minimum.value),
    )


def importance_ranges(values: pd.DataFrame) -> pd.DataFrame:
    """Summarise what :func:`importances` measured, with the best model's in a column of its own."""
    every = values.to_numpy()
    table = importance_spread(every[:-1], list(values.columns))
    table["best"] = every[-1]
    return table


def plot_importance(
    models: RashomonSet,
    X: ArrayLike,
    y: ArrayLike,
    *,
    features: Features = None,
    max_rows: int = MOST_ROWS,
    highlight: Sequence[int] = (),
) -> go.Figure:
    """Plot how important each feature is to the models of the set.

    Parameters
    ----------
    models : RashomonSet, or PredictorSet of decision trees
        The draws (curator only), of which those inside the set count.
    X : array-like of shape (n_rows, n_features)
        Private rows, scaled as the draws were fitted.
    y : array-like of shape (n_rows,)
        Targets as the estimator was given them.
    features : sequence, mapping or "columns", optional
        Features or groups of them, see ``measures.feature_groups``; by default each feature once,
        the columns of one category together.
    max_rows : int
        More rows than this are subsampled, and the figure says so.
    highlight : sequence of int
        Draws to ring, by row number; those outside the set are not shown.

    Returns
    -------
    plotly.graph_objects.Figure
        One row a feature: range, 5–95 % range and median over the draws inside; without any it
        says what to do.

    Raises
    ------
    TypeError
        If given a `ReleasedSet`: importances read private rows.
    """
    models = need_curator(models, "plot_importance")
    kept = counted(models)
    if kept.is_empty:
        return empty_set_figure(_TITLE, models)
    found = importances(kept.models, X, y, features=features, max_rows=max_rows)
    return importance_figure(models, found, len(np.asarray(y)), highlight)


def importance_figure(
    models: RashomonSet, found: tuple[pd.DataFrame, int], n_rows: int, highlight: Sequence[int]
) -> go.Figure:
    """Draw what :func:`importances` found of the models inside, of whom there are some."""
    kept, (values, n_read) = counted(models), found
    table = importance_ranges(values)
    read = f"{n_read:,} of {n_rows:,} rows read"
    unit = "loss increase when shuffled"
    title = _finding(values.iloc[:-1])
    figure = range_bars(table, title, unit, kept.words, read, over=kept.span)
    ring(figure, table, values.to_numpy()[kept.highlighted(highlight)])
    return models_band(figure, models)


def _finding(values: pd.DataFrame) -> str:
    """Say which feature comes first, and to how many of the models."""
    firsts = values.idxmax(axis=1).value_counts()
    name = short_name(str(firsts.index[0]))
    if len(firsts) == 1:
        return f"Every model relies most on {name}"
    share, others = firsts.iloc[0] / len(values), len(firsts) - 1
    return f"{percent(share)} of models rely most on {name}, the rest on {others} other" + (
        "s" if others > 1 else ""
    )
