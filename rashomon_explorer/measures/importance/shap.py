"""Exact Shapley values of linear models."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer.measures.evaluation import need_linear
from rashomon_explorer.measures.features import Features, feature_groups
from rashomon_explorer.measures.importance.shap_trees import players, tree_shap_values
from rashomon_explorer.measures.reliance.tree_reliance import column_names, held_trees
from rashomon_explorer.rows import ChunkedRows
from rashomon_explorer.rows.coercion import as_chunked_rows, is_chunked
from rashomon_explorer.sets import RashomonSet, ReleasedSet
from rashomon_explorer.sets.models.trees import DecisionTrees, Node

_MOST_VALUES = 200_000_000


def linear_shap(
    models: RashomonSet | ReleasedSet,
    X: ArrayLike,
    *,
    background: ArrayLike | None = None,
    features: Features = None,
) -> FloatArray:
    """Shapley value of every feature for every row and draw.

    With absent features replaced by independent background values the game of a linear model
    has the Shapley values φ_j(x) = θ_j(x_j − E x_j) exactly (Štrumbelj and Kononenko, Explaining
    prediction models and individual predictions with feature contributions, 2014; Lundberg and
    Lee 2017, corollary 1), and a group's is the sum of its columns'. They add up to the row's
    score less the mean score of the background: the log odds for a logistic link, the target
    for regression. Rows are shortened to the row norm first, as the models do. Computed from
    private rows they are the curator's.

    Parameters
    ----------
    models : RashomonSet or ReleasedSet
    X : array-like of shape (n_rows, n_features)
    background : array-like of shape (n_background, n_features), optional
        By default ``X``.
    features : sequence, mapping or "columns", optional
        Features or groups of them, see :func:`feature_groups`; by default each feature once,
        the columns of one category together.

    Returns
    -------
    ndarray of shape (n_draws, n_rows, n_groups), or (n_draws, n_rows, n_groups, n_classes)
        The latter for a softmax link, whose first class has the score 0.

    Raises
    ------
    ValueError
        If a shape or a value is wrong, a feature is unknown, or the result would not fit memory.

    Examples
    --------
    >>> from rashomon_explorer import RashomonClassifier
    >>> X, y = [[0.9, 0.1], [0.6, 0.2], [-0.7, 0.1], [-0.5, 0.2]] * 50, [1, 1, 0, 0] * 50
    >>> models = RashomonClassifier(n_draws=3, epsilon=80.0, random_state=0).fit(X, y).rashomon_set_
    >>> values, scores = linear_shap(models, X), models.margins(X)
    >>> np.allclose(values.sum(axis=2), scores - scores.mean(axis=1, keepdims=True))
    True
    """
    coef, away, groups = _centred(models, X, background, features)
    size = coef.shape[0] * coef.shape[1] * len(away) * len(groups)
    if size > _MOST_VALUES:
        raise ValueError(
            f"{size:,} Shapley values are more than {_MOST_VALUES:,}: pass fewer rows, or use "
            "shap_importance for their mean size"
        )
    each = [
        np.einsum("kop,np->kno", coef[:, :, columns], away[:, columns], optimize=True)
        for columns in groups.values()
    ]
    values = np.stack(each, axis=2)
    if models.link != "softmax":
        return values[..., 0]
    return np.concatenate([np.zeros_like(values[..., :1]), values], axis=-1)


def shap_importance(
    models: Any,
    X: ArrayLike,
    *,
    background: ArrayLike | None = None,
    features: Features = None,
) -> pd.DataFrame:
    """Mean size of the Shapley values of every draw: mean |φ_j| over rows, summed over classes.

    Parameters
    ----------
    models, X, background, features
        As for :func:`linear_shap`, or, for a set of decision trees, :func:`tree_shap`. For linear
        models X may be rows in blocks: their mean and the sizes are sums, in two passes.

    Returns
    -------
    pandas.DataFrame
        One row a draw, one column a group.

    Raises
    ------
    ValueError
        If a shape or a value is wrong, or a feature is unknown.

    Examples
    --------
    >>> from rashomon_explorer import RashomonClassifier
    >>> X, y = [[0.9], [0.6], [-0.7], [-0.5]] * 50, [1, 1, 0, 0] * 50
    >>> models = RashomonClassifier(n_draws=3, epsilon=80.0, random_state=0).fit(X, y).rashomon_set_
    >>> shap_importance(models, X).shape
    (3, 1)
    """
    if (trees := held_trees(models)) is not None:
        return _of_trees(trees, X, background, features)
    if is_chunked(X):
        return _of_blocks(models, as_chunked_rows(X), background, features)
    coef, away, groups = _centred(models, X, background, features)
    sizes = {name: _mean_size(coef[:, :, j], away[:, j]) for name, j in groups.items()}
    return pd.DataFrame(sizes).rename_axis(index="model", columns="feature")


def _of_blocks(
    models: RashomonSet | ReleasedSet, table: ChunkedRows, background: Any, features: Features
) -> pd.DataFrame:
    """Add up over all rows, in a pass for their mean and one for the values' sizes."""
    need_linear(models)
    if background is None:
        (sums,) = table.reduce(_Shortened(models))
        mean = sums / table.n
    else:
        mean = _rows("background", background, models).mean(axis=0)
    coef = _coefficients(models)
    groups = feature_groups(features, models.feature_names[:-1], models.feature_groups)
    (sizes,) = table.reduce(_Sizes(models, mean, coef, tuple(groups.values())))
    return pd.DataFrame(sizes / table.n, columns=list(groups)).rename_axis(
        index="model", columns="feature"
    )


