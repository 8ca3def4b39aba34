"""Who bears the multiplicity: how often good models disagree, group by group."""

from collections.abc import Sequence
from html import escape

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from rashomon_explorer.plots.text import number, percent, plural, short_names
from rashomon_explorer.plots.theme import BLUE, GREY, SKY, curator_band, new_figure

MOST_GROUPS = 15
_ALL = "all rows"
_SURE = 1.96
_FEW = 5


def plot_burden(
    table: pd.DataFrame,
    measure: str | None = None,
    *,
    exact: pd.Series | None = None,
    highlight: Sequence[str] = (),
    guaranteed: bool = True,
    note: str = "",
) -> go.Figure:
    """Plot one measure of disagreement for every group, with its size and an interval.

    Parameters
    ----------
    table : pandas.DataFrame
        From ``measures.who_bears`` (curator only).
    measure : str, optional
        One of its measures, by default the first.
    exact : pandas.Series, optional
        The exact ambiguity of each group, by name, shown beside what the draws reach.
    highlight : sequence of str
        Groups to show in full; the others fade.
    guaranteed : bool
        Whether the draws carry a guarantee.
    note : str
        More for the line below the title.

    Returns
    -------
    plotly.graph_objects.Figure
        A bar a group, dark what draws show; of shares the whisker is the 95 % interval (Wilson) of
        a population that these people would be a sample of.

    Raises
    ------
    ValueError
        If there is no such measure.

    Examples
    --------
    >>> from rashomon_explorer.measures import who_bears
    >>> from rashomon_explorer.rashomon_set import from_predictions
    >>> chances = [[0.9, 0.4, 0.6, 0.1], [0.8, 0.6, 0.7, 0.2], [0.9, 0.7, 0.8, 0.1]]
    >>> models = from_predictions(chances, [1, 0, 1, 0], psi=1.0)
    >>> table = who_bears(models, None, ["a", "b", "a", "b"], measures=["ambiguity"])
    >>> plot_burden(table).layout.title.text.split("<br>")[0]
    'b bears most of it: ambiguity 50%, of all 25%'
    """
    known = [name for name in table if name != "rows" and not str(name).endswith("_ratio")]
    measure = str(known[0]) if measure is None else measure
    if measure not in known:
        raise ValueError(f"measure must be one of {known}, got {measure!r}")
    share = measure in _SHARES
    groups = table.drop(index=_ALL).sort_values("rows", ascending=False)
    cut = f"{MOST_GROUPS} largest of {len(groups)} groups" if len(groups) > MOST_GROUPS else ""
    shown = groups.head(MOST_GROUPS).sort_values(measure)
    figure = new_figure(
        _finding(table, groups, measure, share),
        " · ".join(filter(None, [cut or plural(len(groups), "group"), note])),
        height=max(320, 150 + 26 * len(shown)),
    )
    _bars(figure, shown, measure, exact, share, highlight)
    figure.add_vline(x=_of_all(table, measure), line={"color": GREY, "dash": "dot", "width": 1.5})
    names = short_names(shown.index)
    figure.update_layout(
        barmode="overlay",
        xaxis={
            "title": f"{measure.replace('_', ' ')} (dotted: everybody)",
            "tickformat": ".0%" if share else None,
            "rangemode": "tozero",
        },
        yaxis={
            "tickmode": "array",
            "tickvals": np.arange(len(shown)),
            "ticktext": [
                f"{name} ({int(size):,})" for name, size in zip(names, shown["rows"], strict=True)
            ],
            "range": [-0.6, len(shown) - 0.4],
            "showgrid": False,
        },
    )
    return curator_band(figure, guaranteed=guaranteed)


_SHARES = ("ambiguity", "discrepancy", "obscurity", "disagreement")


def _finding(table: pd.DataFrame, groups: pd.DataFrame, measure: str, share: bool) -> str:
    """Name the group with the most, if it surely has more than the rest."""
    words = measure.replace("_", " ")
    write = percent if share else number
    place = int(groups[measure].to_numpy().argmax())
    first, most = groups.index[place], float(groups[measure].to_numpy()[place])
    size, everyone = int(groups["rows"].to_numpy()[place]), _of_all(table, measure)
    told = f"{words} {write(most)}, of all {write(everyone)}"
    if share and size >= _FEW and wilson(most, size)[0] <= everyone:
        return f"No group clearly bears more than all: {words} {write(everyone)}"
    return f"{escape(str(first))} bears most of it: {told}"


def _of_all(table: pd.DataFrame, measure: str) -> float:
    return float(table[measure].to_dict()[_ALL])


def wilson(share: float, count: int) -> tuple[float, float]:
    """95 % interval of a share that was seen among so many (Wilson 1927).

    >>> low, high = wilson(0.5, 100)
    >>> round(low, 3), round(high, 3)
    (0.404, 0.596)
    """
    if count < 1:
        return 0.0, 1.0
    square = _SURE**2 / count
    middle = (share + square / 2) / (1 + square)
    half = _SURE * np.sqrt(share * (1 - share) / count + square / (4 * count)) / (1 + square)
    return float(middle - half), float(middle + half)


def _bars(
    figure: go.Figure,
    shown: pd.DataFrame,
    measure: str,
    exact: pd.Series | None,
    share: bool,
    highlight: Sequence[str],
) -> None:
    rows, value = np.arange(len(shown)), shown[measure].to_numpy(float)
    named = [str(name) for name in shown.index]
    full = np.isin(named, list(highlight)) if len(highlight) else np.ones(len(shown), bool)
    if exact is not None and measure == "ambiguity":
        figure.add_bar(
            orientation="h",
            y=rows,
            x=exact.reindex(named).to_numpy(np.float32),
            width=0.62,
            marker={"color": SKY, "opacity": np.where(full, 1.0, 0.3)},
            name="▬ exact, of the people asked",
            hovertemplate="exact: %{x:.1%}<extra></extra>",
        )
    error = None
    if share:
        ends = np.array([wilson(v, int(n)) for v, n in zip(value, shown["rows"], strict=True)])
        error = {
            "array": (ends[:, 1] - value).clip(0).astype(np.float32),
            "arrayminus": (value - ends[:, 0]).clip(0).astype(np.float32),
            "color": GREY,
            "thickness": 1.5,
            "width": 3,
        }
    figure.add_bar(
        orientation="h",
        y=rows,
        x=value.astype(np.float32),
        width=0.34,
        customdata=named,
        marker={"color": BLUE, "opacity": np.where(full, 1.0, 0.3)},
        error_x=error,
        name="∙∙∙ sampled, with 95 % interval" if share else "∙∙∙ sampled",
        hovertemplate="%{customdata}: %{x:.3g}<extra></extra>",
    )
