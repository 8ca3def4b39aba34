"""Figures of the disagreement of models about single individuals."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from numpy.typing import ArrayLike, NDArray
from plotly.subplots import make_subplots

from rashomon_explorer._utils.arrays import FloatArray, Mask, likeliest
from rashomon_explorer._utils.containers import take_rows
from rashomon_explorer.measures import ambiguity, disagreement, discrepancy, viable_prediction_range
from rashomon_explorer.measures.inputs import only_labels, set_and_rows
from rashomon_explorer.plots import marks, registry, text
from rashomon_explorer.plots.theme import BEST_MODEL, BLUE, CATEGORIES, GREY, new_figure
from rashomon_explorer.sets import RashomonSet

_MOST_PREDICTIONS = 4_000_000
_FEWEST_ROWS = 2_000


@dataclass(frozen=True)
class Multiplicity:
    """Disagreement of the models of a set on some rows."""

    n_models: int
    n_rows: int
    rows: NDArray[np.intp]
    low: FloatArray
    high: FloatArray
    best: FloatArray
    ambiguous: Mask
    ambiguity: float
    discrepancy: float
    disagreement: float
    n_classes: int
    of_labels: bool

    @property
    def width(self) -> FloatArray:
        """Width of each row's viable prediction range."""
        return self.high - self.low


