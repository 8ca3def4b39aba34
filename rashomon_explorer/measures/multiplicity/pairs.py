"""Measures of pairs of models and of distinct label vectors (patterns)."""

import math
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rashomon_explorer._utils.arrays import FloatArray, IntArray
from rashomon_explorer._utils.validation import check_count
from rashomon_explorer.measures.inputs import Bytes, Labels, evaluate_nested, model_batches
from rashomon_explorer.measures.multiplicity.spread import Votes

_WORDS = 128  # words of 64 rows compared at a time, so that all models' words fit the cache
_THREADS = 2


def cohen_kappa(labels: ArrayLike) -> float:
    """Cohen's kappa, averaged over the pairs of models.

    κ(f, f') = (a − e)/(1 − e) with a the share of rows on which the two agree, and
    e = Σ_c p_c(f) p_c(f') that of independent raters with the same class shares (Cohen 1960).
    A pair that assigns one and the same class to all rows has e = 1 and is excluded.

    Parameters
    ----------
    labels : array-like of shape (n_models, n_rows)
        Class labels of any type.

    Returns
    -------
    float
        At most 1, for perfect agreement; 0 is agreement by chance. NaN if no pair has a kappa: one
        model, or one class for all models and rows.

    Raises
    ------
    ValueError
        If a shape is wrong, a label is missing, or there are more than 255 classes.

    Examples
    --------
    >>> cohen_kappa([["no", "no", "yes", "yes"], ["no", "yes", "yes", "yes"]])
    0.5
    """
    coded = Labels.of(labels)
    return float(evaluate_nested(coded.codes, partial(pair_tally, coded, "kappa"))[0])


def pair_tally(labels: Labels, statistic: str) -> "PairStatistic":
    """Tally of ``"kappa"``, or of ``"largest"``, the largest share of differing rows."""
    return PairStatistic(labels.n_classes, STATISTICS[statistic](), _disputed(labels.codes))


class MeanKappa:
    """Mean of Cohen's kappa over pairs."""

    def __init__(self) -> None:
        self.total = 0.0
        self.pairs = 0

    def add(self, differ: FloatArray, own: FloatArray, others: FloatArray) -> None:
        """Add the pairs of one model with others: shares of differing rows, class shares."""
        chance = others @ own
        # Class shares are exact row counts: chance agreement is 1 only if both give one class.
        one_class = (own.max() == 1.0) & (others[:, int(own.argmax())] == 1.0)
        known = np.broadcast_to(~one_class, differ.shape)
        kappa = 1 - differ[known] / (1 - chance[known])
        self.total += float(kappa.sum())
        self.pairs += int(known.sum())

    def value(self) -> float:
        """Mean over the pairs that have a kappa."""
        return self.total / self.pairs if self.pairs else float("nan")


class LargestDistance:
    """Largest share of rows on which the two models of a pair differ."""

    def __init__(self) -> None:
        self.largest = 0.0

    def add(self, differ: FloatArray, own: FloatArray, others: FloatArray) -> None:
        """Add the pairs of one model with others."""
        if len(differ):
            self.largest = max(self.largest, float(differ.max()))

    def value(self) -> float:
        """Share of rows, 0 for one model."""
        return self.largest


Statistic = MeanKappa | LargestDistance
STATISTICS: dict[str, Callable[[], Statistic]] = {"kappa": MeanKappa, "largest": LargestDistance}
"""Statistics of all pairs, by name."""


class PairStatistic:
    """A statistic of all pairs of the models added."""

    def __init__(self, n_classes: int, statistic: Statistic, disputed: NDArray[np.int_]) -> None:
        self.n_classes = n_classes
        self.statistic = statistic
        self.disputed = disputed
        self.bits: list[NDArray[np.uint64]] = []
        self.shares: list[FloatArray] = []

    def add(self, block: Bytes) -> None:
        """Add models and all pairs that they form."""
        old = sum(map(len, self.bits))
        self.bits.append(_bits(block.take(self.disputed, axis=1), self.n_classes))
        self.shares.append(_class_shares(block, self.n_classes))
        self.bits, self.shares = [np.concatenate(self.bits)], [np.concatenate(self.shares)]
        differ = _distances(self.bits[0], old) / block.shape[1]
        for new, distances in enumerate(differ, start=old):
            self.statistic.add(distances[:new], self.shares[0][new], self.shares[0][:new])

    def value(self) -> float:
        """Return the statistic of all pairs."""
        return self.statistic.value()


def distances(codes: Bytes, n_classes: int) -> IntArray:
    """Count the rows (k, k) that two of k models label differently, below the diagonal."""
    return _distances(_bits(codes.take(_disputed(codes), axis=1), n_classes), 0)


def class_counts(codes: Bytes, n_classes: int) -> IntArray:
    """Return the number of rows (k, n_classes) to which each model assigns each class."""
    return np.transpose([np.count_nonzero(codes == code, axis=1) for code in range(n_classes)])


def _disputed(codes: Bytes) -> NDArray[np.int_]:
    differs = [(block != codes[0]).any(axis=0) for block in model_batches(codes)]
    return np.flatnonzero(np.any(differs, axis=0))


def _class_shares(block: Bytes, n_classes: int) -> FloatArray:
    """Share of rows (k, n_classes) to which each model assigns each class."""
    if n_classes == 2:
        ones = block.sum(axis=1, dtype=np.int64) / block.shape[1]
        return np.column_stack([1 - ones, ones])
    return np.transpose([(block == code).mean(axis=1) for code in range(n_classes)])


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
    with ThreadPoolExecutor(_THREADS) as pool:  # NumPy releases the GIL
        return np.sum(list(pool.map(partial(_distances_of_part, first=first), parts)), axis=0)


