"""Figures of trees and of the features that they use."""

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from numpy.typing import ArrayLike

from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer.measures.inputs import fitted_set
from rashomon_explorer.measures.reliance.set_reliance import find_trees
from rashomon_explorer.mechanisms.registry import mechanism_traits
from rashomon_explorer.plots import registry, text, theme
from rashomon_explorer.plots.marks import add_bars, add_marks, lay_out_rows, whiskers
from rashomon_explorer.privacy.audit import binomial_interval
from rashomon_explorer.sets import PredictorSet, ReleasedTrees
from rashomon_explorer.sets.models.trees import DecisionTrees, Leaf, Node, Split
from rashomon_explorer.sets.models.written import as_question

MOST_TREES = 9
_TITLE = "Trees, one by one"
_RELATIONS = {"=", "≠", "≤", "≥", "<", ">"}
_WIDE = 4  # largest number of leaves for two trees side by side
_LETTERS_ACROSS, _FEWEST_LETTERS = 52, 9  # that fit across 350 pixels, and in any box
_LINE, _BETWEEN = 14, 36  # pixels of a line in a box, and between two boxes
_INK, _PAPER = "#11151c", "#eef2f7"  # of boxes, on light and on dark pages
_TINTS = ("#a9d3ee", "#f5d48a", "#9ddcc6", "#ecc8dc", "#cfe8f8", "#f3b892")  # of the categories


