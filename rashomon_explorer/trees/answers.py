"""Exact queries on a counted set."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from rashomon_explorer._utils.arrays import FloatArray, Mask
from rashomon_explorer._utils.progress import progress
from rashomon_explorer._utils.threads import one_blas_thread
from rashomon_explorer.exceptions import DataError
from rashomon_explorer.sets.models.trees import Node
from rashomon_explorer.sets.scores import encoded_rows
from rashomon_explorer.trees import lattice
from rashomon_explorer.trees.counted import CountedTrees
from rashomon_explorer.trees.counting import count
from rashomon_explorer.trees.questions import yes_or_no
from rashomon_explorer.trees.witnesses import BestPredicting, BestTrees, BestUsing, avoiding


def least_losses(counted: CountedTrees) -> FloatArray:
    """Least loss of a tree that gives each label to each row; for the curator: not private.

    Exact over all trees of the class: combines the least errors below every path and the least
    errors of the rest of the tree.

    Parameters
    ----------
    counted : CountedTrees

    Returns
    -------
    ndarray of shape (n, n_labels)
        Never below ``counted.least``, which one label of every row attains; accurate to 10⁻¹².

    Examples
    --------
    >>> counted = CountedTrees([[1, 0], [1, 1], [0, 1]], [1, 0, 0], max_leaves=2)
    >>> least_losses(counted).round(3).tolist()
    [[0.333, 0.0], [0.0, 0.333], [0.0, 0.667]]
    """
    return _losses(counted, counted.rows.patterns)[counted.rows.pattern_index]


def flip_psi(counted: CountedTrees) -> FloatArray:
    """Least ψ at which the set has a tree that labels each row differently from the best one.

    Parameters
    ----------
    counted : CountedTrees

    Returns
    -------
    ndarray of shape (n,)
        0 for a row on which trees of least loss disagree.

    Examples
    --------
    >>> counted = CountedTrees([[1, 0], [1, 1], [0, 1]], [1, 0, 0], max_leaves=2)
    >>> flip_psi(counted).round(3).tolist()
    [0.333, 0.333, 0.667]
    """
    losses = np.sort(least_losses(counted), axis=1)
    excess = losses[:, 1] - counted.least
    return np.where(excess < _NOTHING, 0.0, excess)


def best_tree_predicting(counted: CountedTrees, row: int, label: int) -> Node:
    """Return a tree of least loss that gives a row the class 0, 1, …; not private.

    Parameters
    ----------
    counted : CountedTrees
    row : int
        Index of the row in the table.
    label : int
        Class 0, 1, ….

    Raises
    ------
    DataError
        If there is no such row or class.

    Examples
    --------
    >>> counted = CountedTrees([[1, 0], [1, 1], [0, 1]], [1, 0, 0], max_leaves=2)
    >>> best_tree_predicting(counted, row=1, label=1).feature
    0
    """
    if not (0 <= row < counted.n and 0 <= label < len(counted.classes)):
        raise DataError(
            f"row must be below {counted.n} and label below {len(counted.classes)}, got {row} and "
            f"{label}"
        )
    check_all_labels(counted)
    combination = counted.rows.patterns[counted.rows.pattern_index[row]]
    loss = float(_losses(counted, combination[None])[0, label])
    best = counted.best_within(max(0.0, loss - counted.least) + _NOTHING)
    predicting = BestPredicting(best, combination.tolist(), label)
    losses = counted.losses_by_leaves(predicting.best_errors)
    return predicting.best(1 + int(np.argmin(losses)))


def possible_labels(counted: CountedTrees, psi: float, X: ArrayLike) -> Mask:
    """Whether some tree within ψ gives each row each label; for the curator: not private.

    Exact over all trees, also for rows with answers that no row of the counted table has: a tree
    may lead these to a leaf without rows, which may have every label.

    Parameters
    ----------
    counted : CountedTrees
    psi : float
        Rashomon threshold, in units of the loss.
    X : array-like of shape (k, m) or DataFrame
        Rows in the form for its trees.

    Returns
    -------
    ndarray of bool of shape (k, n_labels)
        By the index of the class.

    Examples
    --------
    >>> counted = CountedTrees([[1, 0], [1, 1], [0, 1]], [1, 0, 0], max_leaves=2)
    >>> possible_labels(counted, 0.0, [[1, 0], [0, 0]]).tolist()
    [[False, True], [False, True]]
    """
    check_all_labels(counted)
    limits, (answers, index) = counted.limits(psi), _different_answers(counted, X)
    # A tree is within the limits if its errors are not above that of its leaves.
    start: FloatArray = -limits.astype(float)
    start[limits < 0] = np.inf
    costs = counted.label_costs(start)
    return np.asarray(costs.least(answers) <= 0)[index]


def losses_predicting(counted: CountedTrees, X: ArrayLike) -> FloatArray:
    """Least loss (k, n_labels) of a tree that gives each row each label, also for new rows."""
    answers, index = _different_answers(counted, X)
    return _losses(counted, answers)[index]


def _losses(counted: CountedTrees, answers: Mask) -> FloatArray:
    leaves = np.arange(1, counted.trees.most_leaves + 1)
    check_all_labels(counted)
    costs = counted.label_costs(counted.unit * counted.leaf_penalty * leaves)
    return costs.least(answers) / counted.unit


def _different_answers(counted: CountedTrees, X: ArrayLike) -> tuple[Mask, NDArray[np.intp]]:
    answers, index = np.unique(_answers(counted, X), axis=0, return_inverse=True)
    return answers, index.reshape(-1)


def best_avoiding(counted: CountedTrees, feature: int) -> Node:
    """Return a tree of least loss that never tests a feature; not private.

    Parameters
    ----------
    counted : CountedTrees
    feature : int
        Column.

    Examples
    --------
    >>> counted = CountedTrees([[1, 0], [1, 1], [0, 1]], [1, 0, 0], max_leaves=2)
    >>> best_avoiding(counted, 1)
    Leaf(prediction=0)
    """
    levels, trees = avoiding(counted.levels, counted.trees, _checked(counted, feature))
    least_errors = lattice.least_errors(levels, trees)
    leaves = 1 + int(np.argmin(counted.losses_by_leaves(least_errors.best_errors)))
    return BestTrees(levels, trees, least_errors, without=feature).best(leaves)


def best_using(counted: CountedTrees, feature: int) -> Node:
    """Return a tree of least loss that tests a feature; not private.

    Parameters
    ----------
    counted : CountedTrees
    feature : int
        Column.

    Raises
    ------
    DataError
        If there is no such column, or no tree of the class tests it.

    Examples
    --------
    >>> counted = CountedTrees([[1, 0], [1, 1], [0, 1]], [1, 0, 0], max_leaves=2)
    >>> best_using(counted, 1).feature
    1
    """
    _checked(counted, feature)
    using = BestUsing(counted.best_trees, feature)
    losses = counted.losses_by_leaves(using.best_errors)
    if not np.isfinite(losses).any():
        raise DataError(f"no tree of the class tests column {feature}: allow more leaves")
    return using.best(1 + int(np.argmin(losses)))


_NOTHING = 1e-12


def check_all_labels(counted: CountedTrees) -> None:
    """Raise for a class whose leaves predict the majority label of their rows."""
    if counted.convention != "all":
        raise DataError(
            "leaves with majority labels do not predict every label: count with convention='all'"
        )


def _least_psi(counted: CountedTrees, errors: NDArray[np.int64]) -> float:
    """Least excess loss over the numbers of leaves; 0 if only rounding, ∞ if there is no tree."""
    excess = float(counted.losses_by_leaves(errors).min()) - counted.least
    return 0.0 if excess < _NOTHING else excess


def _checked(counted: CountedTrees, feature: int) -> int:
    if not 0 <= feature < counted.trees.n_features:
        raise DataError(f"feature must be below {counted.trees.n_features}, got {feature!r}")
    return int(feature)


def feature_table(counted: CountedTrees, psi: float | None = None) -> pd.DataFrame:
    """Exact importance of each feature for the set; for the curator: not private.

    Parameters
    ----------
    counted : CountedTrees
    psi : float, optional
        Threshold for the share of trees that test the feature.

    Returns
    -------
    DataFrame
        One row per feature: ``psi_using`` and ``psi_avoiding``, the least ψ at which the set has a
        tree that tests it, and one that does not (if above 0, all better trees test it); and
        ``share_using`` with ``psi``.

    Examples
    --------
    >>> counted = CountedTrees([[1, 0], [1, 1], [0, 1]], [1, 0, 0], max_leaves=2)
    >>> feature_table(counted, psi=0.34).round(3)
        psi_using  psi_avoiding  share_using
    x0      0.333         0.000        0.333
    x1      0.000         0.333        0.333
    """
    rows = []
    total = None if psi is None else counted.size(psi)
    best = [lattice.TwoBest.from_level(level) for level in counted.levels]
    for feature in progress(range(counted.trees.n_features), "features"):
        levels, trees = avoiding(counted.levels, counted.trees, feature)
        stumps = [two.without(feature) for two in best]
        least_errors = lattice.least_errors(levels, trees, stumps)
        using = BestUsing(counted.best_trees, feature)
        row = {
            "psi_using": _least_psi(counted, using.best_errors),
            "psi_avoiding": _least_psi(counted, least_errors.best_errors),
        }
        if psi is not None and total is not None:
            limit = counted.limits(psi)[: len(least_errors.best_errors)]
            with one_blas_thread():
                histograms = count(levels, trees, least_errors, limit, np.inf).by_leaves()
            left = sum(
                sum(map(int, histogram[1].tolist()))
                for histogram in histograms
                if histogram is not None
            )
            row["share_using"] = float(1 - Fraction(left, total))
        rows.append(row)
    return pd.DataFrame(rows, index=list(counted.feature_names))


def label_shares(counted: CountedTrees, psi: float, X: ArrayLike | None = None) -> FloatArray:
    """Share of the trees within ψ that give each row each label; not private.

    Exact over all trees, not estimated from draws: the counts are propagated from the whole
    trees to their leaves, without listing them.

    Parameters
    ----------
    counted : CountedTrees
    psi : float
        Rashomon threshold, in units of the loss.
    X : array-like of shape (k, m) or DataFrame, optional
        Some of the table's rows, in the form for its trees; by default all.

    Returns
    -------
    ndarray of shape (n, n_labels)
        By the index of the class. Two trees drawn at random differ on a row with probability
        1 − Σ share².

    Raises
    ------
    DataError
        If a row of X is not in the table: shares are counted only for the table's rows.

    Examples
    --------
    >>> counted = CountedTrees([[1, 0], [1, 1], [0, 1]], [1, 0, 0], max_leaves=2)
    >>> label_shares(counted, psi=0.4).round(3).tolist()
    [[0.333, 0.667], [0.667, 0.333], [1.0, 0.0]]
    """
    times = counted.labelled(psi)
    shares = times / times.sum(axis=1, keepdims=True)
    return np.asarray(
        shares[counted.rows.pattern_index if X is None else _pattern_indices(counted, X)]
    )


def _answers(counted: CountedTrees, X: Any) -> Mask:
    rows = encoded_rows(counted, X)
    if counted.questions is not None:
        rows = counted.questions.answers(np.asarray(rows))
    answers = yes_or_no(rows)
    if answers.shape[1] != counted.trees.n_features:
        raise DataError(
            f"X must have the table's columns, {counted.trees.n_features} answers per row, got "
            f"{answers.shape[1]}"
        )
    return answers


def _pattern_indices(counted: CountedTrees, X: ArrayLike) -> NDArray[np.int64]:
    """Index of the combination of each row."""
    answers, patterns = _answers(counted, X), counted.rows.patterns
    by_pattern = {row.tobytes(): k for k, row in enumerate(patterns)}
    indices = [by_pattern.get(row.tobytes(), -1) for row in answers]
    if -1 in indices:
        raise DataError(
            f"row {indices.index(-1)} of X has answers that no row of the counted table has: "
            "shares are counted for the table's own rows; for others, draw trees: "
            "counted.draw(2000, psi).labels(X)"
        )
    return np.array(indices, dtype=np.int64)
