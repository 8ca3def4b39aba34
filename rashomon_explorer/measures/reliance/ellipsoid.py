"""Least value of a quadratic function on an ellipsoid, and on the intersection of two."""

import math
from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import LinAlgError, cholesky, solve_triangular

from rashomon_explorer.array_types import FloatArray
from rashomon_explorer.measures.reliance.quadratic import Quadratic

_LOOKS = 42
_AWAY = 1e-3  # no look is closer to an end, in units of what is left
_CLOSE = 1e-11
_NEWTON = 50
_HELD = 1e-9  # a constraint broken by less, in units of its own size, counts as kept


@dataclass(frozen=True)
class Least:
    """A certified least value."""

    bound: float  # no point of the set has a lower value
    # (p, k): candidates, perhaps outside the set: the solutions of its relaxations. The minimiser
    # is among them where the relaxation is exact.
    points: FloatArray
    multiplier: float  # of the constraint


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
    root = cholesky(ellipsoid.matrix, lower=True, check_finite=False)
    inverse = solve_triangular(root, np.eye(len(root)), lower=True, check_finite=False)
    half = inverse @ -ellipsoid.vector
    centre = inverse.T @ half
    size = np.sqrt(max(float(half @ half) - ellipsoid.constant, 0.0))
    inner = size**2 * inverse @ objective.matrix @ inverse.T
    pull = size * inverse @ (objective.matrix @ centre + objective.vector)
    curvature, axes = np.linalg.eigh((inner + inner.T) / 2)
    steps, drop, multiplier = _trust_region(curvature, axes.T @ pull)
    points = centre[:, None] + size * inverse.T @ (axes @ steps)
    value = float(objective(centre[:, None])[0])
    reach = float(np.linalg.norm(centre) + size * np.linalg.norm(inverse))
    bound = value + drop - _rounding(objective, reach)
    return Least(bound, points, multiplier / max(size**2, 1e-300))


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
    search, found = _Weight(), []
    for _ in range(_LOOKS):
        w = search.next()
        try:
            least = least_on_ellipsoid(objective, (1 - w) * first + w * second)
        except LinAlgError:  # one constraint alone may not bound every direction
            continue
        found.append(least)
        broken = np.stack([first(least.points), second(least.points)])
        if (broken <= _HELD).all(axis=0).any() or search.add(w, least, broken[1] - broken[0]):
            break
    best = max(found, key=lambda one: one.bound)
    return replace(best, points=np.concatenate([one.points for one in found], axis=1))


class _Weight:
    """Search for the weight of the second constraint whose bound is greatest.

    At a minimiser x under the multiplier μ the bound rises with the weight as μ(second − first)(x),
    and the dual lies below the planes that touch it at both ends. Where its slope is smooth a false
    position finds the top, and where minimisers jump the planes' crossing does: they take turns.
    """

    def __init__(self) -> None:
        self._places, self._values, self._slopes = [0.0, 1.0], [-np.inf, -np.inf], [np.nan, np.nan]
        self._asked = 0

    def next(self) -> float:
        """Name the ends, then a place between those that are left."""
        self._asked += 1
        if self._asked <= 2:
            return float(self._asked - 1)
        low, high = self._places
        (up, down), share = self._slopes, 0.5
        if up > 0 > down and self._asked % 3 == 1:
            share = up / (up - down)
        elif up > 0 > down and self._asked % 3 == 2:
            share = self._crossing()
        return low + min(max(share, _AWAY), 1 - _AWAY) * (high - low)

    def add(self, w: float, least: Least, excess: FloatArray) -> bool:
        """Note what was found, the second constraint's excess over the first; True at the top."""
        side = int((excess <= 0).all())
        if excess.min() < 0 < excess.max():
            return True
        self._places[side], self._values[side] = w, least.bound
        self._slopes[side] = least.multiplier * float(excess[0])
        (low, high), (up, down) = self._places, self._slopes
        if not up > 0 > down:
            return high - low < _CLOSE
        above = self._values[0] + up * self._crossing() * (high - low)
        best = max(self._values)
        return above - best <= _CLOSE * abs(best) or high - low < _CLOSE

    def _crossing(self) -> float:
        """Where the planes at both ends meet, as a share of what is left between them."""
        (low, high), (up, down) = self._places, self._slopes
        wide = max(high - low, 1e-300)
        return ((self._values[1] - self._values[0]) / wide - down) / (up - down)


def _rounding(objective: Quadratic, reach: float) -> float:
    """Bound of what rounding can do to a value within ``reach`` of the origin."""
    p = len(objective.vector)
    terms = float(np.linalg.norm(objective.matrix)) * reach**2
    terms += 2 * float(np.linalg.norm(objective.vector)) * reach + abs(objective.constant)
    return 8 * p * float(np.finfo(float).eps) * terms


def _trust_region(curvature: FloatArray, pull: FloatArray) -> tuple[FloatArray, float, float]:
    """Minimisers (p, k), dual bound and multiplier of Σ λ_i u_i² + 2 h_i u_i on the unit ball."""
    scale = max(float(np.abs(curvature).max()), float(np.linalg.norm(pull)), 1e-300)
    least = max(0.0, -float(curvature[0])) + 1e-14 * scale

    multiplier = _multiplier(curvature, pull, least)
    step = -pull / (curvature + multiplier)
    bound = float(pull @ step) - multiplier
    if curvature[0] > 0 and multiplier == least:
        return step[:, None], float(pull @ step) - least, multiplier
    return _completed(step, float(step @ step)), bound, multiplier


def _multiplier(curvature: FloatArray, pull: FloatArray, least: float) -> float:
    """Multiplier ≥ least at which the step is no longer than 1.

    1/‖step‖ is a concave, increasing function of it, so that Newton's method climbs to the root
    from the left and never beyond (Conn, Gould and Toint, Trust-Region Methods, 2000, §7.3).
    """
    multiplier = least
    for _ in range(_NEWTON):
        stiffness = curvature + multiplier
        square = (pull / stiffness) ** 2
        length = math.sqrt(float(square.sum()))
        if length <= 1.0:
            break
        more = (length - 1.0) * length**2 / float((square / stiffness).sum())
        if multiplier + more == multiplier:
            break
        multiplier += more
    return multiplier


def _completed(step: FloatArray, square: float) -> FloatArray:
    """Both ways to the sphere along the axis of least curvature: the hard case has two."""
    if square >= 1.0 - 1e-9:
        return (step / np.sqrt(square))[:, None]
    both = np.repeat(step[:, None], 2, axis=1)
    rest = np.sqrt(max(0.0, 1.0 - float(step[1:] @ step[1:])))
    both[0] = rest, -rest
    return both
