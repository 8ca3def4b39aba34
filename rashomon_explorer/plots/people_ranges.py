"""Each person's answers over the set: what draws show, what is proved, and whose label flips."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from rashomon_explorer.array_types import FloatArray
from rashomon_explorer.plots.text import number, percent
from rashomon_explorer.plots.theme import (
    BLUE,
    GREY,
    ORANGE,
    PURPLE,
    SKY,
    curator_band,
    new_figure,
)

_FADED = 0.3
_KINDS = (
    ("a draw flips the label", BLUE, "circle"),
    ("some model flips it, no draw does", ORANGE, "diamond"),
    ("no good model flips it", GREY, "circle-open"),
    ("not told", GREY, "x-thin-open"),
)


def plot_people_ranges(
    table: pd.DataFrame,
    *,
    answer: str = "",
    highlight: Sequence[int] = (),
    guaranteed: bool = True,
    note: str = "",
) -> go.Figure:
    """Plot the range of each person's answers, one dot and one line a person.

    Parameters
    ----------
    table : pandas.DataFrame
        From ``measures.ranges.people_ranges`` (curator only), its index a number a person.
    answer : str
        What the models answer, for the axes.
    highlight : sequence of int
        People to ring, by the table's index; the others fade.
    guaranteed : bool
        Whether the draws carry a guarantee.
    note : str
        More for the line below the title.

    Returns
    -------
    plotly.graph_objects.Figure
        Across, the best model's answer; up, the whole range: light what is proved, dark what draws
        show. The title counts whose label flips.

    Raises
    ------
    ValueError
        If the table lacks a column, or there is nobody.

    Examples
    --------
    >>> low, high = {"best": [0.4, 0.9], "drawn_low": [0.3, 0.8]}, {"drawn_high": [0.6, 0.95]}
    >>> ranges = {**low, **high, "drawn_flips": [0.2, 0.0]}
    >>> plot_people_ranges(pd.DataFrame(ranges)).layout.title.text.split("<br>")[0]
    'Some draw flips the label of 50%'
    """
    if "best" not in table or table.empty:
        raise ValueError("table must be one of measures.ranges.people_ranges, of somebody")
    what = answer or "answer"
    figure = new_figure(_finding(table), " · ".join(filter(None, [f"{len(table):,} people", note])))
    best = table["best"].to_numpy(float)
    for low, high, colour, width, name in (
        ("exact_low", "exact_high", SKY, 2.5, "▬ exact range"),
        ("drawn_low", "drawn_high", BLUE, 1.2, "∙∙∙ sampled range"),
    ):
        if low in table:
            figure.add_trace(_lines(best, table[low], table[high], colour, width, name))
    _people(figure, table, np.isin(table.index, list(highlight)), what)
    if {"flips", "drawn_flips"} & set(table):
        figure.add_hline(y=0.5, line={"color": GREY, "width": 1, "dash": "dot"})
    figure.update_layout(
        xaxis={"title": f"best model's {what}"},
        yaxis={"title": f"{what}, over the set"},
        dragmode="select",
    )
    return curator_band(figure, guaranteed=guaranteed)


def flip_kinds(table: pd.DataFrame) -> pd.Series:
    """Say of each person how the label can flip, in the words of the legend."""
    drawn = table.get("drawn_flips", pd.Series(0.0, table.index)) > 0
    told = table.get("flips")
    if told is None:
        return pd.Series(np.where(drawn, _KINDS[0][0], _KINDS[3][0]), table.index)
    words = [_KINDS[0][0], _KINDS[1][0], _KINDS[2][0]]
    chosen = np.select([drawn, told == "yes", told == "no"], words, _KINDS[3][0])
    return pd.Series(chosen, table.index)


def _finding(table: pd.DataFrame) -> str:
    if not {"flips", "drawn_flips"} & set(table):
        ends = ("exact_high", "exact_low") if "exact_low" in table else ("drawn_high", "drawn_low")
        width = float((table[ends[0]] - table[ends[1]]).median())
        return f"Half of the people have a range wider than {number(width)}"
    shown = percent(float((table["drawn_flips"] > 0).mean())) if "drawn_flips" in table else ""
    if "flips" not in table:
        return f"Some draw flips the label of {shown}"
    proved = percent(float((table["flips"] == "yes").mean()))
    drawn = f", draws {shown}" if shown else ""
    return f"Good models flip {proved}{drawn}"


def _lines(
    at: FloatArray, low: pd.Series, high: pd.Series, colour: str, width: float, name: str
) -> go.Scatter:
    """One vertical line a person, in one trace."""
    gap = np.full(len(at), np.nan)
    return go.Scatter(
        x=np.column_stack([at, at, gap]).ravel().astype(np.float32),
        y=np.column_stack([low, high, gap]).ravel().astype(np.float32),
        mode="lines",
        line={"color": colour, "width": width},
        name=name,
        hoverinfo="skip",
    )


def _people(figure: go.Figure, table: pd.DataFrame, chosen: np.ndarray, what: str) -> None:
    kinds = flip_kinds(table) if {"flips", "drawn_flips"} & set(table) else None
    hover = [_told(person, row, what) for person, row in table.iterrows()]
    for name, colour, symbol in _KINDS if kinds is not None else (("person", BLUE, "circle"),):
        of_kind = np.ones(len(table), bool) if kinds is None else (kinds == name).to_numpy()
        if not of_kind.any():
            continue
        picked = chosen[of_kind]
        best = table["best"].to_numpy(np.float32)[of_kind]
        figure.add_scatter(
            x=best,
            y=best,
            customdata=np.asarray(table.index)[of_kind],
            mode="markers",
            name=name,
            marker={
                "symbol": symbol,
                "color": colour,
                "size": np.where(picked, 13, 6),
                "opacity": np.where(chosen.any() & ~picked, _FADED, 1.0),
                "line": {
                    "color": np.where(picked, PURPLE, colour),
                    "width": np.where(picked, 3, 1),
                },
            },
            text=[words for words, own in zip(hover, of_kind, strict=True) if own],
            hovertemplate="%{text}<extra></extra>",
        )


def _told(person: object, row: pd.Series, what: str) -> str:
    parts = [f"<b>person {person}</b>", f"best model's {what}: {number(float(row['best']))}"]
    for low, high, name in (
        ("exact_low", "exact_high", "▬ exact"),
        ("drawn_low", "drawn_high", "∙∙∙ sampled"),
    ):
        if low in row:
            parts.append(f"{name}: {number(float(row[low]))} to {number(float(row[high]))}")
    if "drawn_flips" in row:
        parts.append(f"{percent(float(row['drawn_flips']))} of draws say otherwise")
    return "<br>".join(parts)
