"""Level sets, bounded sets that contain them, and minima and faces of an L1 penalty."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, Protocol

import numpy as np
from scipy.special import expit

from rashomon_explorer._utils.arrays import FloatArray, Mask
from rashomon_explorer._utils.bisection import bisect
from rashomon_explorer.problem.domains import Ball
from rashomon_explorer.problem.losses.base import TableRows
from rashomon_explorer.problem.losses.kinked import AbsoluteLoss, HingeLoss
from rashomon_explorer.problem.lower_bounds.smooth import ExcessBound

_BATCH = 512  # rows whose products stay in a cache, or matrices that are solved together
_ALONE = 8  # columns on a face below which each has its own matrix
_ALL_AT_ONCE = 10  # changes of a face; afterwards one parameter at a time, which cannot cycle
_MOST_CHANGES = 200
_FLOOR = 1e-11  # curvature added to a singular Hessian, as a share of its diagonal
_VIOLATED = 1 + 1e-12


Points = tuple[FloatArray, FloatArray, FloatArray]
"""Directions, models and gradients there, each (p, K)."""


@dataclass(frozen=True)
class FaceMetric:
    """Quadratic models with one curvature and an L1 penalty, optimised face by face of signs."""

    bend: FloatArray  # (p, p): positive definite
    l1: FloatArray  # (p,): ≥ 0

    @classmethod
    def from_hessian(cls, hessian: FloatArray, l1: FloatArray) -> FaceMetric:
        """Metric of a Hessian that may be singular."""
        diagonal = np.diag(hessian)
        floor = _FLOOR * np.where(diagonal > 0, diagonal, max(float(diagonal.max()), 1e-300))
        return cls(hessian + np.diag(floor), l1)

    def furthest(
        self, at: Points, room: FloatArray, stiff: FloatArray, radius: float
    ) -> FloatArray:
        """Maximiser of a·ϑ over the models by whose quadratic objective is within the room."""
        direction, theta, gradient = at
        slope, size = gradient - self.l1[:, None] * np.sign(theta), self.l1 @ np.abs(theta)

        def length(some: Any, least: FloatArray, along: FloatArray, sign: FloatArray) -> FloatArray:
            step = least - theta[:, some]
            bent = stiff[some] / 2 * _dots(step, self.bend @ step)
            rise = _dots(slope[:, some], step) + bent + self.l1 @ (sign * least) - size[some]
            span = np.maximum(_dots(direction[:, some], along), 1e-300)
            return np.asarray(np.sqrt(2 * np.maximum(room[some] - rise, 0.0) / span))

        return self._optimum(at, stiff, length)

    def least_on_hyperplanes(
        self, at: Points, level: FloatArray, stiff: FloatArray, radius: float
    ) -> FloatArray:
        """Minimiser of the quadratic objective over the models with a·ϑ = level."""

        def length(some: Any, least: FloatArray, along: FloatArray, sign: FloatArray) -> FloatArray:
            a = at[0][:, some]
            span = np.maximum(_dots(a, along), 1e-300)
            return np.asarray((level[some] - _dots(a, least)) / span)

        return self._optimum(at, stiff, length)

    def least(self, theta: FloatArray, gradient: FloatArray) -> FloatArray:
        """Minimiser (p,) of the quadratic objective around one model (p,)."""
        start, slope, unit = theta[:, None], gradient[:, None], np.ones(1)

        def length(some: Any, *_: FloatArray) -> FloatArray:
            return np.zeros(len(some))

        return self._optimum((np.zeros_like(start), start, slope), unit, length)[:, 0]

    def _optimum(
        self, at: Points, stiff: FloatArray, length: Callable[..., FloatArray]
    ) -> FloatArray:
        """Minimiser of model − t·a·ϑ for each column, with the t that ``length`` gives."""
        direction, theta, gradient = at
        l1, point = self.l1[:, None], theta.copy()
        sign = np.where(l1 > 0, np.sign(theta), 0.0)
        used = (sign != 0) | (l1 == 0)
        pull = stiff * (self.bend @ theta) - gradient + l1 * np.sign(theta)
        some = np.arange(theta.shape[1])
        for change in range(_MOST_CHANGES):
            on, signs, a = used[:, some], sign[:, some], direction[:, some]
            base, along = self._on_faces(on, pull[:, some] - l1 * signs, a) / stiff[some]
            t = length(some, base, along, signs)
            point[:, some] = x = base + t * along
            force = pull[:, some] + t * a - stiff[some] * (self.bend @ x)
            wrong = np.where(on, x * signs < 0, np.abs(force) > l1 * _VIOLATED)
            if change >= _ALL_AT_ONCE:  # the least index: finite for a fixed t (Murty 1974)
                wrong &= np.cumsum(wrong, axis=0) == 1
            sign[:, some] = np.where(wrong, np.where(on, 0.0, np.sign(force)), signs)
            used[:, some] = on ^ wrong
            some = some[wrong.any(axis=0)]
            if not len(some):
                break
        return point

    def _on_faces(self, used: Mask, pull: FloatArray, direction: FloatArray) -> FloatArray:
        """B⁻¹pull and B⁻¹a (2, p, K) on each column's face, 0 for the other parameters."""
        sides = np.stack([pull, direction])
        solved = np.zeros_like(sides)
        _, kind, sizes = np.unique(
            np.packbits(used, axis=0), axis=1, return_inverse=True, return_counts=True
        )
        rare = np.flatnonzero((sizes < _ALONE)[kind.ravel()])
        for low in range(0, len(rare), _BATCH):  # a matrix for each column
            columns = rare[low : low + _BATCH]
            on = used[:, columns].T[:, :, None]
            bend = np.where(on & on.transpose(0, 2, 1), self.bend, np.eye(len(used)))
            faces = np.where(on, sides[:, :, columns].T, 0.0)
            solved[:, :, columns] = np.linalg.solve(bend, faces).T
        for common in np.flatnonzero(sizes >= _ALONE):  # one for all columns
            columns = np.flatnonzero(kind.ravel() == common)
            face = np.flatnonzero(used[:, columns[0]])
            here = np.ix_(face, columns)
            both = np.hstack([pull[here], direction[here]])
            both[:] = np.linalg.solve(self.bend[np.ix_(face, face)], both)
            solved[0][here], solved[1][here] = np.split(both, 2, axis=1)
        return solved


