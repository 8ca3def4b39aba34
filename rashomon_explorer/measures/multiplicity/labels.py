"""Multiplicity of labels."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rashomon_explorer._utils.arrays import FloatArray, Mask
from rashomon_explorer.measures.inputs import (
    Labels,
    MakeTally,
    as_reference,
    as_scores,
    evaluate_nested,
    model_batches,
)
from rashomon_explorer.measures.multiplicity.pairs import pair_tally
from rashomon_explorer.measures.multiplicity.spread import (
    AnyDiffers,
    MeanDiffers,
    MostDiffer,
    Range,
    Votes,
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
    return _once(Labels.of(labels), partial(ambiguity_tally, baseline=baseline))


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

    Raises
    ------
    ValueError
        If a shape is wrong, a label is missing, or there are more than 255 classes.

    Examples
    --------
    >>> models = [[0, 0, 1, 1], [0, 1, 1, 1], [1, 0, 1, 1]]
    >>> discrepancy(models), discrepancy(models, "any pair")
    (0.25, 0.5)
    """
    return _once(Labels.of(labels), partial(discrepancy_tally, baseline=baseline))


def obscurity(labels: ArrayLike, baseline: int | ArrayLike = 0) -> float:
    """Mean over rows of the share of models that label the row differently from the baseline.

    (1/n) Σ_i (1/m) #{f : f(x_i) ≠ f₀(x_i)} (Cavus and Biecek 2024). A baseline given by index
    is one of the m models and agrees with itself. The obscurity is a mean, so sampled models
    estimate it without the bias of extremes.

    Parameters
    ----------
    labels : array-like of shape (n_models, n_rows)
        Class labels of any type.
    baseline : int or array-like of shape (n_rows,), default=0
        Reference model, by index or by its labels.

    Returns
    -------
    float
        Between 0 and 1, at most the discrepancy.

    Raises
    ------
    ValueError
        If a shape is wrong, a label is missing, or there are more than 255 classes.

    Examples
    --------
    >>> round(obscurity([[0, 0, 1, 1], [0, 1, 1, 1], [1, 0, 1, 1]]), 6)
    0.166667
    """
    return _once(Labels.of(labels), partial(obscurity_tally, baseline=baseline))


def disagreement(labels: ArrayLike) -> float:
    """Probability that two different models label a random row differently.

    Mean over rows of 1 − Σ_c m_c(m_c − 1)/(m(m − 1)) with m_c models for class c: an unbiased
    estimate of Pr[f(x) ≠ f'(x)] for f, f' drawn independently from the set. Kulynych et al. (2023)
    report twice this value, 4·Pr[f(x)=1]·Pr[f(x)=0] for two classes.

    Parameters
    ----------
    labels : array-like of shape (n_models, n_rows)
        Class labels of any type.

    Returns
    -------
    float
        Between 0 and 1; NaN for one model.

    Raises
    ------
    ValueError
        If a shape is wrong, a label is missing, or there are more than 255 classes.

    Examples
    --------
    >>> round(disagreement([[0, 0], [0, 1], [1, 1]]), 6)
    0.666667
    """
    return _once(Labels.of(labels), disagreement_tally)


def row_disagreement(labels: ArrayLike) -> FloatArray:
    """Probability, for each row, that two different models label it differently.

    Parameters
    ----------
    labels : array-like of shape (n_models, n_rows)
        Class labels of any type.

    Returns
    -------
    ndarray of shape (n_rows,)
        Its mean is :func:`disagreement`; NaN for one model.

    Raises
    ------
    ValueError
        If a shape is wrong, a label is missing, or there are more than 255 classes.

    Examples
    --------
    >>> row_disagreement([[0, 0], [0, 1], [0, 1]]).round(6).tolist()
    [0.0, 0.666667]
    """
    return Votes.over(Labels.of(labels)).row_disagreement()


def viable_prediction_range(scores: ArrayLike) -> FloatArray:
    """Smallest and largest prediction of the models for each row.

    (Watson-Daniels, Parkes and Ustun 2023.) For sampled models the range is an inner bound.

    Parameters
    ----------
    scores : array-like of shape (n_models, n_rows) or (n_models, n_rows, n_classes)
        Predicted targets, or probabilities of one class or of each.

    Returns
    -------
    ndarray of shape (n_rows, 2) or (n_rows, n_classes, 2)
        Lower and upper end, for each class separately.

    Raises
    ------
    ValueError
        If a shape or value is wrong.

    Examples
    --------
    >>> viable_prediction_range([[0.2, 0.9], [0.6, 0.8]]).tolist()
    [[0.2, 0.6], [0.8, 0.9]]
    """
    seen = Range()
    for block in model_batches(as_scores(scores)):
        seen.add(block)
    return np.stack(seen.ends(), axis=-1)


def ambiguity_tally(labels: Labels, baseline: int | ArrayLike = 0) -> AnyDiffers:
    """Tally of :func:`ambiguity` over codes."""
    return AnyDiffers(partial(np.not_equal, labels.reference(baseline)))


def discrepancy_tally(labels: Labels, baseline: int | ArrayLike | str = 0) -> Any:
    """Tally of :func:`discrepancy` over codes."""
    if isinstance(baseline, str):
        if baseline != "any pair":
            raise ValueError(
                f"baseline must be a model's index, its labels or 'any pair', got {baseline!r}"
            )
        return pair_tally(labels, "largest")
    return MostDiffer(partial(np.not_equal, labels.reference(baseline)))


