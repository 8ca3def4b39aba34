"""Figures of the report alone, and how any figure is written into the page."""

import json
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from rashomon_explorer.plots.theme import (
    BLUE,
    CATEGORIES,
    GREY,
    VERMILLION,
    curator_band,
    new_figure,
)
from rashomon_explorer.privacy import Guarantee

# WebGL traces compile code, which the page's own security policy forbids.
_DRAWN_AS = {"scattergl": "scatter"}


def figure_json(figure: go.Figure) -> str:
    """Write a figure as JSON that may stand inside a script element.

    Without any ``<``, so that no text in it can end the element; without the template, which the
    page has once for all figures.

    >>> "<" in figure_json(new_figure("</script><b>"))
    False
    """
    plain: dict[str, Any] = json.loads(figure.to_json())
    plain["layout"].pop("template", None)
    for trace in plain["data"]:
        trace["type"] = _DRAWN_AS.get(trace.get("type", "scatter"), trace.get("type", "scatter"))
    return json_for_script(plain)


def json_for_script(values: Any) -> str:
    """Write plain values as JSON without any ``<``.

    Examples
    --------
    >>> len(json_for_script({"a": "</b>"})), "<" in json_for_script({"a": "</b>"})
    (17, False)
    """
    text = json.dumps(values, ensure_ascii=False, separators=(",", ":"), sort_keys=True)
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def tradeoff_table(guarantee: Guarantee) -> pd.DataFrame:
    """Least type II error of any test between neighbours, at a few type I errors."""
    levels = np.concatenate([[0.0, 0.001, 0.01], np.linspace(0.02, 1.0, 50)])
    index = pd.Index(levels, name="false alarms at most")
    return pd.DataFrame({"misses at least": guarantee.tradeoff(levels)}, index=index)


def plot_tradeoff(table: pd.DataFrame) -> go.Figure:
    """Plot what a test for one record can do: misses against false alarms.

    Below the curve no test gets.
    """
    figure = new_figure(
        "What can be told about one record",
        "no test between neighbouring data sets gets below the curve; the diagonal is guessing",
    )
    figure.add_scatter(
        x=[0, 1],
        y=[1, 0],
        mode="lines",
        name="guessing: nothing told",
        line={"color": GREY, "dash": "dot", "width": 2},
        hoverinfo="skip",
    )
    figure.add_scatter(
        x=table.index.to_numpy(),
        y=table["misses at least"].to_numpy(),
        mode="lines",
        name="proved",
        line={"color": BLUE, "width": 2.5},
        hovertemplate="false alarms %{x:.1%}: misses at least %{y:.1%}<extra></extra>",
    )
    figure.update_layout(
        xaxis={"title": "false alarms (type I error)", "range": [0, 1], "tickformat": ".0%"},
        yaxis={"title": "misses (type II error)", "range": [-0.02, 1.02], "tickformat": ".0%"},
        margin={"b": 96},
    )
    return figure


def plot_curves(table: pd.DataFrame, psi: float, *, guaranteed: bool) -> go.Figure:
    """Plot measures over the Rashomon threshold (curator only)."""
    figure = new_figure(
        "Multiplicity over the threshold", "nested sets, from the same draws: no further sampling"
    )
    for name, colour in zip(table.columns, CATEGORIES, strict=False):
        figure.add_scatter(
            x=table.index.to_numpy(),
            y=table[name].to_numpy(),
            mode="lines+markers",
            name=str(name),
            line={"color": colour, "width": 2},
            marker={"size": 5},
            hovertemplate=f"{name} at ψ = %{{x:.3g}}: %{{y:.3g}}<extra></extra>",
        )
    figure.add_vline(x=psi, line={"color": VERMILLION, "dash": "dash", "width": 2})
    figure.update_layout(
        xaxis={"title": "ψ", "rangemode": "tozero"},
        yaxis={"title": "measure", "rangemode": "tozero"},
        margin={"b": 96},
    )
    return curator_band(figure, guaranteed=guaranteed)
