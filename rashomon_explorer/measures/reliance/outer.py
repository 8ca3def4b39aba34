"""An ellipsoid around the Rashomon set of a logistic problem."""

import numpy as np
from scipy.special import expit

from rashomon_explorer.array_types import FloatArray
from rashomon_explorer.measures.reliance.quadratic import Quadratic
from rashomon_explorer.problem import Problem
from rashomon_explorer.samplers.rejection.envelope import Envelope
from rashomon_explorer.target import GibbsTarget

_ROUNDS = 60
_ROUNDING = 1e-12


def outer_ellipsoid(problem: Problem, psi: float) -> Quadratic:
    """Quadratic that is ≤ 0 on {L ≤ min L + ψ}.

    With h = θ − θ*, λ the multiplier of the ball, a_i the scores of θ* and d_i a bound of |z_i·h|
    on the set, every row's loss exceeds its tangent by at least q_i(z_i·h)²,

        q_i = max{σ'(a_i)(e^{−d_i} + d_i − 1)/d_i², ½·min σ'(a_i ± d_i)}:

    the first because |σ''| ≤ σ' (docs/theory.md §3), the second because σ' falls on both sides
    of 0. So the set lies in hᵀ(2K + (ridge + λ)I)h ≤ 2(ψ + slack), K the mean of q_i z_i z_iᵀ,
    which bounds the |z_i·h| anew. The first d_i are those of the ball and of the certified
    excess bound that the exact sampler uses; each round only lowers them.

    >>> problem = Problem([[0.5], [-0.5]] * 9, [1, -1] * 6 + [-1, 1] * 3, radius=2.0)
    >>> outer = outer_ellipsoid(problem, 0.01)
    >>> bool(outer(problem.minimum.theta[:, None])[0] < 0)
    True
    """
    best, rows = problem.minimum, problem.rows
    scores = rows @ best.theta
    matrix, reach = _first(problem, psi)
    distance = np.minimum(
        np.linalg.norm(rows, axis=1) * problem.domain.diameter, reach * _lengths(rows, matrix)
    )
    room = 2 * (psi + best.slack + best.gap) + _ROUNDING
    size = reach**2
    for _ in range(_ROUNDS):
        curved = (rows.T * (2 * _least_curvature(scores, distance) / problem.n)) @ rows
        new = curved + (problem.ridge + best.multiplier) * np.eye(problem.p)
        if np.linalg.eigvalsh(new)[0] <= 1e-12 * np.linalg.norm(new):
            break
        closer = np.sqrt(room) * _lengths(rows, new)
        if (closer >= distance * (1 - 1e-4)).all():
            break
        matrix, size = new, room
        distance = np.minimum(distance, closer)
    matrix = matrix / size
    turned = matrix @ best.theta
    return Quadratic(matrix, -turned, float(best.theta @ turned) - 1.0)


def _first(problem: Problem, psi: float) -> tuple[FloatArray, float]:
    """Metric and radius of the exact sampler's certified excess bound."""
    envelope = Envelope.of(GibbsTarget(problem, problem.p / psi, psi))
    stretched = envelope.vectors * (envelope.curvature + envelope.least_pad)
    return stretched @ envelope.vectors.T, envelope.outer_radius(psi)


def _lengths(rows: FloatArray, matrix: FloatArray) -> FloatArray:
    """√(zᵀM⁻¹z) (n,): the largest |z·h| where hᵀMh ≤ 1."""
    return np.asarray(np.sqrt(np.einsum("ij,ji->i", rows, np.linalg.solve(matrix, rows.T))))


def _least_curvature(scores: FloatArray, distance: FloatArray) -> FloatArray:
    d = np.maximum(distance, 1e-8)
    own = expit(scores) * expit(-scores)
    # For small d the difference cancels: 1/2 − d/6 is below it.
    shape = np.where(d < 1e-3, 0.5 - d / 6, (np.expm1(-d) + d) / d**2)
    ends = np.minimum(*(expit(s) * expit(-s) for s in (scores - d, scores + d)))
    return np.maximum(own * shape, ends / 2)
