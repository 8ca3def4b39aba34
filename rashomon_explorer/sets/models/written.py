"""Trees as DOT, nested dicts and TimberTrek files."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rashomon_explorer._utils.arrays import FloatArray, Mask
from rashomon_explorer.sets.models.trees import Leaf, Node, Split, tree_questions

_WORDS = {"==": "=", "!=": "≠", "<=": "≤", ">=": "≥", "<": "<", ">": ">"}


def as_text(tree: Node, names: Sequence[str], classes: Sequence[Any]) -> str:
    """Write a tree as readable text."""
    return "\n".join(_lines(tree, names, classes, "", ""))


def as_dot(tree: Node, names: Sequence[str], classes: Sequence[Any]) -> str:
    """Write a tree as a graph in the DOT language, which Graphviz draws."""
    lines = ["digraph tree {", "  node [shape=box];"]
    waiting: list[tuple[Node, str]] = [(tree, "")]
    count = 0
    while waiting:
        node, edge = waiting.pop(0)
        name = f"n{count}"
        count += 1
        text = _question_text(node, names, classes).replace("\\", "\\\\").replace('"', '\\"')
        lines.append(f'  {name} [label="{text}"];')
        if edge:
            parent, word = edge.split()
            lines.append(f'  {parent} -> {name} [label="{word}"];')
        if isinstance(node, Split):
            waiting += [(node.if_true, f"{name} yes"), (node.if_false, f"{name} no")]
    return "\n".join([*lines, "}"])


def as_question(
    column: int, names: Sequence[str], relation: str = "==", reference: float = 1.0
) -> str:
    """Write a question as readable text."""
    name = str(names[column]) if column < len(names) else f"column {column}"
    if relation == "==" and reference == 1.0:
        return name
    if "=" in name and relation == ">" and reference == 0.5:
        return name
    return f"{name} {_WORDS[relation]} {reference:g}"


def as_nested(tree: Node) -> dict[str, Any]:
    """Tree in the TreeFARMS format, which ``from_treefarms`` reads."""
    if isinstance(tree, Leaf):
        return {"prediction": tree.prediction, "name": "Prediction"}  # their classifier prints it
    return {
        "feature": tree.feature,
        "relation": tree.relation,
        "reference": "true" if tree.is_binary else tree.reference,
        "true": as_nested(tree.if_true),
        "false": as_nested(tree.if_false),
    }


def as_sklearn(
    tree: Node, n_features: int, classes: Sequence[Any], names: Sequence[str] = ()
) -> Any:
    """Create a fitted DecisionTreeClassifier with the same predictions."""
    from sklearn.tree import DecisionTreeClassifier

    from rashomon_explorer._utils.sklearn_compat import tree_parts

    Tree, NODE_DTYPE = tree_parts()

    nodes: list[tuple[int, int, int, float]] = []
    values: list[list[float]] = []
    depth = _append_nodes(tree, nodes, values, len(classes))
    table = np.zeros(len(nodes), dtype=NODE_DTYPE)
    for index, (left, right, feature, threshold) in enumerate(nodes):
        table[index]["left_child"], table[index]["right_child"] = left, right
        table[index]["feature"], table[index]["threshold"] = feature, threshold
    shares = np.array(values)
    counts = shares.sum(axis=1)
    shares /= counts[:, None]
    table["n_node_samples"] = table["weighted_n_node_samples"] = counts
    table["impurity"] = 1 - (shares**2).sum(axis=1)  # Gini impurity
    internal = Tree(n_features, np.array([len(classes)], dtype=np.intp), 1)
    internal.__setstate__(
        {
            "max_depth": depth,
            "node_count": len(nodes),
            "nodes": table,
            "values": shares.reshape(len(nodes), 1, len(classes)),
        }
    )
    model = DecisionTreeClassifier()
    model.tree_, model.classes_ = internal, np.asarray(classes)
    model.n_classes_, model.n_outputs_ = len(classes), 1
    model.n_features_in_ = model.max_features_ = n_features
    # scikit-learn would require the default names of unnamed features.
    if names and list(names) != [f"x{column}" for column in range(len(names))]:
        model.feature_names_in_ = np.array(names, dtype=object)
    return model


def _append_nodes(
    tree: Node, nodes: list[tuple[int, int, int, float]], values: list[list[float]], n_classes: int
) -> int:
    """Append a tree's nodes, the first child after its parent, and class values; its depth."""
    index = len(nodes)
    if isinstance(tree, Leaf):
        nodes.append((-1, -1, -2, -2.0))
        values.append(np.eye(n_classes)[tree.prediction].tolist())
        return 0
    nodes.append((0, 0, 0, 0.0))
    values.append([0.0] * n_classes)
    low, high, threshold = _SIDES.get(tree.relation, _raise_unsupported)(tree)
    left = len(nodes)
    depth = _append_nodes(low, nodes, values, n_classes)
    right = len(nodes)
    depth = max(depth, _append_nodes(high, nodes, values, n_classes))
    nodes[index] = (left, right, tree.feature, threshold)
    values[index] = np.add(values[left], values[right]).tolist()
    return depth + 1


Sides = tuple[Node, Node, float]
"""Children for values up to the threshold and above it, and the threshold."""


def _truth(split: Split) -> Sides:
    if not split.is_binary:
        return _raise_unsupported(split)
    return split.if_false, split.if_true, 0.5


def _raise_unsupported(split: Split) -> Sides:
    raise TypeError(
        f"scikit-learn's trees compare with thresholds, but this tree asks whether column "
        f"{split.feature} {split.relation} {split.reference:g}"
    )


