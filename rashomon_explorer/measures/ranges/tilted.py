"""One direction on any convex domain, by minima of tilted objectives."""

import math
from dataclasses import dataclass

import numpy as np

from rashomon_explorer.array_types import FloatArray
from rashomon_explorer.domains import Domain
from rashomon_explorer.measures.ranges.cuts import Enough
from rashomon_explorer.measures.ranges.level_set import LevelSet, Objective
from rashomon_explorer.minimum import Objective as Penalised
from rashomon_explorer.minimum.general import minimise_on

_MOST_TILTS = 40
_LEAST = 1e-12  # of the domain's size: a shorter way is rounding
_STEEPEST = 1e10  # relative to the first: beyond it the loss drowns in rounding


class _Tilted(Penalised):
    """L(θ) − tilt·θ."""

    def __init__(self, objective: Objective, tilt: FloatArray) -> None:
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
    """Outer bound of max a·(ϑ − θ*) over the set, and a model of the set that comes near.

    For a tilt τ > 0 let m ≤ min over C of L(ϑ) − τa·ϑ, proved by a duality gap. Every ϑ of the
    level set has a·ϑ ≤ (level − m)/τ, with equality for the τ whose minimiser has L = level;
    L there rises with τ, which is searched for.

    ``outer`` is a bound known before, ``tolerance`` a share of it; ``enough`` takes the inner and
    the outer extent and says whether to stop.
    """
    centre, room = among.centre, among.room
    outer = min(outer, float(domain.support(direction[:, None])[0] - direction @ centre))
    corner = domain.project(domain.extreme(direction[:, None]))[:, 0]
    best = _pulled(among, corner, float(among.objective.value(corner[:, None])[0]))
    low, high = _End(0.0, centre, 0.0), None
    least = _LEAST * domain.radius_bound * float(np.linalg.norm(direction))
    tilt, theta = 2 * room / max(outer, least, 1e-300), centre
    steepest = _STEEPEST * tilt
    for turn in range(_MOST_TILTS):
        inner = float(direction @ (best - centre))
        if outer - inner <= least or enough(inner, outer) or tilt > steepest:
            break
        tilted = _Tilted(among.objective, tilt * direction)
        found = minimise_on(tilted, domain, tolerance * room / 4, theta)
        theta = found.theta
        bound = (among.level - found.value + found.gap) / tilt - float(direction @ centre)
        outer = min(outer, bound)
        value = float(among.objective.value(theta[:, None])[0])
        now = _End(tilt, theta, value - among.base)
        low, high = (now, high) if now.excess <= room else (low, now)
        candidates = [_pulled(among, theta, value), _between(low, high, room)]
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


def _pulled(among: LevelSet, theta: FloatArray, value: float) -> FloatArray:
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
