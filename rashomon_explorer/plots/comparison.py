"""Comparison of two sets or two models."""

from __future__ import annotations

from html import escape
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from numpy.typing import ArrayLike

from rashomon_explorer._utils.arrays import FloatArray, likeliest
from rashomon_explorer.measures.inputs import fitted_set, set_and_rows
from rashomon_explorer.plots import registry, text
from rashomon_explorer.plots.marks import MOST_FEATURES, add_bars, add_marks, lay_out_rows, row_axis
from rashomon_explorer.plots.theme import BEST_MODEL, BLUE, GREY, SKY, new_figure
from rashomon_explorer.sets import RashomonSet, ReleasedSet

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
    """Plot the coefficients of two models side by side, largest differences first.

    Parameters
    ----------
    models : RashomonSet or ReleasedSet
        A release shows only coefficients.
    first, second : int
        Indices of draws; without ``second`` the certified best model (curator).
    X : array-like of shape (n_rows, n_features), optional
        Rows on which their predictions are compared (curator).
    y : array-like of shape (n_rows,), optional
        Targets for their accuracies.

    Returns
    -------
    plotly.graph_objects.Figure
        One row per coefficient; the title states for how many individuals the two disagree.

    Raises
    ------
    ValueError
        If a release is given with rows, or without a second draw.
    IndexError
        If a draw does not exist.
    """
    models, X = set_and_rows(models, X)
    if isinstance(models, ReleasedSet) and (second is None or X is not None):
        raise ValueError(
            "a release has neither a best model nor rows: pass two of its draws, and no rows"
        )
    names, thetas = _two(models, first, second)
    table = pair_table(models, first, second)
    figure_rows = table.head(MOST_FEATURES)[::-1]
    cut = f"{MOST_FEATURES} of {len(table)} coefficients, " if len(table) > len(figure_rows) else ""
    note = f"{cut}largest differences first"
    notes = [note]
    if not isinstance(models, ReleasedSet):
        both = zip(names, (first, second), thetas, strict=True)
        metrics = [f"{name}: {_metrics(models, draw, theta, X, y)}" for name, draw, theta in both]
        notes = [*metrics, note]
    figure = new_figure(_finding(models, thetas, X, table), " · ".join(notes))
    rows = np.arange(len(figure_rows))
    for row, (low, high) in enumerate(figure_rows.iloc[:, :2].to_numpy()):
        look = {"mode": "lines", "line": {"color": GREY, "width": 2}, "showlegend": False}
        add_marks(figure, [low, high], [row, row], None, **look)
    looks = (_FIRST, _BEST if second is None else _SECOND)
    for column, look in zip(names, looks, strict=True):
        values = figure_rows[column].to_numpy(np.float32)
        hover = [f"{escape(str(name))}<br>{column}" for name in figure_rows.index]
        words = "%{hovertext}: %{x:.4g}"
        add_marks(figure, values, rows, column, words, marker=look, hovertext=hover)
    figure.update_layout(
        xaxis={"title": "coefficient, per scaled unit", "zeroline": True},
        yaxis=row_axis(text.short_names(figure_rows.index)),
        height=max(360, 150 + 22 * len(figure_rows)),
    )
    return text.models_band(figure, models)


def pair_table(
    models: RashomonSet | ReleasedSet, first: int, second: int | None = None
) -> pd.DataFrame:
    """List the coefficients of two models and their differences, the largest first."""
    names, (first_theta, second_theta) = _two(models, first, second)
    table = pd.DataFrame(
        {names[0]: first_theta, names[1]: second_theta, "difference": second_theta - first_theta},
        index=pd.Index(models.parameter_names, name="coefficient"),
    )
    return table.iloc[np.argsort(-np.abs(second_theta - first_theta), kind="stable")]


def _two(
    models: RashomonSet | ReleasedSet, first: int, second: int | None
) -> tuple[tuple[str, str], tuple[FloatArray, FloatArray]]:
    name = "best model" if second is None else f"draw {second}"
    theta = models.best if second is None else models.coef[second]
    return (f"draw {first}", name), (models.coef[first], theta)


