"""Trees with each leaf: counts propagated from the whole trees to their leaves."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rashomon_explorer._utils.arrays import FloatArray, IntArray
from rashomon_explorer.trees import lattice
from rashomon_explorer.trees.counting import Counts, Histogram, stump_errors
from rashomon_explorer.trees.lattice import Level
from rashomon_explorer.trees.questions import BITS, MergedRows, as_masks

_AT_ONCE = 4096  # sets per batch of stumps


class LeafTreeCounts:
    """Propagate counts to leaves: for every set and label, the trees with such a leaf."""

    def __init__(self, counts: Counts, rows: MergedRows) -> None:
        self._counts, self._rows = counts, rows
        self._answers = rows.packed
        self._times = np.zeros(rows.counts.shape)

    def labels(self, limit: IntArray) -> FloatArray:
        """Trees (U, C) within limit[l − 1] errors that give each label to each combination."""
        counts, self._times = self._counts, np.zeros(self._rows.counts.shape)
        first = counts.levels[0]
        single_leaf = lattice.label_errors(first, first.totals[0]) <= limit[0]
        self._times += single_leaf  # one leaf contains every row
        around = self._nowhere(0)
        for leaves, histogram in enumerate(counts.by_leaves()[1:], start=2):
            if histogram is not None:
                errors = histogram[0] + np.arange(len(histogram[1]))
                around[leaves - 2][0] = (errors <= limit[leaves - 1]).astype(float)
        for depth in range(len(counts.levels)):
            around = self._down(depth, around)
        return self._times

    def _nowhere(self, depth: int) -> list[list[FloatArray | None]]:
        if depth == len(self._counts.levels):
            return []
        return [[None] * len(of_leaves) for of_leaves in self._counts.histograms[depth]]

    def _down(
        self, depth: int, around: list[list[FloatArray | None]]
    ) -> list[list[FloatArray | None]]:
        """Propagate one level's counts to its leaves and to the next level."""
        self._depth, self._level = depth, self._counts.levels[depth]
        self._below, self._leaf_counts = self._nowhere(depth + 1), _LevelLeafCounts(self._level)
        for leaves, of_sets in enumerate(around, start=2):
            filled = {index: counts for index, counts in enumerate(of_sets) if counts is not None}
            if leaves == 2:
                indices = list(filled)
                for start in range(0, len(indices), _AT_ONCE):
                    self._stumps(indices[start : start + _AT_ONCE], filled)
                continue
            for index, tree_counts in filled.items():
                self._cut(index, leaves, tree_counts)
                self._uncut(index, leaves, tree_counts)
        self._leaf_counts.add_to(self._times, self._answers)
        return self._below

    def _stumps(self, indices: list[int], around: dict[int, FloatArray]) -> None:
        errors, numbers = stump_errors(self._level, np.array(indices))
        labels = self._level.totals.shape[1]
        pairs = lattice.label_pairs(labels)
        for at, index in enumerate(indices):
            times = numbers[at] * _read(around[index], errors[at] - self._low(index, 2))
            cut = times[: len(times) - labels].reshape(-1, len(pairs))
            yes, no = self._leaf_counts.by_question(index)
            for column, (a, b) in enumerate(pairs):
                yes[:, a] += cut[:, column]
                no[:, b] += cut[:, column]
            self._leaf_counts.undivided(index)[:] += times[len(times) - labels :]

    def _cut(self, index: int, leaves: int, around: FloatArray) -> None:
        level, histograms = self._level, self._counts.histograms[self._depth + 1]
        below, low = self._below, self._low(index, leaves)
        features = np.flatnonzero(level.cuts[index])
        to_yes = level.yes[index, features].tolist()
        to_no = level.no[index, features].tolist()
        shared = lattice.pairs(leaves, len(histograms) + 1)
        if (1, leaves - 1) in shared:
            sides = [side.tolist() for side in lattice.leaf_errors(level, index, features)]
            leaf_on = self._leaf_counts.by_question(index)
            deep, back = histograms[leaves - 3], below[leaves - 3]
            for errors, other_indices, leaf in zip(sides, (to_no, to_yes), leaf_on, strict=True):
                for at, feature in enumerate(features.tolist()):
                    second = deep[other_indices[at]]
                    if second is None:
                        continue
                    for label, wrong in enumerate(errors[at]):
                        part = _shifted(around, second[0] + wrong - low, len(second[1]))
                        if part is not None:
                            leaf[feature, label] += part @ second[1]
                            _add(back, other_indices[at], part)
        for a, b in shared:
            if a == 1 or b == 1:
                continue
            for yes, no in zip(to_yes, to_no, strict=True):
                first, second = histograms[a - 2][yes], histograms[b - 2][no]
                if first is not None and second is not None:
                    length = len(first[1]) + len(second[1]) - 1
                    part = _shifted(around, first[0] + second[0] - low, length)
                    if part is not None:
                        _add(below[a - 2], yes, np.correlate(part, second[1], "valid"))
                        _add(below[b - 2], no, np.correlate(part, first[1], "valid"))

    def _uncut(self, index: int, leaves: int, around: FloatArray) -> None:
        """Add splits with all rows on one side, and any subtree on the other, which has no rows."""
        level, spare = self._level, int(self._level.spare[index])
        if spare == 0:
            return
        low, empty = self._low(index, leaves), self._counts.trees.table[self._depth + 1]
        for a, b in lattice.pairs(leaves, len(empty)):
            times = float(spare * empty[a - 1])
            if b == 1:
                errors = lattice.label_errors(level, level.totals[index])
                self._leaf_counts.undivided(index)[:] += times * _read(around, errors - low)
                continue
            uncut_index = int(level.same[index])
            histogram = self._counts.histograms[self._depth + 1][b - 2][uncut_index]
            if histogram is not None:
                part = _shifted(around, histogram[0] - low, len(histogram[1]))
                if part is not None:
                    _add(self._below[b - 2], uncut_index, times * part)

    def _low(self, index: int, leaves: int) -> int:
        histogram: Histogram | None = self._counts.histograms[self._depth][leaves - 2][index]
        assert histogram is not None
        return histogram[0]


