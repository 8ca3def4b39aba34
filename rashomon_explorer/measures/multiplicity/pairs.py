"""Measures of pairs of models and of distinct label vectors (patterns)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rashomon_explorer._utils.arrays import FloatArray, IntArray
from rashomon_explorer._utils.threads import thread_map
from rashomon_explorer.measures.inputs import Bytes, Predictions, Steps
from rashomon_explorer.measures.multiplicity.measure import ESTIMATE, LOWER_BOUND, Measure, Sizes

_WORDS = 128  # words of 64 rows compared at a time, so that all models' words fit the cache
_THREADS = 2
_MODELS = 255  # models of one batch of distances


class PairCounts:
    """Rows that each pair of models labels differently, and rows of each class, over chunks."""

    def __init__(
        self, classes: IntArray, bits: NDArray[np.uint64] | None, differ: IntArray | None = None
    ) -> None:
        self.classes, self._bits, self._differ = classes, bits, differ
        self._statistics: FloatArray | None = None

    def __add__(self, other: PairCounts) -> PairCounts:
        return PairCounts(self.classes + other.classes, None, self._matrix() + other._matrix())

    def _matrix(self) -> IntArray:
        """Differing rows (n_models, n_models), below the diagonal."""
        if self._differ is None:
            assert self._bits is not None  # one of the two is given
            return _distances(self._bits, 0)
        return self._differ

    def _with_earlier(self) -> Iterator[IntArray]:
        """Yield each model's differing rows with every earlier model."""
        for first in range(0, len(self.classes), _MODELS):
            if self._bits is None:
                batch = self._matrix()[first : first + _MODELS]
            else:
                batch = _distances(self._bits[: first + _MODELS], first)
            for new, differ in enumerate(batch, start=first):
                yield differ[:new]

    def statistics(self, n_rows: int) -> FloatArray:
        """Largest distance, mean kappa and diversity (3, n_models) of the first 1, 2, … models."""
        if self._statistics is None:
            shares = self.classes / n_rows  # (n_models, n_classes)
            if shares.shape[1] == 2:
                shares[:, 0] = 1 - shares[:, 1]
            largest = total = distances = 0.0
            pairs, news, rows = 0, np.zeros(len(shares), dtype=bool), []
            for new, differ in enumerate(self._with_earlier()):
                largest = max(largest, differ.max(initial=0) / n_rows)
                kappas = _kappas(differ / n_rows, shares[new], shares[:new])
                total, pairs = total + float(kappas.sum()), pairs + len(kappas)
                news[new] = differ.all()
                if news[new]:
                    distances += 2 * differ[news[:new]].sum()
                mean = total / pairs if pairs else np.nan
                rows.append([largest, mean, distances / (n_rows * news.sum() ** 2.0)])
            self._statistics = np.transpose(rows)
        return self._statistics


def _kappas(differ: FloatArray, shares: FloatArray, other_shares: FloatArray) -> FloatArray:
    """Cohen's kappa of one model with others, from shares of differing rows and of classes."""
    chance = other_shares @ shares
    # Class shares are exact row counts: chance agreement is 1 only if both give one class.
    defined = ~((shares.max() == 1.0) & (other_shares[:, int(shares.argmax())] == 1.0))
    return np.asarray(1 - differ[defined] / (1 - chance[defined]))


def pair_counts(predictions: Predictions, steps: Steps) -> PairCounts:
    """Differing rows of every pair of models."""
    codes, n_classes = predictions.values[: steps[-1][1]], predictions.n_classes
    disputed = np.zeros(codes.shape[1], dtype=bool)
    for start, stop, _ in steps:
        disputed |= (codes[start:stop] != codes[0]).any(axis=0)
    classes = [np.count_nonzero(codes == code, axis=1) for code in range(n_classes)]
    return PairCounts(
        np.transpose(classes), _bits(codes.take(np.flatnonzero(disputed), axis=1), n_classes)
    )


def pair_statistic(index: int) -> Callable[[PairCounts, int, Sizes], FloatArray]:
    """Finish of a measure of pairs."""
    return lambda counts, n_rows, sizes: counts.statistics(n_rows)[index][sizes - 1]


class Patterns:
    """Number of each model's label vector on some rows, equal for equal vectors."""

    def __init__(self, numbers: IntArray) -> None:
        self.numbers = numbers

    def __add__(self, other: Patterns) -> Patterns:
        both = np.column_stack([self.numbers, other.numbers])
        return Patterns(np.unique(both, axis=0, return_inverse=True)[1].reshape(-1))

    def counts(self, n_rows: int, sizes: Sizes) -> FloatArray:
        """Count the different vectors among the first models."""
        news = np.zeros(len(self.numbers))
        news[np.unique(self.numbers, return_index=True)[1]] = 1
        return np.asarray(news.cumsum()[sizes - 1])


def patterns(predictions: Predictions, steps: Steps) -> Patterns:
    """Assign a number to each different label vector of the models."""
    codes: dict[bytes, int] = {}
    numbers = []
    for start, stop, _ in steps:
        block = predictions.values[start:stop]
        for key in np.packbits(block, axis=1) if predictions.n_classes <= 2 else block:
            numbers.append(codes.setdefault(key.tobytes(), len(codes)))
    return Patterns(np.array(numbers))


