"""Level sets and how far they reach."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from rashomon_explorer._utils.arrays import FloatArray, Mask
from rashomon_explorer.problem.losses import Loss
from rashomon_explorer.problem.minimisation import Minimum


class Reach(Protocol):
    """A bounded set around the level set."""

    @property
    def radius(self) -> float:
        """Largest ‖θ‖ that a model may have; infinite if none is refused for its length."""
        ...

    def least_bound(
        self, direction: FloatArray, gradient: FloatArray, room: FloatArray
    ) -> FloatArray:
        """Least over λ ≥ 0 of λ·room + max over the set of (a − λg)·(ϑ − θ*), shape (K,)."""
        ...


@dataclass(frozen=True)
class BallReach:
    """Models with ‖θ‖ ≤ radius, a constraint of the problem or of a ball around its domain."""

    radius: float
    centre: FloatArray  # (p,): θ*, which extents are measured from

    def least_bound(
        self, direction: FloatArray, gradient: FloatArray, room: FloatArray
    ) -> FloatArray:
        """Least of λ(room + g·θ*) + R‖a − λg‖ − a·θ*, shape (K,)."""
        bound = least_shifted_norm(direction, gradient, room + self.centre @ gradient, self.radius)
        return np.asarray(bound - self.centre @ direction)


@dataclass(frozen=True)
class EllipsoidReach:
    """Models θ* + W u with ‖u‖ ≤ extent, known to hold the level set; it constrains nothing."""

    whiten: FloatArray
    extent: float

    @property
    def radius(self) -> float:
        """Infinite: no model is refused for its length."""
        return np.inf

    def least_bound(
        self, direction: FloatArray, gradient: FloatArray, room: FloatArray
    ) -> FloatArray:
        """Least of λ·room + extent·‖Wᵀ(a − λg)‖, shape (K,)."""
        a, g = self.whiten.T @ direction, self.whiten.T @ gradient
        return least_shifted_norm(a, g, room, self.extent)


def least_shifted_norm(
    a: FloatArray, g: FloatArray, price: FloatArray, radius: float
) -> FloatArray:
    """Least over λ ≥ 0 of λ·price + radius·‖a − λg‖, shape (K,), for columns a, g of (p, K)."""
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
_ROUNDING = 1e-14  # of the loss: sums of n terms are right to about 1e-15 of it


def check_problem(problem: object) -> None:
    """Refuse what is no problem, such as a fitted model."""
    if not hasattr(type(problem), "minimum"):
        raise TypeError(
            f"problem must be a Problem or a PenalisedProblem, got {type(problem).__name__}: make "
            "one of a fitted scikit-learn model and its rows by penalised_problem, of a fitted "
            "Rashomon estimator by declared_problem"
        )


class ConvexFunction(Protocol):
    """A convex function of K models at once."""

    def value(self, theta: FloatArray) -> FloatArray:
        """Return the values (K,) at the columns of ``theta`` (p, K)."""
        ...

    def value_and_gradient(self, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Values (K,) and gradients (p, K) at the columns of ``theta`` (p, K)."""
        ...

    def hessian(self, theta: FloatArray) -> FloatArray:
        """Hessian (p, p) at one model (p,)."""
        ...


class Region(Protocol):
    """Where models may lie."""

    def contains(self, theta: FloatArray) -> Mask:
        """Whether each column of ``theta`` (p, K) is in it; shape (K,)."""
        ...

    def project(self, theta: FloatArray) -> FloatArray:
        """Nearest point of it to each column of ``theta`` (p, K)."""
        ...


class ConvexProblem(ConvexFunction, Protocol):
    """What exact ranges ask of a problem; :class:`Problem` has it."""

    @property
    def loss(self) -> Loss:
        """Loss of a row."""
        ...

    @property
    def domain(self) -> Region:
        """Set of models."""
        ...

    @property
    def row_norm(self) -> float:
        """Norm that rows are shortened to."""
        ...

    @property
    def intercept(self) -> bool:
        """Whether models carry an intercept, last."""
        ...

    @property
    def p(self) -> int:
        """Number of parameters."""
        ...

    @property
    def minimum(self) -> Minimum:
        """Certified minimum."""
        ...


@dataclass(frozen=True)
class LevelSet:
    """Models of a bounded set with objective ≤ level, seen from one of them."""

    objective: ConvexFunction
    centre: FloatArray  # (p,): a model of the set, well inside the level
    base: float  # its objective
    level: float  # largest objective, above ``base``
    reach: Reach  # a ball or an ellipsoid that holds the whole set
    domain: Region  # where its models lie

    @property
    def room(self) -> float:
        """How much worse than the centre a model may be."""
        return self.level - self.base

    def shrink(self, value: FloatArray) -> FloatArray:
        """Largest t ≤ 1 (K,) that convexity proves to bring θ* + t(θ − θ*) below the level."""
        above = np.maximum(value - self.base, self.room)
        return np.asarray(self.room / above)

    def verified(self, points: FloatArray) -> FloatArray:
        """Look at every point (p, K) and pull to the centre what rounding left outside."""
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
        """Largest g·ϑ over the set by the tangent at θ (p,): level − L(θ) + g·θ."""
        return self.level - value + float(gradient @ theta) + self._error

    @property
    def _error(self) -> float:
        return _ROUNDING * (1 + abs(self.level)) * float(np.sqrt(len(self.centre)))

    def outer(
        self, direction: FloatArray, step: FloatArray, value: FloatArray, gradient: FloatArray
    ) -> FloatArray:
        """Upper bound (K,) of a·(θ − θ*) over the set for each column a of ``direction`` (p, K)."""
        room = self.level - value + np.einsum("ij,ij->j", gradient, step) + self._error
        return self.reach.least_bound(direction, gradient, np.maximum(room, self.room))
