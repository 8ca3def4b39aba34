"""Level sets, bounded sets that contain them, and cutting planes."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

import numpy as np
from scipy.optimize import linprog
from scipy.special import expit

from rashomon_explorer._utils.arrays import FloatArray, Mask
from rashomon_explorer._utils.bisection import bisect
from rashomon_explorer.measures.ranges.sparse import matched_subgradient
from rashomon_explorer.problem.domains import Ball
from rashomon_explorer.problem.lower_bounds.smooth import ExcessBound


@dataclass(frozen=True)
class BallReach:
    """Models with ‖θ‖ ≤ radius, the problem's domain or a ball around it."""

    radius: float
    centre: FloatArray  # (p,): θ*, the origin of extents

    @property
    def weight(self) -> FloatArray:
        """1 for every parameter (p,)."""
        return np.ones_like(self.centre)

    def least_bound(
        self, direction: FloatArray, gradient: FloatArray, room: FloatArray
    ) -> FloatArray:
        """Minimum over λ ≥ 0 of λ(room + g·θ*) + R‖a − λg‖ − a·θ*, shape (K,)."""
        bound = least_shifted_norm(direction, gradient, room + self.centre @ gradient, self.radius)
        return np.asarray(bound - self.centre @ direction)


@dataclass(frozen=True)
class EllipsoidReach:
    """Models θ* + W u with ‖u‖ ≤ extent, which contain the level set and are no constraint."""

    whiten: FloatArray
    extent: float

    @property
    def weight(self) -> FloatArray:
        """Squared extents (p,) of the unit ellipsoid along the parameters."""
        return np.asarray(np.einsum("ij,ij->i", self.whiten, self.whiten))

    @property
    def radius(self) -> float:
        """Infinite: there is no bound on ‖θ‖."""
        return np.inf

    def least_bound(
        self, direction: FloatArray, gradient: FloatArray, room: FloatArray
    ) -> FloatArray:
        """Minimum over λ ≥ 0 of λ·room + extent·‖Wᵀ(a − λg)‖, shape (K,)."""
        a, g = self.whiten.T @ direction, self.whiten.T @ gradient
        return least_shifted_norm(a, g, room, self.extent)


_FURTHEST = 1e12


def radius_beyond(bound: ExcessBound, pull: float, psi: float) -> float:
    """Radius beyond which bound(r) − pull·r is above ``psi``; infinite if there is none."""

    def above(radius: float) -> bool:
        return float(bound.radial(np.array([radius]))[0]) - pull * radius > psi

    low, high = 0.0, 1.0
    while not above(high):
        low, high = high, 2 * high
        if high > _FURTHEST:
            return np.inf
    return bisect(above, high, low, halvings=80)


_ROUNDS = 60
_FLAT_MATRIX = 1e-12


def lengths(rows: FloatArray, matrix: FloatArray) -> FloatArray:
    """√(zᵀM⁻¹z) (n,): the largest |z·h| subject to hᵀMh ≤ 1."""
    return np.asarray(np.sqrt(np.einsum("ij,ji->i", rows, np.linalg.solve(matrix, rows.T))))


def curvature(scores: FloatArray) -> FloatArray:
    """σ'(s) = σ(s)σ(−s), the second derivative of the logistic loss."""
    return np.asarray(expit(scores) * expit(-scores))


def least_curvature(scores: FloatArray, distance: FloatArray) -> FloatArray:
    """Largest q (n,) with loss − tangent ≥ q·t² for all changes |t| ≤ distance of the scores."""
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
    """Ellipsoid {hᵀ(2K + penalty)h ≤ room}, K = mean q_i z_i z_iᵀ, q_i a curvature."""
    ellipsoid = first
    bound = np.sqrt(first.size) * lengths(rows, first.matrix)
    away: FloatArray = np.asarray(np.minimum(distance, bound), dtype=float)
    for _ in range(rounds):
        curvatures = weights * least_curvature(scores, away)
        matrix = (rows.T * (2 * curvatures / len(rows))) @ rows + penalty
        if np.linalg.eigvalsh(matrix)[0] <= _FLAT_MATRIX * np.linalg.norm(matrix):
            break
        closer = np.sqrt(room) * lengths(rows, matrix)
        if (closer >= away * (1 - gain)).all():
            break
        ellipsoid, away = Ellipsoid(matrix, room), np.minimum(away, closer)
    return ellipsoid


