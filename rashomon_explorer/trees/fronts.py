"""Least errors of subtrees by what else they do: a weight of the rows that they give one label."""

import numpy as np
from numpy.typing import NDArray

from rashomon_explorer.rashomon_set.models.trees import Leaf, Node, Split
from rashomon_explorer.trees.best import first_tree
from rashomon_explorer.trees.counted import CountedTrees
from rashomon_explorer.trees.lattice import Level
from rashomon_explorer.trees.least import allowances, label_errors, pairs
from rashomon_explorer.trees.rows import as_masks

Front = tuple[NDArray[np.int64], NDArray[np.int64]]
"""Different weights of the rows that are given the label, and the least errors with each."""

_NOBODY: Front = (np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64))
_AT_ONCE = 2_000_000


class TooManyError(Exception):
    """There are more weights than may be kept."""


class Fronts:
    """Fronts below every set that a tree within ψ can reach, made where they are asked for.

    F(S, l) = min over questions and a of the sums of F(S_yes, a) and F(S_no, l − a): weights add
    up over leaves as errors do. What exceeds the errors that a set may have in any tree within ψ
    is left out; nothing within is lost.

    Parameters
    ----------
    counted : CountedTrees
    weights : ndarray of shape (U,)
        Of each combination of features: what it adds where it is given the label.
    label : int
    psi : float
    most : int
        Numbers that may be kept.
    """

    def __init__(
        self,
        counted: CountedTrees,
        weights: NDArray[np.int64],
        label: int,
        psi: float,
        most: int,
    ) -> None:
        self._levels, self._trees, self._label = counted.levels, counted.trees, label
        self._rows, self._weights, self._left = counted.rows, weights, most
        self._given = allowances(counted.levels, counted.least_errors, counted.limits(psi))
        self._kept: dict[tuple[int, int, int], Front] = {}
        self._limits = counted.limits(psi)

    def whole(self, leaves: int) -> Front:
        """Front of the whole trees with so many leaves."""
        if leaves == 1:
            return _cut(self._leaf(0, self._rows.everything), int(self._limits[0]))
        return self._of(0, 0, leaves)

    def tree(
        self,
        leaves: int,
        key: int,
        errors: int,
        asked: int = 0,
        place: int = 0,
        path: tuple[int, ...] = (),
    ) -> Node:
        """Return a subtree of this weight and these errors."""
        level = self._levels[asked]
        if leaves == 1:
            return self._leaf_of(level, place, key, errors)
        for feature in np.flatnonzero(level.cuts[place]).tolist():
            deeper = (*path, feature)
            if leaves == 2:
                found = self._stump_of(asked, place, feature, key, errors)
                if found is not None:
                    return found
                continue
            yes, no = int(level.yes[place, feature]), int(level.no[place, feature])
            for a, b in self._shares(asked, leaves):
                one, other = self._of(asked + 1, yes, a), self._of(asked + 1, no, b)
                both = _pair(one, other, key, errors)
                if both is not None:
                    first = self.tree(a, *both[0], asked + 1, yes, deeper)
                    return Split(feature, first, self.tree(b, *both[1], asked + 1, no, deeper))
        return self._idle(leaves, key, errors, asked, place, path)

    def _of(self, asked: int, place: int, leaves: int) -> Front:
        if leaves == 1:
            return self._leaf(asked, self._levels[asked].sets[place], place)
        at = (asked, place, leaves)
        if at not in self._kept:
            found = self._made(asked, place, leaves)
            self._left -= len(found[0])
            if self._left < 0:
                raise TooManyError
            self._kept[at] = found
        return self._kept[at]

    def _made(self, asked: int, place: int, leaves: int) -> Front:
        limit = int(self._given[asked][place, leaves - 1])
        if limit < 0:
            return _NOBODY
        level = self._levels[asked]
        parts: list[Front] = []
        for feature in np.flatnonzero(level.cuts[place]).tolist():
            if leaves == 2:
                parts.append(_cut(self._stump(asked, place, feature), limit))
                continue
            yes, no = int(level.yes[place, feature]), int(level.no[place, feature])
            for a, b in self._shares(asked, leaves):
                parts += self._sums(self._of(asked + 1, yes, a), self._of(asked + 1, no, b), limit)
        if level.spare[place] > 0:
            if leaves == 2:
                parts.append(_cut(self._leaf(asked, level.sets[place], place), limit))
            same = int(level.same[place])
            for _, b in self._shares(asked, leaves) if leaves > 2 else []:
                parts.append(_cut(self._of(asked + 1, same, b), limit))
        return _least(parts)

    def _sums(self, one: Front, other: Front, limit: int) -> list[Front]:
        """All sums within the limit, a part at a time."""
        if not len(one[0]) or not len(other[0]):
            return []
        order = np.argsort(other[1], kind="stable")
        keys, errors = other[0][order], other[1][order]
        room = np.searchsorted(errors, limit - one[1], side="right")
        parts: list[Front] = []
        for some in _chunks(room):
            many = room[some]
            first = np.repeat(some, many)
            starts = np.concatenate([[0], np.cumsum(many)[:-1]])
            second = np.arange(int(many.sum())) - np.repeat(starts, many)
            summed = one[0][first] + keys[second], one[1][first] + errors[second]
            parts.append(_least([summed]))
            if sum(len(part[0]) for part in parts) > max(self._left, 0):
                raise TooManyError
        return parts

    def _leaf(self, asked: int, members: int, place: int = 0) -> Front:
        """One leaf: the label, or the best other one."""
        level = self._levels[asked]
        errors = label_errors(level, level.totals[place]).tolist()
        return _leaf_front(errors, self._weight(members), self._label)

    def _stump(self, asked: int, place: int, feature: int) -> Front:
        """Two leaves with different labels."""
        pairs_of = self._stump_pairs(asked, place, feature)
        keys, errors = zip(*((key, wrong) for _, _, key, wrong in pairs_of), strict=True)
        return np.array(keys, dtype=np.int64), np.array(errors, dtype=np.int64)

    def _stump_pairs(self, asked: int, place: int, feature: int) -> list[tuple[int, int, int, int]]:
        level, label = self._levels[asked], self._label
        having = level.with_feature[place, feature]
        lacking = level.totals[place] - having
        inside = level.sets[place] & self._rows.masks[feature]
        yes, no = self._weight(inside), self._weight(level.sets[place] ^ inside)
        labels = range(len(having))
        wrong_yes = label_errors(level, having).tolist()
        wrong_no = label_errors(level, lacking).tolist()
        return [
            (a, b, yes * (a == label) + no * (b == label), wrong_yes[a] + wrong_no[b])
            for a in labels
            for b in labels
            if a != b
        ]

    def _weight(self, members: int) -> int:
        inside = as_masks([members], len(self._weights))[0].astype(bool)
        return int(self._weights[inside].sum())

    def _leaf_of(self, level: Level, place: int, key: int, errors: int) -> Leaf:
        weight = self._weight(level.sets[place])
        for label, wrong in enumerate(label_errors(level, level.totals[place]).tolist()):
            if wrong == errors and key == (weight if label == self._label else 0):
                return Leaf(label)
        raise AssertionError("a leaf has one of the labels")

    def _stump_of(
        self, asked: int, place: int, feature: int, key: int, errors: int
    ) -> Split | None:
        for a, b, own, wrong in self._stump_pairs(asked, place, feature):
            if (own, wrong) == (key, errors):
                return Split(feature, Leaf(a), Leaf(b))
        return None

    def _idle(
        self, leaves: int, key: int, errors: int, asked: int, place: int, path: tuple[int, ...]
    ) -> Node:
        level = self._levels[asked]
        cuts = level.cuts[place]
        feature = next(f for f in range(len(cuts)) if not cuts[f] and f not in path)
        deeper = (*path, feature)
        if leaves == 2:
            reached: Node = self._leaf_of(level, place, key, errors)
            assert isinstance(reached, Leaf)
            nobody: Node = Leaf(1 if reached.prediction == 0 else 0)
        else:
            same = int(level.same[place])
            a, b = next(
                share
                for share in self._shares(asked, leaves)
                if _holds(self._of(asked + 1, same, share[1]), key, errors)
            )
            reached = self.tree(b, key, errors, asked + 1, same, deeper)
            nobody = first_tree(self._trees, a, deeper)
        having = bool(level.with_feature[place, feature].any())
        return Split(feature, *((reached, nobody) if having else (nobody, reached)))

    def _shares(self, asked: int, leaves: int) -> list[tuple[int, int]]:
        if asked + 1 == len(self._levels):
            return []
        return pairs(leaves, len(self._trees.table[asked + 1]))


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
    """Least errors of every weight."""
    kept = [part for part in parts if len(part[0])]
    if not kept:
        return _NOBODY
    keys = np.concatenate([part[0] for part in kept])
    errors = np.concatenate([part[1] for part in kept])
    order = np.lexsort((errors, keys))
    keys, errors = keys[order], errors[order]
    first = np.concatenate([[True], keys[1:] != keys[:-1]])
    return keys[first], errors[first]


