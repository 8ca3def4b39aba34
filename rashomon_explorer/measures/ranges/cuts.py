"""Cutting planes."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from scipy.optimize import linprog

from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer.measures.ranges.level_set import ConvexFunction, LevelSet
from rashomon_explorer.problem.domains import Domain
from rashomon_explorer.problem.minimisation import MinimisedObjective as Penalised
from rashomon_explorer.problem.minimisation import minimise_on

Enough = Callable[[float, float], bool]

_MOST_PROGRAMMES = 150
_MOST_BACKTRACKS = 30
_FINEST = 1e-4  # curved faces, of a ball or a ridge, take ever more cuts
_ON_LEVEL = 1e-10
_WITHOUT_GAIN = 10


@dataclass
class CutPool:
    """Half-spaces normal·θ ≤ limit that hold every model of the set, for all directions."""

    normals: list[FloatArray] = field(default_factory=list)  # (p,): of length 1
    limits: list[float] = field(default_factory=list)

    def add(self, normal: FloatArray, limit: float) -> None:
        """Add a half-space; one of a zero normal says nothing."""
        length = float(np.linalg.norm(normal))
        if length > 0:
            self.normals.append(normal / length)
            self.limits.append(limit / length)

    def forget(self, most: int) -> None:
        """Keep the newest ``most``."""
        self.normals, self.limits = self.normals[-most:], self.limits[-most:]


def furthest_by_cuts(
    domain: Domain,
    among: LevelSet,
    direction: FloatArray,
    enough: Enough,
    pool: CutPool,
) -> tuple[float, FloatArray]:
    """Outer bound of max a·(ϑ − θ*) over the set, and a model of the set that comes near."""
    centre, radius = among.centre, domain.radius_bound
    outer = float(domain.support(direction[:, None])[0] - direction @ centre)
    best, idle = centre, 0
    for _ in range(_MOST_PROGRAMMES):
        inner = float(direction @ (best - centre))
        if outer - inner <= _FINEST * outer or enough(inner, outer) or idle > _WITHOUT_GAIN:
            break
        far, bound = _programme(domain, direction, pool, radius)
        before = outer - inner
        outer = min(outer, bound - float(direction @ centre))
        found = _supported(domain, among, far, pool)
        best = max(best, found, key=lambda one: float(direction @ one))
        idle = idle + 1 if outer - direction @ (best - centre) >= before * (1 - 1e-9) else 0
    pool.forget(100 + 20 * len(centre))
    return outer, best


def _programme(
    domain: Domain, direction: FloatArray, pool: CutPool, radius: float
) -> tuple[FloatArray, float]:
    """Furthest point of the cuts in a box around the domain, and the bound that they prove."""
    if not pool.normals:
        return domain.extreme(direction[:, None])[:, 0], np.inf
    normals, limits = np.array(pool.normals), np.array(pool.limits)
    size = float(np.linalg.norm(direction)) or 1.0
    solved = linprog(-direction / size, normals, limits, bounds=(-radius, radius))
    if solved.x is None:
        return domain.extreme(direction[:, None])[:, 0], np.inf
    weights = size * np.maximum(-solved.ineqlin.marginals, 0.0)
    rest = direction - normals.T @ weights
    return solved.x, float(weights @ limits + domain.support(rest[:, None])[0])


def _supported(domain: Domain, among: LevelSet, far: FloatArray, pool: CutPool) -> FloatArray:
    """Point of the set on the way from the centre to ``far``; tangents met are added as cuts."""
    nearest = domain.project(far[:, None])[:, 0]
    normal = far - nearest
    if np.linalg.norm(normal) > 1e-12 * domain.radius_bound:
        pool.add(normal, float(domain.support(normal[:, None])[0]))
    step = nearest - among.centre
    share = 1.0
    for _ in range(_MOST_BACKTRACKS):
        theta = among.centre + share * step
        values, gradients = among.objective.value_and_gradient(theta[:, None])
        value, gradient = float(values[0]), gradients[:, 0]
        over, slope = value - among.level, float(gradient @ step)
        if over > -_ON_LEVEL * among.room:
            pool.add(gradient, among.tangent_limit(theta, value, gradient))
        if over <= _ON_LEVEL * among.room or slope <= 0:
            break
        share -= over / slope
    pulled = float(among.shrink(values)[0])
    return np.asarray(among.centre + pulled * share * step)


_MOST_TILTS = 40
_LEAST = 1e-12  # of the domain's size: a shorter way is rounding
_STEEPEST = 1e10  # relative to the first: beyond it the loss drowns in rounding


class _LinearlyPerturbed(Penalised):
    """L(θ) − tilt·θ."""

    def __init__(self, objective: ConvexFunction, tilt: FloatArray) -> None:
        self._base, self._tilt = objective, tilt[:, None]

    def value(self, theta: FloatArray) -> FloatArray:
        return np.asarray(self._base.value(theta) - (self._tilt * theta).sum(axis=0))

    def value_and_gradient(self, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        value, gradient = self._base.value_and_gradient(theta)
        return value - (self._tilt * theta).sum(axis=0), gradient - self._tilt

    def hessian(self, theta: FloatArray) -> FloatArray:
        return self._base.hessian(theta)


def furthest_on(
    domain: Domain,
    among: LevelSet,
    direction: FloatArray,
    outer: float,
    tolerance: float,
    enough: Enough,
) -> tuple[float, FloatArray]:
    """Outer bound of max a·(ϑ − θ*) over the set, and a model of the set that comes near."""
    centre, room = among.centre, among.room
    outer = min(outer, float(domain.support(direction[:, None])[0] - direction @ centre))
    corner = domain.project(domain.extreme(direction[:, None]))[:, 0]
    best = _shrunk_to_level(among, corner, float(among.objective.value(corner[:, None])[0]))
    low, high = _End(0.0, centre, 0.0), None
    least = _LEAST * domain.radius_bound * float(np.linalg.norm(direction))
    tilt, theta = 2 * room / max(outer, least, 1e-300), centre
    steepest = _STEEPEST * tilt
    for turn in range(_MOST_TILTS):
        inner = float(direction @ (best - centre))
        if outer - inner <= least or enough(inner, outer) or tilt > steepest:
            break
        tilted = _LinearlyPerturbed(among.objective, tilt * direction)
        found = minimise_on(tilted, domain, tolerance * room / 4, theta)
        theta = found.theta
        bound = (among.level - found.value + found.gap) / tilt - float(direction @ centre)
        outer = min(outer, bound)
        value = float(among.objective.value(theta[:, None])[0])
        now = _End(tilt, theta, value - among.base)
        low, high = (now, high) if now.excess <= room else (low, now)
        candidates = [_shrunk_to_level(among, theta, value), _between(low, high, room)]
        best = max([best, *candidates], key=lambda one: float(direction @ one))
        tilt = _next(low, high, room, turn)
    return outer, best


@dataclass(frozen=True)
class _End:
    """A tilt, its minimiser and the excess there."""

    tilt: float
    theta: FloatArray
    excess: float


def _between(low: _End, high: _End | None, room: float) -> FloatArray:
    """Model on the segment of both minimisers whose excess convexity proves to be ≤ room."""
    if high is None:
        return low.theta
    share = max(0.0, room - low.excess) / max(high.excess - low.excess, 1e-300)
    return np.asarray(low.theta + min(share, 1.0) * (high.theta - low.theta))


def _shrunk_to_level(among: LevelSet, theta: FloatArray, value: float) -> FloatArray:
    share = float(among.shrink(np.array([value]))[0])
    return np.asarray(among.centre + share * (theta - among.centre))


def _next(low: _End, high: _End | None, room: float, turn: int) -> float:
    """Secant in √excess, which is linear in the tilt for a quadratic; halved every third turn."""
    root, now = math.sqrt(room), math.sqrt(max(low.excess, 0.0))
    if high is None:
        return low.tilt * max(1.5, min(100.0, 1.02 * root / max(now, 0.01 * root)))
    if turn % 3 == 2:
        return math.sqrt(low.tilt * high.tilt) if low.tilt else high.tilt / 4
    share = (root - now) / max(math.sqrt(high.excess) - now, 1e-300)
    return low.tilt + min(max(share, 0.01), 0.99) * (high.tilt - low.tilt)