Reach = BallReach | EllipsoidReach
"""A bounded set with ``radius``, an upper bound on ‖θ‖, that contains the level set."""


def least_shifted_norm(
    a: FloatArray, g: FloatArray, price: FloatArray, radius: FloatArray | float
) -> FloatArray:
    """Minimum over λ ≥ 0 of λ·price + radius·‖a − λg‖, shape (K,), for columns a, g of (p, K)."""
    square = np.maximum(np.einsum("ij,ij->j", g, g), 1e-300)
    best = np.einsum("ij,ij->j", a, g) / square
    away = np.linalg.norm(a - best * g, axis=0)
    rest = radius**2 * square - price**2
    with np.errstate(divide="ignore", invalid="ignore"):
        shift = away * price / np.sqrt(square * np.maximum(rest, 0.0))
    multiplier = np.where(rest > 0, best - shift, 0.0)
    multiplier = np.where(np.isfinite(multiplier), np.maximum(multiplier, 0.0), 0.0)
    return np.asarray(multiplier * price + radius * np.linalg.norm(a - multiplier * g, axis=0))


_PULLS = (1e-12, 1e-9, 1e-6, 1.0)
_ROUNDING = 1e-14  # relative to the loss: sums of n terms are exact to about 1e-15


def check_problem(problem: object) -> None:
    """Raise unless ``problem`` is a problem of models in a ball, or of all models."""
    if not hasattr(type(problem), "minimum"):
        raise TypeError(
            f"problem must be a Problem or a PenalisedProblem, got {type(problem).__name__}: make "
            "one from a fitted scikit-learn model and its rows by penalised_problem, or from a "
            "fitted Rashomon estimator by declared_problem"
        )
    domain = getattr(problem, "domain", None)
    if not isinstance(domain, Ball | Everywhere):
        raise ValueError(f"problem must have a ball of models, got the domain {domain!r}")


