"""Counts of trees by leaves and errors, and of those with each leaf."""

from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rashomon_explorer._utils.arrays import FloatArray, IntArray
from rashomon_explorer._utils.progress import tally
from rashomon_explorer._utils.randomness import uniform_below
from rashomon_explorer.trees import lattice, tree_class
from rashomon_explorer.trees.questions import BITS, MergedRows, as_masks

_LONG = 400  # number of terms above which separate products are faster


@dataclass(frozen=True, eq=False)
class FlatHistograms:
    """Numbers of subtrees with a given number of leaves, by set and errors; 0 at index −1."""

    low: IntArray  # (N + 1,): least errors
    size: IntArray  # (N + 1,): lengths, 0 without a histogram
    start: IntArray  # (N + 1,): start indices
    values: NDArray[Any]

    @classmethod
    def empty(cls, low: IntArray, size: IntArray, dtype: Any) -> "FlatHistograms":
        """Histograms of zeros; the last index, −1, has none."""
        low, size = (np.append(numbers, 0) for numbers in (low, size))
        start = np.cumsum(size) - size
        return cls(low, size, start, np.zeros(int(start[-1]) + 1, dtype))

    @property
    def parts(self) -> list["Histogram | None"]:
        """Histogram of each set, without copies."""
        stops = self.start + self.size
        every = zip(self.low.tolist(), self.start.tolist(), stops.tolist(), strict=True)
        parts = [
            (low, self.values[start:stop]) if stop > start else None for low, start, stop in every
        ]
        return parts[:-1]

    def at(self, indices: NDArray[Any], errors: NDArray[Any]) -> FloatArray:
        """Return the number of subtrees below each set with these errors."""
        at = errors - self.low[indices]
        inside = (at >= 0) & (at < self.size[indices])
        return np.where(inside, self.values[np.where(inside, self.start[indices] + at, 0)], 0.0)

    def add_shifted(self, histogram: "Histogram", indices: IntArray, shifts: IntArray) -> None:
        """Add histograms whose errors are shifted, within the limit of one."""
        low, total = histogram
        first = self.low[indices] + shifts - low
        many = np.clip(len(total) - first, 0, self.size[indices])
        if many.sum() > _LONG * len(many):  # slices are faster
            for start, at, length in zip(self.start[indices], first, many, strict=True):
                total[at : at + length] += self.values[start : start + length]
            return
        step = np.arange(int(many.sum())) - np.repeat(np.cumsum(many) - many, many)
        values = self.values[np.repeat(self.start[indices], many) + step]
        np.add(total, np.bincount(np.repeat(first, many) + step, values, len(total)), out=total)


@dataclass(frozen=True, eq=False)
class Pairs:
    """Pairs of subtrees of two sets with given total errors, by the errors of the first."""

    first: FlatHistograms
    second: FlatHistograms
    indices: IntArray  # (K,): sets of the first
    second_indices: IntArray  # (K,): sets of the second
    errors: IntArray  # (K,): total errors

    @property
    def span(self) -> tuple[IntArray, IntArray]:
        """Least errors (K,) of the first subtree, and the number of its possible values."""
        first, second = self.first, self.second
        last = second.low[self.second_indices] + second.size[self.second_indices] - 1
        low = np.maximum(first.low[self.indices], self.errors - last)
        ends = first.low[self.indices] + first.size[self.indices] - 1
        high = np.minimum(ends, self.errors - second.low[self.second_indices])
        some = (first.size[self.indices] > 0) & (second.size[self.second_indices] > 0)
        return low, np.where(some, np.maximum(high - low + 1, 0), 0)

    def totals(self) -> FloatArray:
        """Count the pairs (K,): sums of products of integers, exact below 2⁵³."""
        low, many = self.span
        pair_counts = np.zeros(len(low))
        for some in chunks(many):
            begins = self._begins(some, low[some])
            if many[some].max() > _LONG:
                for at, first_start, second_start, length in zip(
                    some, *begins, many[some], strict=True
                ):
                    part = self.second.values[second_start - length + 1 : second_start + 1][::-1]
                    values = self.first.values[first_start : first_start + length]
                    pair_counts[at] = values.astype(float) @ part
                continue
            products = self._products(begins, many[some])
            ends = np.concatenate([[0], np.cumsum(many[some])[:-1]])
            pair_counts[some] = np.add.reduceat(products, ends)
        return pair_counts

    def sample(self, rng: np.random.Generator) -> IntArray:
        """Errors (K,) of the first subtree, drawn in proportion to the number of pairs."""
        low, many = self.span
        result = np.zeros(len(low), dtype=np.int64)
        for some in chunks(many):
            products = self._products(self._begins(some, low[some]), many[some])
            result[some] = low[some] + sample_in_parts(products, many[some], rng)
        return result

    def _begins(self, some: IntArray, low: IntArray) -> tuple[IntArray, IntArray]:
        """Find the indices of the first product's two factors; the second index then decreases."""
        indices, second_indices = self.indices[some], self.second_indices[some]
        first_start = self.first.start[indices] + low - self.first.low[indices]
        left = self.errors[some] - low - self.second.low[second_indices]
        return first_start, self.second.start[second_indices] + left

    def _products(self, begins: tuple[IntArray, IntArray], many: IntArray) -> FloatArray:
        step = np.arange(int(many.sum())) - np.repeat(np.cumsum(many) - many, many)
        first_at = np.repeat(begins[0], many) + step
        second_at = np.repeat(begins[1], many) - step
        return np.asarray(self.first.values[first_at].astype(float) * self.second.values[second_at])


