"""Multiplicity of scores and of predicted numbers: who moves by a tolerance or more."""

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rashomon_explorer.array_types import FloatArray, Mask
from rashomon_explorer.measures.checks import as_reference, as_scores
from rashomon_explorer.measures.multiplicity.tallies import AnyDiffers, MeanDiffers, MostDiffer
from rashomon_explorer.measures.nested import evaluate_nested


def delta_ambiguity(scores: ArrayLike, *, tolerance: float, baseline: int | ArrayLike = 0) -> float:
    """Share of rows that some model scores differently by the tolerance or more.

    (1/n) #{i : ∃ f, |f(x_i) − f₀(x_i)| ≥ tolerance} (δ-ambiguity of Watson-Daniels, Parkes and
    Ustun 2023, whose δ is not a privacy parameter). For several classes the largest change of one
    class's probability counts; for predicted targets the tolerance has their units. Over sampled
    models a lower bound.

    Parameters
    ----------
    scores : array-like of shape (n_models, n_rows) or (n_models, n_rows, n_classes)
        Probabilities, or predicted targets.
    tolerance : float
        Smallest change that counts, > 0, in the units of the scores.
    baseline : int or array-like of shape (n_rows[, n_classes]), default=0
        Reference model, by place or by its scores.

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
    """Largest share of rows that one model scores differently by the tolerance or more.

    max_f (1/n) #{i : |f(x_i) − f₀(x_i)| ≥ tolerance}; at most :func:`delta_ambiguity`. Over
    sampled models a lower bound.

    Parameters
    ----------
    scores : array-like of shape (n_models, n_rows) or (n_models, n_rows, n_classes)
    tolerance : float
        Smallest change that counts, > 0, in the units of the scores.
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
    """Mean share of models that score a row differently by the tolerance or more.

    The :func:`obscurity` of scores: (1/n) Σ_i (1/m) #{f : |f(x_i) − f₀(x_i)| ≥ tolerance}.

    Parameters
    ----------
    scores : array-like of shape (n_models, n_rows) or (n_models, n_rows, n_classes)
    tolerance : float
        Smallest change that counts, > 0, in the units of the scores.
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
            f"tolerance must be a finite change of score > 0, got {tolerance!r}; it is no privacy "
            "parameter"
        )
    reference = as_reference(scores, baseline)

    def moves(block: FloatArray) -> Mask:
        change = np.subtract(block, reference)
        far = np.abs(change, out=change) >= tolerance
        return np.asarray(far.any(axis=2) if far.ndim == 3 else far)

    return moves
