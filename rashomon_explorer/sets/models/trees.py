"""Decision trees from other programs."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from rashomon_explorer._utils.arrays import FloatArray, Mask
from rashomon_explorer._utils.containers import column_labels, columns_at
from rashomon_explorer.sets.models.fitted import one_hot

RELATIONS: dict[str, Callable[[FloatArray, float], Mask]] = {
    "==": lambda column, reference: column == reference,
    "!=": lambda column, reference: column != reference,
    "<=": lambda column, reference: column <= reference,
    "<": lambda column, reference: column < reference,
    ">=": lambda column, reference: column >= reference,
    ">": lambda column, reference: column > reference,
}


@dataclass(frozen=True)
class Leaf:
    """Leaf of a tree."""

    prediction: int


@dataclass(frozen=True)
class Split:
    """Split of a tree on one column, by default on whether it is 1."""

    feature: int  # column
    if_true: "Node"
    if_false: "Node"
    relation: str = "=="  # a key of RELATIONS
    reference: float = 1.0  # the value that the column is compared with

    @property
    def is_binary(self) -> bool:
        """Whether the column must contain only 0 and 1."""
        return self.relation == "==" and self.reference == 1.0

    @property
    def question(self) -> tuple[int, str, float]:
        """Column, relation and reference; equal for splits with the same question."""
        return self.feature, self.relation, float(self.reference)

    def answers(self, column: FloatArray) -> Mask:
        """Answers for the values of the split's column."""
        return RELATIONS[self.relation](column, self.reference)


Node = Split | Leaf


@dataclass(frozen=True, eq=False)
class DecisionTrees:
    """Several decision trees."""

    kind: ClassVar[str] = "decision trees"

    trees: tuple[Node, ...]
    n_classes: int
    feature_names: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for index, node in _different_nodes(self.trees):
            self._check(index, node)

    def __len__(self) -> int:
        return len(self.trees)

    def scores(self, X: Any = None) -> FloatArray:
        """Predicted classes of all trees as probabilities 0 and 1."""
        return one_hot(self.labels(X), self.n_classes)

    def labels(self, X: Any = None) -> NDArray[np.int_]:
        """Predicted classes 0, 1, … of all trees, shape (n_trees, n_rows); as :meth:`scores`."""
        rows = self.rows(X)
        codes = np.zeros((len(self), len(rows)), dtype=int)
        for index, tree in enumerate(self.trees):
            _fill(codes[index], tree, rows, np.arange(len(rows)))
        return codes

    def complexity(self, tol: float) -> NDArray[np.int_]:
        """Count the leaves of each tree."""
        return np.array([count_leaves(tree) for tree in self.trees], dtype=int)

    def take(self, indices: NDArray[np.intp]) -> Self:
        """Return the trees at the given indices."""
        return replace(self, trees=tuple(self.trees[index] for index in indices))

    def to_parts(self) -> tuple[dict[str, FloatArray], dict[str, Any]]:
        """Arrays (none) and JSON values for a file."""
        return {}, {
            "trees": [_to_json(tree) for tree in self.trees],
            "n_classes": self.n_classes,
            "feature_names": list(self.feature_names),
        }

    @classmethod
    def from_parts(cls, arrays: dict[str, FloatArray], values: dict[str, Any]) -> Self:
        """Inverse of :meth:`to_parts`."""
        trees = tuple(_from_json(tree) for tree in values["trees"])
        return cls(trees, values["n_classes"], tuple(values["feature_names"]))

    def _check(self, index: int, node: Node) -> None:
        if isinstance(node, Leaf):
            if not 0 <= node.prediction < self.n_classes:
                raise ValueError(
                    f"tree {index} predicts class {node.prediction} of {self.n_classes}"
                )
        elif node.relation not in RELATIONS:
            raise ValueError(
                f"tree {index} compares by {node.relation!r}, expected one of {[*RELATIONS]}"
            )
        elif node.feature < 0 or (self.feature_names and node.feature >= len(self.feature_names)):
            raise ValueError(
                f"tree {index} tests column {node.feature} of {len(self.feature_names)}"
            )

    def rows(self, X: Any) -> FloatArray:
        """Rows as numbers, in the trees' columns; raises as :meth:`scores`."""
        if X is None:
            raise ValueError("decision trees need rows: call scores(X)")
        if self.feature_names and (labels := column_labels(X)) is not None:
            texts = [str(label) for label in labels]
            missing = [name for name in self.feature_names if texts.count(name) != 1]
            if missing:
                lack = "has two columns" if missing[0] in texts else "lacks the column"
                raise ValueError(f"X {lack} {missing[0]!r}, which the trees use")
            X = columns_at(X, [texts.index(name) for name in self.feature_names])
        rows = np.asarray(X, dtype=float)
        splits = [n for _, n in _different_nodes(self.trees) if isinstance(n, Split)]
        width = len(self.feature_names) or 1 + max((split.feature for split in splits), default=-1)
        if rows.ndim != 2 or rows.shape[1] < width:
            raise ValueError(f"X must have shape (n_rows, {width} or more), got {rows.shape}")
        for column in sorted({split.feature for split in splits if split.is_binary}):
            if not np.isin(rows[:, column], (0.0, 1.0)).all():
                raise ValueError(
                    f"column {column} of X must hold only 0 and 1: cut the features into the "
                    "same yes-or-no columns as the trees were grown on"
                )
        if not np.isfinite(rows).all():
            raise ValueError("X holds NaN or infinity: remove or impute the row")
        return rows


