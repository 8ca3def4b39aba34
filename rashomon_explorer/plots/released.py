"""Released aggregates with their error bars, in a figure that may leave the building."""

import math
from html import escape

import plotly.graph_objects as go

from rashomon_explorer.plots.text import number, percent, plural, short_names
from rashomon_explorer.plots.theme import BLUE, add_band, new_figure
from rashomon_explorer.release import ReleasedAggregates
from rashomon_explorer.release.released import Answer
from rashomon_explorer.release.statistic import Gap, Measured, RateStatistic, Statistic

MOST_NUMBERS = 12
"""Numbers of one query that are drawn; the figure says how many there are, the table has all."""

_LONGEST_NAME = 34  # room for "selection rate gap of draw 12"
_ROW = 26  # pixels a number
_WHOLE = [-0.02, 1.02]  # all shares there are, with room for a dot at either end
_GAP = 56  # pixels between two queries, for the axis


def plot_released(released: ReleasedAggregates, *, confidence: float = 0.95) -> go.Figure:
    """Plot released numbers with intervals that have the noise in them.

    Parameters
    ----------
    released : Released
        Paid for, hence public.
    confidence : float, default=0.95
        Of the intervals, for the rows that were read.

    Returns
    -------
    plotly.graph_objects.Figure
        A strip a query under a green band with the price. Shares and rates are all drawn from 0 to
        1, so that strips can be compared; other numbers have an axis of their own.

    Raises
    ------
    TypeError
        If given anything else: exact values go to no figure that may leave the building.
    ValueError
        If ``confidence`` is not between 0 and 1.
    """
    if not isinstance(released, ReleasedAggregates):
        raise TypeError(
            "plot_released makes a figure that may leave the building and needs a Released, got "
            f"{type(released).__name__}; make one with release.release(...)"
        )
    counts = [min(len(answer.statistics), MOST_NUMBERS) for answer in released.answers]
    inner = _ROW * sum(counts) + _GAP * len(counts)
    figure = new_figure(
        "Released aggregates",
        f"{percent(confidence, 'down')} intervals, noise included · "
        f"{plural(released.n_rows, 'row')}, of all {plural(released.n_draws, 'draw')}, inside the "
        "set or not",
        height=inner + 136,
    )
    figure.set_subplots(rows=len(counts), cols=1, row_heights=counts, vertical_spacing=_GAP / inner)
    for row, answer in enumerate(released.answers, start=1):
        _add_strip(figure, row, answer, confidence)
    seed = " · known seed: not private" if released.guarantee.reproducible else ""
    doubt = "<br>draws may be far outside the set" if released.doubt else ""
    figure.update_layout(margin={"t": 115 if doubt else 100})  # the band has two lines, or three
    paid = released.price.replace(" at δ", "<br>at δ")  # figures may be narrow
    return add_band(figure, "release", f"released: paid with {paid}{seed}{doubt}")


def _interval(low: float, high: float) -> str:
    """Round outwards, so that it holds what it is said to hold."""
    return f"({number(low, rounding='down')} to {number(high, rounding='up')})"


def _is_share(statistic: Statistic) -> bool:
    if isinstance(statistic, Measured):
        return (statistic.low, statistic.high) == (0.0, 1.0)
    return isinstance(statistic, RateStatistic | Gap)


def _add_strip(figure: go.Figure, row: int, answer: Answer, confidence: float) -> None:
    shown = answer.statistics[:MOST_NUMBERS]
    ends = [statistic.interval(confidence) for statistic in shown]
    # A number that the noise hides is NaN: it has an interval and no dot, and the bar hangs on
    # its middle.
    known = [not math.isnan(s.estimate) for s in shown]
    at = [
        s.estimate if dot else (low + high) / 2
        for s, dot, (low, high) in zip(shown, known, ends, strict=True)
    ]
    hover = [
        f"<b>{escape(s.name)}</b><br>{number(s.estimate)} {_interval(low, high)}"
        f"<br>{escape(s.note or answer.definition)}"
        for s, (low, high) in zip(shown, ends, strict=True)
    ]
    figure.add_scatter(
        x=at,
        y=list(range(len(shown))),
        mode="markers",
        name=answer.query,
        showlegend=False,
        marker={"size": 8, "color": BLUE, "opacity": [1.0 if dot else 0.0 for dot in known]},
        error_x={
            "type": "data",
            "symmetric": False,
            "array": [high - x for x, (_, high) in zip(at, ends, strict=True)],
            "arrayminus": [x - low for x, (low, _) in zip(at, ends, strict=True)],
            "color": BLUE,
            "thickness": 1.6,
            "width": 5,
        },
        hovertext=hover,
        hovertemplate="%{hovertext}<extra></extra>",
        row=row,
        col=1,
    )
    figure.update_yaxes(
        tickmode="array",
        tickvals=list(range(len(shown))),
        ticktext=short_names([statistic.name for statistic in shown], _LONGEST_NAME),
        range=[len(shown) - 0.5, -0.5],
        row=row,
        col=1,
    )
    if all(_is_share(statistic) for statistic in shown):
        figure.update_xaxes(range=_WHOLE, row=row, col=1)
    left_out = len(answer.statistics) - len(shown)
    title = answer.query if not left_out else f"{answer.query} · {left_out} more in the table"
    figure.update_xaxes(title={"text": title}, row=row, col=1)