def obscurity_tally(labels: Labels, baseline: int | ArrayLike = 0) -> MeanDiffers:
    """Tally of :func:`obscurity` over codes."""
    return MeanDiffers(partial(np.not_equal, labels.reference(baseline)))


def disagreement_tally(labels: Labels) -> Votes:
    """Tally of :func:`disagreement` over codes."""
    return Votes(labels.n_classes, labels.codes.shape[1])


def _once(labels: Labels, make: Any) -> float:
    tally: MakeTally = partial(make, labels)
    return float(evaluate_nested(labels.codes, tally)[0])


def delta_ambiguity(scores: ArrayLike, *, tolerance: float, baseline: int | ArrayLike = 0) -> float:
    """Share of rows whose score some model changes by the tolerance or more.

    (1/n) #{i : ∃ f, |f(x_i) − f₀(x_i)| ≥ tolerance} (δ-ambiguity of Watson-Daniels, Parkes and
    Ustun 2023, whose δ is not a privacy parameter). For several classes the largest change of one
    class's probability counts; for predicted targets the tolerance is in their units. For sampled
    models it is a lower bound.

    Parameters
    ----------
    scores : array-like of shape (n_models, n_rows) or (n_models, n_rows, n_classes)
        Probabilities, or predicted targets.
    tolerance : float
        Smallest change that is counted, > 0, in the units of the scores.
    baseline : int or array-like of shape (n_rows[, n_classes]), default=0
        Reference model, by index or by its scores.

    Returns
    -------
    float
        Between 0 and 1.

    Raises
    ------
    ValueError
        If a shape or value is wrong.

    Examples
    --------
    >>> delta_ambiguity([[0.2, 0.9], [0.4, 0.9], [0.3, 0.7]], tolerance=0.15)
    1.0
    """
    values = as_scores(scores)
    make = partial(delta_ambiguity_tally, values, tolerance=tolerance, baseline=baseline)
    return float(evaluate_nested(values, make)[0])


def delta_discrepancy(
    scores: ArrayLike, *, tolerance: float, baseline: int | ArrayLike = 0
) -> float:
    """Largest share of rows whose score one model changes by the tolerance or more.

    max_f (1/n) #{i : |f(x_i) − f₀(x_i)| ≥ tolerance}; at most :func:`delta_ambiguity`. For
    sampled models it is a lower bound.

    Parameters
    ----------
    scores : array-like of shape (n_models, n_rows) or (n_models, n_rows, n_classes)
    tolerance : float
        Smallest change that is counted, > 0, in the units of the scores.
    baseline : int or array-like of shape (n_rows[, n_classes]), default=0

    Returns
    -------
    float
        Between 0 and 1.

    Raises
    ------
    ValueError
        If a shape or value is wrong.

    Examples
    --------
    >>> delta_discrepancy([[0.2, 0.9], [0.4, 0.9], [0.3, 0.7]], tolerance=0.15)
    0.5
    """
    values = as_scores(scores)
    make = partial(delta_discrepancy_tally, values, tolerance=tolerance, baseline=baseline)
    return float(evaluate_nested(values, make)[0])


def delta_obscurity(scores: ArrayLike, *, tolerance: float, baseline: int | ArrayLike = 0) -> float:
    """Mean over rows of the share of models that change the score by the tolerance or more.

    :func:`obscurity` for scores: (1/n) Σ_i (1/m) #{f : |f(x_i) − f₀(x_i)| ≥ tolerance}.

    Parameters
    ----------
    scores : array-like of shape (n_models, n_rows) or (n_models, n_rows, n_classes)
    tolerance : float
        Smallest change that is counted, > 0, in the units of the scores.
    baseline : int or array-like of shape (n_rows[, n_classes]), default=0

    Returns
    -------
    float
        Between 0 and 1.

    Raises
    ------
    ValueError
        If a shape or value is wrong.

    Examples
    --------
    >>> delta_obscurity([[0.2, 0.9], [0.4, 0.9]], tolerance=0.15)
    0.25
    """
    values = as_scores(scores)
    make = partial(delta_obscurity_tally, values, tolerance=tolerance, baseline=baseline)
    return float(evaluate_nested(values, make)[0])


def delta_ambiguity_tally(
    scores: FloatArray, *, tolerance: float, baseline: int | ArrayLike = 0
) -> AnyDiffers:
    """Tally of :func:`delta_ambiguity`."""
    return AnyDiffers(_moves(scores, tolerance, baseline))


def delta_discrepancy_tally(
    scores: FloatArray, *, tolerance: float, baseline: int | ArrayLike = 0
) -> MostDiffer:
    """Tally of :func:`delta_discrepancy`."""
    return MostDiffer(_moves(scores, tolerance, baseline))


def delta_obscurity_tally(
    scores: FloatArray, *, tolerance: float, baseline: int | ArrayLike = 0
) -> MeanDiffers:
    """Tally of :func:`delta_obscurity`."""
    return MeanDiffers(_moves(scores, tolerance, baseline))


def _moves(scores: FloatArray, tolerance: float, baseline: int | ArrayLike) -> Any:
    if not (np.isfinite(tolerance) and tolerance > 0):
        raise ValueError(
            f"tolerance must be a finite score change > 0, got {tolerance!r}; it is not a privacy "
            "parameter"
        )
    reference = as_reference(scores, baseline)

    def moves(block: FloatArray) -> Mask:
        change = np.subtract(block, reference)
        far = np.abs(change, out=change) >= tolerance
        return np.asarray(far.any(axis=2) if far.ndim == 3 else far)

    return moves
