"""A function of one score whose slope is clipped: hinge, smoothed hinge, absolute and pinball."""

from dataclasses import dataclass

import numpy as np

from rashomon_explorer.array_types import FloatArray


@dataclass(frozen=True)
class ClippedSlope:
    """The convex function f(a) = max_{low ≤ α ≤ high} αa − ½·smoothing·α².

    Its slope is a/smoothing clipped to [low, high]: for 0 a kink at 0 between two lines,
    otherwise Huber's parabola between them. The maximum is also the conjugate form that proves
    minima: every α gives a lower bound.

    >>> ClippedSlope(0.0, 1.0, smoothing=0.5).value(np.array([0.25, 1.0])).tolist()
    [0.0625, 0.75]
    """

    # low, high: smallest and largest slope, low ≤ 0 ≤ high
    low: float
    high: float
    smoothing: float = 0.0  # length of the parabola's zone for a unit of slope, ≥ 0

    def value(self, a: FloatArray) -> FloatArray:
        """Return f(a), same shape as ``a``."""
        if self.smoothing == 0:
            return np.maximum(self.low * a, self.high * a)
        slope = self.slope(a)
        return np.asarray(slope * (a - self.smoothing / 2 * slope))

    def slope(self, a: FloatArray) -> FloatArray:
        """Return f'(a), at a kink the subgradient 0; same shape as ``a``."""
        if self.smoothing == 0:
            return np.where(a > 0, self.high, np.where(a < 0, self.low, 0.0))
        return np.asarray(np.clip(a / self.smoothing, self.low, self.high))

    def curvature(self, a: FloatArray) -> FloatArray:
        """Return f''(a), 0 at the ends of the zone and at a kink; same shape as ``a``."""
        if self.smoothing == 0:
            return np.zeros_like(a)
        return np.where(self.room(a) > 0, 1 / self.smoothing, 0.0)

    def room(self, a: FloatArray) -> FloatArray:
        """Distance to the nearer end of the parabola's zone, negative outside it."""
        return np.minimum(a - self.low * self.smoothing, self.high * self.smoothing - a)
