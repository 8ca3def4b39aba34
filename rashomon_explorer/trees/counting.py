"""Counts of trees by leaves and errors."""

from bisect import bisect_right
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rashomon_explorer._utils.arrays import FloatArray, IntArray
from rashomon_explorer._utils.randomness import uniform_below
from rashomon_explorer.trees import lattice
from rashomon_explorer.trees.lattice import LeastErrors, Level
from rashomon_explorer.trees.tree_class import EXACT, TreeClass

_AT_ONCE = 1_000_000
_LONG = 400  # number of terms above which separate products are faster


@dataclass(frozen=True, eq=False)
class FlatHistograms:
    """Numbers of subtrees with a given number of leaves, by set and errors; 0 at index −1."""

    low: IntArray  # (N + 1,): least errors
    size: IntArray  # (N + 1,): lengths, 0 without a histogram
    start: IntArray  # (N + 1,): start indices
    values: FloatArray

    @classmethod
    def of(cls, found: list[tuple[int, FloatArray] | None]) -> "FlatHistograms":
        """Concatenate histograms; the last index, −1, has none."""
        size = np.array([0 if one is None else len(one[1]) for one in found] + [0])
        low = np.array([0 if one is None else one[0] for one in found] + [0])
        within = [one[1] for one in found if one is not None]
        start = np.concatenate([[0], np.cumsum(size)[:-1]])
        values = np.concatenate([*within, np.zeros(1)])
        return cls(low, size, start, values)

    def at(self, places: NDArray[Any], errors: NDArray[Any]) -> FloatArray:
        """Return the number of subtrees below each set with these errors."""
        at = errors - self.low[places]
        inside = (at >= 0) & (at < self.size[places])
        return np.where(inside, self.values[np.where(inside, self.start[places] + at, 0)], 0.0)

    def add_shifted(self, total: FloatArray, low: int, places: IntArray, shifts: IntArray) -> None:
        """Add histograms whose errors are shifted, within the limit."""
        first = self.low[places] + shifts - low
        many = np.clip(len(total) - first, 0, self.size[places])
        if many.sum() > _LONG * len(many):  # slices are faster
            for start, at, length in zip(self.start[places], first, many, strict=True):
                total[at : at + length] += self.values[start : start + length]
            return
        step = np.arange(int(many.sum())) - np.repeat(np.cumsum(many) - many, many)
        values = self.values[np.repeat(self.start[places], many) + step]
        total += np.bincount(np.repeat(first, many) + step, values, len(total))


@dataclass(frozen=True, eq=False)
class Pairs:
    """Pairs of subtrees of two sets with given total errors, by the errors of the first."""

    first: FlatHistograms
    second: FlatHistograms
    places: IntArray  # (K,): sets of the first
    others: IntArray  # (K,): sets of the second
    errors: IntArray  # (K,): total errors

    @property
    def span(self) -> tuple[IntArray, IntArray]:
        """Least errors (K,) of the first subtree, and the number of its possible values."""
        one, other = self.first, self.second
        last = other.low[self.others] + other.size[self.others] - 1
        low = np.maximum(one.low[self.places], self.errors - last)
        ends = one.low[self.places] + one.size[self.places] - 1
        high = np.minimum(ends, self.errors - other.low[self.others])
        some = (one.size[self.places] > 0) & (other.size[self.others] > 0)
        return low, np.where(some, np.maximum(high - low + 1, 0), 0)

    def totals(self) -> FloatArray:
        """Count the pairs (K,): sums of products of integers, exact below 2⁵³."""
        low, many = self.span
        found = np.zeros(len(low))
        for some in chunks(many):
            begins = self._begins(some, low[some])
            if many[some].max() > _LONG:
                for at, one, other, length in zip(some, *begins, many[some], strict=True):
                    part = self.second.values[other - length + 1 : other + 1][::-1]
                    found[at] = self.first.values[one : one + length] @ part
                continue
            products = self._products(begins, many[some])
            ends = np.concatenate([[0], np.cumsum(many[some])[:-1]])
            found[some] = np.add.reduceat(products, ends)
        return found

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
        places, others = self.places[some], self.others[some]
        one = self.first.start[places] + low - self.first.low[places]
        left = self.errors[some] - low - self.second.low[others]
        return one, self.second.start[others] + left

    def _products(self, begins: tuple[IntArray, IntArray], many: IntArray) -> FloatArray:
        step = np.arange(int(many.sum())) - np.repeat(np.cumsum(many) - many, many)
        one = np.repeat(begins[0], many) + step
        other = np.repeat(begins[1], many) - step
        return np.asarray(self.first.values[one] * self.second.values[other])


def chunks(many: NDArray[Any], at_once: int = _AT_ONCE) -> list[IntArray]:
    """Split indices of nonzero entries into groups whose sums fit in memory."""
    places = np.flatnonzero(many)
    if not len(places):
        return []
    ends = np.cumsum(many[places]) // at_once
    return np.split(places, np.flatnonzero(np.diff(ends)) + 1)


