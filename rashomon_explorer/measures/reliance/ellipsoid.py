"""Least value of a quadratic function on an ellipsoid, and on the intersection of two."""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import LinAlgError, cholesky, solve_triangular
from scipy.optimize import brentq

from rashomon_explorer.array_types import FloatArray
from rashomon_explorer.measures.reliance.quadratic import Quadratic

_BISECTIONS = 40
_HELD = 1e-9  # a constraint broken by less, in units of its own size, counts as kept


@dataclass(frozen=True)
class Least:
    """A certified least value."""

    bound: float  # no point of the set has a lower value
    # (p, k): candidates, perhaps outside the set: the solutions of its relaxations. The minimiser
    # is among them where the relaxation is exact.
    points: FloatArray


def least_on_ellipsoid(objective: Quadratic, ellipsoid: Quadratic) -> Least:
    """Minimise any quadratic, convex or not, where a definite quadratic is ≤ 0.

    By the S-lemma the Lagrangian dual has no gap (Pólik and Terlaky, A survey of the S-lemma,
    SIAM Review 2007), and in the axes of the objective it is the secular equation of the trust
    region problem (Moré and Sorensen, Computing a trust region step, 1983), the hard case
    included. The bound is the dual value at the multiplier found, which is below the least value
    whatever that multiplier is.

    Two points where the hard case has two minimisers. ``ellipsoid`` is definite, and below 0
    somewhere.

    >>> saddle = Quadratic(np.diag([1.0, -1.0]), np.zeros(2), 0.0)
    >>> disc = Quadratic(np.eye(2), np.zeros(2), -4.0)
    >>> least = least_on_ellipsoid(saddle, disc)
    >>> round(least.bound, 9), np.abs(least.points).round(6).tolist()
    (-4.0, [[0.0, 0.0], [2.0, 2.0]])
    """
    inverse = solve_triangular(
        cholesky(ellipsoid.matrix, lower=True), np.eye(len(ellipsoid.vector)), lower=True
    )
    half = inverse @ -ellipsoid.vector
    centre = inverse.T @ half
    size = np.sqrt(max(float(half @ half) - ellipsoid.constant, 0.0))
    inner = size**2 * inverse @ objective.matrix @ inverse.T
    pull = size * inverse @ (objective.matrix @ centre + objective.vector)
    curvature, axes = np.linalg.eigh((inner + inner.T) / 2)
    steps, drop = _trust_region(curvature, axes.T @ pull)
    points = centre[:, None] + size * inverse.T @ (axes @ steps)
    value = float(objective(centre[:, None])[0])
    reach = float(np.linalg.norm(centre) + size * np.linalg.norm(inverse))
    return Least(value + drop - _rounding(objective, reach), points)


def least_on_intersection(objective: Quadratic, first: Quadratic, second: Quadratic) -> Least:
    """Minimise any quadratic where two convex quadratics are ≤ 0, within a certified bound.

    Where (1 − w)·first + w·second ≤ 0 the set lies inside for every w in [0, 1], so that each
    least value there is a bound; the largest over w is the Lagrangian dual of both constraints.
    It is exact where one constraint holds by itself at the minimiser of the other's problem, and
    may fall short of the least value otherwise: with two constraints the S-lemma does not hold.

    The sum of the constraints must be definite.

    >>> line = Quadratic(np.zeros((1, 1)), np.array([0.5]), 0.0)
    >>> near, wide = (Quadratic(np.eye(1), np.zeros(1), -r * r) for r in (1.0, 2.0))
    >>> round(least_on_intersection(line, wide, near).bound, 9)
    -1.0
    """
    low, high, bounds, points = 0.0, 1.0, [], []
    for weight in (0.0, 1.0, *[None] * _BISECTIONS):
        w = (low + high) / 2 if weight is None else weight
        try:
            found = least_on_ellipsoid(objective, (1 - w) * first + w * second)
        except LinAlgError:  # one constraint alone may not bound every direction
            continue
        bounds.append(found.bound)
        points.append(found.points)
        broken = first(found.points) > _HELD, second(found.points) > _HELD
        if not (broken[0] | broken[1]).all():
            break
        if weight is None:
            low, high = (w, high) if broken[1].any() else (low, w)
    return Least(max(bounds, default=-np.inf), np.concatenate(points, axis=1))


def _rounding(objective: Quadratic, reach: float) -> float:
    """Bound of what rounding can do to a value within ``reach`` of the origin."""
    p = len(objective.vector)
    terms = float(np.linalg.norm(objective.matrix)) * reach**2
    terms += 2 * float(np.linalg.norm(objective.vector)) * reach + abs(objective.constant)
    return 8 * p * float(np.finfo(float).eps) * terms


def _trust_region(curvature: FloatArray, pull: FloatArray) -> tuple[FloatArray, float]:
    """Minimisers (p, k) and dual bound of Σ λ_i u_i² + 2 h_i u_i on the unit ball."""
    scale = max(float(np.abs(curvature).max()), float(np.linalg.norm(pull)), 1e-300)
    least = max(0.0, -float(curvature[0])) + 1e-14 * scale

    def length(multiplier: float) -> float:
        return float(np.linalg.norm(pull / (curvature + multiplier)))

    multiplier = least
    if length(least) > 1.0:
        high = least + float(np.linalg.norm(pull)) + scale
        multiplier = float(brentq(lambda s: 1.0 - 1.0 / length(s), least, high, xtol=1e-300))
    step = -pull / (curvature + multiplier)
    bound = float(pull @ step) - multiplier
    if curvature[0] > 0 and multiplier == least:
        return step[:, None], float(pull @ step) - least
    return _completed(step, float(step @ step)), bound


def _completed(step: FloatArray, square: float) -> FloatArray:
    """Both ways to the sphere along the axis of least curvature: the hard case has two."""
    if square >= 1.0 - 1e-9:
        return (step / np.sqrt(square))[:, None]
    both = np.repeat(step[:, None], 2, axis=1)
    rest = np.sqrt(max(0.0, 1.0 - float(step[1:] @ step[1:])))
    both[0] = rest, -rest
    return both
