"""Figures of coefficients and of released aggregates."""

import math
from collections.abc import Sequence
from html import escape

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from rashomon_explorer._utils.arrays import Mask
from rashomon_explorer.measures import coefficient_spread
from rashomon_explorer.plots import marks, registry, text, theme
from rashomon_explorer.release import ReleasedAggregates
from rashomon_explorer.release.released import Answer
from rashomon_explorer.release.statistic import Gap, Measured, RateStatistic, Statistic
from rashomon_explorer.sets import RashomonSet, ReleasedSet


def plot_coefficients(
    models: RashomonSet | ReleasedSet,
    x: str | None = None,
    y: str | None = None,
    *,
    highlight: Sequence[int] = (),
    inside_only: bool = False,
) -> go.Figure:
    """Plot two coefficients of every draw; for the curator coloured by excess loss.

    Parameters
    ----------
    models : RashomonSet or ReleasedSet
        Draws: the curator's, or released ones, whose figure can be released too.
    x, y : str, optional
        Parameters on the axes (``parameter_names``); by default the two features whose
        coefficients vary most between draws.
    highlight : sequence of int
        Row numbers of draws to mark with rings; the others fade.
    inside_only : bool, default=False
        Whether to hide the draws outside ψ; the figure states their number. Only the curator's
        draws are known to lie inside or outside.

    Returns
    -------
    plotly.graph_objects.Figure
        One dot per draw; for the curator the best model is the vermillion ×.

    Raises
    ------
    TypeError
        If given models without coefficients.
    ValueError
        If the set has no such feature.
    """
    models = text.need_linear(models, "plot_coefficients")
    axes = zip((x, y), default_axes(models), strict=True)
    first, second = (feature_index(models.parameter_names, name or usual) for name, usual in axes)
    inside = None if isinstance(models, ReleasedSet) else _inside(models)
    draws, note = text.subsample_points(models.n_draws)
    draws = draws[inside[draws]] if inside_only and inside is not None else draws
    selected = text.selection_mask(draws, highlight)
    about = text.release_scope(models) if inside is None else _note(inside, hidden=inside_only)
    names = [text.short_name(name) for name in models.parameter_names]
    count = text.plural(models.n_draws, "draw")
    figure = theme.new_figure(
        "Two coefficients, one dot per model",
        text.join_notes(count, about, note, text.selection_count_text(selected)),
    )
    figure.update_layout(
        xaxis={"title": f"coefficient of {names[first]}", "zeroline": True},
        yaxis={"title": f"coefficient of {names[second]}", "zeroline": True},
        showlegend=False,
        uirevision=f"{first},{second}",
    )
    if len(draws) or inside is None or not inside_only:
        figure.add_trace(_dots(models, draws, (first, second), selected, inside))
    else:
        figure.add_annotation(
            text=f"{text.none_phrase(models.n_draws)} inside ψ = {text.number(models.psi)}.<br>"
            "Slide <b>ψ</b>, or untick <b>Inside ψ only</b>.",
            font={"size": 12.5},
            **{"x": 0.5, "y": 0.9, "xref": "paper", "yref": "paper", "showarrow": False},
        )
    if inside is not None:
        x_best, y_best = [models.best[first]], [models.best[second]]
        line = {"line": {"color": "white", "width": 1}}
        marks.mark_best(figure, x_best, y_best, "<br>%{x:.3f}, %{y:.3f}", 13, marker=line)
    return text.models_band(figure, models)


def feature_index(names: Sequence[str], name: str) -> int:
    """Index of a feature by name; the error message lists the known features."""
    try:
        return list(names).index(name)
    except ValueError:
        listed = ", ".join(names)
        raise ValueError(f"no feature is called {name!r}; the set has {listed}") from None


def default_axes(models: RashomonSet | ReleasedSet) -> tuple[str, str]:
    """Names of the two features whose coefficients vary most between draws."""
    names, width = models.parameter_names, len(models.feature_names)
    spread = np.ptp(models.coef, axis=0) if models.n_draws else np.zeros(len(names))
    spread[width - 1 :: width] = -1.0  # the intercepts
    order = np.argsort(-spread, kind="stable")
    return names[order[0]], names[order[min(1, len(names) - 1)]]


def _inside(models: RashomonSet) -> Mask:
    """Mask of the draws inside ψ; imported models of unknown loss all count."""
    if models.n_draws and math.isnan(models.least):
        return np.ones(models.n_draws, dtype=bool)
    return np.asarray(models.losses <= models.least + models.psi)


