"""The set {θ ∈ C : L(θ) ≤ level} that linear functionals are maximised over."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from rashomon_explorer.array_types import FloatArray, Mask
from rashomon_explorer.losses import Loss
from rashomon_explorer.measures.ranges.reach import Reach
from rashomon_explorer.minimum import Minimum

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


class Objective(Protocol):
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


class ConvexProblem(Objective, Protocol):
    """What exact ranges ask of a problem; :class:`rashomon_explorer.problem.Problem` has it."""

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

    objective: Objective
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
        """Largest t ≤ 1 (K,) that convexity proves to bring θ* + t(θ − θ*) below the level.

        L(θ* + t·h) ≤ L(θ*) + t(L(θ) − L(θ*)) for L(θ) = ``value``.
        """
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
        """Upper bound (K,) of a·(ϑ − θ*) over the set, for each column a of ``direction`` (p, K).

        A convex objective lies above its tangent at θ = θ* + step, so that every ϑ of the set has
        g·(ϑ − θ*) ≤ s = level − L(θ) + g·step, and for every λ ≥ 0

            a·(ϑ − θ*) ≤ λs + max over the reach of (a − λg)·(ϑ − θ*).

        It holds wherever θ lies, and is attained at the optimum (weak and strong duality).
        """
        room = self.level - value + np.einsum("ij,ij->j", gradient, step) + self._error
        return self.reach.least_bound(direction, gradient, np.maximum(room, self.room))
