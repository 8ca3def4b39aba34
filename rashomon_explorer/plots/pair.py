"""Two models side by side: where their coefficients part, and how many answers that changes."""

from html import escape
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from numpy.typing import ArrayLike

from rashomon_explorer.array_types import FloatArray
from rashomon_explorer.plots.bands import models_band
from rashomon_explorer.plots.coefficients import paid_band
from rashomon_explorer.plots.range_bars import MOST_FEATURES
from rashomon_explorer.plots.text import number, percent, short_name, short_names
from rashomon_explorer.plots.theme import BEST_MODEL, BLUE, GREY, new_figure
from rashomon_explorer.rashomon_set import RashomonSet, ReleasedSet
from rashomon_explorer.rashomon_set.links import likeliest

_FIRST = {"symbol": "circle", "size": 9, "color": BLUE}
_SECOND = {"symbol": "diamond", "size": 9, "color": "white", "line": {"width": 2, "color": BLUE}}
_BEST = {"symbol": "x", "size": 10, "color": BEST_MODEL}


def plot_pair(
    models: RashomonSet | ReleasedSet,
    first: int,
    second: int | None = None,
    X: ArrayLike | None = None,
    y: ArrayLike | None = None,
) -> go.Figure:
    """Plot the coefficients of two models beside each other, those that part most above.

    Parameters
    ----------
    models : RashomonSet or ReleasedSet
        A release shows coefficients alone.
    first, second : int
        Draws; without a second one the certified best model (curator).
    X : array-like of shape (n_rows, n_features), optional
        Rows on which their answers are compared (curator).
    y : array-like of shape (n_rows,), optional
        Targets, for their accuracies.

    Returns
    -------
    plotly.graph_objects.Figure
        A row a coefficient; the title says on how many people the two disagree.

    Raises
    ------
    ValueError
        If a release is asked for the best model, or is given rows.
    IndexError
        If there is no such draw.
    """
    _check(models, second, X)
    names, thetas = _two(models, first, second)
    table = pair_table(models, first, second)
    shown = table.head(MOST_FEATURES)[::-1]
    cut = f"{MOST_FEATURES} of {len(table)} coefficients, " if len(table) > len(shown) else ""
    told = f"{cut}those that part most above"
    both = zip((first, second), thetas, strict=True)
    metrics = [_metrics(models, draw, theta, X, y) for draw, theta in both]
    known = [f"{name}: {said}" for name, said in zip(names, metrics, strict=True) if said]
    figure = new_figure(_finding(models, thetas, X, table), " · ".join([*known, told]))
    rows = np.arange(len(shown))
    for place, (low, high) in enumerate(shown.iloc[:, :2].to_numpy()):
        figure.add_scatter(
            x=[low, high],
            y=[place, place],
            mode="lines",
            showlegend=False,
            hoverinfo="skip",
            line={"color": GREY, "width": 2},
        )
    looks = (_FIRST, _BEST if second is None else _SECOND)
    for column, look in zip(names, looks, strict=True):
        figure.add_scatter(
            x=shown[column].to_numpy(np.float32),
            y=rows,
            mode="markers",
            name=column,
            marker=look,
            hovertext=[f"{escape(str(name))}<br>{column}" for name in shown.index],
            hovertemplate="%{hovertext}: %{x:.4g}<extra></extra>",
        )
    figure.update_layout(
        xaxis={"title": "coefficient, per scaled unit", "zeroline": True},
        yaxis={
            "tickmode": "array",
            "tickvals": rows,
            "ticktext": short_names(shown.index),
            "range": [-0.6, len(shown) - 0.4],
            "showgrid": False,
        },
        height=max(360, 150 + 22 * len(shown)),
    )
    return (
        paid_band(figure, models)
        if isinstance(models, ReleasedSet)
        else models_band(figure, models)
    )


def pair_table(
    models: RashomonSet | ReleasedSet, first: int, second: int | None = None
) -> pd.DataFrame:
    """List the coefficients of two models and their difference, the largest first."""
    names, (one, other) = _two(models, first, second)
    table = pd.DataFrame(
        {names[0]: one, names[1]: other, "difference": other - one},
        index=pd.Index(models.parameter_names, name="coefficient"),
    )
    return table.iloc[np.argsort(-np.abs(other - one), kind="stable")]


def _check(models: Any, second: int | None, X: Any) -> None:
    if isinstance(models, ReleasedSet) and (second is None or X is not None):
        raise ValueError(
            "a release holds neither the best model nor rows: give two of its draws, and no rows"
        )


def _two(
    models: RashomonSet | ReleasedSet, first: int, second: int | None
) -> tuple[tuple[str, str], tuple[FloatArray, FloatArray]]:
    if second is None:
        best = models.best
        return (f"draw {first}", "best model"), (models.coef[first], best)
    return (f"draw {first}", f"draw {second}"), (models.coef[first], models.coef[second])


def _finding(
    models: Any, thetas: tuple[FloatArray, FloatArray], X: Any, table: pd.DataFrame
) -> str:
    if X is None:
        return f"They part most in {short_name(str(table.index[0]))}"
    one, other = models._scores(np.stack(thetas), X)
    if models.task == "regression":
        return f"Their answers differ by {number(float(np.abs(one - other).mean()))} on average"
    differ = likeliest(np.stack([one, other]))
    count = int((differ[0] != differ[1]).sum())
    share = percent(count / max(1, differ.shape[1]))
    people = "1 person" if count == 1 else f"{count:,} people"
    return f"They answer {share} of the people differently ({people})"


def _metrics(models: Any, draw: int | None, theta: FloatArray, X: Any, y: Any) -> str:
    if isinstance(models, ReleasedSet):
        return ""
    above = 0.0 if draw is None else float(models.excess[draw])
    parts = [f"loss +{number(above)}"]
    if X is not None and y is not None and models.task == "classification":
        labels = likeliest(models._scores(theta[None, :], X))[0]
        named = np.asarray(models.classes)[labels] if models.classes else labels
        parts.append(f"right for {float((named == np.asarray(y)).mean()):.1%}")
    return ", ".join(parts)
