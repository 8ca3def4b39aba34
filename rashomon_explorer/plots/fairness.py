"""Fairness over the Rashomon set: what fairness costs in accuracy, and how far gaps range."""

from collections.abc import Sequence
from html import escape

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from rashomon_explorer.measures.fairness import FairnessAudit
from rashomon_explorer.plots._checks import shown_points
from rashomon_explorer.plots.bands import models_band
from rashomon_explorer.plots.fading import edges
from rashomon_explorer.plots.text import number, plural
from rashomon_explorer.plots.theme import (
    BEST_MODEL,
    BLUE,
    GREEN,
    GREY,
    LOSS_SCALE,
    PURPLE,
    SKY,
    new_figure,
)

_MOST_DOTS = 4_000


def plot_frontier(
    audit: FairnessAudit,
    gap: str | None = None,
    *,
    by: str | None = None,
    highlight: Sequence[int] = (),
) -> go.Figure:
    """Plot accuracy (or loss) against a group gap, one dot a model inside ψ.

    Parameters
    ----------
    audit : FairnessAudit
        From ``measures.fairness_audit`` (curator only).
    gap : str, optional
        One of ``audit.gaps``, by default the first.
    by : str, optional
        ``"accuracy"`` or ``"loss"``, as in ``audit.frontier``.
    highlight : sequence of int
        Models to ring, by their place in the set.

    Returns
    -------
    plotly.graph_objects.Figure
        The frontier is the line; × is the best model and ◇ the least unfair one.

    Raises
    ------
    TypeError
        If given something else than an audit: gaps read private rows.
    ValueError
        If a name is not known.
    """
    audit = _need_audit(audit, "plot_frontier")
    gap = audit.gaps[0] if gap is None else gap
    by = audit.quality if by is None else by
    line, fairest = audit.frontier(gap, by=by), audit.least_unfair(gap)
    kept, note = shown_points(len(audit.table))
    told = [_traded(audit, gap, by, fairest), "chosen on these rows: too good elsewhere", note]
    figure = new_figure("What fairness costs", " · ".join(filter(None, told)))
    figure.add_trace(_dots(audit.table.iloc[kept], gap, by, audit.psi, highlight))
    figure.add_trace(_staircase(line, gap, by))
    _mark(figure, "best model", audit.best, gap, by, ("x", BEST_MODEL))
    _mark(figure, "least unfair", fairest, gap, by, ("diamond", GREEN))
    equal = 1 if gap.endswith("_ratio") else 0
    figure.update_layout(
        xaxis={
            "title": f"{_words(gap)} ({equal} is equal)",
            "zeroline": True,
            "rangemode": "normal" if equal else "tozero",
        },
        yaxis={"title": _words(by), "tickformat": ".1%" if by == "accuracy" else None},
        dragmode="select",
        uirevision=f"{gap},{by}",
    )
    return models_band(figure, audit.models)


def plot_fairness_range(audit: FairnessAudit, *, highlight: Sequence[int] = ()) -> go.Figure:
    """Plot the range of every gap over the models inside ψ, with a dot a model.

    Parameters
    ----------
    audit : FairnessAudit
        From ``measures.fairness_audit`` (curator only).
    highlight : sequence of int
        Models to show in purple, by their place in the set.

    Returns
    -------
    plotly.graph_objects.Figure
        One row a gap; the bar is an inner bound of the set's own range, × the best model.

    Raises
    ------
    TypeError
        If given something else than an audit: gaps read private rows.
    """
    audit = _need_audit(audit, "plot_fairness_range")
    ranges = audit.ranges().iloc[::-1]
    models = plural(len(audit.table), "model")
    figure = new_figure(
        "How unequal almost equally good models are",
        f"{models} inside ψ = {number(audit.psi)} · ranges are inner bounds of the set's own",
        height=max(320, 170 + 34 * len(ranges)),
    )
    rows = np.arange(len(ranges))
    _bars(figure, ranges, rows)
    _columns_of_dots(figure, audit.table[ranges.index], highlight)
    figure.add_scatter(
        x=ranges["best"].to_numpy(np.float32),
        y=rows,
        mode="markers",
        name="best model",
        marker={"symbol": "x", "size": 10, "color": BEST_MODEL},
        hovertemplate="best model: %{x:.4g}<extra></extra>",
    )
    equal = "ratio between groups (1 is equal)"
    unequal = "gap between groups (0 is equal)"
    figure.update_layout(
        barmode="overlay",
        xaxis={"title": equal if audit.task.agg == "ratio" else unequal, "zeroline": True},
        yaxis={
            "tickmode": "array",
            "tickvals": rows,
            "ticktext": [_metric(name) for name in ranges.index],
            "range": [-0.6, len(ranges) - 0.4],
            "showgrid": False,
        },
    )
    return models_band(figure, audit.models)


def _need_audit(given: object, plot: str) -> FairnessAudit:
    if isinstance(given, FairnessAudit):
        return given
    raise TypeError(
        f"{plot} shows values computed from private rows and needs a FairnessAudit, got "
        f"{type(given).__name__}; measures.fairness_audit makes one of a RashomonSet and rows"
    )