class ConvexFunction(Protocol):
    """A convex function, evaluated at K models at a time."""

    def value(self, theta: FloatArray) -> FloatArray:
        """Return the values (K,) at the columns of ``theta`` (p, K)."""

    def value_and_gradient(self, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Values (K,) and gradients (p, K) at the columns of ``theta`` (p, K)."""

    def hessian(self, theta: FloatArray) -> FloatArray:
        """Hessian (p, p) at one model (p,)."""


@dataclass(frozen=True)
class Everywhere:
    """All of R^p."""

    def contains(self, theta: FloatArray) -> Mask:
        """Whether each column of ``theta`` (p, K) is finite; shape (K,)."""
        return np.asarray(np.isfinite(theta).all(axis=0))

    def project(self, theta: FloatArray) -> FloatArray:
        """Return ``theta`` itself."""
        return theta


@dataclass(frozen=True)
class LevelSet:
    """Models of a bounded set with objective ≤ level, with one of them as the centre."""

    objective: ConvexFunction
    centre: FloatArray  # (p,): a model of the set, well inside the level
    base: float  # its objective
    level: float  # largest objective, above ``base``
    reach: Reach  # a ball or an ellipsoid that contains the whole set
    domain: Ball | Everywhere  # domain of its models
    l1: FloatArray | None = None  # (p,): L1 penalty of each parameter in the objective

    @property
    def room(self) -> float:
        """Largest objective of a model minus that of the centre."""
        return self.level - self.base

    def shrink(self, value: FloatArray) -> FloatArray:
        """Largest t ≤ 1 (K,) for which convexity proves θ* + t(θ − θ*) to be within the level."""
        above = np.maximum(value - self.base, self.room)
        return np.asarray(self.room / above)

    def verified(self, points: FloatArray) -> FloatArray:
        """Check every point (p, K), and shrink those outside by rounding to the centre."""
        points = self.domain.project(points)
        suspects = np.arange(points.shape[1])
        for share in _PULLS:
            suspects = suspects[self.objective.value(points[:, suspects]) > self.level]
            if not len(suspects):
                break
            step = points[:, suspects] - self.centre[:, None]
            points[:, suspects] = self.domain.project(self.centre[:, None] + step * (1 - share))
        return points

    def tangent_limit(self, theta: FloatArray, value: float, gradient: FloatArray) -> float:
        """Upper bound on g·ϑ over the set from the tangent at θ (p,): level − L(θ) + g·θ."""
        return self.level - value + float(gradient @ theta) + self.error

    @property
    def error(self) -> float:
        """Bound on the rounding of an objective."""
        return _ROUNDING * (1 + abs(self.level)) * float(np.sqrt(len(self.centre)))

    def outer(
        self, direction: FloatArray, theta: FloatArray, value: FloatArray, gradient: FloatArray
    ) -> FloatArray:
        """Upper bound (K,) on a·(ϑ − θ*) over the set for each column a of ``direction`` (p, K)."""
        if self.l1 is not None:
            gradient = matched_subgradient(gradient, theta, self.l1, direction, self.reach.weight)
        step = theta - self.centre[:, None]
        room = self.level - value + np.einsum("ij,ij->j", gradient, step) + self.error
        return self.reach.least_bound(direction, gradient, np.maximum(room, self.room))


Enough = Callable[[float, float], bool]

_MOST_PROGRAMMES = 150
_MOST_BACKTRACKS = 30
_FINEST = 1e-4  # relative accuracy of cuts: curved boundaries (ball, ridge) need ever more cuts
_ON_LEVEL = 1e-10
_WITHOUT_GAIN = 10


@dataclass
class CutPool:
    """Half-spaces normal·θ ≤ limit that contain the set, shared by all directions."""

    normals: list[FloatArray] = field(default_factory=list)  # (p,): of length 1
    limits: list[float] = field(default_factory=list)

    def add(self, normal: FloatArray, limit: float) -> None:
        """Add a half-space; a zero normal is ignored."""
        length = float(np.linalg.norm(normal))
        if length > 0:
            self.normals.append(normal / length)
            self.limits.append(limit / length)

    def forget(self, count: int) -> None:
        """Keep only the newest ``most`` half-spaces."""
        self.normals, self.limits = self.normals[-count:], self.limits[-count:]


def furthest_by_cuts(
    among: LevelSet, direction: FloatArray, enough: Enough, pool: CutPool
) -> tuple[float, FloatArray]:
    """Upper bound on max a·(ϑ − θ*) over the set, and a nearly optimal model of the set."""
    centre, domain = among.centre, among.domain
    assert isinstance(domain, Ball)  # penalised problems have no kinks
    outer = float(domain.support(direction[:, None])[0] - direction @ centre)
    best, idle = centre, 0
    for _ in range(_MOST_PROGRAMMES):
        inner = float(direction @ (best - centre))
        if outer - inner <= _FINEST * outer or enough(inner, outer) or idle > _WITHOUT_GAIN:
            break
        far, bound = _programme(domain, direction, pool)
        before = outer - inner
        outer = min(outer, bound - float(direction @ centre))
        candidate = _supported(domain, among, far, pool)
        best = max(best, candidate, key=lambda theta: float(direction @ theta))
        idle = idle + 1 if outer - direction @ (best - centre) >= before * (1 - 1e-9) else 0
    pool.forget(100 + 20 * len(centre))
    return outer, best


def _programme(domain: Ball, direction: FloatArray, pool: CutPool) -> tuple[FloatArray, float]:
    """Optimum over the cuts in a box around the ball, and the bound that they prove."""
    if not pool.normals:
        return domain.extreme(direction[:, None])[:, 0], np.inf
    normals, limits = np.array(pool.normals), np.array(pool.limits)
    size = float(np.linalg.norm(direction)) or 1.0
    bounds = -domain.radius, domain.radius
    solved = linprog(-direction / size, normals, limits, bounds=bounds)
    if solved.x is None:
        return domain.extreme(direction[:, None])[:, 0], np.inf
    weights = size * np.maximum(-solved.ineqlin.marginals, 0.0)
    rest = direction - normals.T @ weights
    return solved.x, float(weights @ limits + domain.support(rest[:, None])[0])


def _supported(domain: Ball, among: LevelSet, far: FloatArray, pool: CutPool) -> FloatArray:
    """Point of the set between the centre and ``far``; tangents on the way become cuts."""
    nearest = domain.project(far[:, None])[:, 0]
    normal = far - nearest
    if np.linalg.norm(normal) > 1e-12 * domain.radius:
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