class _LevelLeafCounts:
    """Trees with a leaf below each set of a level: by question, answer and label, or uncut."""

    def __init__(self, level: Level) -> None:
        self._level = level
        self._by_question: dict[int, tuple[FloatArray, FloatArray]] = {}
        self._undivided: dict[int, FloatArray] = {}

    def by_question(self, index: int) -> tuple[FloatArray, FloatArray]:
        """Trees (m, C) with a leaf of each label on the rows with each feature, and without it."""
        features, labels = self._level.with_feature.shape[1:]
        if index not in self._by_question:
            eights = -(-features // 8), 8, labels
            self._by_question[index] = np.zeros(eights), np.zeros(eights)
        yes, no = (counts.reshape(-1, labels)[:features] for counts in self._by_question[index])
        return yes, no

    def undivided(self, index: int) -> FloatArray:
        """Trees (C,) with a leaf of each label on all of the set's rows."""
        return self._undivided.setdefault(index, np.zeros(self._level.totals.shape[1]))

    def add_to(self, times: FloatArray, answers: NDArray[np.uint8]) -> None:
        """Add to the trees (U, C) of each combination; answers are packed in bytes."""
        for index in self._by_question.keys() | self._undivided.keys():
            inside = as_masks([self._level.sets[index]], len(times))[0]
            members = np.flatnonzero(inside.view(bool))
            tree_counts = np.take(times, members, axis=0) + self.undivided(index)
            if index in self._by_question:
                yes, no = self._by_question[index]
                # Sums (m/8, 256, C) over eight questions at a time, by their answers as a byte.
                for byte, sums in zip(answers, BITS @ yes + (1 - BITS) @ no, strict=True):
                    tree_counts += np.take(sums, np.take(byte, members), axis=0)
            times[members] = tree_counts


def _read(values: FloatArray, at: IntArray) -> FloatArray:
    """Values at indices; 0 outside the array."""
    inside = (at >= 0) & (at < len(values))
    return np.where(inside, values[np.where(inside, at, 0)], 0.0)


def _shifted(values: FloatArray, first: int, length: int) -> FloatArray | None:
    """Slice of fixed length, with 0 beyond the end; None if all values are 0."""
    part = values[first : first + length]
    if not part.any():
        return None
    return part if len(part) == length else np.concatenate([part, np.zeros(length - len(part))])


def _add(sums: list[FloatArray | None], index: int, values: FloatArray) -> None:
    total = sums[index]
    sums[index] = values.copy() if total is None else total + values
