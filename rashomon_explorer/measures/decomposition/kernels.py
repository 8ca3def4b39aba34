"""What two models' difference on a row is: the measures that are means over pairs of models."""

from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rashomon_explorer.array_types import FloatArray
from rashomon_explorer.measures.checks import as_scores
from rashomon_explorer.measures.encoding import Labels

_ROWS = 2**16  # of one product: sums of ±1 in single precision are exact up to 2²⁴


class PairMeasure(Protocol):
    """A measure E k(f, f') of two independent models, from their difference k on each row."""

    of: str
    in_words: str

    def prepare(self, values: ArrayLike) -> Any:
        """Check labels or scores of all models together."""
        ...

    def most(self, values: ArrayLike) -> float:
        """Largest value that k can have; infinite if nothing bounds it."""
        ...

    def matrix(self, values: Any) -> FloatArray:
        """Mean over rows of k for every pair of models, (n_models, n_models)."""
        ...

    def towards(self, values: Any, weights: FloatArray) -> FloatArray:
        """Σ_j weights_j k(f_i, f_j), row by row, (n_models, n_rows)."""
        ...


class Disagreement:
    """k = 1 if the two label the row differently: E k is Pr[f(x) ≠ f'(x)]."""

    of = "labels"
    in_words = "disagreement"

    def most(self, values: ArrayLike) -> float:
        """Two labels differ or they do not."""
        return 1.0

    def prepare(self, values: ArrayLike) -> NDArray[np.uint8]:
        """Labels as codes."""
        return Labels.of(values).codes

    def matrix(self, values: NDArray[np.uint8]) -> FloatArray:
        """Share of rows on which each pair differs."""
        n_classes = int(values.max()) + 1
        agree = np.zeros((len(values), len(values)))
        for start in range(0, values.shape[1], _ROWS):
            block = values[:, start : start + _ROWS]
            if n_classes <= 2:  # a product of ±1 is agreement less disagreement
                signs = 2 * block.astype(np.float32) - 1
                agree += (block.shape[1] + (signs @ signs.T).astype(float)) / 2
            else:
                for code in range(n_classes):
                    gives = (block == code).astype(np.float32)
                    agree += gives @ gives.T
        return np.asarray(1 - agree / values.shape[1])

    def towards(self, values: NDArray[np.uint8], weights: FloatArray) -> FloatArray:
        """Weight of the models that label each row differently from each model."""
        result = np.full(values.shape, float(weights.sum()))
        for code in range(int(values.max()) + 1):
            gives = values == code
            np.subtract(result, weights @ gives, out=result, where=gives)
        return result


class ScoreVariance:
    """k = ½(s − s')²: E k is the variance of the score; several classes' are added."""

    of = "scores"
    in_words = "score variance"

    def most(self, values: ArrayLike) -> float:
        """½ for probabilities of one class, 1 of several; unknown for other numbers."""
        scores = np.asarray(values, dtype=float)
        if scores.min() < 0 or scores.max() > 1:
            return float("inf")
        return 0.5 if scores.ndim == 2 else 1.0

    def prepare(self, values: ArrayLike) -> FloatArray:
        """Scores, centred row by row: only differences count, and small numbers cancel less."""
        scores = as_scores(values)
        return scores - scores.mean(axis=0)

    def matrix(self, values: FloatArray) -> FloatArray:
        """Half the mean squared difference of each pair."""
        flat = values.reshape(len(values), -1)
        products = flat @ flat.T
        squares = np.diag(products)
        return np.asarray(
            np.maximum(squares[:, None] + squares - 2 * products, 0) / (2 * values.shape[1])
        )

    def towards(self, values: FloatArray, weights: FloatArray) -> FloatArray:
        """Half the weighted squared differences."""
        mean = np.tensordot(weights, values, axes=1)
        square = np.tensordot(weights, values**2, axes=1)
        each = (weights.sum() * values**2 - 2 * values * mean + square) / 2
        return np.asarray(np.maximum(each.sum(axis=2) if each.ndim == 3 else each, 0))


PAIR_MEASURES: dict[str, PairMeasure] = {
    "disagreement": Disagreement(),
    "score_variance": ScoreVariance(),
}


def get_pair_measure(name: str) -> PairMeasure:
    """Measure of that name.

    >>> get_pair_measure("disagreement").of
    'labels'
    """
    if name not in PAIR_MEASURES:
        raise ValueError(
            f"measure must be one of {sorted(PAIR_MEASURES)}, means over pairs of models, which "
            f"split without a rest; got {name!r}"
        )
    return PAIR_MEASURES[name]
