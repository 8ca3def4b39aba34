"""The sets of rows that paths of questions lead to, level by level."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rashomon_explorer.array_types import FloatArray, IntArray, Mask
from rashomon_explorer.trees.rows import MergedRows, as_masks
from rashomon_explorer.trees.tree_class import TreeClass


@dataclass(frozen=True, eq=False)
class Level:
    """Distinct sets after the same number of questions.

    The number of trees below a path depends on the set and on how many questions led to it: those
    asked already do not cut the set, and all others that do not cut it are alike.
    """

    sets: list[int]
    totals: IntArray  # (N, C): rows of each label
    with_feature: NDArray[Any]  # (N, m, C): those that have the feature, in four bytes each
    cuts: Mask  # (N, m): whether some rows have the feature and some combination has not
    spare: IntArray  # (N,): questions left that do not cut the set
    yes: IntArray  # (N, m): place in the next level of those that have the feature, −1 for none
    no: IntArray  # (N, m)
    same: IntArray  # (N,): place of the same set in the next level, −1 where nothing is spare
    costs: IntArray | None = None  # (C, C): of a row's label, by what is said; None for 1
    by_majority: bool = False  # whether a leaf has the last label of most of its rows, and rows

    @property
    def most(self) -> IntArray:
        """Most (N,) that errors on each set can cost."""
        dear = 1 if self.costs is None else self.costs.max(axis=1)
        return np.asarray((self.totals * dear).sum(axis=1))


def lattice(rows: MergedRows, trees: TreeClass, *, by_majority: bool = False) -> list[Level]:
    """Levels 0, 1, … down to the deepest at which a tree can split.

    ``by_majority`` leaves out questions that cut nothing: such trees have no empty leaves.

    >>> rows = MergedRows.of([[1, 0], [1, 1], [0, 1]], [1, 0, 0], n_labels=2)
    >>> [len(level.sets) for level in lattice(rows, TreeClass(2, 3))]
    [1, 4]
    """
    levels: list[Level] = []
    sets, counted = [rows.everything], rows.weights.sum(axis=0)[None]
    deepest = max(1, trees.split_levels)
    for asked in range(deepest):
        branching = _Branching(rows, sets, counted, asked, by_majority, asked == deepest - 1)
        levels.append(branching.level)
        if asked == deepest - 1:
            break
        branching.run()
        sets, counted = list(branching.below), np.array(branching.counted)
        # What the next level is made of is held once, beside it and not beside all before.
        del branching
    return levels


class _Branching:
    """Finds the sets of the next level, and counts their rows by those of this level.

    The rows of a set that have two features at once are one product of small matrices, made of
    the set's own combinations alone; it counts the rows of every set that a question leads to.
    """

    def __init__(
        self,
        rows: MergedRows,
        sets: list[int],
        counted: FloatArray,
        asked: int,
        by_majority: bool,
        deepest: bool,
    ) -> None:
        size, m = rows.patterns.shape
        self._rows, self._size = rows, size
        self._patterns = rows.patterns.astype(rows.weights.dtype)
        self._whole = counted
        every = np.rint(counted, out=counted).reshape(len(sets), m + 1, rows.counts.shape[1])
        totals, having = every[:, -1].astype(np.int64), every[:, :-1].astype(np.int32)
        # A combination has at least one row, so that rows tell whether a set is cut.
        some = having.sum(axis=2, dtype=np.int32)
        cuts = (some > 0) & (some < totals.sum(axis=1)[:, None])
        # From the deepest level no question leads on: one number stands for all places.
        nowhere = np.broadcast_to(np.int64(-1), (len(sets), m))
        self.level = Level(
            sets,
            totals,
            having,
            cuts,
            (m - asked - cuts.sum(axis=1)) * (not by_majority),
            nowhere if deepest else nowhere.copy(),
            nowhere if deepest else nowhere.copy(),
            np.full(len(sets), -1, dtype=np.int64),
            rows.costs,
            by_majority,
        )
        self.below: dict[int, int] = {}
        self.counted: list[FloatArray] = []

    def run(self) -> None:
        """Fill in where each question leads, and collect the sets there."""
        level, masks = self.level, self._rows.masks
        for place, one in enumerate(level.sets):
            members = np.flatnonzero(as_masks([one], self._size)[0])
            both = self._patterns[members].T @ self._rows.weights[members]
            for feature in np.flatnonzero(level.cuts[place]).tolist():
                having, counted = one & masks[feature], both[feature]
                level.yes[place, feature] = self._enter(having, counted)
                rest = self._whole[place] - counted
                level.no[place, feature] = self._enter(one ^ having, rest)
            if level.spare[place] > 0:
                level.same[place] = self._enter(one, self._whole[place])

    def _enter(self, one: int, counted: FloatArray) -> int:
        place = self.below.setdefault(one, len(self.counted))
        if place == len(self.counted):
            self.counted.append(counted.copy())  # a view would hold the whole product
        return place
