"""A measure of multiplicity: a kernel whose sums over rows add up, and its line of the glossary."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rashomon_explorer._utils.arrays import FloatArray, IntArray
from rashomon_explorer.measures.inputs import Predictions, model_steps

LOWER_BOUND = "lower bound"
ESTIMATE = "estimate"
OF_ALL = "all draws"
EXACT = "exact"

Sizes = NDArray[np.int_]


@dataclass(frozen=True)
class Measure:
    """A measure of a set of models on rows.

    A table in memory is one chunk of rows; sums of several chunks are added, by ``+``.

    Parameters
    ----------
    name : str
    of : {"labels", "scores", "probabilities"}
        Input of the measure.
    kernel : callable
        ``kernel(predictions, steps, **options)`` returns the sums over the rows of a chunk:
        one for each number of models at which a step is last, one for each model, or an object
        that can be added.
    finish : callable
        ``finish(sums, n_rows, sizes)`` returns the measure of the first ``size`` models for each
        size, from the sums over all rows.
    sampled : {"lower bound", "estimate"}
        Relation of the value over draws to the set's value; extremes only grow with more draws.
    meaning, formula, source : str
        Line of the glossary.
    options : tuple of str
        Names of the options: ``"baseline"``, and those of the kernel.

    Examples
    --------
    >>> from rashomon_explorer.measures.multiplicity import MEASURES
    >>> MEASURES["ambiguity"]([[0, 0, 1, 1], [0, 1, 1, 1]], baseline=0)
    0.25
    """

    name: str
    of: str
    kernel: Callable[..., Any]
    finish: Callable[[Any, int, Sizes], FloatArray]
    sampled: str
    meaning: str
    formula: str
    source: str
    options: tuple[str, ...] = ()

    def __call__(
        self, values: ArrayLike, *, baseline: int | ArrayLike = 0, **options: Any
    ) -> float:
        """Measure of all models on all rows, from labels or scores (n_models, n_rows, …)."""
        predictions = PREPARE[self.of](values, baseline)
        sizes = np.array([len(predictions.values)])
        sums = self.kernel(predictions, model_steps(predictions.values, sizes), **options)
        return float(self.at(sums, predictions.values.shape[1], sizes)[0])

    def at(self, sums: Any, n_rows: int, sizes: Sizes) -> FloatArray:
        """Measure for sizes in any order, from the sums over all rows; NaN for 0 models."""
        different = np.unique(sizes[sizes > 0])
        result = np.full(len(sizes), np.nan)
        values = self.finish(sums, n_rows, different)
        result[sizes > 0] = values[np.searchsorted(different, sizes[sizes > 0])]
        return result

    def own_options(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """Subset of the options that this measure takes."""
        return {name: options[name] for name in self.options if name in options}


PREPARE: dict[str, Callable[..., Predictions]] = {
    "labels": Predictions.from_labels,
    "scores": Predictions.from_scores,
    "probabilities": Predictions.from_probabilities,
}


def mean_over_rows(sums: FloatArray, n_rows: int, sizes: Sizes) -> FloatArray:
    """Mean from one sum a size."""
    return np.asarray(sums / n_rows)


def mean_from(index: int) -> Callable[[FloatArray, int, Sizes], FloatArray]:
    """Mean from one of several sums a size."""
    return lambda sums, n_rows, sizes: np.asarray(sums[index] / n_rows)


def largest_share(counts: IntArray, n_rows: int, sizes: Sizes) -> FloatArray:
    """Largest share of rows among the first models, from one count a model."""
    return np.asarray(np.maximum.accumulate(counts)[sizes - 1] / n_rows)


def mean_share(counts: IntArray, n_rows: int, sizes: Sizes) -> FloatArray:
    """Mean share of rows over the first models, from one count a model."""
    return np.asarray(np.cumsum(counts)[sizes - 1] / (sizes * n_rows))
