"""Subsets of rows after each number of questions, and their least loss."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import reduce
from itertools import permutations
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from rashomon_explorer._utils.arrays import FloatArray, IntArray, Mask
from rashomon_explorer._utils.progress import progress
from rashomon_explorer.trees.questions import MergedRows, all_labels, as_masks, wrong
from rashomon_explorer.trees.tree_class import AT_ONCE, TreeClass, check_room


@dataclass(frozen=True, eq=False)
class Level:
    """Distinct sets after the same number of questions."""

    sets: list[int]
    totals: IntArray  # (N, C): rows of each label
    with_feature: NDArray[Any]  # (N, m, C): those with the feature, in four bytes each
    cuts: Mask  # (N, m): whether some rows have the feature and some combination does not
    spare: IntArray  # (N,): unused questions that do not cut the set
    yes: IntArray  # (N, m): index in the next level of the rows with the feature, −1 for none
    no: IntArray  # (N, m)
    same: IntArray  # (N,): index of the same set in the next level, −1 if spare is 0
    costs: IntArray | None = None  # (C, C): by the row's and the predicted label; None for 1
    by_majority: bool = False  # whether leaves have rows and their (last) majority label

    @property
    def most(self) -> IntArray:
        """Largest (N,) cost of errors on each set."""
        dear = 1 if self.costs is None else self.costs.max(axis=1)
        return np.asarray((self.totals * dear).sum(axis=1))


Origins = tuple[IntArray, IntArray, IntArray]
"""Index in the level above of a set that leads to each set, the question, and its answer."""


class Pruning(Protocol):
    """Questions that lattice levels are built below."""

    def questions(self, level: Level) -> Mask:
        """Questions (N, m) that a tree within the limits may ask about each set of a level."""

    def descend(self, level: Level, origins: Origins) -> None:
        """Go to the next level, whose sets come from this one's."""


def lattice(
    rows: MergedRows, trees: TreeClass, pruning: Pruning | None, by_majority: bool, room: float
) -> list[Level]:
    """Levels 0, 1, … down to the deepest level at which a tree can split, or is within limits.

    Raises ``DataError`` as soon as they take more than ``room`` bytes.
    """
    levels: list[Level] = []
    sets, counted = [rows.everything], rows.weights.sum(axis=0)[None]
    deepest = max(1, trees.depth)
    for depth in range(deepest):
        branching = _Branching(rows, sets, counted, depth, by_majority, depth == deepest - 1)
        levels.append(branching.level)
        if depth == deepest - 1:
            break
        per_set = trees.set_memory(depth + 1, len(rows.patterns)) + trees.building_memory(rows.n)
        questions = None if pruning is None else pruning.questions(branching.level)
        branching.run(questions, per_set, room)
        room -= len(branching.below) * per_set
        if not branching.below:
            break
        if pruning is not None:
            pruning.descend(branching.level, branching.origins)
        sets, counted = list(branching.below), branching.rows_below()
        del branching  # its counts, before the next level is built
    return levels


