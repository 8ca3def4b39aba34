"""Exact answers about the whole set of sparse trees.  Curator: computed from private rows."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rashomon_explorer.array_types import FloatArray
from rashomon_explorer.exceptions import DataError
from rashomon_explorer.rashomon_set.models.trees import Leaf, Node
from rashomon_explorer.trees.best import avoiding, best_tree
from rashomon_explorer.trees.counted import CountedTrees
from rashomon_explorer.trees.law import losses_of
from rashomon_explorer.trees.least import (
    NEVER,
    allowances,
    label_errors,
    leaf_errors,
    leaf_label,
    least_errors,
)
from rashomon_explorer.trees.rows import as_masks
from rashomon_explorer.trees.saying import Saying
from rashomon_explorer.trees.using import Using


def least_losses(counted: CountedTrees) -> FloatArray:
    """Least loss of a tree that gives each label to each row.  Curator: not private.

    Exact, of all trees of the class: from the least errors below every set of rows, and the
    least beside it.

    Parameters
    ----------
    counted : CountedTrees

    Returns
    -------
    ndarray of shape (n, n_labels)
        Never below ``counted.least``, which one label of every row attains; right to 10⁻¹².

    Examples
    --------
    >>> counted = CountedTrees([[1, 0], [1, 1], [0, 1]], [1, 0, 0], max_leaves=2)
    >>> least_losses(counted).round(3).tolist()
    [[0.333, 0.0], [0.0, 0.333], [0.0, 0.667]]
    """
    need_all(counted)
    room = _Room.of(counted)
    size, labels = counted.rows.counts.shape
    found = np.full((size, labels), np.inf)
    for label in range(labels):
        costs, sets = _ways_to_say(counted, room, label)
        _spread(costs, sets, size, found[:, label])
    return np.asarray(found[counted.rows.place])


def flip_psi(counted: CountedTrees) -> FloatArray:
    """Least ψ at which the set holds a tree that labels each row otherwise than the best one.

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
    beyond = losses[:, 1] - counted.least
    return np.where(beyond < _NOTHING, 0.0, beyond)


def best_saying(counted: CountedTrees, row: int, label: int) -> Node:
    """Return a tree of least loss that gives a row the class 0, 1, ….  Curator: not private.

    Parameters
    ----------
    counted : CountedTrees
    row : int
        Place of the row in the table.
    label : int
        Class 0, 1, ….

    Raises
    ------
    DataError
        If there is no such row or class.

    Examples
    --------
    >>> counted = CountedTrees([[1, 0], [1, 1], [0, 1]], [1, 0, 0], max_leaves=2)
    >>> best_saying(counted, row=2, label=1)
    Leaf(prediction=1)
    """
    if not (0 <= row < counted.n and 0 <= label < len(counted.classes)):
        raise DataError(
            f"row must be below {counted.n} and label below {len(counted.classes)}, got {row} and "
            f"{label}"
        )
    need_all(counted)
    combination = counted.rows.patterns[counted.rows.place[row]].tolist()
    parts = (counted.levels, counted.trees, counted.least_errors)
    saying = Saying(*parts, combination, label)
    leaves = range(1, counted.trees.most_leaves + 1)
    errors = np.array([saying.errors(0, 0, k) for k in leaves])
    return saying.tree(0, 0, 1 + int(np.argmin(losses_by_leaves(counted, errors))))


def best_avoiding(counted: CountedTrees, feature: int) -> Node:
    """Return a tree of least loss that never asks for a feature.  Curator: not private.

    Parameters
    ----------
    counted : CountedTrees
    feature : int
        Column.

    Examples
    --------
    >>> counted = CountedTrees([[1, 0], [1, 1], [0, 1]], [1, 0, 0], max_leaves=2)
    >>> best_avoiding(counted, 0)
    Split(feature=1, if_true=Leaf(prediction=0), if_false=Leaf(prediction=1), relation='==', \
reference=1.0)
    """
    levels, trees = avoiding(counted.levels, counted.trees, _checked(counted, feature))
    least = least_errors(levels, trees)
    leaves = 1 + int(np.argmin(losses_by_leaves(counted, least.whole)))
    if leaves == 1:
        return Leaf(leaf_label(levels[0], 0))
    return best_tree(levels, trees, least, leaves, without=feature)


def best_using(counted: CountedTrees, feature: int) -> Node:
    """Return a tree of least loss that asks for a feature.  Curator: not private.

    Parameters
    ----------
    counted : CountedTrees
    feature : int
        Column.

    Raises
    ------
    DataError
        If there is no such column, or no tree of the class asks for it.

    Examples
    --------
    >>> counted = CountedTrees([[1, 0], [1, 1], [0, 1]], [1, 0, 0], max_leaves=2)
    >>> best_using(counted, 0)
    Split(feature=0, if_true=Leaf(prediction=1), if_false=Leaf(prediction=0), relation='==', \
reference=1.0)
    """
    _checked(counted, feature)
    using = Using(counted.levels, counted.trees, counted.least_errors, feature)
    losses = np.where(using.whole < NEVER, losses_by_leaves(counted, using.whole), np.inf)
    if not np.isfinite(losses).any():
        raise DataError(f"no tree of the class asks for column {feature}: allow more leaves")
    return using.tree(1 + int(np.argmin(losses)))


