"""Multiplicity of labels: of each row, of pairs of models, and of distinct label vectors."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rashomon_explorer._utils.arrays import FloatArray, IntArray, Mask
from rashomon_explorer._utils.threads import thread_map
from rashomon_explorer._utils.validation import check_share
from rashomon_explorer.measures.inputs import Bytes, Predictions, Steps, model_steps
from rashomon_explorer.measures.multiplicity import measure

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


def pair_statistic(index: int) -> Callable[[PairCounts, int, measure.Sizes], FloatArray]:
    """Finish of a measure of pairs."""
    return lambda counts, n_rows, sizes: counts.statistics(n_rows)[index][sizes - 1]


class Patterns:
    """Number of each model's label vector on some rows, equal for equal vectors."""

    def __init__(self, numbers: IntArray) -> None:
        self.numbers = numbers

    def __add__(self, other: Patterns) -> Patterns:
        both = np.column_stack([self.numbers, other.numbers])
        return Patterns(np.unique(both, axis=0, return_inverse=True)[1].reshape(-1))

    def counts(self, n_rows: int, sizes: measure.Sizes) -> FloatArray:
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


ANY_PAIR_DISCREPANCY = measure.Measure(
    "any_pair_discrepancy",
    "labels",
    pair_counts,
    pair_statistic(0),
    measure.LOWER_BOUND,
    meaning="most labels on which any two models differ",
    formula="max_{f,f'} (1/n) #{i : f(x_i) ≠ f'(x_i)}",
    source="Marx, Calmon and Ustun, ICML 2020",
)
COHEN_KAPPA = measure.Measure(
    "cohen_kappa",
    "labels",
    pair_counts,
    pair_statistic(1),
    measure.ESTIMATE,
    meaning="agreement of two models beyond chance, mean over pairs",
    formula="(a − e)/(1 − e)",
    source="Cohen 1960",
)
PATTERN_COUNT = measure.Measure(
    "pattern_count",
    "labels",
    patterns,
    Patterns.counts,
    measure.LOWER_BOUND,
    meaning="number of distinct label vectors on these rows",
    formula="#{(f(x_1), …, f(x_n))}",
    source="Semenova, Rudin and Parr, FAccT 2022",
)
PATTERN_DIVERSITY = measure.Measure(
    "pattern_diversity",
    "labels",
    pair_counts,
    pair_statistic(2),
    measure.ESTIMATE,
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


_MARX = "Marx, Calmon and Ustun, ICML 2020"
_COOPER = "Cooper et al., AAAI 2024"


def ever_differs(predictions: Predictions, steps: Steps) -> FloatArray:
    """Count the rows on which some of the first models differs from the reference."""
    values, reference = predictions.values, predictions.reference
    ever, counts = np.zeros(values.shape[1], dtype=bool), []
    for start, stop, last in steps:
        ever |= (values[start:stop] != reference).any(axis=0)
        if last:
            counts.append(np.count_nonzero(ever))
    return np.array(counts, dtype=float)


def differing_rows(predictions: Predictions, steps: Steps) -> IntArray:
    """Count the rows (n_models,) on which each model differs from the reference."""
    values, reference = predictions.values, predictions.reference
    return np.concatenate(
        [np.count_nonzero(values[start:stop] != reference, axis=1) for start, stop, _ in steps]
    )


def vote_sums(predictions: Predictions, steps: Steps, kappa: float = 0.75) -> FloatArray:
    """Sum disagreement, self-consistency, and whether it is below κ, over rows (3, n_sizes)."""
    check_share(kappa=kappa)
    sums = []
    for agreement in agreements(predictions, steps):
        below = np.nan if np.isnan(agreement).any() else np.count_nonzero(agreement < kappa)
        sums.append([(1 - agreement).sum(), agreement.sum(), below])
    return np.transpose(sums)


def agreements(predictions: Predictions, steps: Steps) -> Iterator[FloatArray]:
    """Yield, for each size, the probability (n_rows,) that two models agree; NaN for one model."""
    counts = np.zeros((predictions.n_classes, predictions.values.shape[1]), dtype=np.int64)
    for start, stop, last in steps:
        block = predictions.values[start:stop]
        rest = np.full(block.shape[1], len(block))
        for code in range(1, len(counts)):
            # Two-class codes are the votes for class 1; sums of at most 255 fit into a byte.
            votes = block if len(counts) == 2 else (block == code).view(np.uint8)
            count = votes.sum(axis=0, dtype=np.uint8)
            counts[code] += count
            rest -= count
        counts[0] += rest
        if last:
            agreeing = (counts * (counts - 1)).sum(axis=0)
            pairs = stop * (stop - 1)
            yield agreeing / pairs if pairs else np.full(counts.shape[1], np.nan)


AMBIGUITY = measure.Measure(
    "ambiguity",
    "labels",
    ever_differs,
    measure.mean_over_rows,
    measure.LOWER_BOUND,
    meaning="share of rows that some model labels differently from the best model",
    formula="(1/n) #{i : ∃f, f(x_i) ≠ f₀(x_i)}",
    source=_MARX,
    options=("baseline",),
)
DISCREPANCY = measure.Measure(
    "discrepancy",
    "labels",
    differing_rows,
    measure.largest_share,
    measure.LOWER_BOUND,
    meaning="most labels that one model changes against the best one",
    formula="max_f (1/n) #{i : f(x_i) ≠ f₀(x_i)}",
    source=_MARX,
    options=("baseline",),
)
OBSCURITY = measure.Measure(
    "obscurity",
    "labels",
    differing_rows,
    measure.mean_share,
    measure.ESTIMATE,
    meaning="share of labels changed, over rows and models",
    formula="mean over i and f of [f(x_i) ≠ f₀(x_i)]",
    source="Cavus and Biecek 2024",
    options=("baseline",),
)
DISAGREEMENT = measure.Measure(
    "disagreement",
    "labels",
    vote_sums,
    measure.mean_from(0),
    measure.ESTIMATE,
    meaning="chance that two different models label a row differently",
    formula="mean over i of 1 − Σ_c m_c(m_c − 1)/(m(m − 1))",
    source="unbiased form of Pr[f ≠ f']",
)
SELF_CONSISTENCY = measure.Measure(
    "self_consistency",
    "labels",
    vote_sums,
    measure.mean_from(1),
    measure.ESTIMATE,
    meaning="chance that two different models label a row the same",
    formula="mean over i of Σ_c m_c(m_c − 1)/(m(m − 1))",
    source=_COOPER,
)
ABSTENTION = measure.Measure(
    "abstention",
    "labels",
    vote_sums,
    measure.mean_from(2),
    measure.ESTIMATE,
    meaning="share of rows with a self-consistency too low for a decision",
    formula="(1/n) #{i : self-consistency of i < κ}, κ = 0.75",
    source=_COOPER,
    options=("kappa",),
)


def ambiguity(labels: ArrayLike, baseline: int | ArrayLike = 0) -> float:
    """Share of rows that some model labels differently from the baseline.

    (1/n) #{i : ∃ f, f(x_i) ≠ f₀(x_i)} (Marx, Calmon and Ustun 2020). For sampled models it is
    a lower bound on the set's ambiguity.

    Parameters
    ----------
    labels : array-like of shape (n_models, n_rows)
        Class labels of any type: numbers, text, booleans.
    baseline : int or array-like of shape (n_rows,), default=0
        Reference model, by index or by its labels.

    Returns
    -------
    float
        Between 0 and 1; 0 for one model, which is its own baseline.

    Raises
    ------
    ValueError
        If a shape is wrong, a label is missing, or there are more than 255 classes.

    Examples
    --------
    >>> ambiguity([[0, 0, 1, 1], [0, 1, 1, 1], [1, 0, 1, 1]])
    0.5
    """
    return AMBIGUITY(labels, baseline=baseline)


def discrepancy(labels: ArrayLike, baseline: int | ArrayLike | str = 0) -> float:
    """Largest share of rows that one model labels differently from the baseline.

    max_f (1/n) #{i : f(x_i) ≠ f₀(x_i)} (Marx, Calmon and Ustun 2020); at most the ambiguity.
    With ``"any pair"`` it is the largest share over all pairs of models, at most twice as much.
    For sampled models it is a lower bound.

    Parameters
    ----------
    labels : array-like of shape (n_models, n_rows)
        Class labels of any type.
    baseline : int, array-like of shape (n_rows,) or "any pair", default=0
        Reference model, by index or by its labels; or every model in turn.

    Returns
    -------
    float
        Between 0 and 1; 0 for one model.

    Examples
    --------
    >>> models = [[0, 0, 1, 1], [0, 1, 1, 1], [1, 0, 1, 1]]
    >>> discrepancy(models), discrepancy(models, "any pair")
    (0.25, 0.5)
    """
    if isinstance(baseline, str):
        if baseline != "any pair":
            raise ValueError(
                f"baseline must be a model's index, its labels or 'any pair', got {baseline!r}"
            )
        return ANY_PAIR_DISCREPANCY(labels)
    return DISCREPANCY(labels, baseline=baseline)


def obscurity(labels: ArrayLike, baseline: int | ArrayLike = 0) -> float:
    """Mean over rows of the share of models that label the row differently from the baseline.

    (1/n) Σ_i (1/m) #{f : f(x_i) ≠ f₀(x_i)} (Cavus and Biecek 2024). A baseline given by index
    is one of the m models and agrees with itself. The obscurity is a mean, so sampled models
    estimate it without the bias of extremes.

    Parameters
    ----------
    labels, baseline
        As for :func:`ambiguity`.

    Returns
    -------
    float
        Between 0 and 1, at most the discrepancy.

    Examples
    --------
    >>> round(obscurity([[0, 0, 1, 1], [0, 1, 1, 1], [1, 0, 1, 1]]), 6)
    0.166667
    """
    return OBSCURITY(labels, baseline=baseline)


def disagreement(labels: ArrayLike) -> float:
    """Probability that two different models label a random row differently.

    Mean over rows of 1 − Σ_c m_c(m_c − 1)/(m(m − 1)) with m_c models for class c: an unbiased
    estimate of Pr[f(x) ≠ f'(x)] for f, f' drawn independently from the set. Kulynych et al. (2023)
    report twice this value, 4·Pr[f(x)=1]·Pr[f(x)=0] for two classes.

    Parameters
    ----------
    labels : array-like of shape (n_models, n_rows)

    Returns
    -------
    float
        Between 0 and 1; NaN for one model.

    Examples
    --------
    >>> round(disagreement([[0, 0], [0, 1], [1, 1]]), 6)
    0.666667
    """
    return DISAGREEMENT(labels)


def row_disagreement(labels: ArrayLike) -> FloatArray:
    """Probability, for each row, that two different models label it differently.

    Parameters
    ----------
    labels : array-like of shape (n_models, n_rows)

    Returns
    -------
    ndarray of shape (n_rows,)
        Its mean is :func:`disagreement`; NaN for one model.
    """
    return 1 - self_consistency(labels)


def self_consistency(labels: ArrayLike) -> FloatArray:
    """Probability, for each row, that two different models give the same label.

    SC(x) = 1 − 2·B₀B₁/(B(B − 1)) with B₀ and B₁ of B models for the two classes (Cooper et al.,
    AAAI 2024, Definition 3); for several classes Σ_c B_c(B_c − 1)/(B(B − 1)), which agrees for
    two. It equals 1 − :func:`row_disagreement`.

    Parameters
    ----------
    labels : array-like of shape (n_models, n_rows)

    Returns
    -------
    ndarray of shape (n_rows,)
        At most 1; for two classes at least (1 − 1/(B − 1))/2, for equal halves. NaN for one
        model.

    Examples
    --------
    >>> self_consistency([[0, 0], [0, 1], [0, 1]]).round(6).tolist()
    [1.0, 0.333333]
    """
    coded = Predictions.from_labels(labels)
    steps = model_steps(coded.values, np.array([len(coded.values)]))
    return next(agreements(coded, steps))


def abstention(labels: ArrayLike, *, kappa: float = 0.75) -> Mask:
    """Mask of the rows to abstain on, whose self-consistency is below κ.

    Parameters
    ----------
    labels : array-like of shape (n_models, n_rows)
        Class labels of any type.
    kappa : float, default=0.75
        Smallest self-consistency for a decision, in [0, 1]; the default is that of Cooper et al.
        (AAAI 2024). It is not Cohen's kappa.

    Returns
    -------
    ndarray of bool, shape (n_rows,)
        Its mean is the abstention rate.

    Raises
    ------
    ValueError
        If there is only one model, or an argument is wrong.

    Examples
    --------
    >>> abstention([[0, 0], [0, 1], [0, 1]]).tolist()
    [False, True]
    """
    check_share(kappa=kappa)
    consistency = self_consistency(labels)
    if np.isnan(consistency).all():
        raise ValueError(
            "labels must hold at least two models: the self-consistency of one is unknown"
        )
    return consistency < kappa
