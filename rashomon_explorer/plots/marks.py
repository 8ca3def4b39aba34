"""Marks that several figures share: points, lines, bands, bars of ranges, thresholds."""

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


def add_marks(
    figure: go.Figure, x: Any, y: Any, name: str | None, hover: Any = "", **look: Any
) -> None:
    """Add markers, or what `mode` says; `hover` is a template, one text a point, or empty."""
    text: dict[str, Any]
    if isinstance(hover, str):
        text = {"hovertemplate": f"{hover}<extra></extra>"} if hover else {"hoverinfo": "skip"}
    else:
        text = {"hovertext": list(hover), "hovertemplate": "%{hovertext}<extra></extra>"}
    figure.add_scatter(**{"x": x, "y": y, "name": name, "mode": "markers", **text, **look})


def mark_best(figure: go.Figure, x: Any, y: Any, hover: str, size: float = 12, **look: Any) -> None:
    """Mark the best model with a vermillion ×."""
    marker = {"symbol": "x", "size": size, "color": theme.BEST_MODEL, **look.pop("marker", {})}
    add_marks(figure, x, y, "best model", f"best model{hover}", marker=marker, **look)


def best_in_rows(figure: go.Figure, values: pd.Series, size: float = 9) -> None:
    """Mark the best model's value in each row."""
    mark_best(figure, values.to_numpy(np.float32), np.arange(len(values)), ": %{x:.4g}", size)


def shade(
    figure: go.Figure, x: Any, ends: tuple[Any, Any], names: tuple[str, str], fill: str, **look: Any
) -> None:
    """Fill the area between two lines; the second has the area's name in the legend."""
    line = {"width": 0, **({"shape": look.pop("shape")} if "shape" in look else {})}
    edge = {"mode": "lines", "line": line, **look}
    add_marks(figure, x, ends[0], names[0], showlegend=False, **edge)
    area = {"fill": "tonexty", "fillcolor": fill, "showlegend": True}
    add_marks(figure, x, ends[1], names[1], **area, **edge)


def threshold_line(figure: go.Figure, psi: float, *, left: bool, **place: Any) -> None:
    """Mark the threshold ψ, with its value to the left or right of the line."""
    figure.add_vline(x=psi, line={"color": theme.VERMILLION, "width": 2, "dash": "dash"})
    side = {"xanchor": "right", "xshift": -6} if left else {"xanchor": "left", "xshift": 6}
    words = {"text": f"ψ = {number(psi)}", "showarrow": False, "font": {"size": 12}}
    figure.add_annotation(x=psi, yref="paper", **words, **side, **place)


def whiskers(value: FloatArray, low: FloatArray, high: FloatArray, thickness: float) -> Any:
    """Horizontal intervals around values."""
    look = {"color": theme.GREY, "thickness": thickness, "width": 3}
    reach = {"array": high - value, "arrayminus": value - low}
    return {name: np.asarray(end, np.float32) for name, end in reach.items()} | look


def widest(table: pd.DataFrame, low: str, high: str) -> Any:
    """Positions of the rows with the widest ranges, the widest last: that is at the top."""
    width = (table[high] - table[low]).to_numpy()
    return np.argsort(-width, kind="stable")[:MOST_FEATURES][::-1]


def lay_out_rows(figure: go.Figure, names: Sequence[str], height: int, **xaxis: Any) -> None:
    """Give each row of a chart of bars or points its name."""
    figure.update_layout(barmode="overlay", xaxis=xaxis, yaxis=row_axis(names), height=height)


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
    table: pd.DataFrame,
    bars: Sequence[tuple[str, str, str, float, str]],
    hover: Sequence[str],
) -> None:
    """Add horizontal bars on top of each other; those named first are at the bottom."""
    for low, high, colour, width, name in bars:
        look = {"width": width, "name": name, "marker": {"color": colour}}
        add_bars(figure, table[low], table[high], hover, **look)


