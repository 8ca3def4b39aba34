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
        self._left = most
        self._digits = _digits(weights)
        self._allowed = allowances(counted.levels, counted.least_errors, counted.limits(psi))
        self._kept: dict[tuple[int, int, int], Front] = {}
        self._leaves: dict[tuple[int, int], Front] = {}
        self._own: dict[tuple[int, int], int] = {}
        self._entered: set[tuple[int, int]] = set()
        self._answers = counted.rows.packed
        self._limits = counted.limits(psi)

    def front(self, leaves: int) -> Front:
        """Front of the whole trees with so many leaves."""
        if leaves == 1:
            return _cut(self._leaf(0, 0), int(self._limits[0]))
        return self._of(0, 0, leaves)

    def leaf(self, depth: int, place: int, goal: Any) -> Leaf:
        """Return the leaf with this weight and these errors."""
        level, weight = self.levels[depth], self._weight(depth, place)
        for label, wrong in enumerate(label_errors(level, level.totals[place]).tolist()):
            if (weight if label == self._label else 0, wrong) == goal:
                return Leaf(label)
        raise AssertionError("a leaf has one of the labels")

    def stump(self, depth: int, place: int, feature: int, goal: Any) -> Split | None:
        """Return two leaves with this weight and these errors."""
        keys, wrong = self._stumps(depth, place, np.array([feature]))
        found = zip(label_pairs(self.trees.n_labels), keys.tolist(), wrong.tolist(), strict=True)
        for (a, b), *own in found:
            if tuple(own) == goal:
                return Split(feature, Leaf(a), Leaf(b))
        return None

    def branches(
        self, depth: int, places: tuple[int, int], feature: int, shares: tuple[int, int], goal: Any
    ) -> tuple[Part, Part] | None:
        """Find weights and errors of both branches with these sums."""
        one, other = (self._of(depth + 1, *at) for at in zip(places, shares, strict=True))
        if not len(one[0]) or not len(other[0]):
            return None
        at = np.searchsorted(other[0], goal[0] - one[0])
        inside = np.minimum(at, len(other[0]) - 1)
        fits = (other[0][inside] == goal[0] - one[0]) & (other[1][inside] == goal[1] - one[1])
        if not fits.any():
            return None
        k = int(np.argmax(fits))
        first = int(one[0][k]), int(one[1][k])
        return (self, first), (self, (goal[0] - first[0], goal[1] - first[1]))

    def reached(self, depth: int, place: int, feature: int, leaves: int, goal: Any) -> Part | None:
        """Return the goal again if the front of the rows has it."""
        keys, errors = self._of(depth + 1, place, leaves)
        at = int(np.searchsorted(keys, goal[0]))
        fits = at < len(keys) and (int(keys[at]), int(errors[at])) == goal
        return (self, goal) if fits else None

    def _of(self, depth: int, place: int, leaves: int) -> Front:
        if leaves == 1:
            return self._leaf(depth, place)
        at = (depth, place, leaves)
        if at not in self._kept:
            found = self._compute(depth, place, leaves)
            self._left -= len(found[0])
            if self._left < 0:
                raise TooManyError
            self._kept[at] = found
        return self._kept[at]

    def _compute(self, depth: int, place: int, leaves: int) -> Front:
        limit = int(self._allowed[depth][place, leaves - 1])
        if limit < 0:
            return _NOBODY
        level = self.levels[depth]
        parts: list[Front] = []
        features = np.flatnonzero(level.cuts[place])
        if leaves == 2 and len(features):
            parts.append(_cut(self._stumps(depth, place, features), limit))
        if leaves > 2:
            self._enter_below(depth, place, features)
        for feature in features.tolist() if leaves > 2 else []:
            yes, no = int(level.yes[place, feature]), int(level.no[place, feature])
            for a, b in self.shares(depth, leaves):
                parts += self._sums(self._of(depth + 1, yes, a), self._of(depth + 1, no, b), limit)
        if level.spare[place] > 0:
            if leaves == 2:
                parts.append(_cut(self._leaf(depth, place), limit))
            same = int(level.same[place])
            for _, b in self.shares(depth, leaves) if leaves > 2 else []:
                parts.append(_cut(self._of(depth + 1, same, b), limit))
        return _least(parts)

    def _sums(self, one: Front, other: Front, limit: int) -> list[Front]:
        if not len(one[0]) or not len(other[0]):
            return []
        order = np.argsort(other[1], kind="stable")
        keys, errors = other[0][order], other[1][order]
        room = np.searchsorted(errors, limit - one[1], side="right")
        parts: list[Front] = []
        for some in chunks(room, _AT_ONCE):
            many = room[some]
            first = np.repeat(some, many)
            starts = np.concatenate([[0], np.cumsum(many)[:-1]])
            second = np.arange(int(many.sum())) - np.repeat(starts, many)
            summed = one[0][first] + keys[second], one[1][first] + errors[second]
            parts.append(_least([summed]))
            if sum(len(part[0]) for part in parts) > max(self._left, 0):
                raise TooManyError
        return parts

    def _leaf(self, depth: int, place: int) -> Front:
        """One leaf with the label, or with the best other label."""
        at = depth, place
        if at not in self._leaves:
            level = self.levels[depth]
            errors = label_errors(level, level.totals[place]).tolist()
            self._leaves[at] = _leaf_front(errors, self._weight(depth, place), self._label)
        return self._leaves[at]

    def _stumps(self, depth: int, place: int, features: IntArray) -> Front:
        """Two leaves with different labels, for every feature and pair of labels."""
        level, label = self.levels[depth], self._label
        own, every = self._weights_of(depth, place)
        yes = every[features]
        no = own - yes
        wrong_yes, wrong_no = leaf_errors(level, place, features)
        apart = label_pairs(self.trees.n_labels)
        keys = [yes * (a == label) + no * (b == label) for a, b in apart]
        errors = [wrong_yes[:, a] + wrong_no[:, b] for a, b in apart]
        return np.concatenate(keys), np.concatenate(errors)

    def _weight(self, depth: int, place: int) -> int:
        """Weight of a set; cached if the set above was visited."""
        if (depth, place) not in self._own:
            self._weights_of(depth, place)
        return self._own[depth, place]

    def _weights_of(self, depth: int, place: int) -> tuple[int, NDArray[np.int64]]:
        """Weight of a set, and of its subset with each feature."""
        members = as_masks([self.levels[depth].sets[place]], self._answers.shape[1])[0]
        inside = np.flatnonzero(members.view(bool))
        bytes_of = [np.take(eight, inside) for eight in self._answers]
        own, every = 0, np.zeros(8 * len(bytes_of), dtype=np.int64)
        for shift, digits in self._digits:
            weights = np.take(digits, inside)
            sums = [BITS.T @ np.bincount(one, weights, minlength=256) for one in bytes_of]
            every += np.concatenate(sums).astype(np.int64) << shift
            own += int(weights.sum()) << shift
        self._own[depth, place] = own
        return own, every

    def _enter_below(self, depth: int, place: int, features: IntArray) -> None:
        """Cache the weights of the sets that questions at one set lead to."""
        if (depth, place) in self._entered:
            return
        self._entered.add((depth, place))
        own, every = self._weights_of(depth, place)
        level, below = self.levels[depth], depth + 1
        to = zip(
            level.yes[place, features].tolist(), level.no[place, features].tolist(), strict=True
        )
        for (yes, no), weight in zip(to, every[features].tolist(), strict=True):
            self._own[below, yes], self._own[below, no] = weight, own - weight