@dataclass(frozen=True, eq=False)
class _Shortened:
    """Sums of a block's rows, as the models see them."""

    models: Any

    def __call__(self, rows: FloatArray, targets: Any) -> tuple[FloatArray]:
        return (_rows("X", rows, self.models).sum(axis=0),)


@dataclass(frozen=True, eq=False)
class _Sizes:
    """Sums (n_draws, n_groups) of the sizes of a block's Shapley values."""

    models: Any
    mean: FloatArray
    coef: FloatArray
    groups: tuple[NDArray[np.intp], ...]

    def __call__(self, rows: FloatArray, targets: Any) -> tuple[FloatArray]:
        away = _rows("X", rows, self.models) - self.mean
        each = [_mean_size(self.coef[:, :, j], away[:, j]) for j in self.groups]
        return (len(rows) * np.column_stack(each),)


def _of_trees(
    trees: DecisionTrees, X: ArrayLike, background: ArrayLike | None, features: Features
) -> pd.DataFrame:
    """Tree by tree, so that no more than one tree's values are held."""
    rows = trees.rows(X)
    others = rows if background is None else trees.rows(background)
    groups = players(features, column_names(trees, rows))
    known: dict[Node, FloatArray] = {}
    for tree in trees.trees:
        if tree not in known:
            values = tree_shap_values(tree, rows, others, list(groups.values()), trees.n_classes)
            sizes = np.abs(values).mean(axis=0)
            known[tree] = sizes if sizes.ndim == 1 else sizes.sum(axis=1)
    table = pd.DataFrame([known[tree] for tree in trees.trees], columns=list(groups))
    return table.rename_axis(index="model", columns="feature")


def _mean_size(coef: FloatArray, away: FloatArray) -> FloatArray:
    if coef.shape[2] == 1:
        return np.asarray(np.abs(coef).sum(axis=(1, 2)) * np.abs(away).mean())
    return np.array([np.abs(one @ away.T).mean(axis=1).sum() for one in coef])


def _centred(
    models: RashomonSet | ReleasedSet,
    X: ArrayLike,
    background: ArrayLike | None,
    features: Features,
) -> tuple[FloatArray, FloatArray, dict[str, NDArray[np.intp]]]:
    """Coefficients (n_draws, outputs, n_features), rows less the background's mean, groups."""
    if held_trees(models) is not None:
        raise TypeError("linear_shap needs linear models: tree_shap is for sets of trees")
    need_linear(models)
    names = models.feature_names[:-1]
    rows = _rows("X", X, models)
    reference = rows if background is None else _rows("background", background, models)
    return (
        _coefficients(models),
        rows - reference.mean(axis=0),
        feature_groups(features, names, models.feature_groups),
    )


def _coefficients(models: RashomonSet | ReleasedSet) -> FloatArray:
    """Coefficients (n_draws, outputs, n_features) in units of the target."""
    coef = models.coef.reshape(models.n_draws, models.outputs, -1)[:, :, :-1]
    if models.task == "regression":
        low, high = models.target_bounds
        coef = coef * ((high - low) / 2)
    return np.asarray(coef)


def _rows(name: str, X: ArrayLike, models: RashomonSet | ReleasedSet) -> FloatArray:
    rows = np.asarray(X, dtype=float)
    width = len(models.feature_names) - 1
    if rows.ndim != 2 or rows.shape[1] != width or len(rows) == 0:
        raise ValueError(f"{name} must have shape (n_rows, {width}), got {rows.shape}")
    if not np.isfinite(rows).all():
        raise ValueError(f"{name} must be finite: remove or impute rows with NaN or infinity")
    return models.rows(rows)
