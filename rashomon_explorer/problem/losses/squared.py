"""Squared loss, from sufficient statistics."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer.problem.losses.kinked import HuberLoss
from rashomon_explorer.problem.losses.scores import RegressionLoss, ScoreFunction


@dataclass(frozen=True)
class HalfSquare(ScoreFunction):
    """½a²."""

    bend: ClassVar[float] = 1.0

    def value(self, a: Any) -> Any:
        return a * a / 2

    def slope(self, a: Any) -> Any:
        return a

    def curvature(self, a: Any) -> Any:
        return np.ones_like(a)


@dataclass(frozen=True)
class SquaredLoss(RegressionLoss):
    """Half the squared error of a linear score, for targets in [−target_bound, target_bound]."""

    name: ClassVar[str] = "squared"
    globally_lipschitz: ClassVar[bool] = False
    third_derivative: ClassVar[float] = 0.0
    function: ClassVar[HalfSquare] = HalfSquare()

    def oscillation(self, reach: float) -> float:
        """(Y + s)² − max(Y − s, 0)², s = reach: twice one row's range, attained (theory §1)."""
        return (self.target_bound + reach) ** 2 - max(self.target_bound - reach, 0.0) ** 2

    def empirical(  # type: ignore[override]  # p² numbers instead of n·p
        self, rows: FloatArray, targets: FloatArray
    ) -> "SquaredRisk":
        n, clipped = len(rows), np.clip(targets, -self.target_bound, self.target_bound)
        energy = float(clipped @ clipped) / n
        return SquaredRisk(n, rows.T @ rows / n, rows.T @ clipped / n, energy)

    def clipped(self, slope_bound: float) -> HuberLoss:
        """Return the loss with its slope clipped to ``slope_bound``."""
        return HuberLoss(self.target_bound, slope_bound)


@dataclass(frozen=True)
class SquaredRisk:
    """Mean squared loss ½(θᵀSθ − 2 s·θ + c), from sufficient statistics only."""

    n: int
    gram: FloatArray
    moment: FloatArray
    energy: float

    @property
    def p(self) -> int:
        return len(self.moment)

    def value(self, theta: FloatArray) -> FloatArray:
        return self.value_and_gradient(theta)[0]

    def value_and_gradient(self, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        moment = self.moment[:, None]
        gradient = self.gram @ theta - moment
        both = np.sum(theta * (gradient - moment), axis=-2)
        return 0.5 * (both + self.energy), gradient

    def hessian(self, theta: FloatArray) -> FloatArray:
        """Hessian (p, p): the Gram matrix, for every ``theta``."""
        return self.gram

    def within(self, reach: float) -> "SquaredRisk":
        """Return the loss itself."""
        return self
