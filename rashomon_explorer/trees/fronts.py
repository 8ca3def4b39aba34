"""Pareto fronts of subtrees: least errors for each weight of the rows with one label."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from rashomon_explorer._utils.arrays import FloatArray, IntArray
from rashomon_explorer.sets.models.trees import Leaf, Split
from rashomon_explorer.trees.counted import CountedTrees
from rashomon_explorer.trees.counting import chunks
from rashomon_explorer.trees.lattice import allowances, label_errors, label_pairs, leaf_errors
from rashomon_explorer.trees.questions import BITS, as_masks
from rashomon_explorer.trees.witnesses import Part, TreeBuilder

Front = tuple[NDArray[np.int64], NDArray[np.int64]]
"""Distinct weights of the rows with the given label, and the least errors for each."""

_NOBODY: Front = (np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64))
_AT_ONCE = 2_000_000


class TooManyError(Exception):
    """The number of weights exceeds the limit."""


class Fronts(TreeBuilder):
    """Fronts below every set that a tree within ψ can reach, computed on demand."""

    def __init__(
        self, counted: CountedTrees, weights: NDArray[np.int64], label: int, psi: float, most: int
    ) -> None:
        super().__init__(counted.levels, counted.trees)
        self._label = label
        self._n_left = most
        self._digits = _digits(weights)
        self._allowed = allowances(counted.levels, counted.least_errors, counted.limits(psi))
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
        features = np.flatnonzero(level.cuts[index])
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
        if level.spare[index] > 0:
            if leaves == 2:
                parts.append(_within_limit(self._leaf(depth, index), limit))
            uncut_index = int(level.same[index])
            for _, b in self.shares(depth, leaves) if leaves > 2 else []:
                parts.append(_within_limit(self._subtree_front(depth + 1, uncut_index, b), limit))
        return _pareto_front(parts)

    def _sums(self, first_front: Front, second_front: Front, limit: int) -> list[Front]:
        if not len(first_front[0]) or not len(second_front[0]):
            return []
        order = np.argsort(second_front[1], kind="stable")
        keys, errors = second_front[0][order], second_front[1][order]
        room = np.searchsorted(errors, limit - first_front[1], side="right")
        parts: list[Front] = []
        for some in chunks(room, _AT_ONCE):
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


def _digits(weights: NDArray[np.int64]) -> list[tuple[int, FloatArray]]:
    """Split integers into parts at bit offsets, whose sums are exact in doubles."""
    if int(weights.sum()) < 2**53:
        return [(0, weights.astype(float))]
    some = 2**24 - 1  # sums of 2²⁹ rows are exact
    return [(bit, (weights >> bit & some).astype(float)) for bit in (0, 24, 48)]


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
