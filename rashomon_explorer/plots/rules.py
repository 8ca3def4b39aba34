"""Rules of many trees as one trie, shown as an icicle (rules as in TimberTrek)."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape

import pandas as pd
import plotly.graph_objects as go

from rashomon_explorer.measures.inputs import fitted_set
from rashomon_explorer.plots import registry, text, theme
from rashomon_explorer.plots.trees import need_trees, wrapped_lines
from rashomon_explorer.sets import PredictorSet, ReleasedTrees
from rashomon_explorer.sets.models.written import as_question, tree_rules

_MOST_LEVELS, _SMALLEST_TEXT, _LETTERS = 5, 10, 60  # letters across 350 pixels
_ALWAYS = "no question"
_ROOT = "all trees"  # with an empty id, plotly would add a root without a name
_ARROW = " → "
Path = tuple[str, ...]


@dataclass
class _TrieNode:
    """Node of the trie: the trees whose rules pass through it, and those whose rules end there."""

    through: set[int] = field(default_factory=set)
    ending: set[int] = field(default_factory=set)


def rules_table(models: PredictorSet | ReleasedTrees, search: str = "") -> pd.DataFrame:
    """Tabulate the sequences of questions in the trees, with the number of trees of each.

    As in TimberTrek, a rule is the sequence of questions from the root to a leaf, for any answers.

    Parameters
    ----------
    models : PredictorSet or ReleasedTrees
        A set of decision trees.
    search : str, default=""
        Only rules with a question that contains this text; case is ignored.

    Returns
    -------
    pandas.DataFrame
        One row per rule, most trees first: ``trees``, their number; ``draws``, the first of them;
        and for a curator's set ``least loss`` among them.

    Examples
    --------
    >>> from rashomon_explorer.trees import CountedTrees
    >>> counted = CountedTrees([[1, 0], [1, 1], [0, 1]], ["b", "b", "a"], max_leaves=2)
    >>> rules_table(counted.draw(4, psi=0.0, random_state=0))["trees"].to_dict()
    {'x0': 4}
    """
    models = fitted_set(models)
    losses = _losses(models)
    rows = {}
    for path, node in _trie(models).items():
        if node.ending and _holds(path, search):
            draws = sorted(node.ending)
            row = {"trees": len(draws), "draws": ", ".join(map(str, draws[:10]))}
            if losses is not None:
                row["least loss"] = min(losses[draw] for draw in draws)
            rows[_ARROW.join(path) or _ALWAYS] = row
    table = pd.DataFrame.from_dict(rows, orient="index").rename_axis("rule")
    return table.sort_values("trees", ascending=False, kind="stable") if rows else table


def plot_rules(
    models: PredictorSet | ReleasedTrees, search: str = "", highlight: Sequence[int] = ()
) -> go.Figure:
    """Plot the rules of all trees as an icicle, with the first question at the top.

    The width of a box is the number of rules that continue from it, summed over trees. Its
    colour is the least loss of its trees (curator only). Boxes that do not match the search, or
    belong to no selected tree, are grey.

    Parameters
    ----------
    models : PredictorSet or ReleasedTrees
        A set of decision trees.
    search : str, default=""
        Text that a question must contain.
    highlight : sequence of int, default=()
        Selected draws.

    Returns
    -------
    plotly.graph_objects.Figure
        A click on a box zooms into it.

    Raises
    ------
    TypeError
        If the set contains no trees.
    """
    models = fitted_set(models)
    trie, losses = _trie(models), _losses(models)
    nodes = {path: node for path, node in trie.items() if path}
    # On the way to a rule that holds the search term, in a selected tree.
    matching = [path for path in trie if _holds(path, search)]
    matches = {path[:end] for path in matching for end in range(1, len(path) + 1)}
    if highlight:
        matches = {path for path in matches if nodes[path].through & set(highlight)}
    match_text = f"; {text.plural(len(matches), 'place')} with “{escape(search)}”" if search else ""
    rules = sum(bool(node.ending) for node in trie.values())
    note = f"{text.plural(rules, 'rule')} of {text.plural(models.n_draws, 'tree')}{match_text}"
    figure = theme.new_figure(_finding(nodes, models.n_draws), f"{note}; first question at the top")
    paths = sorted(nodes, key=lambda path: (len(path), -len(nodes[path].through), path))
    rules_below = Counter[Path]()
    for path, node in trie.items():
        for end in range(len(path) + 1):
            rules_below[path[:end]] += len(node.ending)
    figure.add_icicle(
        ids=[_ROOT, *map(_ARROW.join, paths)],
        labels=[
            text.plural(models.n_draws, "tree"),
            *(_label(path[-1], rules_below[path] / rules_below[()]) for path in paths),
        ],
        parents=["", *(_ARROW.join(path[:-1]) or _ROOT for path in paths)],
        values=[0, *(len(nodes[path].ending) for path in paths)],
        branchvalues="remainder",
        hovertext=["", *(_hover(path, nodes[path], losses) for path in paths)],
        hovertemplate="%{hovertext}<extra></extra>",
        marker=_marker(paths, nodes, matches, losses),
        maxdepth=_MOST_LEVELS,
        tiling={"orientation": "v", "pad": 1},
        pathbar={"thickness": 22},
        textposition="middle center",
        sort=False,
    )
    figure.update_layout(
        margin={"l": 18, "r": 18, "t": 84, "b": 18},
        uniformtext={"minsize": _SMALLEST_TEXT, "mode": "hide"},  # the hover has every rule
    )
    return text.models_band(figure, models)


def _finding(nodes: dict[Path, _TrieNode], n_draws: int) -> str:
    firsts = {path[0]: len(node.through) for path, node in nodes.items() if len(path) == 1}
    if not firsts:
        return "No tree asks a question"
    question = max(firsts, key=lambda question_text: firsts[question_text])
    trees = text.plural(n_draws, "tree")
    return f"{firsts[question]:,} of {trees} ask first “{escape(question)}”"


def _label(question: str, share: float) -> str:
    """Question in lines as wide as its box, a share of the figure; the hover has all of it."""
    letters = max(6, int(_LETTERS * share))
    lines = wrapped_lines(question, letters)
    cut = (line if len(line) <= letters else f"{line[: letters - 1]}…" for line in lines)
    return "<br>".join(map(escape, cut))


def _trie(models: PredictorSet | ReleasedTrees) -> dict[Path, _TrieNode]:
    trees = need_trees(models)
    trie: dict[Path, _TrieNode] = {}
    for draw, tree in enumerate(trees.trees):
        for splits, _ in tree_rules(tree):
            path = tuple(
                as_question(split.feature, trees.feature_names, split.relation, split.reference)
                for split in splits
            )
            for end in range(len(path) + 1):
                trie.setdefault(path[:end], _TrieNode()).through.add(draw)
            trie[path].ending.add(draw)
    return trie


def _losses(models: PredictorSet | ReleasedTrees) -> list[float] | None:
    if isinstance(models, ReleasedTrees) or math.isnan(models.least):
        return None
    return [float(loss) for loss in models.losses]


def _holds(path: Path, search: str) -> bool:
    words = search.casefold().strip()
    return not words or any(words in question.casefold() for question in path)


def _marker(
    paths: list[Path], nodes: dict[Path, _TrieNode], matches: set[Path], losses: list[float] | None
) -> dict[str, object]:
    if losses is None or len(matches) < len(paths):
        match = theme.BLUE if losses is None else theme.ORANGE
        colours = [match if path in matches else theme.GREY for path in paths]
        return {"colors": ["rgba(0,0,0,0)", *colours]}
    best = [min(losses[draw] for draw in nodes[path].through) for path in paths]
    bar = {"title": "least loss", "thickness": 12, "len": 0.7, "nticks": 5}
    scale = {"colorscale": theme.LOSS_SCALE, "showscale": True, "colorbar": bar}
    return {"colors": [min(losses), *best], **scale}


def _hover(path: Path, node: _TrieNode, losses: list[float] | None) -> str:
    lines = [_ARROW.join(map(escape, path)), f"{text.plural(len(node.through), 'tree')} pass here"]
    if node.ending:
        lines.append(f"a rule ends here in {text.plural(len(node.ending), 'tree')}")
    if losses is not None:
        lowest = min(losses[draw] for draw in node.through)
        lines.append(f"least loss {text.number(lowest, 4)}")
    return "<br>".join(lines)


FIGURES = (
    registry.on_demand_figure(
        name="rules",
        title="Rules of the trees",
        short="Rules",
        label="Icicle of the questions that trees ask one after the other",
        definition=(
            "A rule is the sequence of questions from a tree's root to a leaf, without the answers "
            "(TimberTrek, Wang et al. 2022). The width of a box is the number of rules that "
            "continue from it, summed over trees; click it to zoom in. Rules that do not match the "
            "<b>search</b>, or belong to no selected (or <b>starred</b>) tree, are grey."
        ),
        plot=plot_rules,
        table=rules_table,
        audience=registry.BOTH,
        families=registry.TREES,
        needs=("models", "selection", "favourites"),
    ),
)