_NOTHING = 1e-12


@dataclass(frozen=True)
class _Room:
    """What the rest of a tree costs around each set, and errors in units of rows."""

    base: float
    given: list[NDArray[np.float64]]

    @classmethod
    def of(cls, counted: CountedTrees) -> "_Room":
        """Take allowances under a limit that no tree reaches: they tell what is least elsewhere."""
        n, penalty = counted.unit, counted.leaf_penalty
        leaves = np.arange(1, counted.trees.most_leaves + 1)
        base = n * (2.0 + penalty * counted.trees.most_leaves)
        limit = base - n * penalty * leaves
        return cls(base, allowances(counted.levels, counted.least_errors, limit))

    def cost(self, asked: int, leaves: int) -> FloatArray:
        """Least cost (N,) elsewhere of trees with so many leaves below each set; ∞ without any."""
        given = self.given[asked][:, leaves - 1]
        return np.where(given >= 0, self.base - given, np.inf)


def _ways_to_say(counted: CountedTrees, room: _Room, label: int) -> tuple[FloatArray, list[int]]:
    """Cost of every leaf that could have a label, the rest of the tree at its best, and its set."""
    masks = counted.rows.masks
    costs: list[FloatArray] = []
    sets: list[int] = []
    for asked, level in enumerate(counted.levels):
        alone = label_errors(level, level.totals)[:, label].astype(float)
        leaf = alone + room.cost(asked, 1)
        if room.given[asked].shape[1] < 2:
            costs.append(leaf)
            sets += level.sets
            continue
        around = room.cost(asked, 2)
        idle = np.where(level.spare > 0, alone + around, np.inf)
        costs.append(np.minimum(leaf, idle))
        sets += level.sets
        others = [other for other in range(level.totals.shape[1]) if other != label]
        yes, no = leaf_errors(level)
        for mine, beside, has_it in ((yes, no, True), (no, yes, False)):
            both = mine[..., label] + beside[..., others].min(axis=2) + around[:, None]
            node, feature = np.nonzero(level.cuts & np.isfinite(both))
            costs.append(both[node, feature])
            pairs_of = zip(node.tolist(), feature.tolist(), strict=True)
            for place, asked_for in pairs_of:
                having = level.sets[place] & masks[asked_for]
                sets.append(having if has_it else level.sets[place] ^ having)
    losses = np.concatenate(costs) / counted.unit
    return losses, sets


def _spread(losses: FloatArray, sets: list[int], size: int, found: FloatArray) -> None:
    """Give every combination the least loss of a leaf that holds it."""
    left = (1 << size) - 1 << (-size % 8)
    for place in np.argsort(losses, kind="stable").tolist():
        new = sets[place] & left
        if new:
            found[as_masks([new], size)[0].astype(bool)] = losses[place]
            left ^= new
            if not left:
                return


def need_all(counted: CountedTrees) -> None:
    """Refuse a class whose leaves say what most of their rows do."""
    if counted.convention != "all":
        raise DataError("leaves by majority do not say every label: count with convention='all'")


def losses_by_leaves(counted: CountedTrees, whole: NDArray[np.int64]) -> FloatArray:
    """Losses of trees of 1, 2, … leaves by their errors.

    >>> trees = CountedTrees([[1, 0], [1, 1]], [1, 0], max_leaves=2, leaf_penalty=0.1)
    >>> losses_by_leaves(trees, np.array([1, 0])).tolist()
    [0.6, 0.2]
    """
    leaves = range(1, len(whole) + 1)
    each = [losses_of(counted.unit, counted.leaf_penalty, k, whole[k - 1 : k])[0] for k in leaves]
    return np.array(each)


def least_of_some(counted: CountedTrees, whole: NDArray[np.int64]) -> float:
    """Least loss over leaves of which there is a tree, ∞ without any."""
    return float(np.where(whole < NEVER, losses_by_leaves(counted, whole), np.inf).min())


def above_best(loss: float, counted: CountedTrees) -> float:
    """Loss beyond the least, 0 where rounding alone is.

    >>> above_best(0.75, CountedTrees([[1, 0], [1, 1]], [1, 0], max_leaves=2))
    0.75
    """
    beyond = loss - counted.least
    return 0.0 if beyond < _NOTHING else beyond


def _checked(counted: CountedTrees, feature: int) -> int:
    if not 0 <= feature < counted.trees.n_features:
        raise DataError(f"feature must be below {counted.trees.n_features}, got {feature!r}")
    return int(feature)