def _note(inside: Mask, *, hidden: bool) -> str:
    n_outside, strays = int((~inside).sum()), ""
    if n_outside:
        strays = f"{n_outside:,} outside ψ hidden" if hidden else f"◆ the {n_outside:,} outside ψ"
    return text.join_notes(strays, "colour and × read private rows")


def _dots(
    models: RashomonSet | ReleasedSet,
    draws: np.ndarray,
    axes: tuple[int, int],
    selected: Mask,
    inside: Mask | None,
) -> go.Scatter | go.Scattergl:
    """One dot for each draw; a curator's show their excess loss, and diamonds lie outside ψ."""
    coef = np.asarray(models.coef, dtype=np.float32)[draws]
    x, y = (coef[:, axis].copy() for axis in axes)
    many, hover = len(draws) > marks.MANY, "%{x:.3f}, %{y:.3f}"
    marker = text.selection_look(selected, 5 if many else 9)
    if inside is not None:
        excess = np.asarray(models.excess, dtype=np.float32)
        top = max(float(excess.max(initial=0.0)), models.psi)
        symbol = np.where(inside[draws], "circle", "diamond")
        return marks.excess_dots(x, y, draws, excess[draws], top, hover, symbol=symbol, **marker)
    return marks.dots(x, y, draws, f"<br>{hover}", {"color": theme.BLUE, **marker})


_TITLE = "Range of each coefficient"


def plot_coefficient_spread(
    models: RashomonSet | ReleasedSet, *, highlight: Sequence[int] = ()
) -> go.Figure:
    """Plot the range of every coefficient over the draws inside the set, and the best model.

    Parameters
    ----------
    models : RashomonSet or ReleasedSet
        Draws: the curator's with the certified best model, or all released draws, inside ψ or not.
    highlight : sequence of int
        Row numbers of draws to mark with rings; those outside the curator's set are not shown.

    Returns
    -------
    plotly.graph_objects.Figure
        One row per coefficient, widest first; a message if no draw lies inside.

    Raises
    ------
    TypeError
        If given models without coefficients.
    """
    models = text.need_linear(models, "plot_coefficient_spread")
    counts = text.models_within_psi(models)
    if counts.is_empty:
        return text.empty_set_figure(_TITLE, models)
    table, unit = coefficient_spread(counts.models), "coefficient, per scaled unit"
    figure = marks.range_bars(table, _TITLE, unit, counts.words, of="coefficient", over=counts.span)
    marks.ring(figure, table, np.asarray(counts.models.coef)[counts.highlighted(highlight)])
    return text.models_band(figure, models)


MOST_NUMBERS = 12
"""Maximum number of values of one query in the figure, which states their total number."""

_LONGEST_NAME = 34  # fits "selection rate gap of draw 12"
_ROW = 26  # pixels per number
_WHOLE = [-0.02, 1.02]  # range of all shares, with room for a dot at either end
_GAP = 56  # pixels between two queries, for the axis


def plot_released(released: ReleasedAggregates, *, confidence: float = 0.95) -> go.Figure:
    """Plot released numbers with intervals that include the noise.

    Parameters
    ----------
    released : Released
        Aggregates that are charged, hence public.
    confidence : float, default=0.95
        Confidence of the intervals, which are for the rows that were read.

    Returns
    -------
    plotly.graph_objects.Figure
        One strip per query, with a green band that states the privacy cost. Shares and rates have
        an axis from 0 to 1, so that strips can be compared; other numbers have their own axis.

    Raises
    ------
    TypeError
        If given anything else: figures that may leave the curator show no exact values.
    ValueError
        If ``confidence`` is not between 0 and 1.
    """
    if not isinstance(released, ReleasedAggregates):
        raise TypeError(
            "plot_released makes a figure for release and needs released aggregates, got "
            f"{type(released).__name__}; use release.release(...)"
        )
    counts = [min(len(answer.statistics), MOST_NUMBERS) for answer in released.answers]
    inner = _ROW * sum(counts) + _GAP * len(counts)
    draws = f"of all {text.plural(released.n_draws, 'draw')}, inside ψ or not"
    every = [answer.of_every_model for answer in released.answers]
    scope = ["of every model"] * any(every) + [draws] * (not all(every))
    figure = theme.new_figure(
        "Released aggregates",
        f"{text.percent(confidence, 'down')} intervals, noise included · "
        f"{text.plural(released.n_rows, 'row')}, {' or '.join(scope)}",
        height=inner + 136,
    )
    figure.set_subplots(rows=len(counts), cols=1, row_heights=counts, vertical_spacing=_GAP / inner)
    for row, answer in enumerate(released.answers, start=1):
        _add_strip(figure, row, answer, confidence)
    seed = " · known seed: not private" if released.guarantee.seeded else ""
    doubt = "<br>draws may be far outside the set" if released.doubt else ""
    figure.update_layout(margin={"t": 115 if doubt else 100})  # the band has two or three lines
    cost = released.cost_text.replace(" at δ", "<br>at δ")  # figures may be narrow
    return theme.add_band(figure, "release", f"released at {cost}{seed}{doubt}")