def _finding(
    models: Any, thetas: tuple[FloatArray, FloatArray], X: Any, table: pd.DataFrame
) -> str:
    if X is None:
        return f"The largest difference is in {text.short_name(str(table.index[0]))}"
    first_scores, second_scores = models._scores(np.stack(thetas), X)
    if models.task == "regression":
        difference = text.number(float(np.abs(first_scores - second_scores).mean()))
        return f"Their predictions differ by {difference} on average"
    differ = likeliest(np.stack([first_scores, second_scores]))
    count = int((differ[0] != differ[1]).sum())
    share = text.percent(count / max(1, differ.shape[1]))
    people = "1 person" if count == 1 else f"{count:,} people"
    return f"Their labels differ for {share} of the people ({people})"


def _metrics(models: Any, draw: int | None, theta: FloatArray, X: Any, y: Any) -> str:
    above = 0.0 if draw is None else float(models.excess[draw])
    parts = [f"excess loss {text.number(above)}"]
    if X is not None and y is not None and models.task == "classification":
        labels = likeliest(models._scores(theta[None, :], X))[0]
        named = np.asarray(models.classes)[labels] if models.classes else labels
        parts.append(f"accuracy {float((named == np.asarray(y)).mean()):.1%}")
    return ", ".join(parts)


_TITLE = "Two sets, coefficient by coefficient"
_ALIKE = 1.1
_APART = 0.19


def two_sets_table(
    first: RashomonSet | ReleasedSet,
    second: RashomonSet | ReleasedSet,
    names: tuple[str, str] = ("first", "second"),
) -> pd.DataFrame:
    """List mean and range of every coefficient over two sets, and the overlap of the ranges."""
    if first.parameter_names != second.parameter_names:
        raise ValueError(
            "the two sets have different columns: compare sets of one table with one schema"
        )
    index = pd.Index(first.parameter_names, name="coefficient")
    parts, ends = {}, []
    for name, models in zip(names, (first, second), strict=True):
        coef = np.asarray(text.models_within_psi(models).models.coef, dtype=float)
        if not len(coef):
            raise ValueError(f"no draw of {name} lies inside ψ: there is nothing to compare")
        ends.append((coef.min(axis=0), coef.max(axis=0)))
        parts[f"low of {name}"], parts[f"high of {name}"] = ends[-1]
        parts[f"mean of {name}"] = coef.mean(axis=0)
    (low, high), (other_low, other_high) = ends
    shared = np.maximum(0.0, np.minimum(high, other_high) - np.maximum(low, other_low))
    either = (high - low) + (other_high - other_low) - shared
    overlap = np.divide(shared, either, out=np.ones_like(shared), where=either > 0)
    return pd.DataFrame({**parts, "overlap": overlap}, index=index)


