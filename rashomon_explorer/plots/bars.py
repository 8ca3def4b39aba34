"""Bar charts of ranges."""

from collections.abc import Sequence
from html import escape
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from numpy.typing import ArrayLike

from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer.plots import theme
from rashomon_explorer.plots.text import join_notes, number, plural, short_names


def row_axis(names: Sequence[str]) -> dict[str, Any]:
    """Vertical axis with one name for each row."""
    return {
        "tickmode": "array",
        "tickvals": np.arange(len(names)),
        "ticktext": names,
        "range": [-0.6, len(names) - 0.4],
        "showgrid": False,
    }


def add_bars(
    figure: go.Figure, low: ArrayLike, high: ArrayLike, hover: Sequence[str], **look: Any
) -> None:
    """Add one horizontal bar a row, from `low` to `high`."""
    first, last = np.asarray(low, dtype=float), np.asarray(high, dtype=float)
    marker = {"line": {"width": 0}, **look.pop("marker")}
    figure.add_bar(
        orientation="h",
        y=look.pop("y", np.arange(len(first))),
        base=first.astype(np.float32),
        x=(last - first).astype(np.float32),
        marker=marker,
        hovertext=list(hover),
        hovertemplate="%{hovertext}<extra></extra>",
        **look,
    )


def nested_bars(
    figure: go.Figure,
    shown: pd.DataFrame,
    bars: Sequence[tuple[str, str, str, float, str]],
    hover: Sequence[str],
) -> None:
    """Add horizontal bars on top of each other; those named first are at the bottom."""
    for low, high, colour, width, name in bars:
        look = {"width": width, "name": name, "marker": {"color": colour}}
        add_bars(figure, shown[low], shown[high], hover, **look)


def add_best(figure: go.Figure, values: pd.Series, size: float = 9) -> None:
    """Mark the best model's value in each row."""
    figure.add_scatter(
        x=values.to_numpy(np.float32),
        y=np.arange(len(values)),
        mode="markers",
        name="best model",
        marker={"symbol": "x", "size": size, "color": theme.BEST_MODEL},
        hovertemplate="best model: %{x:.4g}<extra></extra>",
    )


def loss_colours(excess: FloatArray, most: float, **bar: Any) -> dict[str, Any]:
    """Colours of dots by excess loss, for a marker."""
    title = {"text": "excess<br>loss", "side": "top", "font": {"size": 12}}
    return {
        "color": excess,
        "colorscale": theme.LOSS_SCALE,
        "cmin": 0,
        "cmax": most,
        "colorbar": {"title": title, "thickness": 12, "outlinewidth": 0, **bar},
    }


SHORT_BAR = {"len": 0.9, "tickformat": "~g", "nticks": 5}
"""Look of the colour bar beside a single plot."""

MOST_FEATURES = 12
"""Maximum number of rows in the figure, the widest first; the table has all."""


def range_bars(
    table: pd.DataFrame,
    title: str,
    unit: str,
    *notes: str,
    of: str = "feature",
    over: str = "all draws",
) -> go.Figure:
    """Plot the range of each row of a table, the widest first."""
    width = (table["max"] - table["min"]).to_numpy()
    order = np.argsort(-width, kind="stable")[:MOST_FEATURES]
    ordered = table.iloc[order[::-1]]
    cut = "" if len(table) <= MOST_FEATURES else f"{MOST_FEATURES} widest of {len(table)} {of}s"
    figure = theme.new_figure(title, join_notes(cut or plural(len(table), of), *notes))
    rows = np.arange(len(ordered))
    hover = [
        f"<b>{escape(str(name))}</b><br>{number(row['min'])} to {number(row['max'])}"
        f"<br>5–95 %: {number(row['q05'])} to {number(row['q95'])}"
        f"<br>median {number(row['median'])}"
        for name, row in ordered.iterrows()
    ]
    bars = [
        ("min", "max", theme.SKY, 0.30, over),
        ("q05", "q95", theme.BLUE, 0.52, "middle 90 %"),
    ]
    nested_bars(figure, ordered, bars, hover)
    figure.add_scatter(
        x=ordered["median"].to_numpy(np.float32),
        y=rows,
        mode="markers",
        name="median",
        marker={
            "symbol": "diamond",
            "size": 8,
            "color": "white",
            "line": {"width": 1.5, "color": theme.GREY},
        },
        hovertext=hover,
        hovertemplate="%{hovertext}<extra></extra>",
    )
    if "best" in ordered and not ordered["best"].isna().all():
        add_best(figure, ordered["best"])
    figure.update_layout(
        barmode="overlay",
        xaxis={"title": unit, "zeroline": True, "zerolinewidth": 1.5},
        yaxis=row_axis(short_names(ordered.index)),
        height=max(360, 150 + 24 * len(ordered)),
        meta={"features": [str(name) for name in ordered.index]},
    )
    return figure


def ring(figure: go.Figure, table: pd.DataFrame, values: FloatArray) -> None:
    """Mark the values of some draws with rings in a figure of :func:`range_bars`."""
    if not len(values):
        return
    row_of = {name: row for row, name in enumerate(figure.layout.meta["features"])}
    columns = [(c, row_of[str(n)]) for c, n in enumerate(table.index) if str(n) in row_of]
    figure.add_scatter(
        x=np.concatenate([values[:, column] for column, _ in columns]).astype(np.float32),
        y=np.repeat([row for _, row in columns], len(values)),
        mode="markers",
        name="selected draws",
        marker={
            "symbol": "circle-open",
            "size": 8,
            "color": theme.PURPLE,
            "line": {"width": 2, "color": theme.PURPLE},
        },
        hovertemplate="selected draw: %{x:.4g}<extra></extra>",
    )