def _bits(codes: Bytes, n_classes: int) -> NDArray[np.uint64]:
    """Codes as bits, in words (k, n_digits, n_words) of 64 rows, padded with zeros."""
    digits = max(1, (n_classes - 1).bit_length())
    words = -(-codes.shape[1] // 64)
    packed = np.zeros((len(codes), digits, words * 8), dtype=np.uint8)
    for digit in range(digits):
        bits = np.packbits(codes >> digit & 1, axis=1)
        packed[:, digit, : bits.shape[1]] = bits
    return packed.view(np.uint64)


def _distances(bits: NDArray[np.uint64], first: int) -> IntArray:
    """Count the differing rows between each model from index ``first`` on and earlier ones."""
    parts = [bits[:, :, start : start + _WORDS] for start in range(0, bits.shape[2], _WORDS)]
    if not parts:
        return np.zeros((len(bits) - first, len(bits)), dtype=np.int64)
    with thread_map(_THREADS) as run:  # NumPy releases the GIL
        return np.sum(list(run(partial(_distances_of_part, first=first), parts)), axis=0)


def _distances_of_part(bits: NDArray[np.uint64], first: int) -> IntArray:
    words = np.ascontiguousarray(bits)
    counts = np.zeros((len(words) - first, len(words)), dtype=np.int64)
    digits = np.empty_like(words)
    buffer = np.empty((len(words), words.shape[2]), dtype=np.uint8)
    for new in range(first, len(words)):
        differ = np.bitwise_xor(words[:new], words[new], out=digits[:new])
        any_digit = differ[:, 0] if differ.shape[1] == 1 else np.bitwise_or.reduce(differ, axis=1)
        bit_counts = np.bitwise_count(any_digit, out=buffer[:new])
        counts[new - first, :new] = bit_counts.sum(axis=1, dtype=np.uint16)
    return counts


ANY_PAIR_DISCREPANCY = Measure(
    "any_pair_discrepancy",
    "labels",
    pair_counts,
    pair_statistic(0),
    LOWER_BOUND,
    meaning="most labels on which any two models differ",
    formula="max_{f,f'} (1/n) #{i : f(x_i) ≠ f'(x_i)}",
    source="Marx, Calmon and Ustun, ICML 2020",
)
COHEN_KAPPA = Measure(
    "cohen_kappa",
    "labels",
    pair_counts,
    pair_statistic(1),
    ESTIMATE,
    meaning="agreement of two models beyond chance, mean over pairs",
    formula="(a − e)/(1 − e)",
    source="Cohen 1960",
)
PATTERN_COUNT = Measure(
    "pattern_count",
    "labels",
    patterns,
    Patterns.counts,
    LOWER_BOUND,
    meaning="number of distinct label vectors on these rows",
    formula="#{(f(x_1), …, f(x_n))}",
    source="Semenova, Rudin and Parr, FAccT 2022",
)
PATTERN_DIVERSITY = Measure(
    "pattern_diversity",
    "labels",
    pair_counts,
    pair_statistic(2),
    ESTIMATE,
    meaning="mean Hamming distance between two label vectors",
    formula="(1/(nΠ²)) Σ_j Σ_k H(p_j, p_k)",
    source="Semenova, Chen, Parr and Rudin, NeurIPS 2023",
)


def cohen_kappa(labels: ArrayLike) -> float:
    """Cohen's kappa, averaged over the pairs of models.

    κ(f, f') = (a − e)/(1 − e) with a the share of rows on which the two agree, and
    e = Σ_c p_c(f) p_c(f') that of independent raters with the same class shares (Cohen 1960).
    A pair that assigns one and the same class to all rows has e = 1 and is excluded.

    Parameters
    ----------
    labels : array-like of shape (n_models, n_rows)

    Returns
    -------
    float
        At most 1, for perfect agreement; 0 is agreement by chance. NaN if no pair has a kappa: one
        model, or one class for all models and rows.

    Examples
    --------
    >>> cohen_kappa([["no", "no", "yes", "yes"], ["no", "yes", "yes", "yes"]])
    0.5
    """
    return COHEN_KAPPA(labels)


def pattern_count(labels: ArrayLike) -> int:
    """Count the different label vectors among the models.

    Parameters
    ----------
    labels : array-like of shape (n_models, n_rows)

    Returns
    -------
    int
        For sampled models a lower bound on the set's count.
    """
    return int(PATTERN_COUNT(labels))


def pattern_diversity(labels: ArrayLike) -> float:
    """Mean share of rows on which two label vectors of the set differ.

    (1/(nΠ²)) Σ_j Σ_k H(p_j, p_k) over the Π distinct vectors, H the Hamming distance
    (Semenova, Chen, Parr and Rudin, NeurIPS 2023). Each vector counts once, regardless of the
    number of models that predict it. As in the paper, the mean includes pairs of equal vectors.

    Parameters
    ----------
    labels : array-like of shape (n_models, n_rows)

    Returns
    -------
    float
        Between 0, for a single vector, and 1; at most ½ for two classes.

    Examples
    --------
    >>> pattern_diversity([[0, 1], [0, 1], [1, 1]])
    0.25
    """
    return PATTERN_DIVERSITY(labels)