def sklearn_trees(models: Sequence[Any], classes: Sequence[Any]) -> DecisionTrees | None:
    """Trees of scikit-learn's classifiers, which predict their labels; None for other models."""
    if len(classes) < 2 or not models or not all(hasattr(model, "tree_") for model in models):
        return None
    names = [tuple(map(str, getattr(model, "feature_names_in_", ()))) for model in models]
    if len(set(names)) != 1 or any(model.tree_.n_outputs > 1 for model in models):
        return None
    code = {label: k for k, label in enumerate(classes)}
    trees = [_sklearn_node(model.tree_, 0, [code[c] for c in model.classes_]) for model in models]
    return DecisionTrees(tuple(trees), len(classes), names[0])


def _sklearn_node(tree: Any, index: int, codes: Sequence[int]) -> Node:
    if tree.children_left[index] < 0:
        return Leaf(codes[int(np.argmax(tree.value[index, 0]))])
    branches = tree.children_left[index], tree.children_right[index]
    yes, no = (_sklearn_node(tree, int(branch), codes) for branch in branches)
    return Split(int(tree.feature[index]), yes, no, "<=", _double_threshold(tree.threshold[index]))


def _double_threshold(threshold: float) -> float:
    """Largest double that scikit-learn, which rounds rows to singles, sends the same way."""
    single = np.float32(threshold)
    if float(single) > threshold:
        single = np.nextafter(single, np.float32(-np.inf))
    middle = (float(single) + float(np.nextafter(single, np.float32(np.inf)))) / 2
    rounds_down = float(np.float32(middle)) <= threshold
    return middle if rounds_down else float(np.nextafter(middle, -np.inf))


def count_leaves(tree: Node) -> int:
    """Count the leaves of a tree."""
    return sum(isinstance(node, Leaf) for node in _nodes(tree))


def tree_columns(tree: Node) -> frozenset[int]:
    """Columns that a tree tests."""
    return frozenset(split.feature for split in tree_questions(tree))


def tree_questions(tree: Node) -> list[Split]:
    """Questions of a tree, from the root down."""
    return [node for node in _nodes(tree) if isinstance(node, Split)]


def _different_nodes(trees: Sequence[Node]) -> Iterator[tuple[int, Node]]:
    """Distinct nodes with the first tree that has each; draws share most of their subtrees."""
    visited: set[int] = set()
    for index, tree in enumerate(trees):
        waiting: list[Node] = [tree]
        while waiting:
            node = waiting.pop()
            if id(node) in visited:
                continue
            visited.add(id(node))
            yield index, node
            if isinstance(node, Split):
                waiting += (node.if_false, node.if_true)


def _nodes(tree: Node) -> Iterator[Node]:
    yield tree
    if isinstance(tree, Split):
        yield from _nodes(tree.if_true)
        yield from _nodes(tree.if_false)


def _fill(codes: NDArray[np.int_], node: Node, rows: FloatArray, indices: NDArray[np.intp]) -> None:
    """Write the predictions of one tree for the rows that reach a node."""
    if isinstance(node, Leaf):
        codes[indices] = node.prediction
        return
    answer = node.answers(rows[indices, node.feature])
    _fill(codes, node.if_true, rows, indices[answer])
    _fill(codes, node.if_false, rows, indices[~answer])


def _to_json(node: Node) -> Any:
    if isinstance(node, Leaf):
        return node.prediction
    branches = [_to_json(node.if_true), _to_json(node.if_false)]
    return [node.feature, node.relation, node.reference, *branches]


def _from_json(value: Any) -> Node:
    if isinstance(value, int):
        return Leaf(value)
    feature, relation, reference, if_true, if_false = value
    return Split(feature, _from_json(if_true), _from_json(if_false), relation, reference)
