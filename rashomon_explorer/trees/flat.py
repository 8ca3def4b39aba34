"""Histograms of all sets of a level side by side, so that many can be asked at once."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rashomon_explorer.array_types import FloatArray, IntArray

_AT_ONCE = 1_000_000
_LONG = 400  # terms from which a product by itself is faster


@dataclass(frozen=True, eq=False)
class FlatHistograms:
    """Numbers of subtrees with so many leaves, by set and errors; none for the place −1.

    Examples
    --------
    >>> flat = FlatHistograms.of([(2, np.array([5.0, 1.0])), None])
    >>> flat.at(np.array([0, 0, 1, -1]), np.array([3, 4, 2, 2])).tolist()
    [1.0, 0.0, 0.0, 0.0]
    """

    low: IntArray  # (N + 1,): least errors
    size: IntArray  # (N + 1,): numbers kept, 0 where there is no histogram
    start: IntArray  # (N + 1,): where they begin
    values: FloatArray

    @classmethod
    def of(cls, found: list[tuple[int, FloatArray] | None]) -> "FlatHistograms":
        """Lay histograms side by side; the last place, −1, has none."""
        size = np.array([0 if one is None else len(one[1]) for one in found] + [0])
        low = np.array([0 if one is None else one[0] for one in found] + [0])
        kept = [one[1] for one in found if one is not None]
        start = np.concatenate([[0], np.cumsum(size)[:-1]])
        values = np.concatenate([*kept, np.zeros(1)])
        return cls(low, size, start, values)

    def at(self, places: NDArray[Any], errors: NDArray[Any]) -> FloatArray:
        """How many subtrees below each set err so often."""
        at = errors - self.low[places]
        inside = (at >= 0) & (at < self.size[places])
        return np.where(inside, self.values[np.where(inside, self.start[places] + at, 0)], 0.0)


@dataclass(frozen=True, eq=False)
class Pairs:
    """Pairs of subtrees of two sets with so many errors together, by those of the first."""

    first: FlatHistograms
    second: FlatHistograms
    places: IntArray  # (K,): sets of the first
    others: IntArray  # (K,): and of the second
    errors: IntArray  # (K,): in all

    @property
    def span(self) -> tuple[IntArray, IntArray]:
        """Least errors (K,) of the first, and how many numbers of errors it can have."""
        one, other = self.first, self.second
        last = other.low[self.others] + other.size[self.others] - 1
        low = np.maximum(one.low[self.places], self.errors - last)
        ends = one.low[self.places] + one.size[self.places] - 1
        high = np.minimum(ends, self.errors - other.low[self.others])
        some = (one.size[self.places] > 0) & (other.size[self.others] > 0)
        return low, np.where(some, np.maximum(high - low + 1, 0), 0)

    def totals(self) -> FloatArray:
        """Count the pairs (K,): sums of products of whole numbers, exact below 2⁵³."""
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

    def chosen(self, rng: np.random.Generator) -> IntArray:
        """Errors (K,) of the first, drawn in proportion to the number of pairs."""
        low, many = self.span
        result = np.zeros(len(low), dtype=np.int64)
        for some in chunks(many):
            products = self._products(self._begins(some, low[some]), many[some])
            result[some] = low[some] + chosen_in_parts(products, many[some], rng)
        return result

    def _begins(self, some: IntArray, low: IntArray) -> tuple[IntArray, IntArray]:
        """Places of the first product's two factors; the second goes back from there."""
        places, others = self.places[some], self.others[some]
        one = self.first.start[places] + low - self.first.low[places]
        left = self.errors[some] - low - self.second.low[others]
        return one, self.second.start[others] + left

    def _products(self, begins: tuple[IntArray, IntArray], many: IntArray) -> FloatArray:
        step = np.arange(int(many.sum())) - np.repeat(np.cumsum(many) - many, many)
        one = np.repeat(begins[0], many) + step
        other = np.repeat(begins[1], many) - step
        return np.asarray(self.first.values[one] * self.second.values[other])


def chunks(many: IntArray) -> list[IntArray]:
    """Places where there is something, so many at a time that all of it fits.

    >>> [part.tolist() for part in chunks(np.array([2, 0, 3]))]
    [[0, 2]]
    """
    wanted = np.flatnonzero(many)
    if not len(wanted):
        return []
    ends = np.cumsum(many[wanted]) // _AT_ONCE
    return np.split(wanted, np.flatnonzero(np.diff(ends)) + 1)


def chosen_in_parts(weights: FloatArray, many: IntArray, rng: np.random.Generator) -> IntArray:
    """One place in each part, drawn in proportion to its whole weights, exactly.

    >>> parts = np.array([0.0, 1.0, 5.0]), np.array([2, 1])
    >>> chosen_in_parts(*parts, np.random.default_rng(0)).tolist()
    [1, 0]
    """
    starts = np.cumsum(many) - many
    found = np.empty(len(many), dtype=np.int64)
    lengths = np.ceil(np.log2(many))  # parts of about one length make a table without much air
    for length in np.unique(lengths):
        some = np.flatnonzero(lengths == length)
        widths = many[some]
        row = np.repeat(np.arange(len(some)), widths)
        column = np.arange(len(row)) - np.repeat(np.cumsum(widths) - widths, widths)
        table = np.zeros((len(some), int(widths.max())))
        table[row, column] = weights[starts[some][row] + column]
        found[some] = chosen_in_rows(table, np.arange(len(some)), rng)
    return found


def chosen_in_rows(table: FloatArray, rows: IntArray, rng: np.random.Generator) -> IntArray:
    """One column for each asked row, drawn in proportion to its whole weights, exactly.

    Sums of whole numbers below 2⁵³ are exact, and so is a uniform whole number below them.
    """
    ends = np.cumsum(table, axis=1)
    found = np.empty(len(rows), dtype=np.int64)
    step = max(1, 4 * _AT_ONCE // table.shape[1])
    for first in range(0, len(rows), step):
        some = rows[first : first + step]
        places = rng.integers(ends[some, -1].astype(np.int64))
        found[first : first + step] = (ends[some] <= places[:, None]).sum(axis=1)
    return found