def least_subgradient(gradient: FloatArray, theta: FloatArray, l1: FloatArray | None) -> FloatArray:
    """Smallest subgradient (p,), from the one without a share of the L1 penalty at zeros."""
    if l1 is None:
        return gradient
    free = np.where(theta == 0, l1, 0.0)
    return np.asarray(gradient + np.clip(-gradient, -free, free))


def _dots(left: FloatArray, right: FloatArray) -> FloatArray:
    return np.asarray(np.einsum("ij,ij->j", left, right))


def matched_subgradient(
    gradient: FloatArray, theta: FloatArray, l1: FloatArray, direction: FloatArray, weight: Any
) -> FloatArray:
    """Subgradient (p, K) at ``theta`` nearest to a nonnegative multiple of each direction."""
    free = np.where(theta == 0, l1[:, None], 0.0)
    fixed = np.where(free == 0, weight[:, None] * direction, 0.0)
    multiple = _dots(fixed, gradient) / np.maximum(_dots(fixed, direction), 1e-300)
    desired = np.maximum(multiple, 0.0) * direction - gradient
    return np.asarray(gradient + np.clip(desired, -free, free))


_MOST_STEPS = 200
_CONVERGED, _OPTIMAL = 1e-16, 1e-10
_DAMPING, _LARGEST_DAMPING = 1e-3, 1e3  # shares of the Hessian's diagonal at 0


def minimise_l1(objective: Any, l1: FloatArray) -> FloatArray:
    """Minimiser (p,) of a smooth function plus Σ l1_j |θ_j|, by damped Newton steps over faces."""
    theta = np.zeros(len(l1))
    value, gradient = _at(objective, theta)
    scale, damping = np.diag(np.diag(objective.hessian(theta))), 0.0
    for _ in range(_MOST_STEPS):
        metric = FaceMetric.from_hessian(objective.hessian(theta) + damping * scale, l1)
        move = metric.least(theta, gradient) - theta
        fall = float((l1 * np.sign(theta) - gradient) @ move)
        fall -= float(l1 @ (np.abs(theta + move) - np.abs(theta)))
        new = _step(objective, theta, value, move, fall)
        if new is not None:
            theta, damping = new, damping / 10 if damping > _DAMPING else 0.0
            value, gradient = _at(objective, theta)
        if new is None or fall <= _CONVERGED * (1 + abs(value)):
            # The slopes that the L1 penalty does not balance.
            residual = np.abs(gradient) - np.where(theta == 0, l1, 0.0)
            optimal = residual.max() <= _OPTIMAL * max(float(l1.max()), 1e-300)
            if (fall >= 0 and optimal) or damping >= _LARGEST_DAMPING:
                break
            damping = max(10 * damping, _DAMPING)
    return theta


_HALVINGS = 40


def _step(
    objective: Any, theta: FloatArray, value: float, move: FloatArray, fall: float
) -> FloatArray | None:
    """Model with a lower objective along a move, or None; ``fall`` is the predicted decrease."""
    if fall < 0:
        return None
    step = 1.0
    for _ in range(_HALVINGS):
        new = theta + step * move
        reached = float(objective.value(new[:, None])[0])
        if reached <= value - 1e-4 * step * fall + 4e-16 * max(1.0, abs(value)):
            return np.asarray(new)
        step /= 2
    return None