class _Branching:
    """Finds the sets of the next level, and counts their rows from those of this level."""

    def __init__(
        self,
        rows: MergedRows,
        sets: list[int],
        counted: FloatArray,
        depth: int,
        by_majority: bool,
        deepest: bool,
    ) -> None:
        size, m = rows.patterns.shape
        self._rows, self._size = rows, size
        self._patterns = rows.patterns.astype(rows.weights.dtype)
        self._whole = counted
        every = np.rint(counted, out=counted).reshape(len(sets), m + 1, rows.counts.shape[1])
        totals, having = every[:, -1].astype(np.int64), every[:, :-1].astype(np.int32)
        # Every combination has at least one row, so counts of rows show whether a set is cut.
        some = all_labels(having)
        cuts = (some > 0) & (some < totals.sum(axis=1)[:, None])
        # No question leads on from the deepest level: one broadcast number is enough.
        nowhere = np.broadcast_to(np.int64(-1), (len(sets), m))
        self.level = Level(
            sets,
            totals,
            having,
            cuts,
            (m - depth - cuts.sum(axis=1)) * (not by_majority),
            nowhere if deepest else nowhere.copy(),
            nowhere if deepest else nowhere.copy(),
            np.full(len(sets), -1, dtype=np.int64),
            rows.costs,
            by_majority,
        )
        self.below: dict[int, int] = {}
        self._counted: list[FloatArray] = []
        self._origins: list[IntArray] = []

    @property
    def origins(self) -> Origins:
        """Set, question and answer that each set of the next level is first found by."""
        index, feature, answer = np.concatenate(self._origins, axis=1)
        return index, feature, answer

    def run(self, questions: Mask | None, per_set: int, room: float) -> None:
        """Set where each question leads, or each of some, and collect the sets there."""
        level, masks, below = self.level, self._rows.masks, self.below
        cutting = level.cuts if questions is None else level.cuts & questions
        idle = ~level.cuts if questions is None else ~level.cuts & questions
        nodes = np.flatnonzero((cutting | idle).any(axis=1)).tolist()
        for index in progress(nodes, "sets of rows"):
            subset = level.sets[index]
            members = np.flatnonzero(as_masks([subset], self._size)[0])
            both = self._patterns[members].T @ self._rows.weights[members]
            features, n_before = np.flatnonzero(cutting[index]), len(below)
            parts = [subset & masks[feature] for feature in features.tolist()]
            parts += [subset ^ part for part in parts]
            next_indices = np.array(
                [below.setdefault(part, len(below)) for part in parts], dtype=np.int64
            )
            level.yes[index, features], level.no[index, features] = np.split(next_indices, 2)
            new, first = np.unique(next_indices, return_index=True)
            at = first[new >= n_before]
            counted = both[features[at % max(1, len(features))]]
            lacking = at >= len(features)
            counted[lacking] = self._whole[index] - counted[lacking]
            self._counted.append(counted)
            self._origins.append(
                np.array([np.full(len(at), index), features[at % max(1, len(features))], ~lacking])
            )
            if level.spare[index] > 0 and idle[index].any():
                if subset not in below:
                    self._counted.append(self._whole[index : index + 1])
                    feature = idle[index].argmax()
                    having = level.with_feature[index, feature].any()
                    self._origins.append(np.array([[index], [feature], [having]]))
                level.same[index] = below.setdefault(subset, len(below))
            check_room(len(below) * per_set, room)

    def rows_below(self) -> FloatArray:
        """Rows of each label with each feature, of the sets of the next level; frees them here."""
        result = np.empty((len(self.below), self._whole.shape[1]), dtype=self._whole.dtype)
        stop = len(result)
        while self._counted:
            part = self._counted.pop()
            result[stop - len(part) : stop] = part
            stop -= len(part)
        return result


UNREACHABLE = np.int64(2**40)  # more errors than there are rows


@dataclass(frozen=True, eq=False)
class LeastErrors:
    """Least errors (N, leaves) of a subtree below each set of each level, by leaves 1, 2, …."""

    levels: list[IntArray]

    @property
    def best_errors(self) -> IntArray:
        """Least errors of a tree of 1, 2, … leaves."""
        return np.asarray(self.levels[0][0])


def least_errors(
    levels: list[Level], trees: TreeClass, stumps: list[IntArray] | None = None
) -> LeastErrors:
    """Least errors by leaves, from the deepest level up."""
    by_depth: list[IntArray] = []
    for depth in range(len(levels) - 1, -1, -1):
        below = by_depth[0] if by_depth else None
        level_stumps = None if stumps is None else stumps[depth]
        by_depth.insert(
            0, _least_level_errors(levels[depth], trees.table, depth, below, level_stumps)
        )
    return LeastErrors(by_depth)


def leaf_errors(
    level: Level, indices: Any = slice(None), features: Any = slice(None)
) -> tuple[IntArray, IntArray]:
    """Errors (…, C) of each label on the rows of sets with a feature, and on those without."""
    having = level.with_feature[indices, features]
    lacking = np.expand_dims(level.totals[indices], -2) - having
    return label_errors(level, having), label_errors(level, lacking)


def label_errors(level: Level, rows: IntArray) -> IntArray:
    """Errors (…, C) of leaves with each label, by the rows of each label; huge for none."""
    errors = wrong(rows, level.costs)
    return majority_errors(errors, UNREACHABLE) if level.by_majority else errors


def majority_errors(errors: IntArray, unreachable: Any) -> IntArray:
    """Errors (…, C) of leaves by their label; huge except for the best one, the last on a tie."""
    labels = errors.shape[-1]
    majority = labels - 1 - errors[..., ::-1].argmin(axis=-1)
    return np.where(np.arange(labels) == majority[..., None], errors, unreachable)