def multiplicity(models: Any, X: ArrayLike) -> Multiplicity:
    """Compute the disagreement of the models of a set on some rows."""
    models, X = set_and_rows(models, X)
    inside = text.need_inside(models)
    # A DataFrame is kept, because models of other kinds may use its text columns.
    table = X if isinstance(X, pd.DataFrame) else np.asarray(X)
    n_rows = len(table)
    max_rows = max(_FEWEST_ROWS, _MOST_PREDICTIONS // max(1, inside.n_draws))
    rows = text.sample_rows(n_rows, max_rows)
    X = take_rows(table, rows)
    scores, best = inside.scores(X), inside.best_scores(X)
    best_labels = likeliest(best[None])[0]
    labels = likeliest(scores) if inside.task == "classification" else None
    if best.ndim == 2:
        each = np.arange(len(rows))
        scores, best = scores[:, each, best_labels], best[each, best_labels]
    ranges = viable_prediction_range(scores)
    return Multiplicity(
        n_models=inside.n_draws,
        n_rows=n_rows,
        rows=rows,
        low=ranges[:, 0],
        high=ranges[:, 1],
        best=best,
        n_classes=inside.n_classes,
        of_labels=labels is not None and only_labels(scores),
        **_shares(labels, best_labels),
    )


def _shares(labels: NDArray[np.int_] | None, best_labels: NDArray[np.int_]) -> dict[str, Any]:
    """Shares of labels that differ from the best model's; empty for regressions."""
    nan = float("nan")
    if labels is None:
        empty = np.zeros(0, dtype=bool)
        return {"ambiguous": empty, "ambiguity": nan, "discrepancy": nan, "disagreement": nan}
    return {
        "ambiguous": (labels != best_labels).any(axis=0),
        "ambiguity": float(ambiguity(labels, best_labels)),
        "discrepancy": float(discrepancy(labels, best_labels)),
        "disagreement": float(disagreement(labels)) if len(labels) > 1 else nan,
    }


def members(measured: Multiplicity, groups: ArrayLike | None) -> list[tuple[str, Mask]]:
    """Split rows by a sensitive attribute, the largest groups first."""
    if groups is None:
        return [("everyone", np.ones(len(measured.low), dtype=bool))]
    values = pd.Series(np.asarray(groups, dtype=object))
    if len(values) != measured.n_rows:
        raise ValueError(f"groups must have one value for each of {measured.n_rows} rows")
    codes, labels = pd.factorize(values.iloc[measured.rows], use_na_sentinel=False)
    counts, names = np.bincount(codes, minlength=len(labels)), _names(labels.tolist())
    order = sorted(range(len(names)), key=lambda code: (-counts[code], names[code]))
    return [(names[code], codes == code) for code in order]


def _names(labels: list[Any]) -> list[str]:
    """Convert labels to distinct texts: 1 and "1" are two groups."""
    texts = ["no value" if pd.isna(label) else str(label) for label in labels]
    return [
        name if texts.count(name) == 1 else repr(label)
        for name, label in zip(texts, labels, strict=True)
    ]


MOST_GROUPS = 8
"""Maximum number of groups in the figure, the largest first; the table has all."""

_TITLE = "Who is affected"
_BINS = 120
_LINE = 20  # height in pixels of a line of the legend
# Vermillion marks the best model, so no group has this colour; dashes distinguish the groups.
_LINES = [(colour, dash) for dash, colour in product(("solid", "dot"), CATEGORIES[:-1])]


def _score_name(measured: Multiplicity) -> str:
    if measured.of_labels:
        return "predicted label, 0 or 1"
    if measured.n_classes > 2:
        return "probability of the best model's class"
    return "predicted probability" if measured.n_classes else "prediction"


def plot_people(
    models: RashomonSet, X: ArrayLike, groups: ArrayLike | None = None, *, group_name: str = "group"
) -> go.Figure:
    """Plot the range of the models' predictions for each person.

    Parameters
    ----------
    models : RashomonSet
        Draws and the best model (curator only).
    X : array-like of shape (n_rows, n_features)
        Private rows, scaled as for fitting the draws.
    groups : array-like of shape (n_rows,), optional
        Values of a sensitive attribute, by which the histogram is split.
    group_name : str
        Name of the attribute.

    Returns
    -------
    plotly.graph_objects.Figure
        Left, the range of predictions by individual, in increasing order; right, the distribution
        of the widths. Only models inside the set count; a message if there are none.

    Raises
    ------
    TypeError
        If given a `ReleasedSet`, because this figure reads private rows.
    """
    models, X = set_and_rows(models, X)
    models = text.need_curator(models, "plot_people")
    counts = text.models_within_psi(models)
    if counts.is_empty:
        return text.empty_set_figure(_TITLE, models)
    measured = multiplicity(models, X)
    split = members(measured, groups)
    figure = make_subplots(
        rows=1,
        cols=2,
        column_widths=[0.62, 0.38],
        horizontal_spacing=0.19,
        figure=_frame(measured, counts, len(split)),
    )
    _add_band(figure, measured, counts.span)
    _add_widths(figure, measured, split[:MOST_GROUPS], "" if groups is None else group_name)
    some = f" of {measured.n_rows:,}" if len(measured.rows) < measured.n_rows else ""
    people = f"{len(measured.rows):,}{some} people, sorted"
    figure.update_layout(
        xaxis={"title": people, "ticksuffix": "%", "range": [0, 100], "nticks": 3},
        yaxis={"title": _score_name(measured)},
        xaxis2={"title": "width of the range", "rangemode": "tozero", "nticks": 5},
        yaxis2={"title": "people", "ticksuffix": "%", "rangemode": "tozero"},
    )
    return text.models_band(figure, models)


def _frame(measured: Multiplicity, counts: text.ModelSelection, n_groups: int) -> go.Figure:
    if measured.ambiguous.size:
        disagreement = measured.disagreement
        parts = [
            f"ambiguity {text.percent(measured.ambiguity)}",
            f"discrepancy {text.percent(measured.discrepancy)}",
            f"disagreement {text.percent(disagreement) if disagreement >= 0 else '–'}",
        ]
    else:
        parts = [
            f"median range {text.number(float(np.median(measured.width)))}",
            f"widest {text.number(float(measured.width.max(initial=0.0)))}",
        ]
    of_labels = "scores are labels" if measured.of_labels else ""
    cut = f"{MOST_GROUPS} of {n_groups} groups shown, all in the table"
    counted_as = text.join_notes(counts.words, of_labels, cut if n_groups > MOST_GROUPS else "")
    words = f"{' · '.join(parts)}<br>{counted_as}"
    # In a narrow card each group has one line of the legend, which grows from the bottom.
    named = min(n_groups, MOST_GROUPS) if n_groups > 1 else 0
    return new_figure(_TITLE, words, height=376 + _LINE * named).update_layout(
        margin={"t": 100}, legend={"yref": "container", "y": 0, "yanchor": "bottom"}
    )


def _add_band(figure: go.Figure, measured: Multiplicity, span: str) -> None:
    order = np.argsort(measured.best, kind="stable")
    chunks = np.array_split(order, min(_BINS, len(order)))
    share = 100 * (np.cumsum([len(c) for c in chunks]) - [len(c) / 2 for c in chunks]) / len(order)

    def mean(values: NDArray[Any]) -> NDArray[np.float32]:
        return np.array([values[chunk].mean() for chunk in chunks], dtype=np.float32)

    low, high, best = mean(measured.low), mean(measured.high), mean(measured.best)
    left = {"row": 1, "col": 1}
    area = ("lowest", f"range over {span}")
    marks.shade(figure, share, (low, high), area, "rgba(0,114,178,0.35)", **left)
    words = [""] * len(share)
    if measured.n_classes:
        words = [f"{text.percent(float(part))} ambiguous" for part in mean(measured.ambiguous)]
    if measured.n_classes == 2:  # with several classes no single probability decides
        half, line = np.full(len(share), 0.5, dtype=np.float32), {"width": 1.2, "dash": "dot"}
        look = {"mode": "lines", "line": {"color": GREY, **line}, "showlegend": False}
        marks.add_marks(figure, share, half, "decision", **look, **left)
    hover = " %{y:.3f}<br>draws %{customdata[0]:.3f} to %{customdata[1]:.3f}<br>%{text}"
    look = {"mode": "lines", "line": {"color": BEST_MODEL, "width": 2}, "text": words}
    look |= {"customdata": np.stack([low, high], axis=1)}
    marks.add_marks(figure, share, best, "best model", f"best model{hover}", **look, **left)


def _add_widths(
    figure: go.Figure, measured: Multiplicity, split: list[tuple[str, Mask]], group_name: str
) -> None:
    end = float(measured.width.max(initial=0.0)) or 1.0
    edges = np.linspace(0, end, 21)
    middles = (edges[:-1] + edges[1:]) / 2
    (short_name,) = text.short_names([group_name])
    labels = text.short_names([name for name, _ in split])
    for (colour, dash), label, (_, in_group) in zip(_LINES, labels, split, strict=False):
        counts, _ = np.histogram(measured.width[in_group], edges)
        share = (100 * counts / max(1, in_group.sum())).astype(np.float32)
        hover = f"{label}: %{{y:.1f}}% of {in_group.sum():,} people have a range near %{{x:.3f}}"
        if measured.ambiguous.size and in_group.any():
            hover += f", ambiguity {text.percent(float(measured.ambiguous[in_group].mean()))}"
        look: dict[str, Any] = {"name": f"{short_name} {label}", "showlegend": True}
        if not group_name:  # everyone
            look = {"name": label, "showlegend": False, "fill": "tozeroy"}
            look["fillcolor"] = "rgba(86,180,233,0.35)"
        line = {"shape": "hvh", "color": colour if group_name else BLUE, "width": 1.8, "dash": dash}
        look |= {"mode": "lines", "line": line, "row": 1, "col": 2}
        marks.add_marks(figure, middles, share, hover=hover, **look)


def people_table(
    models: RashomonSet, X: ArrayLike, groups: ArrayLike | None = None
) -> pd.DataFrame:
    """Tabulate the widths of prediction ranges by group."""
    measured = multiplicity(models, X)
    split = members(measured, groups)
    names, masks = zip(*split, strict=True)
    columns = {
        "people": [int(mask.sum()) for mask in masks],
        "median width": [float(np.median(measured.width[mask])) for mask in masks],
        "95 % width": [float(np.quantile(measured.width[mask], 0.95)) for mask in masks],
    }
    if measured.ambiguous.size:
        columns["ambiguity"] = [float(measured.ambiguous[mask].mean()) for mask in masks]
    return pd.DataFrame(columns, index=pd.Index(names, name="group"))


FIGURES = (
    registry.FigureSpec(
        name="people",
        title="Who is affected",
        label="Range of predictions over the draws inside the set, for each person",
        short="Widths",
        terms=("ambiguity", "discrepancy", "disagreement", "range width"),
        plot=plot_people,
        table=people_table,
        needs=("models", "selection", "people", "rows", "inside"),
        marks=("sampled",),
        slow=True,
        of_people=True,
    ),
)
