"""Figures of exact and sampled ranges."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from numpy.typing import NDArray

from rashomon_explorer._utils.arrays import FloatArray, Mask
from rashomon_explorer.measures import draws_in_range
from rashomon_explorer.plots import marks, registry, text, theme
from rashomon_explorer.plots.coefficients import plot_coefficient_spread
from rashomon_explorer.sets import RashomonSet

_READABLE = 11
"""Font size at which the names of all rows fit into half the height of a view."""

_COLUMNS = ("low_outer", "low", "best", "high", "high_outer")


def plot_exact_ranges(exact: pd.DataFrame, *, note: str = "") -> go.Figure:
    """Plot exact ranges as bars; the title counts those that contain both signs.

    Parameters
    ----------
    exact : pandas.DataFrame
        Result of ``measures.exact_ranges`` and similar functions.
    note : str, optional
        Text to add to the line below the title.

    Returns
    -------
    plotly.graph_objects.Figure
        One row per range, widest first; the vermillion × is the best model. Curator only.

    Raises
    ------
    ValueError
        If a column of such a table is missing.

    Examples
    --------
    >>> from rashomon_explorer.problem.problem import Problem
    >>> from rashomon_explorer.measures import exact_coefficient_ranges
    >>> problem = Problem([[0.5, 0.1], [-0.5, 0.2]] * 9, [1, -1] * 9)
    >>> figure = plot_exact_ranges(exact_coefficient_ranges(problem, 0.01))
    >>> figure.layout.title.text.split("<br>")[0]
    '2 of 3 coefficients can have either sign'
    """
    missing = [name for name in _COLUMNS if name not in exact]
    if missing:
        raise ValueError(f"exact must have the columns of measures.exact_ranges, lacks {missing}")
    figure_rows = exact.iloc[marks.widest(exact, "low_outer", "high_outer")]
    cut = f"{marks.MOST_FEATURES} widest of {len(exact)}" if len(figure_rows) < len(exact) else ""
    figure = theme.new_figure(_either_sign(exact), text.join_notes(cut, "exact, no draws", note))
    hover = [
        f"<b>{escape(str(name))}</b><br>exact: {text.number(row['low_outer'])} to "
        f"{text.number(row['high_outer'])}<br>best: {text.number(row['best'])}"
        for name, row in figure_rows.iterrows()
    ]
    bars = [
        ("low_outer", "high_outer", theme.SKY, 0.34, "proved outer bound"),
        ("low", "high", theme.BLUE, 0.22, "reached by a model of the set"),
    ]
    marks.nested_bars(figure, figure_rows, bars, hover)
    marks.best_in_rows(figure, figure_rows["best"])
    _axes(figure, figure_rows, "coefficient")
    return theme.curator_band(figure)


_MOST_DOTS = 4_000
_RANGES_COLUMNS = ("low_outer", "best", "high_outer")
_OF_DRAWS = {"exact_low": "low_outer", "exact_high": "high_outer"}


def plot_ranges(
    models: RashomonSet,
    exact: pd.DataFrame,
    values: FloatArray | None = None,
    *,
    unit: str = "coefficient, per scaled unit",
    highlight: Sequence[int] = (),
) -> go.Figure:
    """Plot exact ranges as bars, the draws of the Rashomon set as dots, and the shortfall.

    Parameters
    ----------
    models : RashomonSet
        Draws (curator only).
    exact : pandas.DataFrame
        Result of ``measures.exact_ranges`` and similar functions, for the same rows, loss and ψ,
        or of ``measures.draws_in_range``.
    values : ndarray of shape (n_draws, k), optional
        Value of each draw for each row of ``exact``, such as margins of k individuals; by default
        the coefficients of the draws.
    unit : str
        Title of the horizontal axis.
    highlight : sequence of int
        Row numbers of draws to mark with rings; the others fade, those outside are not shown.

    Returns
    -------
    plotly.graph_objects.Figure
        One row per range, widest first; dots are draws inside the set, their extremes are inner
        bounds, and the vermillion × is the best model.

    Raises
    ------
    TypeError
        If given a `ReleasedSet`.
    ValueError
        If the shapes do not fit, or a draw of the set lies outside an exact range.
    """
    models = text.need_curator(models, "plot_ranges")
    exact = exact.rename(columns=_OF_DRAWS)
    missing = [name for name in _RANGES_COLUMNS if name not in exact]
    if missing:
        raise ValueError(f"exact must have the columns of measures.exact_ranges, lacks {missing}")
    inside = models.losses <= models.least + models.psi
    if values is None:
        drawn, table = models.coef, draws_in_range(models, exact)
    else:
        drawn = np.asarray(values, dtype=float)
        table = draws_in_range(drawn, exact, inside=inside)
    order = marks.widest(table, "exact_low", "exact_high")
    ordered, limits = table.iloc[order], exact.iloc[order]
    signed = values is None and {"low", "high"} <= set(exact)
    title = _either_sign(exact) if signed else "Exact ranges and ranges over draws"
    figure = theme.new_figure(title, _note(table, inside))
    _bars(figure, ordered)
    draws = np.flatnonzero(inside)
    selected = text.selection_mask(draws, highlight)
    _dots(figure, drawn[inside][:, order], draws, faded=bool(selected.any()))
    if selected.any():  # on top, with rings as in every figure
        ringed, hover = drawn[inside][selected][:, order], "selected draw: %{x:.4g}"
        each = np.repeat(draws[selected], len(order))
        look = {"customdata": each}
        marks.row_dots(figure, ringed, "selected draws", 8, 2.5, theme.PURPLE, hover, **look)
    marks.best_in_rows(figure, limits["best"])
    _axes(figure, ordered, unit)
    return text.models_band(figure, models)


def _either_sign(exact: pd.DataFrame) -> str:
    either = int(((exact["low"] < 0) & (exact["high"] > 0)).sum())
    return f"{either} of {text.plural(len(exact), 'coefficient')} can have either sign"


def plot_compact_ranges(
    exact: pd.DataFrame | None, models: Any = None, *, highlight: Sequence[int] = ()
) -> go.Figure:
    """Plot coefficient ranges without a legend, for a low card; the subtitle explains the marks."""
    if exact is None:  # the draws were made from other rows
        figure = plot_coefficient_spread(models, highlight=highlight)
        return registry.add_subtitle(figure, "exact ranges need the rows used for the draws")
    inside = 0 if models is None else round(models.hit_rate * models.n_draws)
    figure = plot_ranges(models, exact, highlight=highlight) if inside else plot_exact_ranges(exact)
    head = figure.layout.title.text.split("<br>")[0]
    bars = f"light: exact · dark: {text.plural(inside, 'draw')} inside" if inside else "exact"
    note = f"{bars} · × best · per scaled unit"
    figure.layout.title.text = f'{head}<br><span style="font-size:11.5px">{note}</span>'
    return _compact(figure)


def plot_compact_spread(models: Any, *, highlight: Sequence[int] = ()) -> go.Figure:
    """Plot coefficient ranges over draws without a legend, for a low card."""
    figure = plot_coefficient_spread(models, highlight=highlight)
    return _compact(registry.add_subtitle(figure, "light: all · dark: middle 90 % · ◇ median"))


def _compact(figure: go.Figure) -> go.Figure:
    """Make room for one line of text per row, without legend and axis title."""
    figure.update_yaxes(tickfont={"size": _READABLE}).update_xaxes(title=None)
    return figure.update_layout(showlegend=False, margin={"b": 26})


def _note(table: pd.DataFrame, inside: Mask) -> str:
    count = len(table)
    cut = (
        f"{marks.MOST_FEATURES} widest of {count}"
        if count > marks.MOST_FEATURES
        else text.plural(count, "range")
    )
    short = 100 * float(table["shortfall"].mean())
    draws = f"{int(inside.sum()):,} of {text.plural(len(inside), 'draw')} inside the set"
    return f"{cut} · {draws} · they miss {short:.0f} % of a range on average (inner bounds)"


def _bars(figure: go.Figure, table: pd.DataFrame) -> None:
    hover = [
        f"<b>{escape(str(name))}</b><br>exact: {text.number(row['exact_low'])} to "
        f"{text.number(row['exact_high'])}<br>draws: {text.number(row['draw_low'])} to "
        f"{text.number(row['draw_high'])} (inner bounds)<br>not reached: "
        f"{100 * row['shortfall']:.0f} %"
        for name, row in table.iterrows()
    ]
    bars = [
        ("exact_low", "exact_high", theme.SKY, 0.34, "exact range"),
        ("draw_low", "draw_high", theme.BLUE, 0.16, "reached by draws"),
    ]
    marks.nested_bars(figure, table, bars, hover)


def _dots(figure: go.Figure, values: FloatArray, draws: NDArray[np.intp], *, faded: bool) -> None:
    max_draws = max(1, _MOST_DOTS // values.shape[1])
    # The dots are the extremes and evenly spaced draws. An additional draw adds one dot and moves
    # none, until there are too many.
    step = 1
    while len(values) > step * max_draws:
        step *= 2
    some = np.arange(0, len(values), step)
    ends = np.concatenate([values.argmin(axis=0), values.argmax(axis=0)])
    positions = np.concatenate([some, np.setdiff1d(ends, some)])
    values, each = values[positions], np.repeat(draws[positions], values.shape[1])
    look = {"opacity": text.FADED if faded else 1.0, "customdata": each}
    hover = "draw %{customdata}: %{x:.4g}"
    marks.row_dots(figure, values, "draw", 4, 0.8, theme.BLUE, hover, **look)


def _axes(figure: go.Figure, table: pd.DataFrame, unit: str) -> None:
    names, height = text.short_names(table.index), max(360, 150 + 24 * len(table))
    marks.lay_out_rows(figure, names, height, title=unit, zeroline=True, zerolinewidth=1.5)


_DEFINITION = (
    "▬ <b>exact</b>: min and max of θ<sub>j</sub> over all models with L(θ) ≤ min L + ψ, by two "
    "convex programmes per coefficient; each end is certified by a tangent. ∙∙∙ <b>sampled</b>: "
    "range over the draws within ψ. A range that contains 0: good models disagree on the sign. "
    "All rows are used, regardless of the selection."
)
FIGURES = (
    registry.on_demand_figure(
        name="ranges",
        title="How far each coefficient can go",
        short="Exact coefficients",
        label="Exact range of every coefficient over all models within ψ, with the draws inside",
        definition=_DEFINITION,
        terms=("exact range", "coefficient"),
        plot=plot_compact_ranges,
        release_plot=plot_compact_spread,
        code=plot_ranges,
        table=lambda exact: exact,
        audience=registry.BOTH,
        families=registry.LINEAR,
        needs=("models", "fitted", "settings", "psi", "exact", "selection"),
        marks=("exact", "sampled"),
        selects="models",
    ),
)