def _least_level_errors(
    level: Level,
    table: tuple[tuple[int, ...], ...],
    depth: int,
    below: IntArray | None,
    stumps: IntArray | None,
) -> IntArray:
    most_leaves = len(table[depth])
    level_errors = np.full((len(level.sets), most_leaves), UNREACHABLE)
    level_errors[:, 0] = wrong(level.totals, level.costs).min(axis=1)
    if most_leaves >= 2:
        if stumps is None:
            stumps = np.empty(len(level.sets), dtype=np.int64)
            for some, errors in _stumps(level):
                stumps[some] = errors.min(axis=1, initial=UNREACHABLE)
        level_errors[:, 1] = np.where(
            level.spare > 0, np.minimum(stumps, level_errors[:, 0]), stumps
        )
    if below is None:
        return level_errors
    deeper = np.vstack([below, np.full(below.shape[1], UNREACHABLE)])  # index −1 is no set
    for leaves in range(3, most_leaves + 1):
        for a, b in pairs(leaves, below.shape[1]):
            both = (deeper[level.yes, a - 1] + deeper[level.no, b - 1]).min(axis=1)
            uncut = deeper[level.same, b - 1]
            level_errors[:, leaves - 1] = np.minimum.reduce(
                [level_errors[:, leaves - 1], both, uncut]
            )
    return np.minimum(level_errors, UNREACHABLE)


def pairs(leaves: int, most: int) -> list[tuple[int, int]]:
    """List the splits of leaves between two branches that have at most ``most`` each."""
    return [(a, leaves - a) for a in range(max(1, leaves - most), min(most, leaves - 1) + 1)]


def label_pairs(n_labels: int) -> list[tuple[int, int]]:
    """List the pairs of different labels of two leaves."""
    return list(permutations(range(n_labels), 2))


def _stumps(level: Level) -> Iterator[tuple[slice, IntArray]]:
    """Least errors (k, m) of two leaves below some sets, by question; a few sets at a time."""
    features, labels = level.with_feature.shape[1:]
    step = max(1, AT_ONCE // (features * labels))
    for start in range(0, len(level.sets), step):
        some = slice(start, start + step)
        yield some, np.where(level.cuts[some], _two_leaves(level, some), UNREACHABLE)


def feature_stumps(level: Level, feature: int) -> IntArray:
    """Least errors (N,) of two leaves of different labels below each set, by one question."""
    errors = _two_leaves(level, slice(None), [feature])[:, 0]
    return np.where(level.cuts[:, feature], errors, UNREACHABLE)


def _two_leaves(level: Level, indices: slice, features: Any = slice(None)) -> IntArray:
    yes, no = leaf_errors(level, indices, features)
    both = (yes[..., a] + no[..., b] for a, b in label_pairs(yes.shape[-1]))
    return reduce(np.minimum, both)


@dataclass(frozen=True, eq=False)
class TwoBest:
    """Least errors (N,) of two leaves by a cutting question, its feature, and the second best."""

    least: IntArray
    feature: IntArray
    second: IntArray

    @classmethod
    def from_level(cls, level: Level) -> "TwoBest":
        """Evaluate every question once."""
        count = len(level.sets)
        best_two = cls(*(np.empty(count, dtype=np.int64) for _ in range(3)))
        for some, errors in _stumps(level):
            each, best = np.arange(len(errors)), errors.argmin(axis=1)
            best_two.feature[some], best_two.least[some] = best, errors[each, best]
            errors[each, best] = UNREACHABLE
            best_two.second[some] = errors.min(axis=1, initial=UNREACHABLE)
        return best_two

    def without(self, feature: int) -> IntArray:
        """Least errors (N,) by questions other than one."""
        return np.where(self.feature == feature, self.second, self.least)


def allowances(levels: list[Level], least: LeastErrors, limits: NDArray[Any]) -> list[NDArray[Any]]:
    """Largest errors (N, leaves) below each set over trees of l leaves within limits[l − 1]."""
    allowed = [np.where(least.levels[0] <= limits, limits, -1)]
    for level, below in zip(levels[:-1], least.levels[1:], strict=True):
        allowed.append(allowed_below(level, allowed[-1], below))
    return allowed


def allowed_below(level: Level, allowed: NDArray[Any], below: IntArray) -> NDArray[Any]:
    """Largest errors below each set of the next level, from those of a level; −1 for none."""
    next_allowed = np.full(below.shape, -1, dtype=allowed.dtype)
    for leaves in range(3, allowed.shape[1] + 1):
        nodes = np.flatnonzero(allowed[:, leaves - 1] >= 0)
        if not len(nodes):
            continue
        room, same = allowed[nodes, leaves - 1], level.same[nodes]
        node, feature = np.nonzero(level.yes[nodes] >= 0)
        yes, no = level.yes[nodes[node], feature], level.no[nodes[node], feature]
        for a, b in pairs(leaves, below.shape[1]):
            for branch, other in ((yes, no), (no, yes)):
                left = room[node] - below[other, b - 1]
                within = left >= 0
                np.maximum.at(next_allowed[:, a - 1], branch[within], left[within])
            np.maximum.at(next_allowed[:, b - 1], same[same >= 0], room[same >= 0])
    next_allowed[next_allowed < below] = -1
    return next_allowed