def sample_in_parts(weights: FloatArray, many: IntArray, rng: np.random.Generator) -> IntArray:
    """Draw one index in each part, exactly in proportion to its integer weights."""
    starts = np.cumsum(many) - many
    found = np.empty(len(many), dtype=np.int64)
    lengths = np.ceil(np.log2(many))  # parts of similar length fill a table with little padding
    for length in np.unique(lengths):
        some = np.flatnonzero(lengths == length)
        widths = many[some]
        row = np.repeat(np.arange(len(some)), widths)
        column = np.arange(len(row)) - np.repeat(np.cumsum(widths) - widths, widths)
        table = np.zeros((len(some), int(widths.max())))
        table[row, column] = weights[starts[some][row] + column]
        found[some] = sample_in_rows(table, np.arange(len(some)), rng)
    return found


def sample_in_rows(table: FloatArray, rows: IntArray, rng: np.random.Generator) -> IntArray:
    """Draw one column for each given row, exactly in proportion to its integer weights."""
    ends = np.cumsum(table, axis=1)
    if (ends[:, -1] > EXACT).any():
        exact = [list(accumulate(map(int, weights))) for weights in table.tolist()]
        each = (exact[row] for row in rows.tolist())
        return np.array([bisect_right(sums, uniform_below(sums[-1], rng)) for sums in each])
    found = np.empty(len(rows), dtype=np.int64)
    step = max(1, 4 * _AT_ONCE // table.shape[1])
    for first in range(0, len(rows), step):
        some = rows[first : first + step]
        places = rng.integers(ends[some, -1].astype(np.int64))
        found[first : first + step] = (ends[some] <= places[:, None]).sum(axis=1)
    return found


# Multiply-adds of a dense product that take as long as one shift, or one scattered sum.
_SHIFT = 2500
_SCATTER = 12
_ROWS_AT_ONCE = 4096

Histogram = tuple[int, FloatArray]
"""Least errors, and the number of trees with that many and with 1, 2, … more."""


@dataclass(frozen=True, eq=False)
class Counts:
    """Histograms of the trees within limits, for each level, set and number of leaves."""

    levels: list[Level]
    trees: TreeClass
    least: LeastErrors
    limits: IntArray  # (leaves,): largest errors of a tree of 1, 2, … leaves
    found: list[list[list[Histogram | None]]]  # by level, leaves − 2, set
    # the same, concatenated by level and leaves, if many draws need them
    flat: dict[tuple[int, int], FlatHistograms] = field(default_factory=dict)

    def of(self, depth: int, leaves: int, place: int) -> Histogram | None:
        """Histogram of the subtrees of at least two leaves below a set; None if none is within."""
        return self.found[depth][leaves - 2][place]

    def by_leaves(self) -> list[Histogram | None]:
        """Histogram of the whole trees of 1, 2, … leaves."""
        errors = lattice.label_errors(self.levels[0], self.levels[0].totals[0])
        alone = _alone(errors, int(self.limits[0]))
        return [alone, *(one[0] for one in self.found[0])]


def count(levels: list[Level], trees: TreeClass, least: LeastErrors, limits: IntArray) -> Counts:
    """Count all trees with at most limits[l − 1] errors and l leaves, for every l."""
    allowed = lattice.allowances(levels, least, limits)
    found: list[list[list[Histogram | None]]] = []
    for depth in range(len(levels) - 1, -1, -1):
        counter = _Counter(levels[depth], trees, depth, least.levels[depth], allowed[depth])
        found.insert(0, counter.level(found[0] if found else []))
    return Counts(levels, trees, least, limits, found)


def _alone(errors: IntArray, limit: int) -> Histogram | None:
    within = errors[errors <= limit]
    if not len(within):
        return None
    first = int(within.min())
    return first, np.bincount(within - first).astype(float)


class _Counter:
    """Count the trees of one level from the histograms of the next."""

    def __init__(
        self, level: Level, trees: TreeClass, depth: int, least: IntArray, allowed: IntArray
    ) -> None:
        self._level, self._trees, self._depth = level, trees, depth
        self._least, self._allowed = least, allowed

    def level(self, below: list[list[Histogram | None]]) -> list[list[Histogram | None]]:
        most = self._least.shape[1]
        if most < 2:
            return []
        found = [self._stumps()]
        for leaves in range(3, most + 1):
            found.append(self._deeper(leaves, below))
        return found

    def _stumps(self) -> list[Histogram | None]:
        """Two leaves: errors of each feature and pair of labels, for all sets at once."""
        least, allowed = self._least[:, 1], self._allowed[:, 1]
        cells = np.flatnonzero(allowed >= least)
        result: list[Histogram | None] = [None] * len(least)
        for first in range(0, len(cells), _ROWS_AT_ONCE):
            places = cells[first : first + _ROWS_AT_ONCE]
            self._some_stumps(places, least[places], allowed[places], result)
        return result

    def _some_stumps(
        self, places: IntArray, least: IntArray, allowed: IntArray, result: list[Histogram | None]
    ) -> None:
        errors, weights = stump_errors(self._level, places)
        allowed = np.minimum(allowed, self._level.most[places])
        starts = np.concatenate([[0], np.cumsum(allowed - least + 1)])
        within = (weights > 0) & (errors <= allowed[:, None])
        at = (errors - least[:, None] + starts[:-1, None])[within]
        flat = np.bincount(at, weights=weights[within], minlength=starts[-1]).astype(float)
        parts = np.split(flat, starts[1:-1])
        for place, low, part in zip(places.tolist(), least.tolist(), parts, strict=True):
            result[place] = (low, part)

    def _deeper(self, leaves: int, below: list[list[Histogram | None]]) -> list[Histogram | None]:
        least, allowed = self._least[:, leaves - 1], self._allowed[:, leaves - 1]
        result: list[Histogram | None] = [None] * len(least)
        most = self._level.most
        alone = leaves - 2 <= len(below)  # whether one branch can be a leaf
        deep = FlatHistograms.of(below[leaves - 3] if alone else [])
        for place in np.flatnonzero(allowed >= least).tolist():
            low = int(least[place])
            high = min(int(allowed[place]), int(most[place]))
            total = np.zeros(high - low + 1)
            self._add_cut(place, leaves, below, deep, low, total)
            self._add_uncut(place, leaves, below, low, total)
            result[place] = (low, total)
        return result

    def _add_cut(
        self,
        place: int,
        leaves: int,
        below: list[list[Histogram | None]],
        deep: FlatHistograms,
        low: int,
        total: FloatArray,
    ) -> None:
        level = self._level
        features = np.flatnonzero(level.cuts[place])
        if not len(features):
            return
        yes, no = level.yes[place, features].tolist(), level.no[place, features].tolist()
        most = len(below) + 1
        shared = lattice.pairs(leaves, most)
        if (1, leaves - 1) in shared:
            errors = np.concatenate(lattice.leaf_errors(level, place, features))
            others = np.repeat([*no, *yes], errors.shape[1])
            deep.add_shifted(total, low, others, errors.ravel())
        for a, b in shared:
            if a == 1 or b == 1:
                continue
            first, second = below[a - 2], below[b - 2]
            for at in range(len(features)):
                one, other = first[yes[at]], second[no[at]]
                if one is not None and other is not None:
                    add_product(total, low, one, other)

    def _add_uncut(
        self,
        place: int,
        leaves: int,
        below: list[list[Histogram | None]],
        low: int,
        total: FloatArray,
    ) -> None:
        """Add splits with all rows on one side, and any subtree on the other, which has no rows."""
        level, spare = self._level, int(self._level.spare[place])
        if spare == 0:
            return
        empty = self._trees.table[self._depth + 1]
        for a, b in lattice.pairs(leaves, len(empty)):
            times = float(spare * empty[a - 1])
            if b == 1:
                for errors in lattice.label_errors(level, level.totals[place]).tolist():
                    _add_at(total, low, errors, np.array([times]))
            else:
                one = below[b - 2][level.same[place]]
                if one is not None:
                    _add_at(total, low, one[0], one[1] * times)


def stump_errors(level: Level, places: IntArray) -> tuple[IntArray, FloatArray]:
    """Errors (K, J) of all subtrees with two leaves, and the number of trees with each."""
    yes, no = lattice.leaf_errors(level, places)
    labels = yes.shape[2]
    both = [yes[..., a] + no[..., b] for a, b in lattice.label_pairs(labels)]
    cut = np.stack(both, axis=2).reshape(len(places), -1)
    counted = np.repeat(level.cuts[places].astype(float), len(both), axis=1)
    uncut = lattice.label_errors(level, level.totals[places])
    spare = np.repeat(level.spare[places, None] * float(labels - 1), labels, axis=1)
    return np.concatenate([cut, uncut], axis=1), np.concatenate([counted, spare], axis=1)


def _add_at(total: FloatArray, low: int, start: int, values: FloatArray) -> None:
    first = start - low
    room = len(total) - first
    if room > 0:
        part = values[:room]
        total[first : first + len(part)] += part


def add_product(total: FloatArray, low: int, one: Histogram, other: Histogram) -> None:
    """Add the numbers of pairs of trees by the sum of their errors, within the limit."""
    first = one[0] + other[0] - low
    room = len(total) - first
    if room <= 0:
        return
    a, b = one[1][:room], other[1][:room]
    product: FloatArray
    filled, other_filled = np.flatnonzero(a), np.flatnonzero(b)
    if len(filled) > len(other_filled):
        a, b, filled, other_filled = b, a, other_filled, filled
    shifting = len(filled) * (_SHIFT + len(b))
    if len(filled) * len(other_filled) * _SCATTER < min(shifting, len(a) * len(b)):
        at = np.add.outer(filled, other_filled).ravel()
        values = np.outer(a[filled], b[other_filled]).ravel()
        product = np.bincount(at, values)[:room].astype(float)
    elif shifting < len(a) * len(b):
        for shift, times in zip(filled.tolist(), a[filled].tolist(), strict=True):
            part = b[: room - shift]
            total[first + shift : first + shift + len(part)] += times * part
        return
    else:
        product = np.convolve(a, b)[:room]
    total[first : first + len(product)] += product
