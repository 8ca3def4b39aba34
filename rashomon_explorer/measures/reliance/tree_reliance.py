"""Reliance of trees."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer.measures.inputs import Columns, set_and_rows
from rashomon_explorer.sets import PredictorModels
from rashomon_explorer.sets.models.fitted import class_codes
from rashomon_explorer.sets.models.trees import DecisionTrees, Leaf, Node, tree_questions

Question = tuple[int, str, float]


def find_trees(models: Any) -> DecisionTrees | None:
    """Trees of a set or of an estimator's set; None for any other object."""
    own = getattr(models, "rashomon_set_", models)
    if not isinstance(own, PredictorModels):
        return None
    try:
        return own.decision_trees
    except TypeError:
        return None


def column_names(trees: DecisionTrees, rows: FloatArray) -> tuple[str, ...]:
    """Names of the trees' columns, by default x0, x1, …."""
    return trees.feature_names or tuple(f"x{j}" for j in range(rows.shape[1]))


@dataclass(frozen=True, eq=False)
class TreeTask:
    """Decision trees and the rows on which they are evaluated."""

    trees: DecisionTrees
    rows: FloatArray
    targets: NDArray[np.int_]  # codes of the labels among the set's classes

    @classmethod
    def from_models(
        cls, models: Any, X: ArrayLike | None, y: ArrayLike | None, loss: str | None = None
    ) -> "TreeTask":
        """Create a task with the rows in the trees' columns."""
        if loss not in (None, "zero_one"):
            raise ValueError(f"loss must be 'zero_one' for trees, got {loss!r}")
        if X is None or y is None:
            raise ValueError("X and y are required: sets hold no rows")
        own, X = set_and_rows(models, X)
        trees = own.decision_trees
        rows, codes = trees.rows(X), class_codes(np.asarray(y), tuple(own.classes), "y")
        if codes.shape != (len(rows),):
            raise ValueError(
                f"y must have one target per row of X, got {rows.shape}, {codes.shape}"
            )
        return cls(trees, rows, codes)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns."""
        return column_names(self.trees, self.rows)

    def rises(self, groups: Mapping[str, Columns]) -> tuple[pd.DataFrame, FloatArray]:
        """Increase of the error rate (K, groups) when columns are switched, and that rate (K,)."""
        n, n_classes = len(self.targets), self.trees.n_classes
        if n < 2:
            raise ValueError(f"switching needs at least two rows, got {n}")
        different, place = np.unique(self.rows, axis=0, return_inverse=True)
        codes = place.reshape(-1) * n_classes + self.targets
        counts = np.bincount(codes, minlength=len(different) * n_classes).astype(float)
        table = _Table(different, counts.reshape(len(different), -1))
        before, rises = [], []
        for tree in self.trees.trees:
            wrong = table.errors(tree, {})
            before.append(wrong / n)
            rises.append([_switched(tree, table, c, wrong) - wrong / n for c in groups.values()])
        frame = pd.DataFrame(rises, columns=list(groups))
        return frame.rename_axis(index="model", columns="feature"), np.array(before)


def _switched(tree: Node, table: "_Table", columns: Sequence[int] | Columns, own: float) -> float:
    """Mean loss over all pairs of different rows; pairs of a row with itself are excluded."""
    moved = set(np.asarray(columns).tolist())
    splits = {split.question: split for split in tree_questions(tree) if split.feature in moved}
    questions, n = sorted(splits), table.n
    if not questions:
        return own / n
    answers = [splits[one].answers(table.rows[:, splits[one].feature]) for one in questions]
    patterns, place = np.unique(np.column_stack(answers), axis=0, return_inverse=True)
    many = np.bincount(place.reshape(-1), table.weights)
    total = sum(
        count * table.errors(tree, dict(zip(questions, pattern, strict=True)))
        for count, pattern in zip(many, patterns, strict=True)
    )
    return float((total - own) / (n * (n - 1)))


class _Table:
    """Distinct rows, with their counts in each class."""

    def __init__(self, rows: FloatArray, counts: FloatArray) -> None:
        self.rows, self.counts = rows, counts
        self.weights = counts.sum(axis=1)
        self.n = float(self.weights.sum())

    def errors(self, tree: Node, fixed: Mapping[Question, Any]) -> float:
        """Count the rows that a tree labels wrongly if some questions have fixed answers."""
        return self._below(tree, fixed, np.arange(len(self.rows)))

    def _below(self, node: Node, fixed: Mapping[Question, Any], places: NDArray[np.intp]) -> float:
        if isinstance(node, Leaf):
            return float(self.weights[places].sum() - self.counts[places, node.prediction].sum())
        if node.question in fixed:
            branch = node.if_true if fixed[node.question] else node.if_false
            return self._below(branch, fixed, places)
        yes = node.answers(self.rows[places, node.feature])
        return self._below(node.if_true, fixed, places[yes]) + self._below(
            node.if_false, fixed, places[~yes]
        )
