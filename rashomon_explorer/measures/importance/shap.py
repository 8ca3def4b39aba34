"""Exact Shapley values of linear models and trees."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from math import factorial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from rashomon_explorer._utils.arrays import FloatArray, Mask
from rashomon_explorer._utils.progress import progress
from rashomon_explorer.measures.inputs import Features, feature_groups, set_and_rows, sum_rows
from rashomon_explorer.measures.reliance.set_reliance import column_names, find_trees, linear_models
from rashomon_explorer.sets import RashomonSet, ReleasedSet
from rashomon_explorer.sets.models import trees

_BITS = 62  # bits of an integer that codes answers
Path = tuple[tuple[trees.Split, bool], ...]
Question = tuple[int, str, float]


def tree_shap(
    models: Any, X: ArrayLike, *, background: ArrayLike | None = None, features: Features = None
) -> FloatArray:
    """Shapley value of every feature for every row and tree.

    The game of a row x is v(S) = E_z f(x_S, z_rest): absent features take the values of
    independent background rows, as for :func:`linear_shap`; a group of columns is one player. For
    given x and z, let A be the players on a leaf's path with answers of x, but not z, along the
    path, and B those with answers of z, but not x. S reaches the leaf if A ⊆ S and B ∩ S = ∅. The
    game 1[A ⊆ S, B ∩ S = ∅] has the values (a − 1)!b!/(a + b)! for A and −a!(b − 1)!/(a + b)! for
    B; a tree is the sum of its leaves (Laberge and Pequignot, Understanding interventional
    TreeSHAP, 2022). Values are exact and sum over all features to f(x) − E f. Results on private
    rows are not private.

    Parameters
    ----------
    models : set of decision trees
        A ``PredictorSet`` or ``ReleasedTrees``.
    X : array-like of shape (n_rows, n_features)
    background : array-like of shape (n_background, n_features), optional
        By default ``X``.
    features : sequence, mapping or "columns", optional
        By default each feature once; see :func:`feature_groups`. Omitted features are players too.

    Returns
    -------
    ndarray of shape (n_draws, n_rows, n_groups), or (n_draws, n_rows, n_groups, n_classes)
        For the 0-1 prediction of the second class; for several classes of each class.

    Raises
    ------
    TypeError
        If the set holds no trees.
    ValueError
        If a shape or a value is wrong, a feature is unknown or in two groups, or the result would
        be too large.

    Examples
    --------
    >>> from rashomon_explorer.trees import CountedTrees
    >>> X, y = [[0, 1], [1, 1], [0, 0], [1, 0]] * 25, [0, 1, 0, 1] * 25
    >>> models = CountedTrees(X, y, max_leaves=2).draw(1, psi=0.0, random_state=0)
    >>> tree_shap(models, X[:2]).round(2).tolist()
    [[[-0.5, 0.0], [0.5, 0.0]]]
    """
    (models, X), background = set_and_rows(models, X), set_and_rows(models, background)[1]
    forest = find_trees(models)
    if forest is None:
        raise TypeError(
            f"tree_shap needs a set of decision trees, got {type(models).__name__}: linear_shap is "
            "for linear models"
        )
    rows = _nonempty(forest.rows(X), "X")
    references = rows if background is None else _nonempty(forest.rows(background), "background")
    groups = players(features, column_names(forest, rows))
    outputs = 1 if forest.n_classes == 2 else forest.n_classes
    size = len(forest) * len(rows) * len(groups) * outputs
    if size > _MOST_VALUES:
        raise ValueError(
            f"{size:,} Shapley values are more than {_MOST_VALUES:,}: pass fewer rows or trees, or "
            "use shap_importance for their mean size"
        )
    return np.stack(
        _per_tree(
            forest, lambda tree: tree_shap_values(tree, rows, references, groups, forest.n_classes)
        )
    )


def _per_tree(
    forest: trees.DecisionTrees, compute: Callable[[trees.Node], FloatArray]
) -> list[FloatArray]:
    """Compute an array of each tree; many draws are equal trees, which are computed once."""
    different = dict.fromkeys(forest.trees)
    values = {tree: compute(tree) for tree in progress(different, "trees")}
    return [values[tree] for tree in forest.trees]


def players(features: Features, names: Sequence[str]) -> dict[str, NDArray[np.intp]]:
    """Return the selected groups as players; raise if a column is in two of them."""
    groups = feature_groups(features, names)
    used_columns: set[int] = set()
    for columns in groups.values():
        for column in columns.tolist():
            if column in used_columns:
                raise ValueError(
                    f"column {names[column]!r} is in two of the features: players must be disjoint"
                )
            used_columns.add(column)
    return groups


def tree_shap_values(
    tree: trees.Node,
    rows: FloatArray,
    background: FloatArray,
    groups: Mapping[str, NDArray[np.intp]],
    n_classes: int,
) -> FloatArray:
    """Shapley values (n_rows, groups[, classes]) of one tree."""
    player = {int(column): k for k, members in enumerate(groups.values()) for column in members}
    n_groups = len(groups)
    for column in sorted(trees.tree_columns(tree) - set(player)):
        player[column] = len(player) + n_groups  # not in any group, but a player
    # Rows with equal answers to the tree's questions are merged: the cost no longer depends on n.
    own_patterns, index, _ = _patterns(tree, rows)
    other_patterns, _, counts = _patterns(tree, background)
    totals = np.zeros((len(own_patterns.answers), n_groups, n_classes))
    shares = counts / len(background)
    for path, leaf in _paths(tree, ()):
        # Players of the path, and their contributions (U, players) to reaching the leaf.
        by_player: dict[int, list[tuple[trees.Split, bool]]] = {}
        for split, yes in path:
            by_player.setdefault(player[split.feature], []).append((split, yes))
        members, questions = list(by_player), list(by_player.values())
        here, here_index = _distinct(own_patterns.meets(questions))
        there, there_index = _distinct(other_patterns.meets(questions))
        share = np.bincount(there_index, shares, minlength=len(there))
        alive = (here[:, None] | there).all(axis=2)
        only_here, only_there = here[:, None] & ~there, ~here[:, None] & there
        a, b = only_here.sum(axis=2), only_there.sum(axis=2)
        weights = _weights(len(members))
        gained = np.einsum("uv,uvq->uq", np.where(alive, weights[a, b], 0.0) * share, only_here)
        lost = np.einsum("uv,uvq->uq", np.where(alive, weights[b, a], 0.0) * share, only_there)
        values = (gained - lost)[here_index]
        selected = [k for k, member in enumerate(members) if member < n_groups]
        totals[:, [members[k] for k in selected], leaf.prediction] += values[:, selected]
    every = totals[index]
    return every[..., 1] if n_classes == 2 else every


@dataclass(frozen=True)
class _Patterns:
    """Distinct answers (U, Q) to the questions of a tree, and the column of each question."""

    answers: Mask
    column: dict[Question, int]

    def meets(self, questions: list[list[tuple[trees.Split, bool]]]) -> Mask:
        """Whether patterns answer all questions of each player as on a path, (U, players)."""
        met = np.ones((len(self.answers), len(questions)), dtype=bool)
        for player, splits in enumerate(questions):
            for split, yes in splits:
                met[:, player] &= self.answers[:, self.column[split.question]] == yes
        return met


def _patterns(tree: trees.Node, rows: FloatArray) -> tuple[_Patterns, NDArray[np.intp], FloatArray]:
    """Distinct answers of rows to a tree's questions, each row's index, and the counts."""
    questions = list(dict.fromkeys(split.question for split in trees.tree_questions(tree)))
    answers = np.empty((len(rows), len(questions)), dtype=bool)
    for bit, (column, relation, reference) in enumerate(questions):
        answers[:, bit] = trees.RELATIONS[relation](rows[:, column], reference)
    different, index = _distinct(answers)
    counts = np.bincount(index, minlength=len(different))
    columns = {question: bit for bit, question in enumerate(questions)}
    return _Patterns(different, columns), index, counts.astype(float)


def _distinct(answers: Mask) -> tuple[Mask, NDArray[np.intp]]:
    """Distinct rows of answers, and the index of each row among them."""
    if answers.shape[1] > _BITS:
        distinct, index = np.unique(answers, axis=0, return_inverse=True)
        return distinct, index.reshape(-1)
    bits = np.arange(answers.shape[1])
    codes = (answers.astype(np.int64) << bits).sum(axis=1)
    values, index = np.unique(codes, return_inverse=True)
    return (values[:, None] >> bits & 1).astype(bool), index.reshape(-1)


@lru_cache
def _weights(size: int) -> FloatArray:
    """Return (a − 1)!·b!/(a + b)! for a, b = 0, …, size; 0 for a = 0."""
    table = np.zeros((size + 1, size + 1))
    for a in range(1, size + 1):
        for b in range(size + 1):
            table[a, b] = factorial(a - 1) * factorial(b) / factorial(a + b)
    return table


def _paths(node: trees.Node, path: Path) -> list[tuple[Path, trees.Leaf]]:
    if isinstance(node, trees.Leaf):
        return [(path, node)]
    yes = _paths(node.if_true, (*path, (node, True)))
    return yes + _paths(node.if_false, (*path, (node, False)))


def _nonempty(rows: FloatArray, name: str) -> FloatArray:
    if not len(rows):
        raise ValueError(f"{name} must have at least one row")
    return rows


_MOST_VALUES = 200_000_000


def linear_shap(
    models: RashomonSet | ReleasedSet,
    X: ArrayLike,
    *,
    background: ArrayLike | None = None,
    features: Features = None,
) -> FloatArray:
    """Shapley value of every feature for every row and draw.

    With absent features replaced by independent background values, the game of a linear model
    has the exact Shapley values φ_j(x) = θ_j(x_j − E x_j) (Štrumbelj and Kononenko, Explaining
    prediction models and individual predictions with feature contributions, 2014; Lundberg and
    Lee 2017, corollary 1). A group's value is the sum over its columns. All values sum to the
    row's score minus the mean score of the background: the log odds for a logistic link, the
    target for regression. Rows are clipped to the row norm first, as in the models. Results on
    private rows are not private.

    Parameters
    ----------
    models : RashomonSet or ReleasedSet
    X, background, features
        As for :func:`tree_shap`.

    Returns
    -------
    ndarray of shape (n_draws, n_rows, n_groups), or (n_draws, n_rows, n_groups, n_classes)
        The latter for a softmax link, whose first class has the score 0.

    Raises
    ------
    ValueError
        If a shape or a value is wrong, a feature is unknown, or the result would be too large.

    Examples
    --------
    >>> from rashomon_explorer import RashomonClassifier
    >>> X, y = [[0.9, 0.1], [0.6, 0.2], [-0.7, 0.1], [-0.5, 0.2]] * 50, [1, 1, 0, 0] * 50
    >>> models = RashomonClassifier(n_draws=3, epsilon=80.0, random_state=0).fit(X, y).rashomon_set_
    >>> values, scores = linear_shap(models, X), models.margins(X)
    >>> np.allclose(values.sum(axis=2), scores - scores.mean(axis=1, keepdims=True))
    True
    """
    (models, X), background = set_and_rows(models, X), set_and_rows(models, background)[1]
    if find_trees(models) is not None:
        raise TypeError("linear_shap needs linear models: tree_shap is for sets of trees")
    models = linear_models(models)
    rows = _rows("X", X, models)
    reference = rows if background is None else _rows("background", background, models)
    coef, away = _coefficients(models), rows - reference.mean(axis=0)
    groups = feature_groups(features, models.feature_names[:-1], models.feature_groups)
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
    models: Any, X: ArrayLike, *, background: ArrayLike | None = None, features: Features = None
) -> pd.DataFrame:
    """Mean |φ_j| over rows of the Shapley values of every draw, summed over classes.

    Parameters
    ----------
    models, X, background, features
        As for :func:`linear_shap`, or, for a set of decision trees, :func:`tree_shap`. For linear
        models X may be chunked rows, which are read in two passes.

    Returns
    -------
    pandas.DataFrame
        One row per draw, one column per group.

    Examples
    --------
    >>> from rashomon_explorer import RashomonClassifier
    >>> X, y = [[0.9], [0.6], [-0.7], [-0.5]] * 50, [1, 1, 0, 0] * 50
    >>> models = RashomonClassifier(n_draws=5, epsilon=80.0, random_state=0).fit(X, y).rashomon_set_
    >>> table = shap_importance(models, X)
    >>> table.shape, bool((table["x0"] > 0).all())
    ((5, 1), True)
    """
    (models, X), background = set_and_rows(models, X), set_and_rows(models, background)[1]
    if (forest := find_trees(models)) is not None:
        rows = forest.rows(X)
        references = rows if background is None else forest.rows(background)
        groups = players(features, column_names(forest, rows))

        def mean_size(tree: trees.Node) -> FloatArray:
            values = tree_shap_values(tree, rows, references, groups, forest.n_classes)
            mean = np.abs(values).mean(axis=0)
            return np.asarray(mean if mean.ndim == 1 else mean.sum(axis=1))

        table = pd.DataFrame(_per_tree(forest, mean_size), columns=list(groups))
        return table.rename_axis(index="model", columns="feature")
    models = linear_models(models)
    groups = feature_groups(features, models.feature_names[:-1], models.feature_groups)
    if background is None:
        sums = sum_rows(X, partial(_row_sums, models))
        mean = sums["rows"] / sums[None]
    else:
        mean = _rows("background", background, models).mean(axis=0)
    coef = _coefficients(models)
    sums = sum_rows(X, partial(_size_sums, models, mean, coef, groups))
    sizes = {}
    for name, columns in groups.items():
        size = sums[name] / sums[None]
        if len(columns) == 1:
            size = np.abs(coef[:, :, columns]).sum(axis=(1, 2))[:, None] * size
        sizes[name] = size.sum(axis=1)
    return pd.DataFrame(sizes).rename_axis(index="model", columns="feature")


def _row_sums(models: Any, rows: FloatArray, _: Any) -> dict[str | None, Any]:
    clipped = _rows("X", rows, models)
    return {"rows": clipped.sum(axis=0), None: len(clipped)}


def _size_sums(
    models: Any,
    mean: FloatArray,
    coef: FloatArray,
    groups: Mapping[str, NDArray[np.intp]],
    rows: FloatArray,
    _: Any,
) -> dict[str | None, Any]:
    """Sum |φ_j| (n_draws, outputs) over a chunk's rows; for one column |x_j − E x_j|."""
    away = _rows("X", rows, models) - mean
    sums: dict[str | None, Any] = {None: len(away)}
    for name, columns in groups.items():
        if len(columns) == 1:
            sums[name] = np.abs(away[:, columns]).sum(keepdims=True)
        else:
            each = [np.abs(part @ away[:, columns].T) for part in coef[:, :, columns]]
            sums[name] = np.array([part.sum(axis=1) for part in each])
    return sums


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