def chunks(many: NDArray[Any], at_once: int = tree_class.AT_ONCE) -> list[IntArray]:
    """Split indices of nonzero entries into groups whose sums fit in memory."""
    indices = np.flatnonzero(many)
    if not len(indices):
        return []
    ends = np.cumsum(many[indices]) // at_once
    return np.split(indices, np.flatnonzero(np.diff(ends)) + 1)


def sample_in_parts(weights: FloatArray, many: IntArray, rng: np.random.Generator) -> IntArray:
    """Draw one index in each part, exactly in proportion to its integer weights."""
    starts = np.cumsum(many) - many
    sampled = np.empty(len(many), dtype=np.int64)
    lengths = np.ceil(np.log2(many))  # parts of similar length fill a table with little padding
    for length in np.unique(lengths):
        some = np.flatnonzero(lengths == length)
        widths = many[some]
        row = np.repeat(np.arange(len(some)), widths)
        column = np.arange(len(row)) - np.repeat(np.cumsum(widths) - widths, widths)
        table = np.zeros((len(some), int(widths.max())))
        table[row, column] = weights[starts[some][row] + column]
        sampled[some] = sample_in_rows(table, np.arange(len(some)), rng)
    return sampled


def sample_in_rows(table: FloatArray, rows: IntArray, rng: np.random.Generator) -> IntArray:
    """Draw one column for each given row, exactly in proportion to its integer weights."""
    ends = np.cumsum(table, axis=1)
    if (ends[:, -1] > tree_class.EXACT).any():
        exact = [list(accumulate(map(int, weights))) for weights in table.tolist()]
        each = (exact[row] for row in rows.tolist())
        return np.array([bisect_right(sums, uniform_below(sums[-1], rng)) for sums in each])
    sampled = np.empty(len(rows), dtype=np.int64)
    step = max(1, tree_class.AT_ONCE // table.shape[1])
    for first in range(0, len(rows), step):
        some = rows[first : first + step]
        indices = rng.integers(ends[some, -1].astype(np.int64))
        sampled[first : first + step] = (ends[some] <= indices[:, None]).sum(axis=1)
    return sampled


# Multiply-adds of a dense product that take as long as one shift, or one scattered sum.
_SHIFT = 2500
_SCATTER = 12
_ROWS_AT_ONCE = 4096

Histogram = tuple[int, NDArray[Any]]
"""Least errors, and the number of trees with that many and with 1, 2, … more.

These are doubles, or unsigned integers of as few bytes as every such number needs.
"""


@dataclass(frozen=True, eq=False)
class Counts:
    """Histograms of the trees within limits, for each level, set and number of leaves."""

    levels: list[lattice.Level]
    trees: tree_class.TreeClass
    least: lattice.LeastErrors
    limits: IntArray  # (leaves,): largest errors of a tree of 1, 2, … leaves
    flat: list[list[FlatHistograms]]  # by level, leaves − 2

    @cached_property
    def histograms(self) -> list[list[list[Histogram | None]]]:
        """Histogram of each set, by level, leaves − 2, set."""
        return [[of_sets.parts for of_sets in of_leaves] for of_leaves in self.flat]

    def by_leaves(self) -> list[Histogram | None]:
        """Histogram of the whole trees of 1, 2, … leaves."""
        errors = lattice.label_errors(self.levels[0], self.levels[0].totals[0])
        within = errors[errors <= int(self.limits[0])]
        leaf: Histogram | None = None
        if len(within):
            first = int(within.min())
            leaf = first, np.bincount(within - first).astype(float)
        return [leaf, *(of_sets.parts[0] for of_sets in self.flat[0])]


def count(
    levels: list[lattice.Level],
    trees: tree_class.TreeClass,
    least: lattice.LeastErrors,
    limits: IntArray,
    room: float,
) -> Counts:
    """Count all trees with at most limits[l − 1] errors and l leaves, for every l.

    Raises ``DataError`` before sets and counts take more than ``room`` bytes.
    """
    allowed = lattice.allowances(levels, least, limits)
    needed, n_cells, n_patterns = 0, 0, levels[0].sets[0].bit_length()
    for depth, (level, fewest, most) in enumerate(zip(levels, least.levels, allowed, strict=True)):
        needed += len(level.sets) * trees.set_memory(depth, n_patterns)
        lengths = np.minimum(most, level.most[:, None]) - fewest + 1
        lengths[most < fewest] = 0
        n_cells += int((lengths[:, 1:] > 0).sum())
        needed += int(lengths[:, 1:].sum(axis=0) @ trees.number_bytes(depth))
    tree_class.check_room(needed + tree_class.HISTOGRAM * n_cells, room)
    flat: list[list[FlatHistograms]] = []
    with tally(n_cells, "counts of trees") as done:
        steps = _Steps(done)
        for depth in range(len(levels) - 1, -1, -1):
            bounds = least.levels[depth], allowed[depth]
            below = flat[0] if flat else []
            flat.insert(0, _Counter(levels[depth], trees, depth, *bounds, below, steps).by_leaves())
    return Counts(levels, trees, least, limits, flat)


class _Steps:
    """Counts what is done, for a bar."""

    def __init__(self, done: Callable[[int], None]) -> None:
        self._done, self._count = done, 0

    def add(self, count: int = 1) -> None:
        """Show that so much more is done."""
        self._count += count
        self._done(self._count)


class _Counter:
    """Count the trees of one level from the histograms of the next."""

    def __init__(
        self,
        level: lattice.Level,
        trees: tree_class.TreeClass,
        depth: int,
        least: IntArray,
        allowed: IntArray,
        below: list[FlatHistograms],
        steps: _Steps,
    ) -> None:
        self._level, self._least, self._allowed, self._steps = level, least, allowed, steps
        self._flat, self._below = below, [of_sets.parts for of_sets in below]
        self._empty = trees.table[depth + 1] if below else ()
        self._types = [tree_class.number_type(number) for number in trees.table[depth]]

    def by_leaves(self) -> list[FlatHistograms]:
        """Histograms of the sets, for 2, 3, … leaves."""
        most_leaves = self._least.shape[1]
        if most_leaves < 2:
            return []
        return [self._stumps(), *map(self._deeper, range(3, most_leaves + 1))]

    def _stumps(self) -> FlatHistograms:
        """Two leaves: errors of each feature and pair of labels, for all sets at once."""
        least_errors, allowed = self._least[:, 1], self._allowed[:, 1]
        highest = np.minimum(allowed, self._level.most)
        size = np.where(allowed >= least_errors, highest - least_errors + 1, 0)
        flat = FlatHistograms.empty(least_errors, size, self._types[1])
        n_options = self._level.with_feature[0].size
        for indices in chunks(np.where(size > 0, np.maximum(size, n_options), 0)):
            errors, weights = stump_errors(self._level, indices)
            first, stop = flat.start[indices[0]], flat.start[indices[-1] + 1]
            within = (weights > 0) & (errors <= highest[indices, None])
            at = (errors + (flat.start - flat.low)[indices, None] - first)[within]
            flat.values[first:stop] = np.bincount(at, weights[within], stop - first)
            self._steps.add(len(indices))
        return flat

    def _deeper(self, leaves: int) -> FlatHistograms:
        least_errors, allowed = self._least[:, leaves - 1], self._allowed[:, leaves - 1]
        highest = np.minimum(allowed, self._level.most)
        size = np.where(allowed >= least_errors, highest - least_errors + 1, 0)
        flat = FlatHistograms.empty(least_errors, size, self._types[leaves - 1])
        for index in np.flatnonzero(size).tolist():
            total = int(least_errors[index]), np.zeros(size[index])
            self._add_cut(index, leaves, total)
            self._add_uncut(index, leaves, total)
            flat.values[flat.start[index] : flat.start[index + 1]] = total[1]
            self._steps.add()
        return flat

    def _add_cut(self, index: int, leaves: int, total: Histogram) -> None:
        level = self._level
        features = np.flatnonzero(level.yes[index] >= 0)
        if not len(features):
            return
        yes, no = level.yes[index, features].tolist(), level.no[index, features].tolist()
        shared = lattice.pairs(leaves, len(self._below) + 1)
        if (1, leaves - 1) in shared:
            errors = np.concatenate(lattice.leaf_errors(level, index, features))
            other_indices = np.repeat([*no, *yes], errors.shape[1])
            self._flat[leaves - 3].add_shifted(total, other_indices, errors.ravel())
        for a, b in shared:
            if a == 1 or b == 1:
                continue
            first, second = self._below[a - 2], self._below[b - 2]
            for at in range(len(features)):
                first_histogram, second_histogram = first[yes[at]], second[no[at]]
                if first_histogram is not None and second_histogram is not None:
                    add_product(total, first_histogram, second_histogram)

    def _add_uncut(self, index: int, leaves: int, total: Histogram) -> None:
        """Add splits with all rows on one side, and any subtree on the other, which has no rows."""
        level, spare = self._level, int(self._level.spare[index])
        if level.same[index] < 0:
            return
        for a, b in lattice.pairs(leaves, len(self._empty)):
            times = float(spare * self._empty[a - 1])
            if b == 1:
                for errors in lattice.label_errors(level, level.totals[index]).tolist():
                    _add_at(total, errors, np.array([times]))
            else:
                histogram = self._below[b - 2][level.same[index]]
                if histogram is not None:
                    _add_at(total, histogram[0], histogram[1] * times)  # times is a double


def stump_errors(level: lattice.Level, indices: IntArray) -> tuple[IntArray, FloatArray]:
    """Errors (K, J) of all subtrees with two leaves, and the number of trees with each."""
    yes, no = lattice.leaf_errors(level, indices)
    labels = yes.shape[2]
    both = [yes[..., a] + no[..., b] for a, b in lattice.label_pairs(labels)]
    cut = np.stack(both, axis=2).reshape(len(indices), -1)
    counted = np.repeat(level.cuts[indices].astype(float), len(both), axis=1)
    uncut = lattice.label_errors(level, level.totals[indices])
    spare = np.repeat(level.spare[indices, None] * float(labels - 1), labels, axis=1)
    return np.concatenate([cut, uncut], axis=1), np.concatenate([counted, spare], axis=1)


def _add_at(total: Histogram, start: int, values: FloatArray) -> None:
    first = start - total[0]
    room = len(total[1]) - first
    if room > 0:
        part = values[:room]
        total[1][first : first + len(part)] += part


def add_product(total: Histogram, left: Histogram, right: Histogram) -> None:
    """Add the numbers of pairs of trees by the sum of their errors, within the limit."""
    start = left[0] + right[0]
    room = len(total[1]) - start + total[0]
    if room <= 0:
        return
    a, b = left[1][:room].astype(float), right[1][:room].astype(float)
    filled, other_filled = np.flatnonzero(a), np.flatnonzero(b)
    if len(filled) > len(other_filled):
        a, b, filled, other_filled = b, a, other_filled, filled
    shifting = len(filled) * (_SHIFT + len(b))
    if len(filled) * len(other_filled) * _SCATTER < min(shifting, len(a) * len(b)):
        step = max(1, tree_class.AT_ONCE // max(1, len(other_filled)))
        for some in np.split(filled, range(step, len(filled), step)):
            at = np.add.outer(some, other_filled).ravel()
            products = np.bincount(at, np.outer(a[some], b[other_filled]).ravel()).astype(float)
            _add_at(total, start, products)
    elif shifting < len(a) * len(b):
        for shift, times in zip(filled.tolist(), a[filled].tolist(), strict=True):
            _add_at(total, start + shift, times * b[: room - shift])
    else:
        _add_at(total, start, np.convolve(a, b))


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
        n_cells = sum(int((of_sets.size > 0).sum()) for level in counts.flat for of_sets in level)
        with tally(n_cells, "labels of trees") as done:
            self._steps = _Steps(done)
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
                for start in range(0, len(indices), _ROWS_AT_ONCE):
                    some = indices[start : start + _ROWS_AT_ONCE]
                    self._stumps(some, filled)
                    self._steps.add(len(some))
                continue
            for index, tree_counts in filled.items():
                self._cut(index, leaves, tree_counts)
                self._uncut(index, leaves, tree_counts)
                self._steps.add()
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
        features = np.flatnonzero(level.yes[index] >= 0)
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
        if level.same[index] < 0:
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

    def __init__(self, level: lattice.Level) -> None:
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
