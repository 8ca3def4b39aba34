"""Level sets, and bounded sets that contain them."""

from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from scipy.special import expit

from rashomon_explorer._utils.arrays import FloatArray, Mask
from rashomon_explorer._utils.bisection import bisect
from rashomon_explorer.measures.ranges.sparse import matched_subgradient
from rashomon_explorer.problem.domains import Ball
from rashomon_explorer.problem.losses.kinked import AbsoluteLoss, HingeLoss
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
    loss = getattr(problem, "loss", None)
    if isinstance(loss, AbsoluteLoss | HingeLoss):
        smooth = "smoothed_hinge" if isinstance(loss, HingeLoss) else "squared"
        raise ValueError(
            f"exact ranges need a loss without kinks, got {loss.name!r}: use loss={smooth!r}"
        )


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
