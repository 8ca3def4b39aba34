"""Which questions trees ask, and how many of them do: read off the trees alone."""

from collections.abc import Iterator
from html import escape

import pandas as pd
import plotly.graph_objects as go

from rashomon_explorer.measures.decomposition.estimate import hit_interval
from rashomon_explorer.plots.text import percent, plural
from rashomon_explorer.plots.theme import BLUE, GREY, SKY, new_figure
from rashomon_explorer.plots.trees import need_trees, short_question, trees_band
from rashomon_explorer.rashomon_set import PredictorSet, ReleasedTrees
from rashomon_explorer.rashomon_set.models.trees import Node, Split
from rashomon_explorer.rashomon_set.models.written import as_question
from rashomon_explorer.samplers import traits_of

_MOST = 20
_LETTERS = 28  # of a question that fit beside its bar
_CONFIDENCE = 0.95


def tree_use_table(models: PredictorSet | ReleasedTrees) -> pd.DataFrame:
    """List how many trees ask each question, and how many ask it first.

    Of a release it is post-processing of the trees: no row is read.

    Parameters
    ----------
    models : PredictorSet or ReleasedTrees
        A set of decision trees.

    Returns
    -------
    pandas.DataFrame
        A row a question that some tree asks, most trees first: ``trees``, their number; ``share``
        of all; ``first``, of how many trees it is the first question; and, of independent draws
        that nobody chose, ``low`` and ``high``: the interval of Clopper and Pearson (95 %) for the
        share of the trees' law.

    Examples
    --------
    >>> from rashomon_explorer.trees import CountedTrees
    >>> counted = CountedTrees([[1, 0], [1, 1], [0, 1]], ["b", "b", "a"], max_leaves=2)
    >>> tree_use_table(counted.draw(4, psi=0.0, random_state=0))[["trees", "first"]].T.to_dict()
    {'x0': {'trees': 4, 'first': 4}}
    """
    trees = need_trees(models)
    asked: dict[str, set[int]] = {}
    first: dict[str, int] = {}
    for draw, tree in enumerate(trees.trees):
        for split in _splits(tree):
            asked.setdefault(_words(split, trees.feature_names), set()).add(draw)
        if isinstance(tree, Split):
            words = _words(tree, trees.feature_names)
            first[words] = first.get(words, 0) + 1
    counts = {words: len(draws) for words, draws in asked.items()}
    table = pd.DataFrame(
        {
            "trees": pd.Series(counts, dtype=int),
            "share": pd.Series({words: k / len(trees) for words, k in counts.items()}, dtype=float),
            "first": pd.Series({words: first.get(words, 0) for words in counts}, dtype=int),
        }
    )
    if models.as_drawn and traits_of(models.sampler).independent and len(trees) > 1:
        ends = [hit_interval(k, len(trees), _CONFIDENCE) for k in table["trees"].tolist()]
        table["low"], table["high"] = [one.low for one in ends], [one.high for one in ends]
    return table.rename_axis("question").sort_values("trees", ascending=False, kind="stable")


def plot_tree_use(models: PredictorSet | ReleasedTrees) -> go.Figure:
    """Plot how many trees ask each question.

    Parameters
    ----------
    models : PredictorSet or ReleasedTrees
        A set of decision trees: the curator's, or what was paid for.

    Returns
    -------
    plotly.graph_objects.Figure
        A bar a question, the part of the trees that ask it first darker; whiskers are intervals
        for the law that the trees were drawn from.

    Raises
    ------
    TypeError
        If the set holds no trees.

    Examples
    --------
    >>> from rashomon_explorer.trees import CountedTrees
    >>> counted = CountedTrees([[1, 0], [1, 1], [0, 1]], ["b", "b", "a"], max_leaves=2)
    >>> plot_tree_use(counted.draw(4, psi=0.0, random_state=0)).layout.title.text.split("<br>")[0]
    '100% of the trees ask “x0”'
    """
    table = tree_use_table(models)
    shown = table.iloc[:_MOST].iloc[::-1]
    cut = f"{_MOST} most asked of {len(table)} questions" if len(table) > _MOST else ""
    drawn = plural(models.n_draws, "tree")
    told = " · ".join(filter(None, [drawn, "dark: asked first", cut]))
    figure = new_figure(_title(table), told, height=max(300, 150 + 24 * len(shown)))
    first = (shown["first"] / max(1, models.n_draws)).to_numpy()
    places = list(range(len(shown)))
    hover = [
        f"<b>{escape(str(words))}</b><br>asked by {plural(int(row['trees']), 'tree')}, first by "
        f"{int(row['first'])}"
        for words, row in shown.iterrows()
    ]
    for values, colour, name in ((shown["share"].to_numpy(), SKY, "asked"), (first, BLUE, "first")):
        figure.add_bar(
            orientation="h",
            y=places,
            x=values,
            width=0.6,
            marker={"color": colour, "line": {"width": 0}},
            name=name,
            hovertext=hover,
            hovertemplate="%{hovertext}<extra></extra>",
        )
    if "low" in shown:
        share = shown["share"]
        figure.add_scatter(
            x=share.to_numpy(),
            y=places,
            mode="markers",
            marker={"size": 4, "color": GREY},
            error_x={
                "array": (shown["high"] - share).to_numpy(),
                "arrayminus": (share - shown["low"]).to_numpy(),
                "color": GREY,
                "thickness": 1.4,
                "width": 3,
            },
            name=f"{percent(_CONFIDENCE)} interval for the law",
            hoverinfo="skip",
        )
    figure.update_layout(
        barmode="overlay",
        xaxis={"title": "share of the trees", "tickformat": ".0%", "range": [0, 1.02]},
        yaxis={
            "tickmode": "array",
            "tickvals": places,
            "ticktext": [escape(short_question(str(words), _LETTERS)) for words in shown.index],
            "range": [-0.6, len(shown) - 0.4],
            "showgrid": False,
        },
    )
    return trees_band(figure, models)


def _title(table: pd.DataFrame) -> str:
    if table.empty:
        return "No tree asks a question"
    return (
        f"{percent(float(table['share'].iloc[0]))} of the trees ask “{escape(str(table.index[0]))}”"
    )


def _splits(node: Node) -> Iterator[Split]:
    if isinstance(node, Split):
        yield node
        yield from _splits(node.if_true)
        yield from _splits(node.if_false)


def _words(split: Split, names: tuple[str, ...]) -> str:
    return as_question(split.feature, names, split.relation, split.reference)
