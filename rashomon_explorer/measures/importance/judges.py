"""What importances ask of models: names of their columns, and their losses on any rows."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import log_softmax

from rashomon_explorer.array_types import FloatArray
from rashomon_explorer.measures.evaluation import checked_rows, need_linear
from rashomon_explorer.measures.features import Columns
from rashomon_explorer.measures.reliance.tree_reliance import coded_rows, column_names, trees_of
from rashomon_explorer.rashomon_set.models import DecisionTrees
from rashomon_explorer.rashomon_set.models.trees import columns_of


@dataclass(frozen=True, eq=False)
class Judge:
    """Models that are judged on some rows.

    Parameters
    ----------
    rows : ndarray of shape (n_rows, n_columns)
    names : sequence of str
        Of the columns.
    groups : mapping or None
        Which columns are one feature, where the set says.
    losses : callable
        Mean loss (n_models,) of every model on rows in the place of those.
    asking : callable
        Places of the models that any of some columns can move; no others need be asked again.
    """

    rows: FloatArray
    names: Sequence[str]
    groups: Mapping[str, Sequence[str]] | None
    losses: Callable[[FloatArray, Columns], FloatArray]
    asking: Callable[[Columns], Columns]


def judge_of(models: Any, X: ArrayLike, y: ArrayLike) -> Judge:
    """Models with rows and targets: linear ones, or trees.

    Raises
    ------
    TypeError
        If they are neither.
    """
    trees = trees_of(models)
    return _of_linear(models, X, y) if trees is None else _of_trees(trees, models, X, y)


def _of_linear(models: Any, X: ArrayLike, y: ArrayLike) -> Judge:
    need_linear(models)
    rows, targets = checked_rows(models, X, y)
    every = np.arange(models.n_draws)

    def losses(given: FloatArray, asked: Columns) -> FloatArray:
        if models.task == "classification":
            each = _CLASS_LOSSES[models.link](models.margins(given), targets)
            return np.asarray(each.mean(axis=1))
        return np.asarray(((models.scores(given) - targets) ** 2).mean(axis=1) / 2)

    return Judge(rows, models.feature_names[:-1], models.feature_groups, losses, lambda _: every)


def _of_trees(trees: DecisionTrees, models: Any, X: ArrayLike, y: ArrayLike) -> Judge:
    rows, codes = coded_rows(trees, models, X, y)
    asks = [columns_of(tree) for tree in trees.trees]

    def losses(given: FloatArray, asked: Columns) -> FloatArray:
        return np.asarray((trees.take(asked).labels(given) != codes).mean(axis=1))

    def asking(columns: Columns) -> Columns:
        moved = set(columns.tolist())
        return np.array([k for k, own in enumerate(asks) if own & moved], dtype=np.intp)

    return Judge(rows, column_names(trees, rows), None, losses, asking)


def _log_loss(margins: FloatArray, codes: FloatArray) -> FloatArray:
    # From the margins: 1 − p would round a confident model's small p to 0.
    return np.logaddexp(0.0, np.where(codes == 1, -1.0, 1.0) * margins)


def _cross_entropy(margins: FloatArray, codes: FloatArray) -> FloatArray:
    own = codes.astype(int)[None, :, None]
    return -np.take_along_axis(log_softmax(margins, axis=-1), own, axis=-1)[..., 0]


def _wrong(margins: FloatArray, codes: FloatArray) -> FloatArray:
    return ((margins > 0) != (codes == 1)).astype(float)


_CLASS_LOSSES: dict[str, Callable[[FloatArray, FloatArray], FloatArray]] = {
    "logistic": _log_loss,
    "softmax": _cross_entropy,
    "sign": _wrong,
}