def _interval(low: float, high: float) -> str:
    return f"({text.number(low, rounding='down')} to {text.number(high, rounding='up')})"


def _is_share(statistic: Statistic) -> bool:
    if isinstance(statistic, Measured):
        return (statistic.low, statistic.high) == (0.0, 1.0)
    return isinstance(statistic, RateStatistic | Gap)


def _add_strip(figure: go.Figure, row: int, answer: Answer, confidence: float) -> None:
    statistics = answer.statistics[:MOST_NUMBERS]
    ends = [statistic.interval(confidence) for statistic in statistics]
    # A number that the noise dominates is NaN: it has an interval and no dot, and the bar starts
    # at its middle.
    low, high = np.transpose(ends)
    estimates = np.array([statistic.estimate for statistic in statistics])
    has_estimate = np.isfinite(estimates)
    at = np.where(has_estimate, estimates, (low + high) / 2)
    hover = [
        f"<b>{escape(s.name)}</b><br>{text.number(s.estimate)} {_interval(low, high)}"
        f"<br>{escape(s.note or answer.definition)}"
        for s, (low, high) in zip(statistics, ends, strict=True)
    ]
    error = {"type": "data", "symmetric": False, "array": high - at, "arrayminus": at - low}
    error |= {"color": theme.BLUE, "thickness": 1.6, "width": 5}
    marker = {"size": 8, "color": theme.BLUE, "opacity": has_estimate.astype(float)}
    look = {"showlegend": False, "marker": marker, "error_x": error, "row": row, "col": 1}
    rows = list(range(len(statistics)))
    marks.add_marks(figure, at, rows, answer.query, hover, **look)
    names = text.short_names([statistic.name for statistic in statistics], _LONGEST_NAME)
    ends_of_axis = [len(statistics) - 0.5, -0.5]
    ticks = {"tickmode": "array", "tickvals": rows, "ticktext": names, "range": ends_of_axis}
    figure.update_yaxes(**ticks, row=row, col=1)
    if all(_is_share(statistic) for statistic in statistics):
        figure.update_xaxes(range=_WHOLE, row=row, col=1)
    left_out = len(answer.statistics) - len(statistics)
    title = answer.query if not left_out else f"{answer.query} · {left_out} more in the table"
    figure.update_xaxes(title={"text": title}, row=row, col=1)


def coefficients_table(models: RashomonSet | ReleasedSet) -> pd.DataFrame:
    """Tabulate the coefficients of every draw."""
    index = pd.RangeIndex(models.n_draws, name="draw")
    return pd.DataFrame(models.coef, columns=list(models.parameter_names), index=index)


def spread_table(models: RashomonSet | ReleasedSet) -> pd.DataFrame:
    """Tabulate the spread of every coefficient."""
    return coefficient_spread(text.need_inside(models))


SPREAD = registry.FigureSpec(
    name="coefficient_spread",
    title="Range of each coefficient",
    label="Range, middle 90 % and median of every coefficient over the draws",
    terms=("coefficient",),
    plot=plot_coefficient_spread,
    table=spread_table,
    audience=registry.BOTH,
    families=registry.LINEAR,
    needs=("models", "selection", "inside"),
    marks=("sampled",),
)
FIGURES = (
    registry.FigureSpec(
        name="coefficients",
        title="Two coefficients, one dot per model",
        short="Two coefficients",
        label="Scatter plot of two coefficients of the drawn models",
        terms=("coefficient", "excess loss"),
        plot=plot_coefficients,
        table=coefficients_table,
        audience=registry.BOTH,
        families=registry.LINEAR,
        needs=("models", "selection", "inside only"),
        selects="models",
    ),
    SPREAD,
    registry.FigureSpec(
        name="aggregates",
        title="Released aggregates",
        label="Released statistics of the private rows, each with its interval",
        terms=("noise", "share of the privacy cost"),
        plot=plot_released,
        table=lambda released: released.table(),
        audience=registry.BOTH,
        needs=("data", "aggregates"),
        marks=("paid",),
        on_demand=True,
    ),
)
