"""Trees with equal rates between groups."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rashomon_explorer._utils.arrays import FloatArray, IntArray
from rashomon_explorer._utils.progress import progress
from rashomon_explorer._utils.validation import check_count, check_nonnegative
from rashomon_explorer.exceptions import DataError
from rashomon_explorer.sets.models.trees import DecisionTrees, Leaf, Node, Split
from rashomon_explorer.trees.answers import check_all_labels
from rashomon_explorer.trees.counted import CountedTrees
from rashomon_explorer.trees.counting import chunks
from rashomon_explorer.trees.lattice import allowances, label_errors, label_pairs, leaf_errors
from rashomon_explorer.trees.questions import BITS, as_masks
from rashomon_explorer.trees.sampling import tree_losses
from rashomon_explorer.trees.witnesses import Part, TreeBuilder

_ROUNDING = 1e-12
_AT_ONCE = 100  # trees per batch of labels
DRAWS, MOST_COUNTS = 2000, 3_000_000
"""Uniform draws if the exact computation is too large, and counts that it may store."""


@dataclass(frozen=True, eq=False)
class Rates:
    """Rows of each group, and their counts by group encoded as one integer per combination."""

    counts: IntArray  # (U, G): rows of each combination and group

    @classmethod
    def from_groups(
        cls, counted: CountedTrees, groups: ArrayLike, among: ArrayLike | None = None
    ) -> Rates:
        """Count the rows of each combination of answers by group, by default all rows."""
        by_row = np.asarray(groups)
        if by_row.shape != (counted.n,):
            raise DataError(f"groups must hold one per row, {counted.n} in all: {by_row.shape}")
        names, codes = np.unique(by_row, return_inverse=True)
        if len(names) < 2:
            raise DataError(f"all rows are of the group {names[0]!r}: there is nothing to compare")
        size = len(counted.rows.patterns)
        rows = slice(None) if among is None else np.asarray(among, dtype=bool)
        cells = counted.rows.pattern_index[rows] * len(names) + codes[rows]
        counts = np.bincount(cells, minlength=size * len(names)).reshape(size, len(names))
        if not counts.any(axis=0).all():
            raise DataError(f"group {names[counts.any(axis=0).argmin()]!r} has nobody to compare")
        rates = cls(counts)
        if rates.units[-1] * (int(counts.sum(axis=0)[-1]) + 1) >= 2**62:
            raise DataError(f"{len(names)} groups are too many for one comparison: use fewer")
        return rates

    @cached_property
    def sizes(self) -> IntArray:
        """Rows of each group."""
        return np.asarray(self.counts.sum(axis=0))

    @cached_property
    def weights(self) -> NDArray[np.int64]:
        """Encoded count of each combination: its contribution if it has the label."""
        return self.counts @ np.array(self.units, dtype=np.int64)

    @cached_property
    def units(self) -> list[int]:
        """Contribution of one row of each group to the encoded count."""
        units = [1]
        for size in self.sizes.tolist()[:-1]:
            units.append(units[-1] * (size + 1))
        return units

    def gaps(self, keys: NDArray[np.int64]) -> FloatArray:
        """Largest minus least rate, from encoded counts."""
        rates = [
            keys // unit % (size + 1) / size
            for unit, size in zip(self.units, self.sizes.tolist(), strict=True)
        ]
        return np.asarray(np.max(rates, axis=0) - np.min(rates, axis=0))


@dataclass(frozen=True, eq=False)
class ChangedRows:
    """Rows to which a tree gives another of two labels than some codes (n,) do."""

    counted: CountedTrees
    codes: IntArray

    @cached_property
    def weights(self) -> NDArray[np.int64]:
        """ChangedRows of each combination with label 1 less those with label 0."""
        size = len(self.counted.rows.patterns)
        signs = np.bincount(self.counted.rows.pattern_index, 1 - 2 * self.codes, minlength=size)
        return signs.astype(np.int64)

    def gaps(self, keys: NDArray[np.int64]) -> FloatArray:
        """Count changed rows from sums of weights."""
        return np.asarray(keys + self.codes.sum(), dtype=float)


@dataclass(frozen=True, eq=False)
class ParityFront:
    """Pareto-optimal trees by loss and gap, the best loss first.

    Parameters
    ----------
    losses, gaps : ndarray of shape (k,)
        Losses rise and gaps fall: the largest minus the least rate of the label over the groups.
    exact : bool
        Whether no tree of the class within ψ has a smaller gap at its loss. Otherwise these are
        the best of uniform draws, and the true front is nowhere above.
    tree : callable
        Returns the tree at an index.

    Examples
    --------
    >>> from rashomon_explorer.trees import CountedTrees, parity_front
    >>> counted = CountedTrees([[1, 0], [1, 1], [0, 1], [0, 0]], [1, 0, 0, 1], max_leaves=2)
    >>> front = parity_front(counted, ["a", "b", "b", "a"], psi=0.5)
    >>> isinstance(front, ParityFront), front.exact, front.gaps.tolist()
    (True, True, [1.0, 0.0])
    """

    losses: FloatArray
    gaps: FloatArray
    exact: bool
    tree: Callable[[int], Node]


def parity_front(
    counted: CountedTrees,
    groups: ArrayLike,
    psi: float,
    *,
    label: int = 1,
    among: ArrayLike | None = None,
    most: int = MOST_COUNTS,
    random_state: int | None = None,
) -> ParityFront:
    """Pareto front of loss and difference in rates of a label, over trees within ψ.

    The result is exact if the work fits: for every set of rows, it uses all counts of the label
    by group of its subtrees, with the least errors. For more than ``most`` counts, it is the front
    of the constants and of 2,000 uniform draws within ψ, marked as not exact. The best tree whose
    rates differ by at most so much is the first with such a gap.

    Parameters
    ----------
    counted : CountedTrees
    groups : array-like of shape (n,)
        Group of each row, such as a sensitive column.
    psi : float
        Largest excess loss of the trees, at least 0.
    label : int, default=1
        Index of the class whose rates are compared.
    among : array-like of bool of shape (n,), optional
        Rows over which rates are, by default all: of those with the label, equal opportunity.
    most : int, default=3,000,000
        Largest number of stored counts for an exact result.
    random_state : int, optional
        Seed of the draws.

    Returns
    -------
    ParityFront
        For the curator: losses and gaps are computed from private rows.

    Raises
    ------
    DataError
        If there is no such class, groups are not one per row, or there is only one group.

    Examples
    --------
    >>> X, y = [[1, 0], [1, 1], [0, 1], [0, 0]], [1, 1, 0, 0]
    >>> front = parity_front(CountedTrees(X, y, max_leaves=2), [0, 0, 1, 1], psi=0.5)
    >>> front.losses.tolist(), front.gaps.tolist(), front.exact
    ([0.0, 0.5], [1.0, 0.0], True)
    """
    check_nonnegative(psi=psi)
    check_all_labels(counted)
    check_count(most=most)
    if not 0 <= label < len(counted.classes):
        raise DataError(f"label must be below {len(counted.classes)}, got {label!r}")
    rates = Rates.from_groups(counted, groups, among)
    return loss_front(counted, rates, label, psi, most, random_state)


def loss_front(
    counted: CountedTrees,
    rates: Rates | ChangedRows,
    label: int,
    psi: float,
    most: int = MOST_COUNTS,
    random_state: int | None = None,
) -> ParityFront:
    """Pareto front of loss and a number that the weights of the rows with a label determine."""
    try:
        return _exact(counted, rates, label, psi, most)
    except TooManyError:
        return _drawn_front(counted, rates, label, psi, random_state)


def _drawn_front(
    counted: CountedTrees,
    rates: Rates | ChangedRows,
    label: int,
    psi: float,
    random_state: int | None,
) -> ParityFront:
    """Front of the best tree, the constants and uniform draws within ψ."""
    drawn, _ = counted.uniform_trees(DRAWS, psi, random_state)
    constants = (Leaf(k) for k in range(len(counted.classes)))
    trees = list(dict.fromkeys([counted.best(), *constants, *drawn]))
    losses, gaps = np.empty(len(trees)), np.empty(len(trees))
    for start in range(0, len(trees), _AT_ONCE):
        several = DecisionTrees(tuple(trees[start : start + _AT_ONCE]), len(counted.classes))
        predicted = several.labels(counted.rows.patterns)
        rows, sizes = np.arange(predicted.shape[1]), several.complexity(0.0).tolist()
        for at, (labels, leaves) in enumerate(zip(predicted, sizes, strict=True), start):
            losses[at] = counted.loss(leaves, int(counted.rows.wrong[rows, labels].sum()))
            gaps[at] = rates.gaps(rates.weights[labels == label].sum(keepdims=True))[0]
    within = np.flatnonzero(losses <= counted.least + psi)
    best = within[_unbeaten(losses[within], gaps[within])]
    return ParityFront(losses[best], gaps[best], False, lambda k: trees[best[k]])


def _exact(
    counted: CountedTrees, rates: Rates | ChangedRows, label: int, psi: float, most: int
) -> ParityFront:
    fronts = Fronts(counted, rates.weights, label, psi, most)
    by_leaves: list[tuple[FloatArray, FloatArray, NDArray[np.int64]]] = []
    for leaves in progress(range(1, counted.trees.most_leaves + 1), "leaves"):
        keys, errors = fronts.front(leaves)
        losses = tree_losses(counted.unit, counted.leaf_penalty, leaves, errors)
        gaps = rates.gaps(keys) if len(keys) else np.empty(0)
        of = np.column_stack([np.full(len(keys), leaves), keys, errors])
        best = _unbeaten(losses, gaps)
        by_leaves.append((losses[best], gaps[best], of[best]))
    losses, gaps, of = (np.concatenate(parts) for parts in zip(*by_leaves, strict=True))
    best = _unbeaten(losses, gaps)
    of = of[best]

    def tree(index: int) -> Node:
        leaves, key, errors = of[index].tolist()
        return fronts.tree(0, 0, leaves, (key, errors))

    return ParityFront(losses[best], gaps[best], True, tree)


def _unbeaten(losses: FloatArray, gaps: FloatArray) -> NDArray[np.intp]:
    """Return the indices of Pareto-optimal entries, by loss; the first of equal ones."""
    order = np.lexsort((gaps, losses))
    least_gap = np.minimum.accumulate(np.concatenate([[np.inf], gaps[order]]))[:-1]
    return np.asarray(order[gaps[order] < least_gap - _ROUNDING])


Front = tuple[NDArray[np.int64], NDArray[np.int64]]
"""Distinct weights of the rows with the given label, and the least errors for each."""

_NOBODY: Front = (np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64))
_SUMS_AT_ONCE = 2_000_000


class TooManyError(Exception):
    """The number of weights exceeds the limit."""


class Fronts(TreeBuilder):
    """Fronts below every set that a tree within ψ can reach, computed on demand."""

    def __init__(
        self, counted: CountedTrees, weights: NDArray[np.int64], label: int, psi: float, most: int
    ) -> None:
        counts = counted.counts(psi)
        super().__init__(counts.levels, counted.trees)
        self._label = label
        self._n_left = most
        # Parts of the weights at bit offsets, whose sums are exact in doubles.
        self._digits = [(0, weights.astype(float))]
        if int(weights.sum()) >= 2**53:
            some = 2**24 - 1  # sums of 2²⁹ rows are exact
            self._digits = [(bit, (weights >> bit & some).astype(float)) for bit in (0, 24, 48)]
        self._allowed = allowances(counts.levels, counts.least, counted.limits(psi))
        self._fronts: dict[tuple[int, int, int], Front] = {}
        self._leaves: dict[tuple[int, int], Front] = {}
        self._set_weights: dict[tuple[int, int], int] = {}
        self._entered: set[tuple[int, int]] = set()
        self._answers = counted.rows.packed
        self._limits = counted.limits(psi)

    def front(self, leaves: int) -> Front:
        """Front of the whole trees with so many leaves."""
        if leaves == 1:
            return _within_limit(self._leaf(0, 0), int(self._limits[0]))
        return self._subtree_front(0, 0, leaves)

    def leaf(self, depth: int, index: int, goal: Any) -> Leaf:
        """Return the leaf with this weight and these errors."""
        level, weight = self.levels[depth], self._weight(depth, index)
        for label, wrong in enumerate(label_errors(level, level.totals[index]).tolist()):
            if (weight if label == self._label else 0, wrong) == goal:
                return Leaf(label)
        raise AssertionError("a leaf has one of the labels")

    def stump(self, depth: int, index: int, feature: int, goal: Any) -> Split | None:
        """Return two leaves with this weight and these errors."""
        keys, wrong = self._stumps(depth, index, np.array([feature]))
        options = zip(label_pairs(self.trees.n_labels), keys.tolist(), wrong.tolist(), strict=True)
        for (a, b), *candidate in options:
            if tuple(candidate) == goal:
                return Split(feature, Leaf(a), Leaf(b))
        return None

    def branches(
        self, depth: int, indices: tuple[int, int], feature: int, shares: tuple[int, int], goal: Any
    ) -> tuple[Part, Part] | None:
        """Find weights and errors of both branches with these sums."""
        yes_front, no_front = (
            self._subtree_front(depth + 1, *at) for at in zip(indices, shares, strict=True)
        )
        if not len(yes_front[0]) or not len(no_front[0]):
            return None
        at = np.searchsorted(no_front[0], goal[0] - yes_front[0])
        inside = np.minimum(at, len(no_front[0]) - 1)
        fits = (no_front[0][inside] == goal[0] - yes_front[0]) & (
            no_front[1][inside] == goal[1] - yes_front[1]
        )
        if not fits.any():
            return None
        k = int(np.argmax(fits))
        first = int(yes_front[0][k]), int(yes_front[1][k])
        return (self, first), (self, (goal[0] - first[0], goal[1] - first[1]))

    def reached(self, depth: int, index: int, feature: int, leaves: int, goal: Any) -> Part | None:
        """Return the goal again if the front of the rows has it."""
        keys, errors = self._subtree_front(depth + 1, index, leaves)
        at = int(np.searchsorted(keys, goal[0]))
        fits = at < len(keys) and (int(keys[at]), int(errors[at])) == goal
        return (self, goal) if fits else None

    def _subtree_front(self, depth: int, index: int, leaves: int) -> Front:
        if leaves == 1:
            return self._leaf(depth, index)
        at = (depth, index, leaves)
        if at not in self._fronts:
            front = self._compute(depth, index, leaves)
            self._n_left -= len(front[0])
            if self._n_left < 0:
                raise TooManyError
            self._fronts[at] = front
        return self._fronts[at]

    def _compute(self, depth: int, index: int, leaves: int) -> Front:
        limit = int(self._allowed[depth][index, leaves - 1])
        if limit < 0:
            return _NOBODY
        level = self.levels[depth]
        parts: list[Front] = []
        features = np.flatnonzero(level.cuts[index] if leaves == 2 else level.yes[index] >= 0)
        if leaves == 2 and len(features):
            parts.append(_within_limit(self._stumps(depth, index, features), limit))
        if leaves > 2:
            self._enter_below(depth, index, features)
        for feature in features.tolist() if leaves > 2 else []:
            yes, no = int(level.yes[index, feature]), int(level.no[index, feature])
            for a, b in self.shares(depth, leaves):
                parts += self._sums(
                    self._subtree_front(depth + 1, yes, a),
                    self._subtree_front(depth + 1, no, b),
                    limit,
                )
        if leaves == 2 and level.spare[index] > 0:
            parts.append(_within_limit(self._leaf(depth, index), limit))
        uncut_index = int(level.same[index])
        for _, b in self.shares(depth, leaves) if leaves > 2 and uncut_index >= 0 else []:
            parts.append(_within_limit(self._subtree_front(depth + 1, uncut_index, b), limit))
        return _pareto_front(parts)

    def _sums(self, first_front: Front, second_front: Front, limit: int) -> list[Front]:
        if not len(first_front[0]) or not len(second_front[0]):
            return []
        order = np.argsort(second_front[1], kind="stable")
        keys, errors = second_front[0][order], second_front[1][order]
        room = np.searchsorted(errors, limit - first_front[1], side="right")
        parts: list[Front] = []
        for some in chunks(room, _SUMS_AT_ONCE):
            many = room[some]
            first = np.repeat(some, many)
            starts = np.concatenate([[0], np.cumsum(many)[:-1]])
            second = np.arange(int(many.sum())) - np.repeat(starts, many)
            weights = first_front[0][first] + keys[second]
            parts.append(_pareto_front([(weights, first_front[1][first] + errors[second])]))
            if sum(len(part[0]) for part in parts) > max(self._n_left, 0):
                raise TooManyError
        return parts

    def _leaf(self, depth: int, index: int) -> Front:
        """One leaf with the label, or with the best other label."""
        at = depth, index
        if at not in self._leaves:
            level = self.levels[depth]
            errors = label_errors(level, level.totals[index]).tolist()
            best_other = min(k for label, k in enumerate(errors) if label != self._label)
            weights = np.array([self._weight(depth, index), 0], dtype=np.int64)
            leaf = weights, np.array([errors[self._label], best_other], dtype=np.int64)
            self._leaves[at] = _pareto_front([leaf])
        return self._leaves[at]

    def _stumps(self, depth: int, index: int, features: IntArray) -> Front:
        """Two leaves with different labels, for every feature and pair of labels."""
        level, label = self.levels[depth], self._label
        total, every = self._subset_weights(depth, index)
        yes = every[features]
        no = total - yes
        wrong_yes, wrong_no = leaf_errors(level, index, features)
        pairs = label_pairs(self.trees.n_labels)
        keys = [yes * (a == label) + no * (b == label) for a, b in pairs]
        errors = [wrong_yes[:, a] + wrong_no[:, b] for a, b in pairs]
        return np.concatenate(keys), np.concatenate(errors)

    def _weight(self, depth: int, index: int) -> int:
        """Weight of a set; cached if the set above was visited."""
        if (depth, index) not in self._set_weights:
            self._subset_weights(depth, index)
        return self._set_weights[depth, index]

    def _subset_weights(self, depth: int, index: int) -> tuple[int, NDArray[np.int64]]:
        """Weight of a set, and of its subset with each feature."""
        members = as_masks([self.levels[depth].sets[index]], self._answers.shape[1])[0]
        inside = np.flatnonzero(members.view(bool))
        bytes_of = [np.take(eight, inside) for eight in self._answers]
        total, every = 0, np.zeros(8 * len(bytes_of), dtype=np.int64)
        for shift, digits in self._digits:
            weights = np.take(digits, inside)
            sums = [BITS.T @ np.bincount(byte, weights, minlength=256) for byte in bytes_of]
            every += np.concatenate(sums).astype(np.int64) << shift
            total += int(weights.sum()) << shift
        self._set_weights[depth, index] = total
        return total, every

    def _enter_below(self, depth: int, index: int, features: IntArray) -> None:
        """Cache the weights of the sets that questions at one set lead to."""
        if (depth, index) in self._entered:
            return
        self._entered.add((depth, index))
        total, every = self._subset_weights(depth, index)
        level, below = self.levels[depth], depth + 1
        to = zip(
            level.yes[index, features].tolist(), level.no[index, features].tolist(), strict=True
        )
        for (yes, no), weight in zip(to, every[features].tolist(), strict=True):
            self._set_weights[below, yes], self._set_weights[below, no] = weight, total - weight


def _pareto_front(parts: list[Front]) -> Front:
    filled = [part for part in parts if len(part[0])]
    if not filled:
        return _NOBODY
    keys = np.concatenate([part[0] for part in filled])
    errors = np.concatenate([part[1] for part in filled])
    order = np.lexsort((errors, keys))
    keys, errors = keys[order], errors[order]
    first = np.concatenate([[True], keys[1:] != keys[:-1]])
    return keys[first], errors[first]


def _within_limit(front: Front, limit: int) -> Front:
    filled = front[1] <= limit
    return front[0][filled], front[1][filled]