def _digits(weights: NDArray[np.int64]) -> list[tuple[int, FloatArray]]:
    """Split integers into parts at bit offsets, whose sums are exact in doubles."""
    if int(weights.sum()) < 2**53:
        return [(0, weights.astype(float))]
    some = 2**24 - 1  # sums of 2²⁹ rows are exact
    return [(bit, (weights >> bit & some).astype(float)) for bit in (0, 24, 48)]


def _leaf_front(errors: list[int], weight: int, label: int) -> Front:
    others = [k for k in range(len(errors)) if k != label]
    return _least(
        [
            (
                np.array([weight, 0], dtype=np.int64),
                np.array([errors[label], min(errors[k] for k in others)], dtype=np.int64),
            )
        ]
    )


def _least(parts: list[Front]) -> Front:
    filled = [part for part in parts if len(part[0])]
    if not filled:
        return _NOBODY
    keys = np.concatenate([part[0] for part in filled])
    errors = np.concatenate([part[1] for part in filled])
    order = np.lexsort((errors, keys))
    keys, errors = keys[order], errors[order]
    first = np.concatenate([[True], keys[1:] != keys[:-1]])
    return keys[first], errors[first]


def _cut(front: Front, limit: int) -> Front:
    filled = front[1] <= limit
    return front[0][filled], front[1][filled]
