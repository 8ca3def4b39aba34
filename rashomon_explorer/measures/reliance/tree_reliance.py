"""Reliance of trees."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from rashomon_explorer._utils.arrays import FloatArray, Mask
from rashomon_explorer.measures.inputs import Columns, LinearTask
from rashomon_explorer.measures.ranges.penalised import PenalisedProblem
from rashomon_explorer.problem.losses.kinked import AbsoluteLoss
from rashomon_explorer.problem.losses.squared import SquaredLoss
from rashomon_explorer.problem.problem import Problem
from rashomon_explorer.sets.models import Split
from rashomon_explorer.sets.models.fitted import class_codes
from rashomon_explorer.sets.models.trees import RELATIONS, DecisionTrees, Leaf, Node

Answers = dict[tuple[int, str, float], Mask]
"""Answers to questions, for each row or one for all rows."""


def held_trees(models: Any) -> DecisionTrees | None:
    """Trees of a set or of an estimator's set; None for any other object."""
    held = getattr(getattr(models, "rashomon_set_", models), "models", None)
    return held if isinstance(held, DecisionTrees) else None


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
    held = np.zeros(len(different) * trees.n_classes)
    held[: len(flat)] = flat
    table = _Table(different, held.reshape(len(different), -1))
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
    asked = sorted({_key(split) for split in _splits(tree) if split.feature in moved})
    n = table.n
    if not asked:
        return own / n
    given = np.column_stack([table.answer(question) for question in asked])
    patterns, place = np.unique(given, axis=0, return_inverse=True)
    many = np.bincount(place.reshape(-1), table.weights)
    total = sum(
        count * table.errors(tree, dict(zip(asked, pattern, strict=True)))
        for count, pattern in zip(many, patterns, strict=True)
    )
    return float((total - own) / (n * (n - 1)))


class _Table:
    """Distinct rows, with their counts in each class."""

    def __init__(self, rows: FloatArray, held: FloatArray) -> None:
        self.rows, self.held = rows, held
        self.weights = held.sum(axis=1)
        self.n = float(self.weights.sum())

    def answer(self, question: tuple[int, str, float]) -> Mask:
        column, relation, reference = question
        return RELATIONS[relation](self.rows[:, column], reference)

    def errors(self, tree: Node, fixed: Mapping[tuple[int, str, float], Any]) -> float:
        """Count the rows that a tree labels wrongly if some questions have fixed answers."""
        return self._below(tree, fixed, np.arange(len(self.rows)))

    def _below(self, node: Node, fixed: Mapping[Any, Any], places: NDArray[np.intp]) -> float:
        if isinstance(node, Leaf):
            return float(self.weights[places].sum() - self.held[places, node.prediction].sum())
        key = _key(node)
        if key in fixed:
            return self._below(node.if_true if fixed[key] else node.if_false, fixed, places)
        yes = RELATIONS[node.relation](self.rows[places, node.feature], node.reference)
        return self._below(node.if_true, fixed, places[yes]) + self._below(
            node.if_false, fixed, places[~yes]
        )


def _key(split: Split) -> tuple[int, str, float]:
    return split.feature, split.relation, float(split.reference)


def _splits(tree: Node) -> Iterator[Split]:
    if isinstance(tree, Split):
        yield tree
        yield from _splits(tree.if_true)
        yield from _splits(tree.if_false)


_KNOWN = ("squared", "absolute", "logistic", "hinge", "softmax")


def problem_task(problem: Problem | PenalisedProblem, coef: ArrayLike) -> LinearTask:
    """Task of models with a problem's rows, targets and loss, without its ridge."""
    models = np.asarray(coef, dtype=float)
    if models.ndim != 2 or models.shape[1] != problem.p or not len(models):
        raise ValueError(f"coef must have shape (n_models, {problem.p}), got {models.shape}")
    loss, targets = problem.loss, problem.targets
    median = not isinstance(loss, AbsoluteLoss) or loss.tau == 0.5
    if loss.name not in _KNOWN or not median:
        raise ValueError(f"reliance needs one of the losses {_KNOWN}, got {loss!r}")
    if isinstance(loss, SquaredLoss | AbsoluteLoss):
        targets = np.clip(targets, -loss.target_bound, loss.target_bound)
    elif loss.task == "classification":
        targets = (targets > 0).astype(float)
    shaped = models.reshape(len(models), loss.outputs, -1)
    return LinearTask(shaped, problem.rows, targets, loss.name, 1.0)
