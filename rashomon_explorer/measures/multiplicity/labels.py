"""Multiplicity of labels."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike

from rashomon_explorer._utils.arrays import FloatArray, IntArray, Mask
from rashomon_explorer._utils.validation import check_share
from rashomon_explorer.measures.inputs import Predictions, Steps, model_steps
from rashomon_explorer.measures.multiplicity import measure
from rashomon_explorer.measures.multiplicity.pairs import ANY_PAIR_DISCREPANCY

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