def row_dots(
    figure: go.Figure,
    values: FloatArray,
    name: str,
    size: float,
    width: float,
    colour: str,
    hover: str,
    **look: Any,
) -> None:
    """Add one dot a draw and row, from values of shape (n_draws, n_rows)."""
    x = values.ravel().astype(np.float32)
    y = np.tile(np.arange(values.shape[1]), len(values))
    marker = {"size": size, "color": "white", "line": {"width": width, "color": colour}}
    add_marks(figure, x, y, name, hover, marker=marker, **look)


def excess_dots(
    x: Any, y: Any, draws: ArrayLike, excess: Any, top: float, hover: str, **marker: Any
) -> go.Scatter | go.Scattergl:
    """One dot for each draw, coloured by its excess loss."""
    text = [number(float(value)) for value in excess]
    title = {"text": "excess<br>loss", "side": "top", "font": {"size": 12}}
    bar = {"title": title, "thickness": 12, "outlinewidth": 0, "len": 0.9}
    look = {"color": excess, "colorscale": theme.LOSS_SCALE, "cmin": 0, "cmax": top}
    look |= {"colorbar": {**bar, "tickformat": "~g", "nticks": 5}, **marker}
    return dots(x, y, draws, f"<br>{hover}<br>excess loss %{{text}}", look, text=text)


def dots(
    x: Any, y: Any, draws: ArrayLike, hover: str, marker: dict[str, Any], **look: Any
) -> go.Scatter | go.Scattergl:
    """One dot for each draw; `hover` follows its number."""
    kind = go.Scattergl if len(x) > MANY else go.Scatter
    words = f"draw %{{customdata}}{hover}<extra></extra>"
    look |= {"customdata": draws, "marker": marker, "hovertemplate": words}
    return kind(x=x, y=y, mode="markers", name="draw", **look)


MANY = 1_000
"""Number of draws from which dots are small and drawn by the graphics card."""


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
    ordered = table.iloc[widest(table, "min", "max")]
    cut = "" if len(table) <= MOST_FEATURES else f"{MOST_FEATURES} widest of {len(table)} {of}s"
    figure = theme.new_figure(title, join_notes(cut or plural(len(table), of), *notes))
    hover = [
        f"<b>{escape(str(name))}</b><br>{number(row['min'])} to {number(row['max'])}"
        f"<br>5–95 %: {number(row['q05'])} to {number(row['q95'])}"
        f"<br>median {number(row['median'])}"
        for name, row in ordered.iterrows()
    ]
    bars = [("min", "max", theme.SKY, 0.30, over), ("q05", "q95", theme.BLUE, 0.52, "middle 90 %")]
    nested_bars(figure, ordered, bars, hover)
    medians, rows = ordered["median"].to_numpy(np.float32), np.arange(len(ordered))
    diamond = {"symbol": "diamond", "size": 8, "color": "white"}
    marker = {**diamond, "line": {"width": 1.5, "color": theme.GREY}}
    add_marks(figure, medians, rows, "median", hover, marker=marker)
    if "best" in ordered and not ordered["best"].isna().all():
        best_in_rows(figure, ordered["best"])
    height = max(360, 150 + 24 * len(ordered))
    axis = {"title": unit, "zeroline": True, "zerolinewidth": 1.5}
    lay_out_rows(figure, short_names(ordered.index), height, **axis)
    return figure.update_layout(meta={"features": [str(name) for name in ordered.index]})


def ring(figure: go.Figure, table: pd.DataFrame, values: FloatArray) -> None:
    """Mark the values of some draws with rings in a figure of :func:`range_bars`."""
    if not len(values):
        return
    row_of = {name: row for row, name in enumerate(figure.layout.meta["features"])}
    columns = [(c, row_of[str(n)]) for c, n in enumerate(table.index) if str(n) in row_of]
    x = np.concatenate([values[:, column] for column, _ in columns]).astype(np.float32)
    y = np.repeat([row for _, row in columns], len(values))
    line = {"width": 2, "color": theme.PURPLE}
    marker = {"symbol": "circle-open", "size": 8, "color": theme.PURPLE, "line": line}
    add_marks(figure, x, y, "selected draws", "selected draw: %{x:.4g}", marker=marker)
