"""Figures of the report alone, and how any figure is written into the page."""

import json
from typing import Any

import pandas as pd
import plotly.graph_objects as go

from rashomon_explorer.plots.theme import (
    CATEGORIES,
    VERMILLION,
    curator_band,
    new_figure,
)

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
