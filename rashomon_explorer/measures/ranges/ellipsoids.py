"""Ellipsoids around the Rashomon set of a logistic loss, from the curvature of every row's loss."""

from typing import NamedTuple

import numpy as np
from scipy.special import expit

from rashomon_explorer._utils.arrays import FloatArray

_ROUNDS = 60
_FLAT = 1e-12


def lengths(rows: FloatArray, matrix: FloatArray) -> FloatArray:
    """√(zᵀM⁻¹z) (n,): the largest |z·h| subject to hᵀMh ≤ 1."""
    return np.asarray(np.sqrt(np.einsum("ij,ji->i", rows, np.linalg.solve(matrix, rows.T))))


def curvature(scores: FloatArray) -> FloatArray:
    """σ'(s) = σ(s)σ(−s), the second derivative of the logistic loss."""
    return np.asarray(expit(scores) * expit(-scores))


def least_curvature(scores: FloatArray, distance: FloatArray) -> FloatArray:
    """Largest q (n,) with loss − tangent ≥ q·t² for all changes |t| ≤ distance of the scores.

    The excess is t²·∫₀¹(1 − u)σ'(a + ut)du, and σ' is even and falls with |a|: t = ±distance, the
    sign that of a, is the least.
    """
    a, d = np.abs(scores), np.maximum(distance, 1e-300)
    excess = np.log1p(np.exp(-a - d)) - np.log1p(np.exp(-a)) + d * expit(-a)
    # For small d the difference cancels; half the least σ' is a lower bound.
    far = (1 - 1e-9) * excess / np.maximum(d, 1e-3) ** 2
    return np.asarray(np.where(d < 1e-3, curvature(a + d) / 2, far))


class Ellipsoid(NamedTuple):
    """Changes h of a model with hᵀMh ≤ size."""

    matrix: FloatArray
    size: float


def refined_ellipsoid(
    first: Ellipsoid,
    rows: FloatArray,
    scores: FloatArray,
    weights: FloatArray,
    penalty: FloatArray,
    room: float,
    *,
    distance: FloatArray | float = np.inf,
    rounds: int = _ROUNDS,
    gain: float = 1e-4,
) -> Ellipsoid:
    """Smaller ellipsoid around all changes h of the best model with an excess of at most room/2.

    With d_i ≥ |z_i·h|, a row's loss exceeds its tangent by at least q_i(z_i·h)² with the q_i of
    :func:`least_curvature`. So hᵀ(2K + penalty)h ≤ room, K the weighted mean of q_i z_i z_iᵀ. Each
    round lowers the d_i, which start from a proved ellipsoid, until they fall by a share of
    ``gain`` or less.
    """
    ellipsoid = first
    bound = np.sqrt(first.size) * lengths(rows, first.matrix)
    away: FloatArray = np.asarray(np.minimum(distance, bound), dtype=float)
    for _ in range(rounds):
        curvatures = weights * least_curvature(scores, away)
        matrix = (rows.T * (2 * curvatures / len(rows))) @ rows + penalty
        if np.linalg.eigvalsh(matrix)[0] <= _FLAT * np.linalg.norm(matrix):
            break
        closer = np.sqrt(room) * lengths(rows, matrix)
        if (closer >= away * (1 - gain)).all():
            break
        ellipsoid, away = Ellipsoid(matrix, room), np.minimum(away, closer)
    return ellipsoid
