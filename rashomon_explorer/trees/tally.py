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


class Reached:
    """Propagate counts to leaves: for every set and label, the trees with such a leaf."""

    def __init__(self, counts: Counts, rows: MergedRows) -> None:
        self._counts, self._rows = counts, rows
        self._answers = rows.packed
        self._times = np.zeros(rows.counts.shape)

    def labels(self, limit: IntArray) -> FloatArray:
        """Trees (U, C) within limit[l − 1] errors that give each label to each combination."""
        counts, self._times = self._counts, np.zeros(self._rows.counts.shape)
        first = counts.levels[0]
        alone = lattice.label_errors(first, first.totals[0]) <= limit[0]
        self._times += alone  # one leaf contains every row
        around = self._nowhere(0)
        for leaves, found in enumerate(counts.by_leaves()[1:], start=2):
            if found is not None:
                errors = found[0] + np.arange(len(found[1]))
                around[leaves - 2][0] = (errors <= limit[leaves - 1]).astype(float)
        for depth in range(len(counts.levels)):
            around = self._down(depth, around)
        return self._times

    def _nowhere(self, depth: int) -> list[list[FloatArray | None]]:
        if depth == len(self._counts.levels):
            return []
        return [[None] * len(of_leaves) for of_leaves in self._counts.found[depth]]

    def _down(
        self, depth: int, around: list[list[FloatArray | None]]
    ) -> list[list[FloatArray | None]]:
        """Propagate one level's counts to its leaves and to the next level."""
        level, below = self._counts.levels[depth], self._nowhere(depth + 1)
        leaf_counts = _LeafCounts(level)
        for leaves, of_sets in enumerate(around, start=2):
            places = [place for place, one in enumerate(of_sets) if one is not None]
            if leaves == 2:
                for start in range(0, len(places), _AT_ONCE):
                    self._stumps(depth, places[start : start + _AT_ONCE], of_sets, leaf_counts)
                continue
            for place in places:
                one = of_sets[place]
                assert one is not None
                self._cut(depth, place, leaves, one, below, leaf_counts)
                self._uncut(depth, place, leaves, one, below, leaf_counts)
        leaf_counts.add_to(self._times, self._answers)
        return below

    def _stumps(
        self,
        depth: int,
        places: list[int],
        around: list[FloatArray | None],
        leaf_counts: _LeafCounts,
    ) -> None:
        level, found = self._counts.levels[depth], self._counts.found[depth][0]
        errors, numbers = stump_errors(level, np.array(places))
        labels = level.totals.shape[1]
        apart = lattice.label_pairs(labels)
        for at, place in enumerate(places):
            of_set, here = found[place], around[place]
            assert of_set is not None and here is not None
            times = numbers[at] * _read(here, errors[at] - of_set[0])
            cut = times[: len(times) - labels].reshape(-1, len(apart))
            yes, no = leaf_counts.of(place)
            for column, (a, b) in enumerate(apart):
                yes[:, a] += cut[:, column]
                no[:, b] += cut[:, column]
            leaf_counts.undivided(place)[:] += times[len(times) - labels :]

    def _cut(
        self,
        depth: int,
        place: int,
        leaves: int,
        around: FloatArray,
        below: list[list[FloatArray | None]],
        leaf_counts: _LeafCounts,
    ) -> None:
        level, found = self._counts.levels[depth], self._counts.found[depth + 1]
        low = self._low(depth, place, leaves)
        features = np.flatnonzero(level.cuts[place])
        to_yes = level.yes[place, features].tolist()
        to_no = level.no[place, features].tolist()
        shared = lattice.pairs(leaves, len(found) + 1)
        if (1, leaves - 1) in shared:
            sides = [side.tolist() for side in lattice.leaf_errors(level, place, features)]
            leaf_on, deep, back = leaf_counts.of(place), found[leaves - 3], below[leaves - 3]
            for errors, others, leaf in zip(sides, (to_no, to_yes), leaf_on, strict=True):
                for at, feature in enumerate(features.tolist()):
                    other = deep[others[at]]
                    if other is None:
                        continue
                    for label, wrong in enumerate(errors[at]):
                        part = _shifted(around, other[0] + wrong - low, len(other[1]))
                        if part is not None:
                            leaf[feature, label] += part @ other[1]
                            _add(back, others[at], part)
        for a, b in shared:
            if a == 1 or b == 1:
                continue
            for yes, no in zip(to_yes, to_no, strict=True):
                one, other = found[a - 2][yes], found[b - 2][no]
                if one is not None and other is not None:
                    length = len(one[1]) + len(other[1]) - 1
                    part = _shifted(around, one[0] + other[0] - low, length)
                    if part is not None:
                        _add(below[a - 2], yes, np.correlate(part, other[1], "valid"))
                        _add(below[b - 2], no, np.correlate(part, one[1], "valid"))

    def _uncut(
        self,
        depth: int,
        place: int,
        leaves: int,
        around: FloatArray,
        below: list[list[FloatArray | None]],
        leaf_counts: _LeafCounts,
    ) -> None:
        """Add splits with all rows on one side, and any subtree on the other, which has no rows."""
        level, spare = self._counts.levels[depth], int(self._counts.levels[depth].spare[place])
        if spare == 0:
            return
        low, empty = self._low(depth, place, leaves), self._counts.trees.table[depth + 1]
        for a, b in lattice.pairs(leaves, len(empty)):
            times = float(spare * empty[a - 1])
            if b == 1:
                errors = lattice.label_errors(level, level.totals[place])
                leaf_counts.undivided(place)[:] += times * _read(around, errors - low)
                continue
            same = int(level.same[place])
            one = self._counts.found[depth + 1][b - 2][same]
            if one is not None:
                part = _shifted(around, one[0] - low, len(one[1]))
                if part is not None:
                    _add(below[b - 2], same, times * part)

    def _low(self, depth: int, place: int, leaves: int) -> int:
        found: Histogram | None = self._counts.found[depth][leaves - 2][place]
        assert found is not None
        return found[0]


