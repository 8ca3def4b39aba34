"""Losses of clipped slope: hinge, absolute and pinball, with kinks or smoothed."""

import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer._utils.validation import check_positive
from rashomon_explorer.problem.losses import scores


@dataclass(frozen=True)
class ClippedSlope(scores.ScoreFunction):
    """The convex function f(a) = max_{low ≤ α ≤ high} αa − ½·smoothing·α²."""

    # low, high: smallest and largest slope, low ≤ 0 ≤ high
    low: float
    high: float
    smoothing: float = 0.0  # length of the parabola's zone per unit of slope, ≥ 0

    @property
    def bend(self) -> float:
        """1/smoothing; infinite with a kink."""
        return 1 / self.smoothing if self.smoothing else math.inf

    def value(self, a: Any) -> Any:
        if self.smoothing == 0:
            return np.maximum(self.low * a, self.high * a)
        return self._value(a, self.slope(a))

    def slope(self, a: Any) -> Any:
        """Return f'(a), with the subgradient 0 at a kink; same shape as ``a``."""
        if self.smoothing:
            return np.clip(a / self.smoothing, self.low, self.high)
        zeros = np.zeros_like(a)
        return np.where(a > 0, zeros + self.high, np.where(a < 0, zeros + self.low, zeros))

    def curvature(self, a: Any) -> Any:
        """Return f''(a), which is 0 at the ends of the zone and at a kink; same shape as ``a``."""
        zeros = np.zeros_like(a)
        return np.where(self.room(a) > 0, zeros + self.bend, zeros) if self.smoothing else zeros

    def sums_and_slopes(self, a: Any, axis: int) -> tuple[Any, Any]:
        slopes = self.slope(a)
        return np.sum(self._value(a, slopes), axis=axis), slopes

    def _value(self, a: Any, slope: Any) -> Any:
        return slope * (a - self.smoothing / 2 * slope)

    def room(self, a: Any) -> Any:
        """Distance to the nearer end of the parabola's zone; negative outside it."""
        return np.minimum(a - self.low * self.smoothing, self.high * self.smoothing - a)


@dataclass(frozen=True)
class ClippedSlopeRisk(scores.ScoreRisk):
    """Mean of f(z_i·θ + offset_i) for one :class:`ClippedSlope` f."""

    function: ClippedSlope

    def hessian(self, theta: FloatArray) -> FloatArray:
        """Hessian (p, p) of the mean loss at one model (p,), from the rows inside their zone."""
        curvature = self.function.curvature(self.scores(theta)) / self.n
        curved = curvature > 0
        return (self.rows[curved] * curvature[curved, None]).T @ self.rows[curved]

    def smoothed(self, smoothing: float) -> "ClippedSlopeRisk":
        """Return the same loss with at least this smoothing; it is never above this one."""
        width = max(smoothing, self.function.smoothing)
        return replace(self, function=replace(self.function, smoothing=width))

    def dual(self, theta: FloatArray, smoothing: float) -> tuple[float, float, FloatArray]:
        """Mean loss at one model (p,), and the dual bound from its smoothed slopes α."""
        scores = self.scores(theta)
        slopes = self.smoothed(smoothing).function.slope(scores)
        return (
            float(self.function.value(scores).mean()),
            float(slopes @ self.offsets[:, 0]) / self.n,
            self.rows.T @ slopes / self.n,
        )


@dataclass(frozen=True)
class AbsoluteLoss(scores.RegressionLoss):
    """Absolute error of a linear score, for targets in [−target_bound, target_bound]."""

    tau: float = 0.5
    name: ClassVar[str] = "absolute"
    risk: ClassVar[type[scores.ScoreRisk]] = ClippedSlopeRisk

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < self.tau < 1:
            raise ValueError(f"tau must lie between 0 and 1, got {self.tau!r}")

    @property
    def function(self) -> ClippedSlope:
        """Twice the pinball loss of z·θ − y; |z·θ − y| for the median."""
        return ClippedSlope(-2 * self.tau, 2 * (1 - self.tau))

    def oscillation(self, reach: float) -> float:
        """Oscillation 4·max(τ, 1 − τ)·min(Y + s, 2s) of two rows' difference, s = reach."""
        return 4 * max(self.tau, 1 - self.tau) * min(self.target_bound + reach, 2 * reach)


@dataclass(frozen=True)
class HingeLoss(scores.BinaryLoss):
    """Hinge loss of a linear score, for labels in {−1, +1}: convex with a kink at margin 1."""

    name: ClassVar[str] = "hinge"
    risk: ClassVar[type[scores.ScoreRisk]] = ClippedSlopeRisk
    shift: ClassVar[float] = 1.0

    @property
    def function(self) -> ClippedSlope:
        return ClippedSlope(0.0, 1.0)

    def oscillation(self, reach: float) -> float:
        """Oscillation 2·min(2s, 1 + s) of the difference between two rows' losses, s = reach."""
        return 2 * min(2 * reach, 1 + reach)


@dataclass(frozen=True)
class SmoothedHingeLoss(scores.BinaryLoss):
    """Huberised hinge loss of the margin v = y z·θ, for labels in {−1, +1}."""

    smoothing: float = 1.0
    name: ClassVar[str] = "smoothed_hinge"
    risk: ClassVar[type[scores.ScoreRisk]] = ClippedSlopeRisk
    shift: ClassVar[float] = 1.0

    def __post_init__(self) -> None:
        if not (np.isfinite(self.smoothing) and self.smoothing > 0):
            raise ValueError(
                f"smoothing must be finite and > 0, got {self.smoothing!r}; for 0 use the "
                "hinge loss"
            )

    @property
    def function(self) -> ClippedSlope:
        """Parabola up to a = smoothing, and its tangent beyond."""
        return ClippedSlope(0.0, 1.0, self.smoothing)

    def smoothness(self, row_bound: float) -> float:
        """Smoothness B²/smoothing."""
        return row_bound**2 / self.smoothing


@dataclass(frozen=True)
class HuberLoss(scores.RegressionLoss):
    """½r² for |r| ≤ most, most·|r| − ½most² beyond, r = z·θ − clipped target (Huber 1964)."""

    most: float = 0.5
    name: ClassVar[str] = "huber"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_positive(most=self.most)

    @property
    def function(self) -> ClippedSlope:
        """Parabola for |a| ≤ most, and its tangents beyond."""
        return ClippedSlope(-self.most, self.most, 1.0)