def _distances_of_part(bits: NDArray[np.uint64], first: int) -> IntArray:
    words = np.ascontiguousarray(bits)
    counts = np.zeros((len(words) - first, len(words)), dtype=np.int64)
    digits = np.empty_like(words)
    ones = np.empty((len(words), words.shape[2]), dtype=np.uint8)
    for new in range(first, len(words)):
        differ = np.bitwise_xor(words[:new], words[new], out=digits[:new])
        any_digit = differ[:, 0] if differ.shape[1] == 1 else np.bitwise_or.reduce(differ, axis=1)
        found = np.bitwise_count(any_digit, out=ones[:new])
        counts[new - first, :new] = found.sum(axis=1, dtype=np.uint16)
    return counts


def pattern_count(labels: ArrayLike) -> int:
    """Count the different label vectors among the models.

    Parameters
    ----------
    labels : array-like of shape (n_models, n_rows)
        Class labels of any type.

    Returns
    -------
    int
        For sampled models a lower bound on the set's count.

    Raises
    ------
    ValueError
        If a shape is wrong, a label is missing, or there are more than 255 classes.

    Examples
    --------
    >>> pattern_count([[0, 1], [0, 1], [1, 1]])
    2
    """
    coded = Labels.of(labels)
    return int(evaluate_nested(coded.codes, partial(count_tally, coded))[0])


def pattern_ratio(labels: ArrayLike, among: ArrayLike | int) -> float:
    """Ratio of the set's number of distinct label vectors to that of the whole model class.

    The pattern Rashomon ratio (Semenova, Rudin and Parr, FAccT 2022). For sampled models the
    numerator is a lower bound.

    Parameters
    ----------
    labels : array-like of shape (n_models, n_rows)
        Labels predicted by the models of the set.
    among : int or array-like of shape (n_all_models, n_rows)
        Number of label vectors of the whole class, such as :func:`linear_pattern_count`; or the
        labels predicted by all its models, including the set's.

    Returns
    -------
    float
        Between 0 and 1.

    Raises
    ------
    ValueError
        If a shape is wrong, or the whole class has fewer label vectors than the set.

    Examples
    --------
    >>> pattern_ratio([[0, 1], [1, 1]], among=[[0, 0], [0, 1], [1, 0], [1, 1]])
    0.5
    >>> pattern_ratio([[0, 1], [1, 1]], among=linear_pattern_count(2, 2))
    0.5
    """
    inside = pattern_count(labels)
    whole = among if isinstance(among, int | np.integer) else pattern_count(among)
    if whole < inside:
        raise ValueError(
            f"among must hold every label vector of the model class, got {whole} and the set "
            f"has {inside}"
        )
    return inside / int(whole)


def linear_pattern_count(n_rows: int, n_parameters: int) -> int:
    """Return the number of labellings of rows in general position by linear classifiers.

    2·Σ_{k<p} C(n − 1, k) with p parameters, including any intercept (Cover 1965). For rows in
    special position it is an upper bound. It does not apply to more than two classes.

    Parameters
    ----------
    n_rows, n_parameters : int
        At least 1.

    Returns
    -------
    int
        Exact count, which may have many digits.

    Raises
    ------
    ValueError
        If a number is below 1.

    Examples
    --------
    >>> linear_pattern_count(n_rows=4, n_parameters=3)
    14
    """
    check_count(n_rows=n_rows, n_parameters=n_parameters)
    return 2 * sum(math.comb(n_rows - 1, k) for k in range(min(n_parameters, n_rows)))


def pattern_diversity(labels: ArrayLike) -> float:
    """Mean share of rows on which two label vectors of the set differ.

    (1/(nΠ²)) Σ_j Σ_k H(p_j, p_k) over the Π distinct vectors, H the Hamming distance
    (Semenova, Chen, Parr and Rudin, NeurIPS 2023). Each vector counts once, regardless of the
    number of models that predict it. As in the paper, the mean includes pairs of equal vectors.

    Parameters
    ----------
    labels : array-like of shape (n_models, n_rows)
        Class labels of any type.

    Returns
    -------
    float
        Between 0, for a single vector, and 1; at most ½ for two classes.

    Raises
    ------
    ValueError
        If a shape is wrong, a label is missing, or there are more than 255 classes.

    Examples
    --------
    >>> pattern_diversity([[0, 1], [0, 1], [1, 1]])
    0.25
    """
    coded = Labels.of(labels)
    return float(evaluate_nested(coded.codes, partial(diversity_tally, coded))[0])


class Patterns:
    """Distinct label vectors of the models added."""

    def __init__(self, n_classes: int, n_rows: int) -> None:
        self.n_classes = n_classes
        self.seen: set[bytes] = set()
        self.votes = Votes(n_classes, n_rows)

    def add(self, block: Bytes) -> None:
        """Add models."""
        two = len(self.votes.counts) <= 2
        keys = np.packbits(block, axis=1) if two else block
        new = []
        for place, key in enumerate(keys):
            text = key.tobytes()
            if text not in self.seen:
                self.seen.add(text)
                new.append(place)
        if new:
            self.votes.add(block[new])

    def value(self) -> float:
        """Mean distance over all ordered pairs of vectors, including equal ones."""
        models = len(self.seen)
        return float((1 - ((self.votes.counts / models) ** 2).sum(axis=0)).mean())


class PatternCount(Patterns):
    """Number of distinct label vectors of the models added."""

    def value(self) -> float:
        """Count."""
        return float(len(self.seen))


def count_tally(labels: Labels) -> PatternCount:
    """Tally of :func:`pattern_count`."""
    return PatternCount(labels.n_classes, labels.codes.shape[1])


def diversity_tally(labels: Labels) -> Patterns:
    """Tally of :func:`pattern_diversity`."""
    return Patterns(labels.n_classes, labels.codes.shape[1])
