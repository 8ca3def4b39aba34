"""Certified lower bound of the excess cross-entropy around a model."""

import math

import numpy as np

from rashomon_explorer.array_types import FloatArray
from rashomon_explorer.envelopes.logistic import LogisticBound
from rashomon_explorer.envelopes.moments import (
    LARGEST_SPECTRUM,
    outer_squares,
)
from rashomon_explorer.losses.softmax import SoftmaxRisk

_ROWS_AT_ONCE = 4096
_ROUNDING = 1 + 1e-12


def softmax_bound(risk: SoftmaxRisk, theta: FloatArray, whiten: FloatArray) -> LogisticBound:
    """Bound around ``theta`` (p,), whitened by ``whiten`` (p, p): the logistic loss's inequalities.

    Along a ray a row's loss φ is a cumulant generating function: φ'', φ''' and φ'''' are the
    cumulants of the change b of its scores (0 for the reference) under class probabilities
    tilted by b. With k = max b − min b, |φ'''| ≤ k·φ'', so that φ''(t) ≥ φ''(0)e^{−kt}; and
    φ'''' = μ₄ − 3φ''² ≥ −2φ''² ≥ −k⁴/8. These are the logistic loss's inequalities, and its three
    bounds hold (see :class:`LogisticBound`), own derivation:

    - *quartic* with T(u) = Σ φ_i'''(0)/n and Q(u) the mean of K_i(u)², where
      K = 2·Σ_c (b_c − b̄)² ≥ k² is a linear form of uuᵀ;
    - *cubic* with C₃² ≥ sup_{‖v‖=1} Σ φ_i''(0)K_i(v)/n, by Cauchy–Schwarz and Σ φ_i''(0)/n ≤ 1;
    - *lever* with ℓ the largest k of a unit step.
    """
    return LogisticBound.of_sums(*softmax_sums(risk, theta, whiten))


def softmax_sums(
    risk: SoftmaxRisk, theta: FloatArray, whiten: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Arguments of :meth:`LogisticBound.of_sums` around ``theta`` (p,), whitened (p, p)."""
    parts = whiten.reshape(len(risk.own), risk.rows.shape[1], -1)
    return _sums(np.stack([risk.rows @ part for part in parts]), risk.probabilities(theta))


def _sums(
    scores: FloatArray, probability: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Add up over rows, from scores (C − 1, n, p) and probabilities (C − 1, n).

    Row i's score c changes by scores[c, i]·u for a whitened step u.
    """
    _, n, p = scores.shape
    lever = np.asarray(_longest_lever(scores)) ** 2
    if p > LARGEST_SPECTRUM:
        return lever, *(np.empty(0),) * 3
    q = p * (p + 1) // 2
    second, fourth, third = np.zeros((q, q)), np.zeros((q, q)), np.zeros((q, p))
    for low in range(0, n, _ROWS_AT_ONCE):
        rows = slice(low, low + _ROWS_AT_ONCE)
        variance, square, skewness = _forms(scores[:, rows], probability[:, rows])
        second += variance @ square.T / n
        fourth += square @ square.T / n
        third += skewness / n
    return lever, third, fourth, (second + second.T) / 2


def _longest_lever(scores: FloatArray) -> float:
    """Largest k over rows and unit steps: the longest difference of two of a row's scores."""
    ends = [*scores, np.zeros_like(scores[0])]
    longest = max(
        float(np.einsum("ij,ij->i", one - other, one - other).max())
        for k, one in enumerate(ends)
        for other in ends[k + 1 :]
    )
    return math.sqrt(longest) * _ROUNDING


def _forms(
    scores: FloatArray, probability: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Coordinates (q, m) of φ_i'' and of K_i, and (q, p) of the sum of third derivatives."""
    every = np.concatenate([np.zeros_like(scores[:1]), scores])
    shares = np.concatenate([1 - probability.sum(axis=0, keepdims=True), probability])
    mean = np.einsum("cm,cmp->mp", shares, every)
    centre = every.mean(axis=0)
    m, p = mean.shape
    variance, square = np.zeros((2, p * (p + 1) // 2, m))
    skewness = np.zeros((len(variance), p))
    for one, share in zip(every, shares, strict=True):
        weighted = share * outer_squares((one - mean).T)
        variance += weighted
        skewness += weighted @ (one - mean)
        square += 2 * outer_squares((one - centre).T)
    return variance, square, skewness
