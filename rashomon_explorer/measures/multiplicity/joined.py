"""Measures of rows that come in blocks: what a block says, and what all blocks say together."""

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from rashomon_explorer.array_types import FloatArray, IntArray
from rashomon_explorer.measures.multiplicity.pairs import STATISTICS, class_counts, distances
from rashomon_explorer.measures.nested import Tally, blocks, evaluate_nested

Sizes = NDArray[np.int_]
Part = NDArray[Any]


class Joined(Protocol):
    """How a measure of many rows follows from sums over blocks of them."""

    def part(self, values: NDArray[Any], make: Callable[[], Tally], sizes: Sizes) -> Part:
        """Find what some rows of all models (n_models, m, …) add to the sum; of one shape."""
        ...

    def value(self, total: Part, rows: int, sizes: Sizes) -> FloatArray:
        """Measure of the first models for each size, from the sum over all rows."""
        ...


class Means:
    """Measures that are means over the rows."""

    def part(self, values: NDArray[Any], make: Callable[[], Tally], sizes: Sizes) -> Part:
        """Sum (n_sizes,) over the rows."""
        return values.shape[1] * evaluate_nested(values, make, sizes)

    def value(self, total: Part, rows: int, sizes: Sizes) -> FloatArray:
        """Mean over the rows."""
        return np.asarray(total / rows)


class Largest:
    """Largest share of rows that one model labels otherwise than the baseline."""

    def part(self, values: NDArray[Any], make: Callable[[], Any], sizes: Sizes) -> Part:
        """Count rows (n_models,) on which each model differs."""
        differs = make().differs
        counted = [np.count_nonzero(differs(block), axis=1) for block in blocks(values)]
        return np.concatenate(counted)

    def value(self, total: Part, rows: int, sizes: Sizes) -> FloatArray:
        """Largest share among the first models."""
        return _first(np.maximum.accumulate(total) / rows, sizes)


class OfPairs:
    """What follows from how many rows each pair of models labels differently.

    Parameters
    ----------
    of : callable
        From distances (k, k), class counts (k, n_classes) and rows to the measure of so many.
    """

    def __init__(self, of: Callable[[IntArray, IntArray, int], FloatArray]) -> None:
        self.of = of

    def part(self, values: NDArray[Any], make: Callable[[], Any], sizes: Sizes) -> Part:
        """Rows (k, k) that differ, beside rows (k, n_classes) of each class."""
        n_classes = make().n_classes
        return np.hstack([distances(values, n_classes), class_counts(values, n_classes)])

    def value(self, total: Part, rows: int, sizes: Sizes) -> FloatArray:
        """Measure of the first models."""
        k = len(total)
        return _first(self.of(total[:, :k], total[:, k:], rows), sizes)


def of_statistic(name: str) -> OfPairs:
    """Statistic of pairs by its name, for 1, 2, … models.

    >>> of_statistic("largest").value(np.array([[0, 0, 2, 1], [3, 0, 3, 0]]), 6, np.array([2]))
    array([0.5])
    """

    def of(differ: IntArray, counts: IntArray, rows: int) -> FloatArray:
        statistic, values, shares = STATISTICS[name](), [], counts / rows
        for new in range(len(differ)):
            statistic.add(differ[new, :new] / rows, shares[new], shares[:new])
            values.append(statistic.value())
        return np.array(values)

    return OfPairs(of)


def _news(differ: IntArray) -> NDArray[np.bool_]:
    """Which models label the rows as none before them."""
    return np.array([bool((differ[new, :new] > 0).all()) for new in range(len(differ))])


def _pattern_counts(differ: IntArray, counts: IntArray, rows: int) -> FloatArray:
    return np.cumsum(_news(differ)).astype(float)


def _diversities(differ: IntArray, counts: IntArray, rows: int) -> FloatArray:
    news = _news(differ)
    each = [2 * differ[new, :new][news[:new]].sum() if news[new] else 0 for new in range(len(news))]
    return np.asarray(np.cumsum(each) / (rows * np.cumsum(news) ** 2.0))


def _first(of_so_many: FloatArray, sizes: Sizes) -> FloatArray:
    return np.where(sizes > 0, of_so_many[np.maximum(sizes, 1) - 1], np.nan)


MEANS = Means()
LARGEST = Largest()
PATTERN_COUNT = OfPairs(_pattern_counts)
PATTERN_DIVERSITY = OfPairs(_diversities)
