"""Smooth losses on a ball: Newton steps with an exact quadratic subproblem."""

import numpy as np
from scipy.optimize import brentq

from rashomon_explorer.array_types import FloatArray
from rashomon_explorer.domains import Ball
from rashomon_explorer.minimum.certificate import ROUNDING, Minimum
from rashomon_explorer.minimum.objective import Objective, Place, step_towards

_LEAST_CURVATURE = 1e-100  # far from the subnormal numbers, whose few digits lose the root
_ON_SPHERE = 1e-9
_MOST_STEPS = 200


def minimise_on_ball(
    objective: Objective, domain: Ball, tolerance: float, start: FloatArray
) -> Minimum:
    """Best model found, perhaps with a gap above the tolerance.

    Each step solves min over the ball of the second-order model by its secular equation and
    searches back along the chord, which is feasible because the ball is convex.

    ``tolerance`` is the duality gap after which steps that do not lower it end the search.
    """
    place = Place.of(objective, start)
    best = _certify(place, domain.radius)
    for _ in range(_MOST_STEPS):
        hessian = objective.hessian(place.theta)
        target = _model_minimiser(hessian, place.gradient, place.theta, domain.radius)
        moved = step_towards(objective, place, target)
        if moved is place:
            break
        place = moved
        candidate = _certify(place, domain.radius)
        if candidate.gap >= best.gap and best.gap <= tolerance:
            break
        best = min(best, candidate, key=lambda one: one.gap)
    return best


def _certify(place: Place, radius: float) -> Minimum:
    theta, value, gradient = place.theta, place.value, place.gradient
    norm = float(np.linalg.norm(theta))
    length = radius * float(np.linalg.norm(gradient))
    gap = max(0.0, float(gradient @ theta) + length) + ROUNDING * (length + abs(value))
    multiplier = 0.0
    if norm > radius * (1 - _ON_SPHERE):
        multiplier = max(0.0, -float(gradient @ theta) / norm**2)
    residual = float(np.linalg.norm(gradient + multiplier * theta))
    slack = 2 * radius * residual + multiplier / 2 * max(0.0, radius**2 - norm**2)
    return Minimum(theta, value, gap, multiplier, slack)


def _model_minimiser(
    hessian: FloatArray, gradient: FloatArray, theta: FloatArray, radius: float
) -> FloatArray:
    """Minimiser over the ball of the second-order model at ``theta``."""
    eigenvalues, vectors = np.linalg.eigh(hessian)
    # Where the loss is flat the model's minimum is far outside the ball, but must be finite.
    pull_out = float(np.linalg.norm(gradient)) / radius
    floor = max(1e-14 * float(eigenvalues[-1]), 1e-12 * pull_out, _LEAST_CURVATURE)
    eigenvalues = np.maximum(eigenvalues, floor)
    pull = eigenvalues * (vectors.T @ theta) - vectors.T @ gradient

    def outside(multiplier: float) -> float:
        return float(np.linalg.norm(pull / (eigenvalues + multiplier))) - radius

    multiplier = 0.0
    if outside(0.0) > 0:
        # Without curvature the root is this very quotient, which rounding may leave outside.
        high = float(np.linalg.norm(pull)) / radius * (1 + 1e-9)
        multiplier = float(brentq(outside, 0.0, high, xtol=1e-300, rtol=1e-15, maxiter=500))
    point = vectors @ (pull / (eigenvalues + multiplier))
    norm = float(np.linalg.norm(point))
    return point * (radius / norm) if multiplier > 0 or norm > radius else point
