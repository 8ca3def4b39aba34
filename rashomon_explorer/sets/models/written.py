"""Trees as text, nested dicts and scikit-learn's."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from rashomon_explorer.sets.models.trees import Leaf, Node, Split

_WORDS = {"==": "=", "!=": "≠", "<=": "≤", ">=": "≥", "<": "<", ">": ">"}


def as_text(tree: Node, names: Sequence[str], classes: Sequence[Any]) -> str:
    """Write a tree as readable text."""
    return "\n".join(_lines(tree, names, classes, "", ""))


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
    low, high, threshold = _sides(tree)
    left = len(nodes)
    depth = _append_nodes(low, nodes, values, n_classes)
    right = len(nodes)
    depth = max(depth, _append_nodes(high, nodes, values, n_classes))
    nodes[index] = (left, right, tree.feature, threshold)
    values[index] = np.add(values[left], values[right]).tolist()
    return depth + 1


def _sides(split: Split) -> tuple[Node, Node, float]:
    """Children for values up to a threshold and above it, and the threshold."""
    if split.is_binary:
        return split.if_false, split.if_true, 0.5
    if split.relation in ("==", "!="):
        raise TypeError(
            f"scikit-learn's trees compare with thresholds, but this tree asks whether column "
            f"{split.feature} {split.relation} {split.reference:g}"
        )
    threshold = split.reference
    if split.relation in (">=", "<"):
        threshold = float(np.nextafter(np.float32(threshold), np.float32(-np.inf)))
    if split.relation in (">", ">="):
        return split.if_false, split.if_true, threshold
    return split.if_true, split.if_false, threshold


def _lines(
    tree: Node, names: Sequence[str], classes: Sequence[Any], indent: str, edge: str
) -> Iterator[str]:
    if isinstance(tree, Leaf):
        yield f"{indent}{edge}{classes[tree.prediction]}"
        return
    yield f"{indent}{edge}{as_question(tree.feature, names, tree.relation, tree.reference)}?"
    deeper = indent + "  "
    yield from _lines(tree.if_true, names, classes, deeper, "yes: ")
    yield from _lines(tree.if_false, names, classes, deeper, "no: ")


def tree_rules(tree: Node) -> Iterator[tuple[tuple[Split, ...], int]]:
    """Rules of a tree: the questions on the path to each leaf, and its prediction."""
    if isinstance(tree, Leaf):
        yield (), tree.prediction
        return
    for branch in (tree.if_true, tree.if_false):
        for path, prediction in tree_rules(branch):
            yield (tree, *path), prediction
