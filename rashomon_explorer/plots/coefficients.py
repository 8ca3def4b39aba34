"""Figures of coefficients and of released aggregates."""

import math
from collections.abc import Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Decimal
from html import escape
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from rashomon_explorer._utils.formatting import as_written
from rashomon_explorer.measures import coefficient_spread
from rashomon_explorer.plots import marks, registry, text, theme
from rashomon_explorer.release import ReleasedAggregates
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

_LONGEST_NAME = 28  # so that a name and its number fit in one line of 340 pixels
_ROW, _LEAST_ROW = 36, 26  # pixels per number: a line of text and its interval
_WHOLE = [-0.02, 1.02]  # range of all shares, with room for a dot at either end
_GAP = 44  # pixels between two units, for the axis
_SHARE = "share"
_UNITS = {
    **dict.fromkeys(("mean_loss", "losses", "mean_excess", "largest_excess", "reliance"), "loss"),
    "group_sizes": "people",
    "coefficients": "coefficient, per scaled unit",
}


def plot_released(released: ReleasedAggregates, *, confidence: float = 0.95) -> go.Figure:
    """Plot released numbers as a table: name, value and interval above a mark.

    Parameters
    ----------
    released : Released
        Aggregates that are charged, hence public.
    confidence : float, default=0.95
        Confidence of the intervals, which include the noise and are for the rows that were read.

    Returns
    -------
    plotly.graph_objects.Figure
        All shares on one axis from 0 to 1, other units on axes below, and a green band that states
        the privacy cost. Numbers that are smaller than their noise have a warning sign.

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
    by_unit: dict[str, list[tuple[Statistic, str]]] = {}
    left_out = 0
    for answer in released.answers:
        shown = answer.statistics[:MOST_NUMBERS]
        left_out += len(answer.statistics) - len(shown)
        unit = _UNITS.get(answer.query, answer.query.replace("_", " "))
        unit = _SHARE if all(map(_is_share, shown)) else unit
        by_unit.setdefault(unit, []).extend((number, answer.definition) for number in shown)
    units = sorted(by_unit, key=lambda unit: unit != _SHARE)
    counts = [len(by_unit[unit]) for unit in units]
    draws = f"of all {text.plural(released.n_draws, 'draw')}, inside ψ or not"
    every = [answer.of_every_model for answer in released.answers]
    scope = ["of every model"] * any(every) + [draws] * (not all(every))
    noisy = any(noise_exceeds(number, confidence) for number in released)
    notes = text.join_notes(
        f"{text.percent(confidence, 'down')} intervals, noise included",
        f"{text.plural(released.n_rows, 'row')}, {' or '.join(scope)}",
        "⚠: the noise exceeds the number" * noisy,
        f"{left_out} more in the table" * bool(left_out),
    )
    doubt = "<br>draws may be far outside the set" if released.doubt else ""
    top = 100 if doubt else 84  # the band has one or two lines
    inner = _ROW * sum(counts) + _GAP * (len(counts) - 1)
    figure = theme.new_figure("Released aggregates", notes, height=top + inner + _GAP)
    spacing = _GAP / inner if len(counts) > 1 else 0
    figure.set_subplots(rows=len(counts), cols=1, row_heights=counts, vertical_spacing=spacing)
    for row, unit in enumerate(units, start=1):
        _add_numbers(figure, row, unit, by_unit[unit], confidence)
    figure.update_layout(margin={"t": top, "b": _GAP, "l": 18})
    seed = " · known seed: not private" if released.guarantee.seeded else ""
    theme.add_band(figure, "release", f"released: {released.cost_text} by itself{seed}{doubt}")
    figure.layout.meta |= {"least": figure.layout.height - 50 - (_ROW - _LEAST_ROW) * sum(counts)}
    return figure


def released_number(number: Statistic, confidence: float = 0.95) -> str:
    """Text of a released number and its interval, rounded outwards: "37.6% (37.5 to 37.7)"."""
    factor, sign = (100, "%") if _is_share(number) else (1, "")
    low, high = number.interval(confidence)
    half = factor * (high - low) / 2
    digits = min(max(math.ceil(-math.log10(half)) + (not sign), 0), 6) if half > 0 else 4

    def rounded(value: float, rounding: str) -> str:
        step = Decimal(1).scaleb(-digits)
        exact = (factor * as_written(value)).quantize(step, rounding=rounding) + 0  # not −0
        return f"{exact:,f}".replace("-", "−")

    known = math.isfinite(number.estimate)
    value = f"{rounded(number.estimate, ROUND_HALF_EVEN)}{sign}" if known else "unknown"
    return f"{value} ({rounded(low, ROUND_FLOOR)} to {rounded(high, ROUND_CEILING)})"


def noise_exceeds(number: Statistic, confidence: float = 0.95) -> bool:
    """Whether the interval reaches as far from the number as the number from 0."""
    low, high = number.interval(confidence)
    return not max(high - number.estimate, number.estimate - low) < abs(number.estimate)


def _is_share(number: Statistic) -> bool:
    if isinstance(number, Measured):
        return (number.low, number.high) == (0.0, 1.0)
    return isinstance(number, RateStatistic | Gap)


def _add_numbers(
    figure: go.Figure,
    row: int,
    unit: str,
    numbers: Sequence[tuple[Statistic, str]],
    confidence: float,
) -> None:
    # A number that the noise dominates is NaN: it has an interval and no dot, and the bar starts
    # at its middle.
    low, high = np.transpose([number.interval(confidence) for number, _ in numbers])
    estimates = np.array([number.estimate for number, _ in numbers])
    has_estimate = np.isfinite(estimates)
    at = np.where(has_estimate, estimates, (low + high) / 2)
    names = text.short_names([text.sentence(n.name)[:-1] for n, _ in numbers], _LONGEST_NAME)
    stated, hover = [], []
    for place, (number, definition) in enumerate(numbers):
        exceeds = noise_exceeds(number, confidence)
        stated.append(f"{'⚠ ' * exceeds}{released_number(number, confidence)}")
        note = escape(number.note or definition)
        hover.append(f"<b>{escape(number.name)}</b><br>{stated[-1]}<br>{note}")
        line: dict[str, Any] = {
            "xref": "paper",
            "y": place - 0.2,
            "showarrow": False,
            "font": {"size": 12.5},
        }
        name: dict[str, Any] = {"x": 0, "xanchor": "left", "text": names[place], "name": "name"}
        value: dict[str, Any] = {"x": 1, "xanchor": "right", "name": "number"}
        value["text"] = f"<b>{stated[-1].replace(' (', '</b> (')}"
        for words in (name, value):
            figure.add_annotation(yref=f"y{row}", **words, **line)
    error = {"type": "data", "symmetric": False, "array": high - at, "arrayminus": at - low}
    error |= {"color": theme.BLUE, "thickness": 2, "width": 4}
    marker = {"size": 9, "color": theme.BLUE, "opacity": has_estimate.astype(float)}
    look = {"showlegend": False, "marker": marker, "error_x": error, "row": row, "col": 1}
    places = np.arange(len(numbers)) + 0.25
    marks.add_marks(figure, at, places, unit, hover, **look)
    axis = {"range": [len(numbers) - 0.5, -0.5], "tickvals": places, "showticklabels": False}
    figure.update_yaxes(**axis, row=row, col=1)
    title = {"text": "" if unit == _SHARE else unit, "standoff": 2}
    of_axis: dict[str, Any] = {"title": title}
    of_axis |= {"range": _WHOLE, "tickformat": ".0%"} if unit == _SHARE else {"nticks": 5}
    figure.update_xaxes(**of_axis, row=row, col=1)


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
