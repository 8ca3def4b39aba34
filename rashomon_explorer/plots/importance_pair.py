"""Two features' importances against each other, one dot a model."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from rashomon_explorer.measures.importance import importance_tradeoffs
from rashomon_explorer.plots._checks import need_curator, shown_points
from rashomon_explorer.plots.bands import models_band
from rashomon_explorer.plots.counted import Counted, counted, nobody_inside
from rashomon_explorer.plots.fading import edges
from rashomon_explorer.plots.text import number, short_name
from rashomon_explorer.plots.theme import LOSS_SCALE, new_figure

_TITLE = "Importance of two features, one dot a model"
_FADED = 0.25
_TRADED, _TOGETHER = -0.5, 0.5


def plot_importance_pair(
    models: Any,
    cloud: pd.DataFrame,
    x: str | None = None,
    y: str | None = None,
    *,
    highlight: Sequence[int] = (),
) -> go.Figure:
    """Plot one projection of the variable importance cloud (Dong and Rudin 2020).

    Parameters
    ----------
    models : RashomonSet
        The draws with their losses (curator only); those inside the set are shown.
    cloud : pandas.DataFrame
        Importances of all these models, from ``measures.importance_cloud``: one row a model, one
        column a feature.
    x, y : str, optional
        Two of its columns; by default the two that vary most.
    highlight : sequence of int
        Models to ring, by row number; the others fade.

    Returns
    -------
    plotly.graph_objects.Figure
        One dot a model inside, coloured by its excess loss; the title says whether one feature can
        stand in for the other. Without a model inside it says what to do.

    Raises
    ------
    TypeError
        If given a `ReleasedSet`: importances read private rows.
    ValueError
        If the cloud has one feature only, or not one row a model.
    """
    models = need_curator(models, "plot_importance_pair")
    counts = counted(models)
    if counts.nobody:
        return nobody_inside(_TITLE, models)
    if len(cloud) != models.n_draws or cloud.shape[1] < 2:
        raise ValueError(
            f"cloud must hold two features or more of each of {models.n_draws} models, got shape "
            f"{cloud.shape}"
        )
    wide = widest(cloud)
    first, second = x or wide[0], y or wide[1]
    pair = cloud.iloc[counts.places][[first, second]]
    kept, note = shown_points(len(pair))
    told = " · ".join(filter(None, [counts.words, _correlation(pair), note]))
    figure = new_figure(_finding(pair, first, second), told)
    figure.add_trace(_dots(pair.iloc[kept], counts, kept, highlight))
    figure.update_layout(
        xaxis={"title": f"importance of {short_name(first)}", "zeroline": True},
        yaxis={"title": f"importance of {short_name(second)}", "zeroline": True},
        showlegend=False,
        dragmode="select",
        uirevision=f"{first},{second}",
    )
    return models_band(figure, models)


def widest(cloud: pd.DataFrame) -> list[str]:
    """Columns of a cloud, those that vary most over the models first."""
    width = (cloud.max() - cloud.min()).to_numpy()
    return [str(cloud.columns[place]) for place in np.argsort(-width, kind="stable")]


def _rank(pair: pd.DataFrame) -> float:
    if len(pair) < 3 or pair.columns[0] == pair.columns[1]:
        return float("nan")
    return float(importance_tradeoffs(pair).to_numpy()[0, 1])


def _correlation(pair: pd.DataFrame) -> str:
    rank = _rank(pair)
    return "" if np.isnan(rank) else f"rank correlation {number(rank, 2)}"


def _finding(pair: pd.DataFrame, first: str, second: str) -> str:
    names, rank = (short_name(first), short_name(second)), _rank(pair)
    if np.isnan(rank):
        return _TITLE
    if rank <= _TRADED:
        return f"Models that lean less on {names[0]} lean more on {names[1]}"
    if rank >= _TOGETHER:
        return f"Models that lean more on {names[0]} lean more on {names[1]} too"
    return f"How much a model leans on {names[0]} says little about {names[1]}"


def _dots(
    pair: pd.DataFrame, counts: Counted, kept: np.ndarray, highlight: Sequence[int]
) -> go.Scatter | go.Scattergl:
    draws = counts.places[kept]
    chosen = np.isin(draws, np.asarray(highlight, dtype=int))
    faded = chosen.any() & ~chosen
    excess = np.asarray(counts.models.excess, dtype=np.float32)[kept]
    values = pair.to_numpy(np.float32)
    many = len(kept) > 1000
    return (go.Scattergl if many else go.Scatter)(
        x=values[:, 0].copy(),
        y=values[:, 1].copy(),
        customdata=draws,
        text=[number(float(value)) for value in excess],
        mode="markers",
        name="draw",
        marker={
            "size": np.where(chosen, 12, 5 if many else 8),
            "opacity": np.where(faded, _FADED, 1.0),
            "color": excess,
            "colorscale": LOSS_SCALE,
            "cmin": 0,
            "cmax": max(float(excess.max(initial=0.0)), _top(counts.models)),
            "line": edges(chosen, 3, 0.8),
            "colorbar": {
                "title": {"text": "excess<br>loss", "side": "top", "font": {"size": 12}},
                "thickness": 12,
                "len": 0.9,
                "outlinewidth": 0,
                "tickformat": "~g",
                "nticks": 5,
            },
        },
        hovertemplate="draw %{customdata}<br>%{x:.4g}, %{y:.4g}<br>excess loss %{text}"
        "<extra></extra>",
    )


def _top(models: Any) -> float:
    psi = float(models.psi)
    return psi if np.isfinite(psi) else 0.0