def _below(reference: float) -> float:
    return float(np.nextafter(np.float32(reference), np.float32(-np.inf)))


_SIDES: dict[str, Callable[[Split], Sides]] = {
    "==": _truth,
    ">": lambda split: (split.if_false, split.if_true, split.reference),
    "<=": lambda split: (split.if_true, split.if_false, split.reference),
    ">=": lambda split: (split.if_false, split.if_true, _below(split.reference)),
    "<": lambda split: (split.if_true, split.if_false, _below(split.reference)),
}


def _lines(
    tree: Node, names: Sequence[str], classes: Sequence[Any], indent: str, edge: str
) -> Iterator[str]:
    ask = "?" if isinstance(tree, Split) else ""
    yield f"{indent}{edge}{_question_text(tree, names, classes)}{ask}"
    if isinstance(tree, Split):
        deeper = indent + "  "
        yield from _lines(tree.if_true, names, classes, deeper, "yes: ")
        yield from _lines(tree.if_false, names, classes, deeper, "no: ")


def _question_text(node: Node, names: Sequence[str], classes: Sequence[Any]) -> str:
    if isinstance(node, Leaf):
        return str(classes[node.prediction])
    return as_question(node.feature, names, node.relation, node.reference)


_SIGNS = ("-", "+")


@dataclass(frozen=True)
class Questions:
    """Distinct questions of trees: binary columns, and one entry per comparison."""

    are_columns: bool
    numbers: dict[tuple[int, str, float], int]
    texts: tuple[str, ...]

    @classmethod
    def from_trees(cls, trees: Sequence[Node], names: Sequence[str]) -> "Questions":
        """Find and number the questions of all trees."""
        splits = [node for tree in trees for node in tree_questions(tree)]
        if all(split.is_binary for split in splits):
            width = max(len(names), 1 + max((s.feature for s in splits), default=-1))
            return cls(True, {}, tuple(as_question(j, names) for j in range(width)))
        different = sorted({split.question for split in splits})
        words = tuple(as_question(j, names, relation, value) for j, relation, value in different)
        return cls(False, {question: k for k, question in enumerate(different)}, words)

    def number(self, split: Split) -> int:
        """Index of a split's question."""
        return split.feature if self.are_columns else self.numbers[split.question]


def tree_rules(tree: Node) -> Iterator[tuple[tuple[Split, ...], int]]:
    """Rules of a tree: the questions on the path to each leaf, and its prediction."""
    if isinstance(tree, Leaf):
        yield (), tree.prediction
        return
    for branch in (tree.if_true, tree.if_false):
        for path, prediction in tree_rules(branch):
            yield (tree, *path), prediction


def as_timbertrek(
    trees: Sequence[Node],
    numbers: Sequence[int],
    objectives: Sequence[float],
    names: Sequence[str],
    rows: tuple[FloatArray, NDArray[np.int_]] | None = None,
) -> dict[str, Any]:
    """Convert trees of two classes to TimberTrek's ``{"trie", "featureMap", "treeMap"}``."""
    questions = Questions.from_trees(trees, names)
    tree_map = {}
    for tree, number, objective in zip(trees, numbers, objectives, strict=True):
        written, right = _timbertrek_node(tree, questions, rows, None)
        accuracy = [] if rows is None else [round(right / len(rows[1]), 5)]
        tree_map[str(number)] = [written, float(objective), *accuracy]
    feature_map = {}
    for j, words in enumerate(questions.texts):
        # Name, level and short name: TimberTrek's columns are named ``name:level``.
        name, _, level = words.partition(":")
        feature_map[str(j)] = [name, level, name]
    return {"trie": trie(trees, numbers, questions), "featureMap": feature_map, "treeMap": tree_map}


def trie(trees: Sequence[Node], numbers: Sequence[int], questions: Questions) -> dict[str, Any]:
    """Trie of the questions in the rules of all trees, without answers; its leaves are trees."""
    root: dict[str, Any] = {"f": "root", "c": []}
    nodes: dict[tuple[str, ...], dict[str, Any]] = {(): root}
    ended: set[tuple[tuple[str, ...], int]] = set()
    for tree, number in zip(trees, numbers, strict=True):
        for path, _ in tree_rules(tree):
            key: tuple[str, ...] = ()
            for split in path:
                above, name = nodes[key], str(questions.number(split))
                key = (*key, name)
                if key not in nodes:
                    nodes[key] = {"f": name, "c": []}
                    above["c"].append(nodes[key])
            if path and (key, number) not in ended:
                ended.add((key, number))
                nodes[key]["c"].append({"f": "_", "t": number})
    return root


def _timbertrek_node(
    tree: Node,
    questions: Questions,
    rows: tuple[FloatArray, NDArray[np.int_]] | None,
    here: Mask | None,
) -> tuple[dict[str, Any], int]:
    """Node in the TimberTrek format, and the number of rows that it labels correctly."""
    inside = None if rows is None else np.ones(len(rows[1]), bool) if here is None else here
    count = -1 if inside is None else int(inside.sum())
    if isinstance(tree, Leaf):
        right = -1
        if rows is not None and inside is not None:
            right = int((rows[1][inside] == tree.prediction).sum())
        return {"f": [_SIGNS[tree.prediction], count, right]}, right
    branches, total = [], 0
    for branch, answer in ((tree.if_true, True), (tree.if_false, False)):
        below = None
        if rows is not None and inside is not None:
            answers = tree.answers(rows[0][:, tree.feature])
            below = inside & (answers == answer)
        written, right = _timbertrek_node(branch, questions, rows, below)
        branches.append(written)
        total += right
    return {"f": [str(questions.number(tree)), count, -1], "c": branches}, total