def _at(objective: Any, theta: FloatArray) -> tuple[float, FloatArray]:
    value, gradient = objective.value_and_gradient(theta[:, None])
    return float(value[0]), gradient[:, 0]


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
    soft: FloatArray | None = None  # (p, r): the Hessian in it is at least (SSᵀ)⁻¹

    @cached_property
    def _coordinates(self) -> FloatArray:
        return np.asarray(np.linalg.pinv(self.whiten) / self.extent)

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

    def curved_bound(
        self, direction: FloatArray, step: FloatArray, gradient: FloatArray, room: FloatArray
    ) -> FloatArray:
        """Largest a·(step + w) (K,) with g·w + ½wᵀ(SSᵀ)⁻¹w ≤ room; infinite beyond the ellipsoid.

        ``room`` is ψ minus the excess loss at ``step``.
        """
        if self.soft is None:
            return np.full(len(room), np.inf)
        a, g = self.soft.T @ direction, self.soft.T @ gradient
        square = np.maximum(2 * room + _dots(g, g), 0.0)
        bound = _dots(direction, step) - _dots(a, g) + np.sqrt(_dots(a, a) * square)
        inside = np.linalg.norm(self._coordinates @ step, axis=0) <= 1
        return np.asarray(np.where(inside, bound, np.inf))


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
    return row_norms(rows, np.linalg.inv(np.linalg.cholesky(matrix)).T)


def row_norms(rows: FloatArray, whiten: FloatArray) -> FloatArray:
    """Norm (n,) of each row of the product of ``rows`` and ``whiten``."""
    squares = np.empty(len(rows))
    for low in range(0, len(rows), _BATCH):
        part = rows[low : low + _BATCH] @ whiten
        np.einsum("ij,ij->i", part, part, out=squares[low : low + _BATCH])
    return np.sqrt(squares)


def row_curvature(rows: FloatArray, curvatures: FloatArray) -> FloatArray:
    """Hessian (p, p) of a mean loss with the curvature ≥ 0 (n,) of each row."""
    mean: FloatArray = TableRows(rows).mean_outer(
        lambda _, part: curvatures[part, None], np.empty(rows.shape[1])
    )
    return mean


def curvature(scores: FloatArray) -> FloatArray:
    """σ'(s) = σ(s)σ(−s), the second derivative of the logistic loss."""
    ratio = np.exp(-np.abs(scores))
    return np.asarray(ratio / (1 + ratio) ** 2)


def least_curvature(scores: FloatArray, distance: FloatArray) -> FloatArray:
    """Largest q (n,) with loss − tangent ≥ q·t² for all changes |t| ≤ distance of the scores."""
    a, d = np.abs(scores), np.maximum(distance, 1e-300)
    excess = np.log1p(np.exp(-a - d)) - np.log1p(np.exp(-a)) + d * expit(-a)
    # For small d the difference cancels; half the least σ' is a lower bound.
    far = (1 - 1e-9) * excess / np.maximum(d, 1e-3) ** 2
    return np.asarray(np.where(d < 1e-3, curvature(a + d) / 2, far))


def largest_curvature(scores: FloatArray, distance: FloatArray) -> FloatArray:
    """Least q (n,) with loss − tangent ≤ q·t² for all changes |t| ≤ distance of the scores."""
    a = np.abs(scores)
    d = np.minimum(distance, 2 * a)  # towards 0 the ratio rises up to −a (Jaakkola and Jordan)
    excess = np.log1p(np.exp(d - a)) - np.log1p(np.exp(-a)) - d * expit(-a)
    near = (1 + 1e-9) * excess / np.maximum(d, 1e-3) ** 2
    return np.asarray(np.where(d < 1e-3, curvature(a - np.minimum(d, a)) / 2, near))


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
        matrix = row_curvature(rows, 2 * curvatures) + penalty
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
        """Nearly the largest t ≤ 1 (K,) by which convexity proves θ* + t(θ − θ*) to be inside."""
        above = np.maximum(value - self.base, self.room)
        # Less by more than the rounding of a loss.
        return np.where(value > self.level, (1 - 1e-9) * self.room / above, 1.0)

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
        above = self.level - value + self.error
        room = np.maximum(above + _dots(gradient, step), self.room)
        bound = self.reach.least_bound(direction, gradient, room)
        if isinstance(self.reach, BallReach):
            return bound
        curved = self.reach.curved_bound(direction, step, gradient, above)
        return np.asarray(np.minimum(bound, curved))