class _LeafCounts:
    """Trees with a leaf below each set of a level: by question, answer and label, or uncut."""

    def __init__(self, level: Level) -> None:
        self._level = level
        self._of: dict[int, tuple[FloatArray, FloatArray]] = {}
        self._undivided: dict[int, FloatArray] = {}

    def of(self, place: int) -> tuple[FloatArray, FloatArray]:
        """Trees (m, C) with a leaf of each label on the rows with each feature, and without it."""
        features, labels = self._level.with_feature.shape[1:]
        if place not in self._of:
            eights = -(-features // 8), 8, labels
            self._of[place] = np.zeros(eights), np.zeros(eights)
        yes, no = (one.reshape(-1, labels)[:features] for one in self._of[place])
        return yes, no

    def undivided(self, place: int) -> FloatArray:
        """Trees (C,) with a leaf of each label on all of the set's rows."""
        return self._undivided.setdefault(place, np.zeros(self._level.totals.shape[1]))

    def add_to(self, times: FloatArray, answers: NDArray[np.uint8]) -> None:
        """Add to the trees (U, C) of each combination; answers are packed in bytes."""
        for place in self._of.keys() | self._undivided.keys():
            inside = as_masks([self._level.sets[place]], len(times))[0]
            members = np.flatnonzero(inside.view(bool))
            found = np.take(times, members, axis=0) + self.undivided(place)
            if place in self._of:
                of_eights = _by_eights(*self._of[place])
                for here, of_answers in zip(answers, of_eights, strict=True):
                    found += np.take(of_answers, np.take(here, members), axis=0)
            times[members] = found


def _by_eights(yes: FloatArray, no: FloatArray) -> FloatArray:
    """Sum (m/8, 256, C) over eight questions at a time, by their answers as a byte."""
    return np.asarray(BITS @ yes + (1 - BITS) @ no)


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


def _add(sums: list[FloatArray | None], place: int, values: FloatArray) -> None:
    known = sums[place]
    sums[place] = values.copy() if known is None else known + values
