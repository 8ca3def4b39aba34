"""Figures of the importances of pairs of features, one dot per model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from numpy.typing import ArrayLike

from rashomon_explorer.measures import importance_cloud
from rashomon_explorer.measures.importance import importance_tradeoffs
from rashomon_explorer.measures.inputs import COLUMNS, Features, set_and_rows
from rashomon_explorer.plots import marks, registry, text, theme
from rashomon_explorer.sets import RashomonSet

MOST_IN_CLOUD = 4
"""Maximum number of features in a cloud, the most variable first."""
_CLOUD = "Feature importances, pair by pair"
_UNITS = {
    "reliance": "increase of the loss if a feature is switched between rows",
    "conditional": "increase of the loss if the part not explained by other features is switched",
    "permutation": "increase of the loss if a feature is shuffled",
    "shap": "mean absolute SHAP value",
}
_TITLE = "Importance of two features, one dot per model"
_TRADED, _TOGETHER = -0.5, 0.5


def plot_importance_cloud(
    models: RashomonSet,
    X: ArrayLike,
    y: ArrayLike,
    *,
    measure: str = "reliance",
    features: Features = None,
    highlight: Sequence[int] = (),
) -> go.Figure:
    """Plot the importances of all pairs of features, one dot per draw (Dong and Rudin 2020).

    Parameters
    ----------
    models : RashomonSet
        Draws with their losses (curator only).
    X : array-like of shape (n_rows, n_features)
        Private rows, scaled as for fitting the draws.
    y : array-like of shape (n_rows,)
        Targets, as passed to the estimator.
    measure : {"reliance", "conditional", "permutation", "shap"}, default="reliance"
    features : sequence, mapping or "columns", optional
        Features to show, see ``measures.feature_groups``; by default the few whose importances
        vary most.
    highlight : sequence of int
        Row numbers of draws to mark with rings.

    Returns
    -------
    plotly.graph_objects.Figure
        Matrix of scatter plots, coloured by excess loss, with a dot for every draw inside the set;
        a message if there is none.

    Raises
    ------
    TypeError
        If given a `ReleasedSet`, because importances are computed from private rows.
    ValueError
        If fewer than two features are shown, or as for :func:`importance_cloud`.
    """
    models, X = set_and_rows(models, X)
    models = text.need_curator(models, "plot_importance_cloud")
    counts = text.models_within_psi(models)
    if counts.is_empty:
        return text.empty_set_figure(_CLOUD, models)
    cloud = model_importances(counts.models, X, y, measure=measure, features=features)
    if cloud.shape[1] < 2:
        raise ValueError(f"a cloud needs at least two features, got {list(cloud.columns)}")
    columns = cloud.columns
    if features is None or features == COLUMNS:
        columns = pd.Index(widest(cloud)[:MOST_IN_CLOUD])
    positions, note = text.subsample_points(len(cloud))
    cut = "" if len(columns) == cloud.shape[1] else f"{len(columns)} widest of {cloud.shape[1]}"
    words = text.join_notes(counts.words, _UNITS.get(measure, measure), cut, note)
    figure = theme.new_figure(_CLOUD, words, height=480)
    figure.add_trace(_matrix(counts, cloud[columns].iloc[positions], positions, highlight))
    figure.update_layout(showlegend=False)
    return text.models_band(figure, models)


def _matrix(
    counts: text.ModelSelection,
    cloud: pd.DataFrame,
    positions: np.ndarray,
    highlight: Sequence[int],
) -> go.Splom:
    models, draws = counts.models, counts.indices[positions]
    selected = text.selection_mask(draws, highlight)
    excess = np.asarray(models.excess, dtype=np.float32)[positions]
    return go.Splom(
        name="draw",
        dimensions=[
            {"label": label, "values": cloud[name].to_numpy(np.float32)}
            for name, label in zip(cloud, text.short_names(cloud), strict=True)
        ],
        customdata=draws,
        diagonal={"visible": False},
        showupperhalf=False,
        marker={
            **text.selection_look(selected, 5),
            "showscale": True,
            **marks.loss_colours(excess, max(float(excess.max(initial=0.0)), float(models.psi))),
        },
        text=[text.number(float(value)) for value in excess],
        hovertemplate="draw %{customdata}<br>%{x:.4g}, %{y:.4g}<br>excess loss %{text}"
        "<extra></extra>",
    )


def plot_importance_pair(
    models: Any,
    cloud: pd.DataFrame,
    x: str | None = None,
    y: str | None = None,
    *,
    highlight: Sequence[int] = (),
) -> go.Figure:
    """Plot the importances of two features over the set (Dong and Rudin 2020).

    Parameters
    ----------
    models : RashomonSet
        Draws with their losses (curator only); only those inside the set are shown.
    cloud : pandas.DataFrame
        Importances of all these models, from ``measures.importance_cloud``: one row per model, one
        column per feature.
    x, y : str, optional
        Two of its columns; by default the two that vary most.
    highlight : sequence of int
        Row numbers of models to mark with rings; the others fade.

    Returns
    -------
    plotly.graph_objects.Figure
        One dot per model inside, coloured by excess loss; the title states whether one feature can
        replace the other. A message if no model lies inside.

    Raises
    ------
    TypeError
        If given a `ReleasedSet`, because importances are computed from private rows.
    ValueError
        If the cloud has only one feature, or not one row per model.
    """
    models = text.need_curator(models, "plot_importance_pair")
    counts = text.models_within_psi(models)
    if counts.is_empty:
        return text.empty_set_figure(_TITLE, models)
    if len(cloud) != models.n_draws or cloud.shape[1] < 2:
        raise ValueError(
            f"cloud must have two features or more for each of {models.n_draws} models, got shape "
            f"{cloud.shape}"
        )
    wide = widest(cloud)
    first, second = x or wide[0], y or wide[1]
    pair = cloud.iloc[counts.indices][[first, second]]
    positions, note = text.subsample_points(len(pair))
    rank = _rank(pair)
    correlation = "" if np.isnan(rank) else f"rank correlation {text.number(rank, 2)}"
    words = text.join_notes(counts.words, correlation, note)
    figure = theme.new_figure(_finding(pair, first, second), words)
    figure.add_trace(_dots(pair.iloc[positions], counts, positions, highlight))
    figure.update_layout(
        xaxis={"title": f"importance of {text.short_name(first)}", "zeroline": True},
        yaxis={"title": f"importance of {text.short_name(second)}", "zeroline": True},
        showlegend=False,
        uirevision=f"{first},{second}",
    )
    return text.models_band(figure, models)


def model_importances(
    models: RashomonSet,
    X: ArrayLike,
    targets: ArrayLike,
    *,
    measure: str = "shap",
    features: Features = None,
) -> pd.DataFrame:
    """Return the importance of every feature to every model; permutations have a fixed seed."""
    options: dict[str, Any] = {"random_state": 0} if measure == "permutation" else {}
    return importance_cloud(models, X, targets, measure=measure, features=features, **options)


def widest(cloud: pd.DataFrame) -> list[str]:
    """Columns of a cloud, in decreasing order of their spread over the models."""
    width = (cloud.max() - cloud.min()).to_numpy()
    return [str(cloud.columns[column]) for column in np.argsort(-width, kind="stable")]


def _rank(pair: pd.DataFrame) -> float:
    if len(pair) < 3 or pair.columns[0] == pair.columns[1]:
        return float("nan")
    return float(importance_tradeoffs(pair).to_numpy()[0, 1])


def _finding(pair: pd.DataFrame, first: str, second: str) -> str:
    names, rank = (text.short_name(first), text.short_name(second)), _rank(pair)
    if np.isnan(rank):
        return _TITLE
    if rank <= _TRADED:
        return f"Models that rely less on {names[0]} rely more on {names[1]}"
    if rank >= _TOGETHER:
        return f"Models that rely more on {names[0]} rely more on {names[1]} too"
    return f"Reliance on {names[0]} is almost unrelated to reliance on {names[1]}"


def _dots(
    pair: pd.DataFrame, counts: text.ModelSelection, positions: np.ndarray, highlight: Sequence[int]
) -> go.Scatter | go.Scattergl:
    draws = counts.indices[positions]
    selected = text.selection_mask(draws, highlight)
    excess = np.asarray(counts.models.excess, dtype=np.float32)[positions]
    many, psi = len(positions) > marks.MANY, float(counts.models.psi)
    top = max(float(excess.max(initial=0.0)), psi if np.isfinite(psi) else 0.0)
    marker = text.selection_look(selected, 5 if many else 8)
    x, y = (pair.iloc[:, column].to_numpy(np.float32) for column in (0, 1))
    return marks.excess_dots(x, y, draws, excess, top, "%{x:.4g}, %{y:.4g}", **marker)


FIGURES = (
    registry.FigureSpec(
        name="importance_cloud",
        title="Importance of two features, one dot per model",
        short="Two features",
        label="Scatter plot of two features' importances over the models inside the set",
        definition=(
            "The importance of two features to each model within ψ (variable importance cloud, "
            "Dong and Rudin 2020). <b>SHAP</b>: mean over people of "
            "|θ<sub>j</sub>(x<sub>j</sub> − mean)|; <b>switching</b>: rise of the loss when the "
            "feature is switched between people; <b>shuffling</b>: rise of the loss when its "
            "column is shuffled. The cloud of the draws is a sample of that of the set."
        ),
        measure=model_importances,
        result="cloud",
        plot=plot_importance_pair,
        table=lambda cloud: cloud,
        families=registry.LINEAR,
        needs=("models", "selection", "people", "rows", "targets"),
        marks=("sampled",),
        selects="models",
        slow=True,
        on_demand=True,
        of_people=True,
    ),
)
