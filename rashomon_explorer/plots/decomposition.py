"""Decomposition of disagreement into model-set width and mechanism noise."""

from functools import wraps
from html import escape
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer.exceptions import DataError
from rashomon_explorer.measures import disagreement_decomposition
from rashomon_explorer.measures.decomposition import DisagreementDecomposition
from rashomon_explorer.plots import marks, registry
from rashomon_explorer.plots.text import join_notes, number, percent, plural, short_names
from rashomon_explorer.plots.theme import BLUE, GREY, ORANGE, curator_band, new_figure

MOST_GROUPS = 20
"""Maximum number of groups in the figure, the largest first."""


def plot_decomposition(found: DisagreementDecomposition) -> go.Figure:
    """Plot model-set width and mechanism noise as stacked bars, for all rows and each group.

    Parameters
    ----------
    found : DisagreementDecomposition
        Result of ``measures.disagreement_decomposition`` (curator only).

    Returns
    -------
    plotly.graph_objects.Figure
        One bar per group, from 0 over the width to the total. Whiskers are the intervals of the
        width and of the noise, which starts at the value of the width. Bars of negative noise run
        backwards.

    Raises
    ------
    TypeError
        If given any other type.

    Examples
    --------
    >>> from rashomon_explorer import RashomonClassifier
    >>> from rashomon_explorer.measures import disagreement_decomposition
    >>> X, y = [[0.9], [0.6], [-0.7], [-0.5]] * 50, [1, 0, 0, 1] * 50
    >>> settings = {"mechanism": "exact", "psi": 0.05, "epsilon": 500.0, "n_draws": 60}
    >>> models = RashomonClassifier(**settings, random_state=0).fit(X, y).rashomon_set_
    >>> figure = plot_decomposition(disagreement_decomposition(models, X))
    >>> [trace.name for trace in figure.data]
    ['the set', 'the mechanism', 'interval of the width', 'interval of the noise']
    """
    if not isinstance(found, DisagreementDecomposition):
        raise TypeError(
            "plot_decomposition needs the result of measures.disagreement_decomposition(models, "
            f"X), got {type(found).__name__}"
        )
    table, note = _rows(found)
    note = join_notes(_note(found), note)
    figure = new_figure(decomposition_text(found), note)
    nothing, width = np.zeros(len(table)), table["width"].to_numpy()
    _bar(figure, table, "width", nothing, BLUE, "the set")
    _bar(figure, table, "noise", width, ORANGE, "the mechanism")
    _whiskers(figure, table, "width", nothing, 0.12)
    _whiskers(figure, table, "noise", width, -0.12)
    names = [
        name if np.isnan(rows) else f"{name} ({rows:,.0f})"
        for name, rows in zip(short_names(table.index), table["rows"], strict=True)
    ]
    axis = {"title": "mean difference of two draws", "rangemode": "tozero"}
    marks.lay_out_rows(figure, names, max(300, 170 + 44 * len(table)), **axis)
    return curator_band(figure, guaranteed=found.guaranteed)


def decomposition_text(found: DisagreementDecomposition) -> str:
    """State the decomposition in one sentence, or that there are too few draws for it."""
    share = found.share_of_noise
    if not np.isfinite(share.value):
        return "All draws agree: there is no disagreement to split"
    if not share.high - share.low < 1:
        drawn = plural(found.n_draws, "draw")
        return f"{drawn} do not show whether their disagreement is model-set width or noise"
    noise = min(max(share.value, 0.0), 1.0)
    return (
        f"{percent(1 - noise)} of the draws' disagreement is model-set width, {percent(noise)} is "
        "mechanism noise"
    )


@wraps(disagreement_decomposition)
def _decompose(models: Any, X: Any, *, groups: Any = None) -> Any:
    try:
        return disagreement_decomposition(models, X, groups=groups)
    except ValueError as error:
        why = str(error).split(": pass")[0]
        raise DataError(f"No decomposition: {why}") from error


def _rows(found: DisagreementDecomposition) -> tuple[pd.DataFrame, str]:
    """Return all rows first, then groups by size, in the order in which bars are stacked."""
    every, groups = found.table.iloc[:1].astype({"rows": float}), found.table.iloc[1:]
    every["rows"] = np.nan
    by_size = groups[groups["rows"] > 0].sort_values("rows", ascending=False)
    note = f"{MOST_GROUPS} largest of {len(by_size)} groups" if len(by_size) > MOST_GROUPS else ""
    return pd.concat([by_size.iloc[:MOST_GROUPS].iloc[::-1], every]), note


def _note(found: DisagreementDecomposition) -> str:
    missed = f"{percent(1 - found.hit_rate.value)} of {plural(found.n_draws, 'draw')}"
    misses = f"{missed} missed the set of ψ = {number(found.psi)}"
    share = found.share_of_noise
    if not np.isfinite(share.value):
        return f"all draws agree · {misses}"
    ends = f"{percent(max(0.0, share.low), 'down')} to {percent(min(1.0, share.high), 'up')}"
    drawn = f"grey: {percent(found.confidence, 'down')} intervals"
    noise_share = percent(min(max(0.0, share.value), 1.0))  # its estimate may lie outside
    return f"{noise_share} ({ends}) is the mechanism's · {misses} · {drawn}"


def _bar(
    figure: go.Figure, table: pd.DataFrame, name: str, base: FloatArray, colour: str, label: str
) -> None:
    value = table[name].to_numpy()
    low, high = (table[f"{name}_{end}"].to_numpy() for end in ("low", "high"))
    hover = [
        f"<b>{escape(str(row))}</b><br>{label}: {number(at)}<br>interval: "
        f"{number(low_end, rounding='down')} to {number(high_end, rounding='up')}"
        f"<br>together: {number(total)}"
        for row, at, low_end, high_end, total in zip(
            table.index, value, low, high, table["total"], strict=True
        )
    ]
    look = {"width": 0.5, "marker": {"color": colour}, "name": label}
    marks.add_bars(figure, base, base + value, hover, **look)


def _whiskers(
    figure: go.Figure, table: pd.DataFrame, name: str, base: FloatArray, up: float
) -> None:
    """Add intervals after all bars, which would otherwise hide half of each interval."""
    value = table[name].to_numpy()
    low, high = (table[f"{name}_{end}"].to_numpy() for end in ("low", "high"))
    # Unknown ends are not drawn; the hover text of the bar states them.
    low_end, high_end = (np.where(np.isfinite(end), end, value) for end in (low, high))
    look = {"marker": {"size": 5, "color": GREY}, "showlegend": False}
    look["error_x"] = marks.whiskers(value, low_end, high_end, 1.8)
    x, y = (base + value).astype(np.float32), np.arange(len(table)) + up
    marks.add_marks(figure, x, y, f"interval of the {name}", **look)


FIGURES = (
    registry.FigureSpec(
        name="decomposition",
        title="Decomposition",
        label="Disagreement of draws split into model-set width and mechanism noise",
        definition=(
            "Draws follow P = hU + (1 − h)Q, U uniform on the set, h the hit rate. "
            "<b>Width</b>: disagreement of two draws from U; <b>noise</b>: the part added by draws "
            "outside the set. Whiskers: 95 % jackknife intervals. All draws are used, regardless "
            "of the selection."
        ),
        measure=_decompose,
        result="found",
        plot=plot_decomposition,
        table=lambda found: found.table,
        needs=("models", "rows", "column", "groups"),
        marks=("sampled",),
        slow=True,
        on_demand=True,
    ),
)
