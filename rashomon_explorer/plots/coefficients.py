"""Figures of coefficients and of released aggregates."""

from collections.abc import Sequence
from html import escape

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from rashomon_explorer.measures import coefficient_spread
from rashomon_explorer.plots import marks, registry, text, theme
from rashomon_explorer.release import ReleasedAggregates
from rashomon_explorer.release.released import Answer
from rashomon_explorer.release.statistic import Gap, Measured, RateStatistic, Statistic
from rashomon_explorer.sets import RashomonSet, ReleasedSet

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
