"""Reliance of trees."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer.measures.inputs import Columns
from rashomon_explorer.sets.models.fitted import class_codes
from rashomon_explorer.sets.models.trees import DecisionTrees, Leaf, Node, tree_questions

Question = tuple[int, str, float]


def held_trees(models: Any) -> DecisionTrees | None:
    """Trees of a set or of an estimator's set; None for any other object."""
    own = getattr(getattr(models, "rashomon_set_", models), "models", None)
    return own if isinstance(own, DecisionTrees) else None


def coded_rows(
    trees: DecisionTrees, models: Any, X: ArrayLike | None, y: ArrayLike | None
) -> tuple[FloatArray, NDArray[np.int_]]:
    """Rows in the trees' columns, and labels coded by the set's classes."""
    if X is None or y is None:
        raise ValueError("X and y are required: sets hold no rows")
    classes = getattr(models, "rashomon_set_", models).classes
    rows = trees.rows(X)
    codes = class_codes(np.asarray(y), tuple(classes), "y")
    if codes.shape != (len(rows),):
        raise ValueError(f"y must have one target per row of X, got {rows.shape}, {codes.shape}")
    return rows, codes


def column_names(trees: DecisionTrees, rows: FloatArray) -> tuple[str, ...]:
    """Names of the trees' columns, by default x0, x1, …."""
    return trees.feature_names or tuple(f"x{j}" for j in range(rows.shape[1]))


def tree_reliance(
    trees: DecisionTrees,
    rows: FloatArray,
    codes: NDArray[np.int_],
    groups: Mapping[str, Columns],
) -> tuple[pd.DataFrame, FloatArray]:
    """Increase of the error rate (K, groups) when columns are switched, and that rate (K,)."""
    n = len(codes)
    if n < 2:
        raise ValueError(f"switching needs at least two rows, got {n}")
    different, place = np.unique(rows, axis=0, return_inverse=True)
    flat = np.bincount(place.reshape(-1) * trees.n_classes + codes)
    counts = np.zeros(len(different) * trees.n_classes)
    counts[: len(flat)] = flat
    table = _Table(different, counts.reshape(len(different), -1))
    before, rises = [], []
    for tree in trees.trees:
        wrong = table.errors(tree, {})
        before.append(wrong / n)
        rises.append([_switched(tree, table, c, wrong) - wrong / n for c in groups.values()])
    frame = pd.DataFrame(rises, columns=list(groups)).rename_axis(index="model", columns="feature")
    return frame, np.array(before)


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
