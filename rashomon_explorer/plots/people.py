"""Who is affected: how differently the models of the set treat each person."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import ArrayLike, NDArray
from plotly.subplots import make_subplots

from rashomon_explorer.measures import (
    ambiguity,
    disagreement,
    discrepancy,
    viable_prediction_range,
)
from rashomon_explorer.plots._checks import need_curator
from rashomon_explorer.plots.text import number, percent, short_name
from rashomon_explorer.plots.theme import (
    BLUE,
    CATEGORIES,
    GREY,
    VERMILLION,
    curator_band,
    new_figure,
)
from rashomon_explorer.rashomon_set import RashomonSet

_BINS = 120
_MOST_GROUPS = 8
_MOST_PREDICTIONS = 4_000_000
_FEWEST_ROWS = 2_000


@dataclass(frozen=True)
class Multiplicity:
    """What the models of a set disagree about on some rows.

    Attributes
    ----------
    n_rows : int
        Rows there are.
    rows : ndarray of shape (n_read,)
        Rows that were read: all of them, or a fixed random subsample of a long table.
    low, high : ndarray of shape (n_read,)
        Smallest and largest score of each row over the draws. With three or more classes that is
        the probability of the class which the best model gives the row.
    best : ndarray of shape (n_read,)
        The best model's score.
    ambiguous : ndarray of shape (n_read,)
        Rows that at least one draw labels otherwise than the best model; empty for a regression.
    ambiguity, discrepancy, disagreement : float
        Shares of rows; not a number for a regression.
    n_classes : int
        0 for a regression.
    """

    n_rows: int
    rows: NDArray[np.intp]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    best: NDArray[np.float64]
    ambiguous: NDArray[np.bool_]
    ambiguity: float
    discrepancy: float
    disagreement: float
    n_classes: int

    @property
    def width(self) -> NDArray[np.float64]:
        """Width of each row's viable prediction range."""
        return self.high - self.low


def multiplicity(rashomon_set: RashomonSet, X: ArrayLike) -> Multiplicity:
    """Measure what the models of a set disagree about on some rows.

    Parameters
    ----------
    rashomon_set : RashomonSet
        The draws and the best model (curator only).
    X : array-like of shape (n_rows, n_features)
        Rows, scaled as the draws were fitted. Of a long table a fixed random subsample is read.

    Returns
    -------
    Multiplicity
        Ranges of every row read, and the shares.
    """
    X = np.asarray(X, dtype=float)
    n_rows = len(X)
    rows = _rows_to_read(n_rows, rashomon_set.n_draws)
    X = X[rows]
    scores, best = rashomon_set.scores(X), rashomon_set.best_scores(X)
    chosen = best.argmax(axis=-1) if best.ndim == 2 else (best > 0.5).astype(int)
    if best.ndim == 2:
        each = np.arange(len(X))
        scores, best = scores[:, each, chosen], best[each, chosen]
    ranges = viable_prediction_range(scores)
    low, high = ranges[:, 0], ranges[:, 1]
    if rashomon_set.task != "classification":
        missing = float("nan")
        nobody = np.zeros(0, dtype=bool)
        return Multiplicity(n_rows, rows, low, high, best, nobody, missing, missing, missing, 0)
    labels = rashomon_set.labels(X)
    ambiguous = (labels != chosen).any(axis=0)
    differing = float(disagreement(labels)) if len(labels) > 1 else float("nan")
    return Multiplicity(
        n_rows,
        rows,
        low,
        high,
        best,
        ambiguous,
        float(ambiguity(labels, chosen)),
        float(discrepancy(labels, chosen)),
        differing,
        rashomon_set.n_classes,
    )