def _cut(front: Front, limit: int) -> Front:
    kept = front[1] <= limit
    return front[0][kept], front[1][kept]


def _chunks(room: NDArray[np.intp]) -> list[NDArray[np.intp]]:
    """Places of the first front, so many at a time that their pairs fit."""
    wanted = np.flatnonzero(room)
    if not len(wanted):
        return []
    ends = np.cumsum(room[wanted]) // _AT_ONCE
    return np.split(wanted, np.flatnonzero(np.diff(ends)) + 1)


def _pair(
    one: Front, other: Front, key: int, errors: int
) -> tuple[tuple[int, int], tuple[int, int]] | None:
    """Weights and errors of both sides that add up."""
    if not len(one[0]) or not len(other[0]):
        return None
    at = np.searchsorted(other[0], key - one[0])
    inside = np.minimum(at, len(other[0]) - 1)
    fits = (other[0][inside] == key - one[0]) & (other[1][inside] == errors - one[1])
    if not fits.any():
        return None
    k = int(np.argmax(fits))
    j = int(inside[k])
    return (int(one[0][k]), int(one[1][k])), (int(other[0][j]), int(other[1][j]))


def _holds(front: Front, key: int, errors: int) -> bool:
    at = int(np.searchsorted(front[0], key))
    return at < len(front[0]) and front[0][at] == key and front[1][at] == errors