def plot_two_sets(
    first: RashomonSet | ReleasedSet,
    second: RashomonSet | ReleasedSet,
    names: tuple[str, str] = ("first", "second"),
) -> go.Figure:
    """Plot the range of every coefficient over two sets, with their means.

    Parameters
    ----------
    first, second : RashomonSet or ReleasedSet
        As for :func:`two_sets_table`, both of the same type.
    names : tuple of str
        Names of the sets.

    Returns
    -------
    plotly.graph_objects.Figure
        Two bars per coefficient, widest first; the title states which set is wider.

    Raises
    ------
    TypeError
        If one is a curator's set and the other one a release.
    ValueError
        If the sets have different columns.
    """
    first, second = fitted_set(first), fitted_set(second)
    if isinstance(first, ReleasedSet) != isinstance(second, ReleasedSet):
        raise TypeError("compare two curator sets or two releases, not one of each")
    for models in (first, second):
        if text.models_within_psi(models).is_empty:
            return text.empty_set_figure(_TITLE, models)
    table = two_sets_table(first, second, names)
    widths = [table[f"high of {name}"] - table[f"low of {name}"] for name in names]
    order = np.argsort(-np.maximum(widths[0], widths[1]), kind="stable")[:MOST_FEATURES][::-1]
    ordered, rows = table.iloc[order], np.arange(len(order))
    figure = new_figure(_two_sets_finding(widths, names), _note(table, (first, second), names))
    for name, colour, shift, symbol in zip(
        names, (BLUE, SKY), (_APART, -_APART), ("circle", "diamond"), strict=True
    ):
        low, high = ordered[f"low of {name}"], ordered[f"high of {name}"]
        hover = [
            f"<b>{escape(str(row))}</b><br>{escape(name)}: {text.number(a)} to {text.number(b)}"
            for row, a, b in zip(ordered.index, low, high, strict=True)
        ]
        look = {"y": rows + shift, "width": 0.3, "marker": {"color": colour}, "name": name}
        add_bars(figure, low, high, hover, **look)
        mean, line = ordered[f"mean of {name}"].to_numpy(np.float32), {"width": 1.5, "color": BLUE}
        marker = {"symbol": symbol, "size": 7, "color": "white", "line": line}
        add_marks(figure, mean, rows + shift, f"mean of {name}", "mean: %{x:.4g}", marker=marker)
    axis = {"title": "coefficient, per scaled unit", "zeroline": True}
    lay_out_rows(figure, text.short_names(ordered.index), max(360, 160 + 26 * len(ordered)), **axis)
    return text.models_band(figure, first)


def _two_sets_finding(widths: list[pd.Series], names: tuple[str, str]) -> str:
    means = [max(float(width.mean()), 1e-12) for width in widths]
    ratio = max(means) / min(means)
    if ratio < _ALIKE:
        return f"{names[0].capitalize()} and {names[1]} are about as wide"
    wide, narrow = names if means[0] >= means[1] else names[::-1]
    return f"{wide.capitalize()} is {ratio:.1f} times as wide as {narrow}"


def _note(table: pd.DataFrame, sets: tuple[Any, Any], names: tuple[str, str]) -> str:
    parts = [f"{name}: {_set_text(models)}" for name, models in zip(names, sets, strict=True)]
    cut = f"{MOST_FEATURES} widest of {len(table)}" if len(table) > MOST_FEATURES else ""
    overlap = f"ranges overlap by {text.percent(float(table['overlap'].mean()))} on average"
    return text.join_notes(*parts, overlap, cut)


def _set_text(models: Any) -> str:
    if isinstance(models, ReleasedSet):
        return text.plural(models.n_draws, "draw")
    inside = f"{round(models.hit_rate * models.n_draws):,} of {models.n_draws:,} inside ψ"
    return inside if models.guarantee.holds else f"{inside}, no guarantee"


FIGURES = (
    registry.on_demand_figure(
        name="pair",
        title="Two models side by side",
        label="Coefficients of two models side by side, the largest differences first",
        definition=(
            "The first two selected models, or one and the best. <b>Answer differently</b>: share "
            "of the rows with different labels, #{i : ŷ<sub>a</sub>(x<sub>i</sub>) ≠ "
            "ŷ<sub>b</sub>(x<sub>i</sub>)}/n."
        ),
        plot=plot_pair,
        table=pair_table,
        audience=registry.BOTH,
        families=registry.LINEAR,
        needs=("models", "selection"),
        of_people=True,
    ),
    registry.on_demand_figure(
        name="sets",
        title="Two sets compared",
        label="Range and mean of every coefficient over two sets",
        definition=(
            "Ranges of the draws inside ψ (of a release: of all draws). <b>Wide</b>: mean length "
            "of the coefficients' ranges. <b>Overlap</b>: length of the intersection of both "
            "ranges over that of their union, averaged over the coefficients. A set with more "
            "draws has wider ranges by chance."
        ),
        plot=plot_two_sets,
        table=two_sets_table,
        audience=registry.BOTH,
        families=registry.LINEAR,
        needs=("models", "saved sets"),
    ),
)