def _rows_to_read(n_rows: int, n_draws: int) -> NDArray[np.intp]:
    most = max(_FEWEST_ROWS, _MOST_PREDICTIONS // max(1, n_draws))
    if n_rows <= most:
        return np.arange(n_rows)
    return np.sort(np.random.default_rng(0).choice(n_rows, most, replace=False))


def _score(found: Multiplicity) -> str:
    if found.n_classes > 2:
        return "probability of the best model's class"
    return "predicted probability" if found.n_classes else "prediction"


def _people(found: Multiplicity) -> str:
    read, of = len(found.rows), f" of {found.n_rows:,}" if len(found.rows) < found.n_rows else ""
    return f"{read:,}{of} people"


def plot_people(
    rashomon_set: RashomonSet,
    X: ArrayLike,
    groups: ArrayLike | None = None,
    *,
    group_name: str = "group",
) -> go.Figure:
    """Plot how far apart the models' predictions of each person are.

    Parameters
    ----------
    rashomon_set : RashomonSet
        The draws and the best model (curator only).
    X : array-like of shape (n_rows, n_features)
        Private rows, scaled as the draws were fitted.
    groups : array-like of shape (n_rows,), optional
        A sensitive attribute; the histogram is then split by it.
    group_name : str
        What to call the attribute.

    Returns
    -------
    plotly.graph_objects.Figure
        Left, the range of predictions from the lowest person to the highest; right, how many people
        have a wide one.

    Raises
    ------
    TypeError
        If given a `ReleasedSet`: this figure reads private rows.
    """
    rashomon_set = need_curator(rashomon_set, "plot_people")
    found = multiplicity(rashomon_set, X)
    figure = make_subplots(
        rows=1, cols=2, column_widths=[0.62, 0.38], horizontal_spacing=0.19, figure=_frame(found)
    )
    _add_band(figure, found)
    _add_widths(figure, found, groups, group_name)
    figure.update_layout(
        xaxis={
            "title": f"{_people(found)}, sorted",
            "ticksuffix": "%",
            "range": [0, 100],
            "nticks": 3,
        },
        yaxis={"title": _score(found)},
        xaxis2={"title": "width of the range", "rangemode": "tozero", "nticks": 5},
        yaxis2={"title": "people", "ticksuffix": "%", "rangemode": "tozero"},
    )
    return curator_band(figure, guaranteed=rashomon_set.guarantee.holds)


def _frame(found: Multiplicity) -> go.Figure:
    if found.ambiguous.size:
        parts = [
            f"ambiguity {percent(found.ambiguity)}",
            f"discrepancy {percent(found.discrepancy)}",
            f"disagreement {percent(found.disagreement) if found.disagreement >= 0 else '–'}",
        ]
    else:
        parts = [
            f"median range {number(float(np.median(found.width)))}",
            f"widest {number(float(found.width.max(initial=0.0)))}",
        ]
    return new_figure("Who is affected", " · ".join(parts))


def _add_band(figure: go.Figure, found: Multiplicity) -> None:
    order = np.argsort(found.best, kind="stable")
    chunks = np.array_split(order, min(_BINS, len(order)))
    share = 100 * (np.cumsum([len(c) for c in chunks]) - [len(c) / 2 for c in chunks]) / len(order)

    def mean(values: NDArray[Any]) -> NDArray[np.float32]:
        return np.array([values[chunk].mean() for chunk in chunks], dtype=np.float32)

    low, high, best = mean(found.low), mean(found.high), mean(found.best)
    flat = {"mode": "lines", "line": {"width": 0}, "hoverinfo": "skip", "showlegend": False}
    figure.add_scatter(x=share, y=low, row=1, col=1, name="lowest", **flat)
    figure.add_scatter(
        x=share,
        y=high,
        row=1,
        col=1,
        **flat | {"showlegend": True},
        fill="tonexty",
        fillcolor="rgba(0,114,178,0.35)",
        name="range over the draws",
    )
    words = [""] * len(share)
    if found.n_classes:
        words = [f"{percent(float(part))} ambiguous" for part in mean(found.ambiguous)]
    if found.n_classes == 2:  # among several classes no one probability decides
        figure.add_scatter(
            x=share,
            y=np.full(len(share), 0.5, dtype=np.float32),
            mode="lines",
            line={"color": GREY, "width": 1.2, "dash": "dot"},
            name="decision",
            hoverinfo="skip",
            showlegend=False,
            row=1,
            col=1,
        )
    figure.add_scatter(
        x=share,
        y=best,
        customdata=np.stack([low, high], axis=1),
        text=words,
        mode="lines",
        line={"color": VERMILLION, "width": 2},
        name="best model",
        hovertemplate="best model %{y:.3f}<br>draws %{customdata[0]:.3f} to %{customdata[1]:.3f}"
        "<br>%{text}<extra></extra>",
        row=1,
        col=1,
    )


def _add_widths(
    figure: go.Figure, found: Multiplicity, groups: ArrayLike | None, group_name: str
) -> None:
    end = float(found.width.max(initial=0.0)) or 1.0
    edges = np.linspace(0, end, 21)
    middles = (edges[:-1] + edges[1:]) / 2
    for colour, (name, chosen) in zip(CATEGORIES * 2, members(found, groups), strict=False):
        counts, _ = np.histogram(found.width[chosen], edges)
        share = 100 * counts / max(1, chosen.sum())
        told = (
            f", ambiguity {percent(float(found.ambiguous[chosen].mean()))}"
            if found.ambiguous.size and chosen.any()
            else ""
        )
        alone = groups is None
        figure.add_scatter(
            x=middles,
            y=share.astype(np.float32),
            mode="lines",
            line={"shape": "hvh", "color": BLUE if alone else colour, "width": 1.8},
            fill="tozeroy" if alone else None,
            fillcolor="rgba(86,180,233,0.35)" if alone else None,
            name=name if alone else f"{short_name(group_name)} {short_name(name)}",
            showlegend=not alone,
            hovertemplate=f"{short_name(name)}: %{{y:.1f}}% of {chosen.sum():,} people have a "
            f"range near %{{x:.3f}}{told}<extra></extra>",
            row=1,
            col=2,
        )


def members(found: Multiplicity, groups: ArrayLike | None) -> list[tuple[str, NDArray[np.bool_]]]:
    """Split rows by a sensitive attribute, the largest groups first.

    Parameters
    ----------
    found : Multiplicity
        The rows.
    groups : array-like of shape (n_rows,), optional
        The attribute; everyone is one group without it.

    Returns
    -------
    list of (str, ndarray)
        At most eight names and masks.
    """
    if groups is None:
        return [("everyone", np.ones(len(found.low), dtype=bool))]
    values = np.asarray(groups)[found.rows]
    labels, counts = np.unique(values, return_counts=True)
    largest = labels[np.argsort(-counts, kind="stable")][:_MOST_GROUPS]
    return [(str(label), values == label) for label in largest]
