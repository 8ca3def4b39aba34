"""Figures of the predictions for individuals."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from numpy.typing import ArrayLike

from rashomon_explorer._utils.arrays import FloatArray, likeliest
from rashomon_explorer._utils.containers import take_rows
from rashomon_explorer.measures import decide_or_abstain
from rashomon_explorer.measures.inputs import set_and_rows
from rashomon_explorer.plots import marks, registry, text, theme
from rashomon_explorer.sets.base import CuratorSet

_FADED = 0.3
_KINDS = (
    ("flips in a draw", theme.BLUE, "circle"),
    ("flips in other models", theme.ORANGE, "diamond"),
    ("never flips", theme.GREY, "circle-open"),
    ("unknown", theme.GREY, "x-thin-open"),
)


def plot_people_ranges(
    table: pd.DataFrame,
    *,
    answer: str = "",
    highlight: Sequence[int] = (),
    guaranteed: bool = True,
    of: int | None = None,
    note: str = "",
) -> go.Figure:
    """Plot the range of predictions for each individual, one dot and one line each.

    Parameters
    ----------
    table : pandas.DataFrame
        Result of ``measures.ranges.people_ranges`` (curator only), indexed by number.
    answer : str
        Name of the predicted quantity, for the axes.
    highlight : sequence of int
        Index values of individuals to mark with rings; the others fade.
    guaranteed : bool
        Whether the draws have a guarantee.
    of : int, optional
        Number of individuals from which these are a random sample; the title then has intervals.
    note : str
        Text to add to the line below the title.

    Returns
    -------
    plotly.graph_objects.Figure
        Horizontal, the prediction of the best model; vertical, the range over the set: light for
        the exact range, dark for the draws. The title states for whom the label flips.

    Raises
    ------
    ValueError
        If the table lacks a column or is empty.

    Examples
    --------
    >>> low, high = {"best": [0.4, 0.9], "drawn_low": [0.3, 0.8]}, {"drawn_high": [0.6, 0.95]}
    >>> ranges = {**low, **high, "drawn_flips": [0.2, 0.0]}
    >>> plot_people_ranges(pd.DataFrame(ranges)).layout.title.text.split("<br>")[0]
    'Some draw flips the label of 50%'
    """
    if "best" not in table or table.empty:
        raise ValueError("table must be a non-empty result of measures.ranges.people_ranges")
    kinds = flip_kinds(table) if {"flips", "drawn_flips"} & set(table) else None
    what = answer or "answer" if kinds is None else f"probability of {answer or 'the last class'}"
    figure = theme.new_figure(_finding(table, of), text.join_notes(f"{len(table):,} people", note))
    best = table["best"].to_numpy(float)
    for low, high, colour, width, name in (
        ("exact_low", "exact_high", theme.SKY, 2.5, "▬ exact range"),
        ("drawn_low", "drawn_high", theme.BLUE, 1.2, "∙∙∙ sampled range"),
    ):
        if low in table:
            # One vertical line per individual, in one trace.
            gap = np.full(len(best), np.nan)
            x = np.column_stack([best, best, gap]).ravel().astype(np.float32)
            y = np.column_stack([table[low], table[high], gap]).ravel().astype(np.float32)
            line = {"color": colour, "width": width}
            look = {"mode": "lines", "line": line, "showlegend": kinds is None}
            marks.add_marks(figure, x, y, name, **look)
    _people(figure, table, kinds, np.isin(table.index, list(highlight)), what)
    if kinds is not None:
        figure.add_hline(y=0.5, line={"color": theme.GREY, "width": 1, "dash": "dot"})
    figure.update_layout(
        xaxis={"title": f"{what}, best model"}, yaxis={"title": f"{what}, all good models"}
    )
    return theme.curator_band(figure, guaranteed=guaranteed)


def flip_kinds(table: pd.DataFrame) -> pd.Series:
    """Classify for each individual how the label can flip, with the texts of the legend."""
    drawn = table.get("drawn_flips", pd.Series(0.0, table.index)) > 0
    flips = table.get("flips", pd.Series("unknown", table.index))
    *words, unknown = [name for name, _, _ in _KINDS]
    kinds = np.select([drawn, flips == "yes", flips == "no"], words, unknown)
    return pd.Series(kinds, table.index)


def sample_share(mask: ArrayLike, of: int | None) -> str:
    """Share of individuals, with its 95 % interval if they are a sample of more."""
    values = np.asarray(mask, dtype=bool)
    share = float(values.mean())
    if of is None or of <= len(values):
        return text.percent(share)
    low, high = text.wilson(share, len(values))
    return f"{text.percent(share)} ({text.percent(low, 'down')} to {text.percent(high, 'up')})"


def _finding(table: pd.DataFrame, of: int | None) -> str:
    if not {"flips", "drawn_flips"} & set(table):
        ends = ("exact_high", "exact_low") if "exact_low" in table else ("drawn_high", "drawn_low")
        width = float((table[ends[0]] - table[ends[1]]).median())
        return f"Half of the people have a range wider than {text.number(width)}"
    drawn_flips = table.get("drawn_flips")
    sample_size = of if "flips" not in table else None  # one interval is enough for a title
    drawn_share = "" if drawn_flips is None else sample_share(drawn_flips > 0, sample_size)
    if "flips" not in table:
        return f"Some draw flips the label of {drawn_share}"
    proved = sample_share(table["flips"] == "yes", of)
    drawn = f", draws {drawn_share}" if drawn_share else ""
    return f"Good models flip {proved}{drawn}"


def _people(
    figure: go.Figure, table: pd.DataFrame, kinds: Any, selected: np.ndarray, what: str
) -> None:
    hover = [_hover_text(person, row, what) for person, row in table.iterrows()]
    for name, colour, symbol in (
        _KINDS if kinds is not None else (("person", theme.BLUE, "circle"),)
    ):
        of_kind = np.ones(len(table), bool) if kinds is None else (kinds == name).to_numpy()
        if not of_kind.any():
            continue
        marked = selected[of_kind]
        best = table["best"].to_numpy(np.float32)[of_kind]
        edge = np.where(marked, theme.PURPLE, colour)
        marker = {
            "symbol": symbol,
            "color": colour,
            "size": np.where(marked, 13, 6),
            "opacity": np.where(selected.any() & ~marked, _FADED, 1.0),
            "line": {"color": edge, "width": np.where(marked, 3, 1)},
        }
        words = [text for text, is_kind in zip(hover, of_kind, strict=True) if is_kind]
        look = {"marker": marker, "customdata": np.asarray(table.index)[of_kind]}
        # A legend of two rows would reach the marks of the card below it.
        in_legend = kinds is None or kinds.nunique() < 3 or name.startswith("flips")
        marks.add_marks(figure, best, best, name, words, showlegend=in_legend, **look)


def _hover_text(person: object, row: pd.Series, what: str) -> str:
    parts = [f"<b>person {person}</b>", f"{what}, best model: {text.number(float(row['best']))}"]
    for low, high, name in (
        ("exact_low", "exact_high", "▬ exact"),
        ("drawn_low", "drawn_high", "∙∙∙ sampled"),
    ):
        if low in row:
            parts.append(
                f"{name}: {text.number(float(row[low]))} to {text.number(float(row[high]))}"
            )
    if "drawn_flips" in row:
        parts.append(f"{text.percent(float(row['drawn_flips']))} of draws flip the label")
    return "<br>".join(parts)


def plot_person(
    models: Any,
    X: Any,
    person: int,
    *,
    exact: tuple[float, float] | None = None,
    flip: tuple[float, float] | None = None,
    answer: str = "",
    highlight: Sequence[int] = (),
) -> go.Figure:
    """Plot the prediction of every good model for one individual, on one line.

    Parameters
    ----------
    models : RashomonSet or PredictorSet
        Models; only those inside the set count (curator only).
    X : array-like of shape (n_rows, n_features)
        Rows of all individuals, as the models require.
    person : int
        Index of the individual.
    exact : (float, float), optional
        Exact ends of the prediction over the whole set.
    flip : (float, float), optional
        Bounds on the least ψ at which the label flips: ``measures.flip_psi``.
    answer : str
        Name of the predicted quantity, for the axis.
    highlight : sequence of int
        Row numbers of models to mark with rings.

    Returns
    -------
    plotly.graph_objects.Figure
        One dot per model, × for the best, and a line at ½ between two classes. The title states
        how the models vote; the line below states whether to decide or to abstain, and at which ψ
        the label flips.

    Raises
    ------
    TypeError
        If given a `ReleasedSet`.
    ValueError
        If the individual does not exist.
    """
    models, X = set_and_rows(models, X)
    models = text.need_curator(models, "plot_person")
    counts = text.models_within_psi(models)
    if counts.is_empty:
        return text.empty_set_figure(f"Person {person}", models)
    if not 0 <= person < len(X):
        raise ValueError(f"person must be from 0 to {len(X) - 1}, got {person!r}")
    row = take_rows(X, [person])
    scores, best = np.asarray(counts.models.scores(row)), np.asarray(models.best_scores(row))
    inside = "" if len(scores) == models.n_draws else counts.words
    figure = theme.new_figure(
        f"Person {person}: {_vote(models, scores, best)}",
        text.join_notes(_decision(models, scores), _flips(flip, models), inside),
        height=330,
    )
    if exact is not None:
        look = {"mode": "lines", "line": {"color": theme.SKY, "width": 14}, "opacity": 0.55}
        marks.add_marks(figure, list(exact), [0, 0], "▬ exact range", "exact: %{x:.3f}", **look)
    # Fixed vertical jitter, because dots on one line would hide their number.
    y = np.random.default_rng(0).uniform(-0.3, 0.3, len(scores)).astype(np.float32)
    ringed = np.isin(counts.indices, list(highlight))
    marker = {"color": theme.BLUE, **text.selection_look(ringed, 8)}
    x, hover = _last(scores, 2)[:, 0].astype(np.float32), "draw %{customdata}: %{x:.3f}"
    marks.add_marks(figure, x, y, "∙∙∙ draw", hover, customdata=counts.indices, marker=marker)
    marks.mark_best(figure, [float(_last(best, 1)[0])], [0], ": %{x:.3f}")
    _axes(figure, models, answer)
    figure.update_layout(uirevision=str(person))
    return text.models_band(figure, models)


def plot_what_if(
    models: Any,
    before: ArrayLike,
    after: ArrayLike,
    *,
    person: int | None = None,
    answer: str = "",
    highlight: Sequence[int] = (),
) -> go.Figure:
    """Plot how the answer of every good model changes if features of one individual change.

    Parameters
    ----------
    models : RashomonSet, PredictorSet, ReleasedSet or ReleasedTrees
        Models; of a curator's set, only those inside the set count.
    before, after : array-like of shape (1, n_features)
        The individual without and with the changes, in the table that the estimator took.
    person : int, optional
        Index of the individual; None for one that is made up.
    answer : str
        Name of the predicted quantity, for the axis.
    highlight : sequence of int
        Row numbers of models to mark with rings.

    Returns
    -------
    plotly.graph_objects.Figure
        One line per model, orange if its label changes. The title counts these models.

    Examples
    --------
    >>> from rashomon_explorer import RashomonClassifier
    >>> X, y = [[0.9], [0.6], [-0.7], [-0.5]] * 50, [1, 1, 0, 0] * 50
    >>> models = RashomonClassifier(n_draws=5, epsilon=80.0, random_state=0).fit(X, y).rashomon_set_
    >>> plot_what_if(models.release(), [[-0.8]], [[0.8]]).layout.title.text.split("<br>")[0]
    'A made-up person, changed: 5 of 5 models change their answer'
    """
    name = "A made-up person" if person is None else f"Person {person}"
    (models, before), after = set_and_rows(models, before), set_and_rows(models, after)[1]
    counts = text.models_within_psi(models)
    if counts.is_empty:
        return text.empty_set_figure(name, models)
    table = what_if_table(models, before, after)
    unchanged = np.array_equal(before, after)
    figure = theme.new_figure(f"{name}{_changed(table, same=unchanged)}", counts.words)
    changes = table.get("changes", pd.Series(data=False, index=table.index)).to_numpy()
    jitter = np.random.default_rng(0).uniform(-0.07, 0.07, len(table))
    ends = ["before"] if unchanged else ["before", "after"]
    for mask, colour, words in (
        (~changes, theme.BLUE, "same answer"),
        (changes, theme.ORANGE, "other answer"),
    ):
        if mask.any():
            rows = np.subtract.outer(jitter[mask], np.arange(len(ends)))
            _slopes(figure, rows, table.loc[mask, ends], highlight, colour, words)
    if isinstance(models, CuratorSet):
        best = _last(np.asarray(models.best_scores(_both(before, after))), 1)
        line = {"mode": "lines+markers", "line": {"color": theme.BEST_MODEL}}
        marks.mark_best(figure, best[: len(ends)], -np.arange(len(ends)), ": %{x:.3f}", **line)
    _axes(figure, models, answer, ["as is", "changed"][: len(ends)])
    return text.models_band(figure, models)


def what_if_table(models: Any, before: ArrayLike, after: ArrayLike) -> pd.DataFrame:
    """Tabulate the answer of every good model before and after a change, and whether it differs."""
    (models, before), after = set_and_rows(models, before), set_and_rows(models, after)[1]
    counts = text.models_within_psi(models)
    scores = np.asarray(counts.models.scores(_both(before, after)))
    answers = _last(scores, 2)
    table = pd.DataFrame(
        {"before": answers[:, 0], "after": answers[:, 1]},
        index=pd.Index(counts.indices, name="draw"),
    )
    if models.task == "classification":
        labels = likeliest(scores)
        table["changes"] = labels[:, 0] != labels[:, 1]
    return table


def _both(before: Any, after: Any) -> Any:
    """One table of two; models without an encoder take text from a frame only."""
    frames = isinstance(before, pd.DataFrame) and isinstance(after, pd.DataFrame)
    return pd.concat([before, after]) if frames else np.concatenate([before, after])


def _last(scores: FloatArray, ndim: int) -> FloatArray:
    return scores[..., -1] if scores.ndim > ndim else scores


def _changed(table: pd.DataFrame, *, same: bool) -> str:
    """State how many models change their label, or by how much predictions change."""
    if same:
        low, high = float(table["before"].min()), float(table["before"].max())
        return f": good models answer {text.number(low, 2)} to {text.number(high, 2)}"
    if "changes" in table:
        count, of = int(table["changes"].sum()), text.plural(len(table), "model")
        return f", changed: {count:,} of {of} change{'s' if count == 1 else ''} their answer"
    steps = table["after"] - table["before"]
    ends = f"{text.number(float(steps.min()), 2)} to {text.number(float(steps.max()), 2)}"
    return f", changed: predictions change by {ends}"


def _axes(figure: go.Figure, models: Any, answer: str, rows: Sequence[str] = ("",)) -> None:
    """Answers across, with a line at ½ between two classes; rows of dots down."""
    xaxis: dict[str, Any] = {"title": answer or "answer"}
    if models.task == "classification":
        xaxis = {"title": f"probability of {answer or 'the last class'}", "range": [-0.02, 1.02]}
    if models.n_classes == 2:
        line = {"color": theme.GREY, "width": 1.5, "dash": "dot"}
        figure.add_vline(x=0.5, line=line, annotation_text="½", annotation_position="top right")
    ticks = {"tickvals": [-k for k in range(len(rows))], "ticktext": rows, "zeroline": False}
    figure.update_layout(xaxis=xaxis, yaxis={**ticks, "range": [0.5 - len(rows), 0.5]})


def _slopes(
    figure: go.Figure,
    rows: FloatArray,
    table: pd.DataFrame,
    highlight: Sequence[int],
    colour: str,
    name: str,
) -> None:
    """One line per model from its answer before to that after, in one trace."""
    n_ends, gap = rows.shape[1] + 1, np.full((len(table), 1), np.nan)
    draws = np.repeat(table.index.to_numpy(), n_ends)
    marker = {"color": colour, **text.selection_look(np.isin(draws, list(highlight)), 7)}
    look: Any = {"mode": "lines+markers", "line": {"color": colour, "width": 1.2}}
    across, up = (np.hstack([values, gap]).ravel().astype(np.float32) for values in (table, rows))
    hover = f"draw %{{customdata}}: %{{x:.3f}}, {name}"
    marks.add_marks(figure, across, up, name, hover, customdata=draws, marker=marker, **look)


def _vote(models: Any, scores: FloatArray, best: FloatArray) -> str:
    if models.task != "classification":
        ends = scores.min(), scores.max()
        return f"good models predict {text.number(float(ends[0]))} to {text.number(float(ends[1]))}"
    both = np.concatenate([scores, best[None]])[:, 0]
    labels = both.argmax(axis=-1) if both.ndim == 2 else both > 0.5
    others = int((labels[:-1] != labels[-1]).sum())
    if not others:
        return "every draw agrees with the best model"
    verb = "flips" if others == 1 else "flip"
    return f"{others:,} of {text.plural(len(scores), 'draw')} {verb} the label"


def _decision(models: Any, scores: FloatArray) -> str:
    if models.task != "classification" or len(scores) < 2:
        return ""
    if int(decide_or_abstain(scores)[0]) < 0:
        return "abstain: the spread reaches the threshold"
    return "decide: the lead is clear"


def _flips(flip: tuple[float, float] | None, models: Any) -> str:
    if flip is None:
        return ""
    within = "within" if flip[1] <= models.psi else "beyond"
    flip_psi = text.number(flip[1], 2, "up")
    return f"▬ flips from ψ = {flip_psi}, {within} the set"


FIGURES = (
    registry.on_demand_figure(
        name="people_ranges",
        title="Whose label can a good model flip?",
        short="Everyone's range",
        label="Scatter plot of people: the best model's answer and the range over the set",
        definition=(
            "∙∙∙ <b>sampled</b>: least and largest answer of the draws within ψ. ▬ <b>exact</b>: "
            "least and largest over all models within ψ (two convex programmes a person). A label "
            "flips if some model within ψ predicts another class than the best model; the share "
            "of flips is the <b>ambiguity</b> (Marx, Calmon and Ustun 2020); draws give a lower "
            "bound on it."
        ),
        plot=plot_people_ranges,
        table=lambda table: table,
        needs=("models", "fitted", "selection", "people", "psi", "rows"),
        marks=("exact", "sampled"),
        selects="people",
        of_people=True,
    ),
    registry.on_demand_figure(
        name="person",
        title="One person",
        label="Answers of the models to one person, on one line",
        definition=(
            "One dot per model within ψ; the bar is the exact range over all of them. "
            "<b>Abstain</b>: the first class leads "
            "by less than two standard deviations over the draws (Ganesh, Thakurta and Upadhyay "
            "2023). <b>Flips from ψ</b>: least excess loss at which a model predicts another "
            "class, certified to 1 %. <b>What if?</b> Each line is a model, orange "
            "if its label changes. In a release, the person is made up: the middle of every "
            "declared range."
        ),
        plot=plot_person,
        table=lambda models, X, person: what_if_table(models, *[take_rows(X, [person])] * 2)[
            ["before"]
        ].set_axis(["answer"], axis=1),
        release_plot=plot_what_if,
        audience=registry.BOTH,
        needs=("models", "selection", "people", "rows", "edits"),
        marks=("exact", "sampled"),
        selects="models",
        of_people=True,
    ),
)