def plot_trees(
    models: PredictorSet | ReleasedTrees,
    draws: Sequence[int] | None = None,
    *,
    columns: int | None = None,
    rows: ArrayLike | None = None,
) -> go.Figure:
    """Plot some trees of a set side by side; yes is the left branch, no the right one.

    Parameters
    ----------
    models : PredictorSet or ReleasedTrees
        Set of decision trees: the curator's, or a release.
    draws : sequence of int, optional
        Indices of the trees, at most nine; by default the best known, or the first.
    columns : int, optional
        Number of trees per row; by default two for small trees, otherwise one.
    rows : array-like of shape (n_rows, n_features), optional
        Private rows (curator only), of which each leaf states the share that reaches it.

    Returns
    -------
    plotly.graph_objects.Figure
        One panel per tree, with its loss in the heading (curator only).

    Raises
    ------
    TypeError
        If the set contains no trees, or rows are given with a release.
    ValueError
        If a draw does not exist, or more than nine are requested.

    Examples
    --------
    >>> from rashomon_explorer.trees import CountedTrees
    >>> counted = CountedTrees([[1, 0], [1, 1], [0, 1]], ["b", "b", "a"], max_leaves=2)
    >>> figure = plot_trees(counted.draw(3, psi=0.4, random_state=0))
    >>> figure.layout.title.text.split("<br>")[0]
    'Trees, one by one'
    """
    models = fitted_set(models)
    trees = need_trees(models)
    if rows is not None and isinstance(models, ReleasedTrees):
        raise TypeError("shares of private rows are not part of a release: omit rows")
    table = None if rows is None else trees.rows(rows)
    selected = _draws_to_show(models, draws)
    sizes = [_size(trees.trees[draw]) for draw in selected] or [(1, 0)]
    widest, deepest = (max(ends) for ends in zip(*sizes, strict=True))
    max_columns = (2 if widest <= _WIDE else 1) if columns is None else columns
    columns = min(max_columns, max(1, len(selected)))
    lines = max(1, math.ceil(len(selected) / columns))
    drawing = _Drawing(trees.feature_names, models.classes, _LETTERS_ACROSS // columns, table)
    for number, draw in enumerate(selected):
        corner = number % columns, -(number // columns)
        drawing.tree(trees.trees[draw], corner, deepest)
        heading = f"<b>{draw}</b>"
        if not isinstance(models, ReleasedTrees) and not math.isnan(models.least):
            heading += f" · loss {text.number(float(models.losses[draw]), 4)}"
        drawing.words.append((corner[0] + 0.5, corner[1] + 0.97, heading, "", "heading"))
    level = _LINE * drawing.most_lines + _BETWEEN  # pixels from a question to the next
    figure = theme.new_figure(
        _TITLE,
        f"{len(selected)} of {text.plural(models.n_draws, 'tree')}; yes to the left, no to the "
        "right",
        height=110 + round((level * deepest + 40) / 0.8) * lines,
    )
    drawing.onto(figure)
    figure.update_layout(showlegend=False, margin={"l": 12, "r": 12, "b": 16})
    axis = {"showgrid": False, "showticklabels": False, "zeroline": False, "fixedrange": True}
    figure.update_xaxes(range=[0, columns], **axis)
    figure.update_yaxes(range=[1 - lines, 1], **axis)
    text.models_band(figure, models)
    figure.layout.meta |= {"least": figure.layout.height - 50}  # boxes of lower trees overlap
    return figure


def need_trees(models: object) -> DecisionTrees:
    """Return the trees of a set; raise a ValueError if there are none."""
    trees = find_trees(models)
    if trees is None:
        raise TypeError(f"a set of decision trees is needed, got {type(models).__name__}")
    return trees


def short_question(words: str, most: int) -> str:
    """Shorten a question to a number of letters: the column name is cut, the comparison kept."""
    if len(words) <= most:
        return words
    column, relation, reference = words.rpartition(" ")[0].rpartition(" ")
    end = words[len(column) :] if relation and reference in _RELATIONS else ""
    return f"{words[: max(3, most - 1 - len(end))]}…{end}"


def _draws_to_show(models: Any, draws: Sequence[int] | None) -> list[int]:
    if draws is None:
        order = list(range(models.n_draws))
        if isinstance(models, PredictorSet) and not math.isnan(models.least):
            order.sort(key=lambda draw: (models.losses[draw], draw))
        return order[:MOST_TREES]
    selected = [int(draw) for draw in draws]
    if len(selected) > MOST_TREES or any(not 0 <= draw < models.n_draws for draw in selected):
        raise ValueError(
            f"draws must be at most {MOST_TREES} of 0 to {models.n_draws - 1}, got {selected}"
        )
    return selected


@dataclass
class _Drawing:
    """Edges of all trees in one trace, and their boxes: question, answer or heading."""

    names: Sequence[str]
    classes: Sequence[Any]
    letters: int  # that fit side by side in the width of one tree
    rows: FloatArray | None = None  # of the curator, in the trees' columns
    edges: tuple[list[float | None], list[float | None]] = field(default_factory=lambda: ([], []))
    words: list[tuple[float, float, str, str, str | int]] = field(default_factory=list)
    most_lines: int = 1

    def tree(self, tree: Node, corner: tuple[float, float], deepest: int) -> None:
        """Lay out a tree in the unit square at a corner, with one step down per question."""
        wide, _ = _size(tree)
        left = [0]

        def lay(node: Node, depth: int, path: str, reached: Any = None) -> tuple[float, float]:
            y = corner[1] + 0.85 - 0.75 * depth / max(deepest, 1)
            if isinstance(node, Leaf):
                x = corner[0] + (left[0] + 0.5) / wide
                left[0] += 1
                name = escape(str(self.classes[node.prediction]))
                hover = f"{path or 'always'}: {name}"
                share = "" if reached is None else f"<br>{text.percent(float(reached.mean()))}"
                self.words.append((x, y, f"{name}{share}", f"{hover}{share}", node.prediction))
                return x, y
            question = as_question(node.feature, self.names, node.relation, node.reference)
            letters = max(_FEWEST_LETTERS, self.letters * _size(node)[0] // wide)
            lines = wrapped_lines(question, letters)
            self.most_lines = max(self.most_lines, len(lines))
            words = escape(question)
            there = away = None
            if self.rows is not None:
                answers = node.answers(self.rows[:, node.feature])
                there, away = reached & answers, reached & ~answers
            yes = lay(node.if_true, depth + 1, f"{path}{words}: yes<br>", there)
            no = lay(node.if_false, depth + 1, f"{path}{words}: no<br>", away)
            x = (yes[0] + no[0]) / 2
            for end in (yes, no):
                self.edges[0].extend([x, end[0], None])
                self.edges[1].extend([y, end[1], None])
            self.words.append((x, y, "<br>".join(map(escape, lines)), words, "question"))
            return x, y

        lay(tree, 0, "", None if self.rows is None else np.ones(len(self.rows), dtype=bool))

    def onto(self, figure: go.Figure) -> None:
        """Add the edges, and above them the boxes, which hide the ends of the edges."""
        line = {"color": theme.GREY, "width": 1.2}
        add_marks(figure, *self.edges, None, mode="lines", line=line, showlegend=False)
        for x, y, words, hover, kind in self.words:
            fill = _PAPER if kind == "question" else None
            if isinstance(kind, int):  # a class
                fill = _TINTS[kind % len(_TINTS)]
            box = {"bgcolor": fill, "bordercolor": theme.GREY, "borderpad": 3} if fill else {}
            font = {"size": 11, "color": _INK} if fill else {"size": 11.5}
            name = "leaf" if isinstance(kind, int) else kind
            place = {"x": x, "y": y, "text": words, "hovertext": hover, "name": name}
            figure.add_annotation(**place, **box, font=font, showarrow=False)


def wrapped_lines(words: str, most: int) -> list[str]:
    """Lines of at most so many letters, broken at the ends of words; no word is cut."""
    lines = [""]
    for part in re.findall(r"[=≠≤≥<>] \S+|[^ _]+_*|_+| ", words):
        if lines[-1].strip() and len(lines[-1] + part) > most:
            lines.append("")
        lines[-1] += part
    return [line.strip() for line in lines if line.strip()]


def _size(tree: Node) -> tuple[int, int]:
    if isinstance(tree, Leaf):
        return 1, 0
    (a, deep), (b, deeper) = _size(tree.if_true), _size(tree.if_false)
    return a + b, 1 + max(deep, deeper)


_MOST = 20
_LETTERS = 28  # maximum number of letters of a question next to its bar
_CONFIDENCE = 0.95


def tree_use_table(models: PredictorSet | ReleasedTrees) -> pd.DataFrame:
    """Tabulate the number of trees that ask each question, and that ask it first."""
    trees = need_trees(models)
    by_question: dict[str, set[int]] = {}
    first: dict[str, int] = {}
    for draw, tree in enumerate(trees.trees):
        for split in _splits(tree):
            by_question.setdefault(_words(split, trees.feature_names), set()).add(draw)
        if isinstance(tree, Split):
            words = _words(tree, trees.feature_names)
            first[words] = first.get(words, 0) + 1
    counts = {words: len(draws) for words, draws in by_question.items()}
    table = pd.DataFrame(
        {
            "trees": pd.Series(counts, dtype=int),
            "share": pd.Series({words: k / len(trees) for words, k in counts.items()}, dtype=float),
            "first": pd.Series({words: first.get(words, 0) for words in counts}, dtype=int),
        }
    )
    if models.as_drawn and mechanism_traits(models.mechanism).independent and len(trees) > 1:
        counts_of_trees = table["trees"].tolist()
        ends = [binomial_interval(k, len(trees), _CONFIDENCE) for k in counts_of_trees]
        table["low"] = [low for low, _ in ends]
        table["high"] = [high for _, high in ends]
    return table.rename_axis("question").sort_values("trees", ascending=False, kind="stable")


def plot_tree_use(models: PredictorSet | ReleasedTrees) -> go.Figure:
    """Plot the number of trees that ask each question.

    Parameters
    ----------
    models : PredictorSet or ReleasedTrees
        Set of decision trees: the curator's, or a release.

    Returns
    -------
    plotly.graph_objects.Figure
        One bar per question, darker for the trees that ask it first; whiskers are intervals for
        the law from which the trees were drawn.

    Raises
    ------
    TypeError
        If the set contains no trees.
    """
    models = fitted_set(models)
    table = tree_use_table(models)
    figure_rows = table.iloc[:_MOST].iloc[::-1]
    cut = f"{_MOST} most asked of {len(table)} questions" if len(table) > _MOST else ""
    drawn = text.plural(models.n_draws, "tree")
    note = text.join_notes(drawn, "dark: asked first", cut)
    figure = theme.new_figure(_title(table), note)
    first = (figure_rows["first"] / max(1, models.n_draws)).to_numpy()
    rows = list(range(len(figure_rows)))
    hover = [
        f"<b>{escape(str(words))}</b><br>asked by {text.plural(int(row['trees']), 'tree')}, first "
        "by "
        f"{int(row['first'])}"
        for words, row in figure_rows.iterrows()
    ]
    for values, colour, name in (
        (figure_rows["share"].to_numpy(), theme.SKY, "asked"),
        (first, theme.BLUE, "first"),
    ):
        look = {"width": 0.6, "marker": {"color": colour}, "name": name}
        add_bars(figure, np.zeros(len(values)), values, hover, **look)
    if "low" in figure_rows:
        share = figure_rows["share"]
        x, (low, high) = share.to_numpy(), figure_rows[["low", "high"]].to_numpy().T
        name = f"{text.percent(_CONFIDENCE)} interval for the law"
        look = {"marker": {"size": 4, "color": theme.GREY}, "error_x": whiskers(x, low, high, 1.4)}
        add_marks(figure, x, rows, name, **look)
    axis = {"title": "share of the trees", "tickformat": ".0%", "range": [0, 1.02]}
    names = [escape(short_question(str(words), _LETTERS)) for words in figure_rows.index]
    lay_out_rows(figure, names, max(300, 150 + 24 * len(figure_rows)), **axis)
    return text.models_band(figure, models)


def _title(table: pd.DataFrame) -> str:
    if table.empty:
        return "No tree asks a question"
    share = text.percent(float(table["share"].iloc[0]))
    return f"{share} of the trees ask “{escape(str(table.index[0]))}”"


def _splits(node: Node) -> Iterator[Split]:
    if isinstance(node, Split):
        yield node
        yield from _splits(node.if_true)
        yield from _splits(node.if_false)


def _words(split: Split, names: tuple[str, ...]) -> str:
    return as_question(split.feature, names, split.relation, split.reference)


FIGURES = (
    registry.on_demand_figure(
        name="trees",
        title="Trees, one by one",
        short="Trees",
        label="Up to nine decision trees side by side, with their questions and labels",
        definition=(
            "The selected trees, at most nine; without a selection the best ones, in the release "
            "the first ones. The left branch of a question is yes, the right branch is no."
        ),
        plot=plot_trees,
        audience=registry.BOTH,
        families=registry.TREES,
        needs=("models", "selection", "favourites"),
    ),
    registry.on_demand_figure(
        name="tree_use",
        title="What the trees ask",
        short="Asked by drawn trees",
        label="Share of the trees that ask each question, and of those that ask it first",
        definition=(
            "Share of the trees on screen that ask a question anywhere; dark: share that ask it "
            "first. Whiskers: 95 % intervals (Clopper and Pearson) for the distribution of the "
            "draws. Computed from the trees only: it can be released with them."
        ),
        plot=plot_tree_use,
        table=tree_use_table,
        audience=registry.BOTH,
        families=registry.TREES,
        needs=("models", "selection", "favourites"),
    ),
)
