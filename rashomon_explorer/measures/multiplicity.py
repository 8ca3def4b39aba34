"""How differently almost equally good models treat the same people."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rashomon_explorer.measures.checks import as_baseline, as_models_by_rows

FloatArray = NDArray[np.float64]


def ambiguity(labels: ArrayLike, baseline: int | ArrayLike = 0) -> float:
    """Share of rows that some model labels differently from the baseline.

    (1/n) #{i : ∃ f, f(x_i) ≠ f₀(x_i)} (Marx, Calmon and Ustun 2020). Over sampled models it is
    a lower bound of the set's ambiguity.

    Parameters
    ----------
    labels : array-like of shape (n_models, n_rows)
        Class labels as numbers.
    baseline : int or array-like of shape (n_rows,), default=0
        Reference model, by place or by its labels.

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
    >>> ambiguity([[0, 0, 1, 1], [0, 1, 1, 1], [1, 0, 1, 1]])
    0.5
    """
    labels = as_models_by_rows(labels, "labels")
    return float((labels != as_baseline(labels, baseline)).any(axis=0).mean())


def discrepancy(labels: ArrayLike, baseline: int | ArrayLike = 0) -> float:
    """Largest share of rows that one model labels differently from the baseline.

    max_f (1/n) #{i : f(x_i) ≠ f₀(x_i)} (Marx, Calmon and Ustun 2020); at most the ambiguity.

    Parameters
    ----------
    labels : array-like of shape (n_models, n_rows)
    baseline : int or array-like of shape (n_rows,), default=0

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
    >>> discrepancy([[0, 0, 1, 1], [0, 1, 1, 1], [1, 0, 1, 1]])
    0.25
    """
    labels = as_models_by_rows(labels, "labels")
    return float((labels != as_baseline(labels, baseline)).mean(axis=1).max())


def disagreement(labels: ArrayLike) -> float:
    """Chance that two different models label a random row differently.

    Mean over rows of 1 − Σ_c m_c(m_c − 1)/(m(m − 1)) with m_c models for class c: the unbiased
    form of Pr[f(x) ≠ f'(x)] for f, f' drawn independently from the set.

    Parameters
    ----------
    labels : array-like of shape (n_models, n_rows)

    Returns
    -------
    float
        Between 0 and 1; NaN for one model, which has nobody to disagree with.

    Raises
    ------
    ValueError
        If a shape or value is wrong.

    Examples
    --------
    >>> round(disagreement([[0, 0], [0, 1], [1, 1]]), 6)
    0.666667
    """
    labels = as_models_by_rows(labels, "labels")
    models = len(labels)
    if models == 1:
        return float("nan")
    agreeing = np.zeros(labels.shape[1])
    for label in np.unique(labels):
        count = (labels == label).sum(axis=0)
        agreeing += count * (count - 1.0)
    return float(1 - agreeing.mean() / (models * (models - 1)))


def viable_prediction_range(scores: ArrayLike) -> FloatArray:
    """Least and largest prediction that the models give each row.

    (Watson-Daniels, Parkes and Ustun 2023.) Over sampled models the range is an inner bound.

    Parameters
    ----------
    scores : array-like of shape (n_models, n_rows)
        Predicted targets, or probabilities of one class.

    Returns
    -------
    ndarray of shape (n_rows, 2)
        Lower and upper end.

    Raises
    ------
    ValueError
        If a shape or value is wrong.

    Examples
    --------
    >>> viable_prediction_range([[0.2, 0.9], [0.6, 0.8]]).tolist()
    [[0.2, 0.6], [0.8, 0.9]]
    """
    scores = as_models_by_rows(scores, "scores")
    return np.column_stack([scores.min(axis=0), scores.max(axis=0)])