def _traded(audit: FairnessAudit, gap: str, by: str, fairest: pd.Series) -> str:
    gaps = f"{number(fairest[gap], 2)} instead of {number(audit.best[gap], 2)}"
    if by != "accuracy":
        return f"least unfair: {gaps}, for {_words(by)} {number(fairest[by] - audit.best[by], 2)}"
    points = 100 * (audit.best[by] - fairest[by])
    return f"least unfair: {gaps}, for {points:.1f} points of accuracy".replace("-", "−")


def _dots(
    table: pd.DataFrame, gap: str, by: str, psi: float, highlight: Sequence[int]
) -> go.Scatter:
    chosen = table.index.isin(list(highlight))
    excess = table["excess"].to_numpy(np.float32)
    top = psi if np.isfinite(psi) else float(excess.max(initial=0.0))
    return go.Scatter(
        x=table[gap].to_numpy(np.float32),
        y=table[by].to_numpy(np.float32),
        customdata=table.index.to_numpy(),
        text=[number(float(value)) for value in excess],
        mode="markers",
        name="draw",
        showlegend=False,
        marker={
            "size": np.where(chosen, 12, 7),
            "color": excess,
            "colorscale": LOSS_SCALE,
            "cmin": 0,
            "cmax": top or 1.0,
            "line": edges(chosen, 3, 0.6),
            "colorbar": {
                "title": {"text": "excess<br>loss", "side": "top", "font": {"size": 12}},
                "thickness": 12,
                "len": 0.9,
                "outlinewidth": 0,
                "tickformat": "~g",
                "nticks": 5,
            },
        },
        hovertemplate=f"draw %{{customdata}}<br>{_words(gap)} %{{x:.4f}}<br>"
        f"{_words(by)} %{{y:.4f}}<br>excess loss %{{text}}<extra></extra>",
    )


def _staircase(line: pd.DataFrame, gap: str, by: str) -> go.Scatter:
    # From the least unfair on: what quality a gap of at most x allows.
    steps = line.iloc[::-1]
    return go.Scatter(
        x=steps[gap].to_numpy(np.float32),
        y=steps[by].to_numpy(np.float32),
        mode="lines",
        name="frontier",
        line={"shape": "hv", "color": GREY, "width": 1.6},
        hoverinfo="skip",
    )


def _mark(
    figure: go.Figure, name: str, model: pd.Series, gap: str, by: str, look: tuple[str, str]
) -> None:
    symbol, colour = look
    figure.add_scatter(
        x=[model[gap]],
        y=[model[by]],
        mode="markers",
        name=name,
        marker={
            "symbol": symbol,
            "size": 13,
            "color": colour,
            "line": {"color": "white", "width": 1},
        },
        hovertemplate=f"{name}<br>%{{x:.4f}}, %{{y:.4f}}<extra></extra>",
    )


def _bars(figure: go.Figure, ranges: pd.DataFrame, rows: np.ndarray) -> None:
    hover = [
        f"<b>{_metric(str(name))}</b><br>models: {number(row['low'])} to {number(row['high'])}, "
        f"median {number(row['median'])} (inner bounds)<br>best model: {number(row['best'])}<br>"
        f"{100 * row['share_fairer']:.0f} % of the models are fairer"
        for name, row in ranges.iterrows()
    ]
    figure.add_bar(
        orientation="h",
        y=rows,
        base=ranges["low"].to_numpy(np.float32),
        x=(ranges["high"] - ranges["low"]).to_numpy(np.float32),
        width=0.42,
        marker={"color": SKY, "opacity": 0.55, "line": {"width": 0}},
        name="range over the models",
        hovertext=hover,
        hovertemplate="%{hovertext}<extra></extra>",
    )


def _columns_of_dots(figure: go.Figure, values: pd.DataFrame, highlight: Sequence[int]) -> None:
    most = max(1, _MOST_DOTS // values.shape[1])
    some = np.unique(np.linspace(0, len(values) - 1, min(most, len(values))).astype(int))
    chosen = values.index.isin(list(highlight))
    for part, name, colour, size in (
        (values.iloc[some], "draw", BLUE, 4),
        (values[chosen], "selected draws", PURPLE, 8),
    ):
        if len(part):
            figure.add_scatter(
                x=part.to_numpy(np.float32).ravel(),
                y=np.tile(np.arange(values.shape[1]), len(part)),
                customdata=np.repeat(part.index.to_numpy(), values.shape[1]),
                mode="markers",
                name=name,
                marker={
                    "size": size,
                    "color": "white",
                    "line": {"width": size / 5, "color": colour},
                },
                hovertemplate="draw %{customdata}: %{x:.4g}<extra></extra>",
            )


def _metric(column: str) -> str:
    return _words(column.rsplit("_", 1)[0])


def _words(name: str) -> str:
    return escape(name.replace("_", " "))
