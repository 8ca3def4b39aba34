"""Boxes: every coefficient has its own interval around 0."""

import math
from dataclasses import dataclass

import numpy as np

from rashomon_explorer.array_types import FloatArray, Mask
from rashomon_explorer.domains.base import halfspace_chord, inner


@dataclass(frozen=True)
class Box:
    """Models θ with low_j ≤ θ_j ≤ high_j.

    Signs are constraints too: an interval may begin or end at 0.

    Parameters
    ----------
    low, high : tuple of float
        Ends of the intervals, finite, low_j ≤ 0 ≤ high_j and low_j < high_j.

    Raises
    ------
    ValueError
        If the lengths differ, or an interval is empty, unbounded or without 0.

    Examples
    --------
    >>> box = Box(low=(-1.0, 0.0), high=(1.0, 2.0))
    >>> box.project(np.array([[3.0], [-4.0]])).ravel().tolist()
    [1.0, 0.0]
    >>> round(box.radius_bound, 4), Box.cube(0.5, p=3).dimension
    (2.2361, 3)
    """

    low: tuple[float, ...]
    high: tuple[float, ...]

    def __post_init__(self) -> None:
        """Refuse intervals that are empty, unbounded or without 0."""
        if not self.low or len(self.low) != len(self.high):
            raise ValueError(
                f"low and high must hold one number a parameter, got {len(self.low)} and "
                f"{len(self.high)}"
            )
        for j, (low, high) in enumerate(zip(self.low, self.high, strict=True)):
            if not (math.isfinite(low) and math.isfinite(high) and low <= 0 <= high and low < high):
                raise ValueError(
                    f"interval {j} must be finite, hold 0 and have an inside, got [{low}, {high}]"
                )

    @classmethod
    def cube(cls, half_width: float, p: int) -> "Box":
        """Box of all p-vectors with entries in [−half_width, half_width]."""
        return cls((-half_width,) * p, (half_width,) * p)

    @property
    def dimension(self) -> int:
        """Number of parameters."""
        return len(self.low)

    @property
    def radius(self) -> float:
        """Norm of the furthest corner."""
        return math.hypot(*map(max, (-low for low in self.low), self.high))

    @property
    def radius_bound(self) -> float:
        """Norm of the furthest corner."""
        return self.radius

    @property
    def diameter(self) -> float:
        """Length of the diagonal."""
        return math.dist(self.low, self.high)

    def reach(self, row_bound: float) -> float:
        """Largest |z·θ| over models in the box and rows with ‖z‖ ≤ row_bound."""
        return self.radius * row_bound

    def contains(self, theta: FloatArray) -> Mask:
        """Whether each column of ``theta`` (p, K) lies in the box; shape (K,)."""
        low, high = self._ends(theta)
        return np.asarray(((low <= theta) & (theta <= high)).all(axis=0))

    def project(self, theta: FloatArray) -> FloatArray:
        """Nearest point of the box to each column of ``theta`` (p, K): entries clipped."""
        return np.asarray(np.clip(theta, *self._ends(theta)))

    def extreme(self, direction: FloatArray) -> FloatArray:
        """Corner furthest along each column of ``direction`` (p, K)."""
        low, high = self._ends(direction)
        return np.where(direction > 0, high, np.where(direction < 0, low, 0.0))

    def support(self, direction: FloatArray) -> FloatArray:
        """Support function (K,) of the columns of ``direction`` (p, K)."""
        return inner(direction, self.extreme(direction))

    def gauge(self, theta: FloatArray) -> FloatArray:
        """Largest θ_j/high_j or θ_j/low_j of each column of ``theta`` (p, K); shape (K,)."""
        low, high = self._ends(theta)
        with np.errstate(divide="ignore", invalid="ignore"):
            share = np.where(theta > 0, theta / high, np.where(theta < 0, theta / low, 0.0))
        return np.asarray(np.where(np.isnan(share), np.inf, np.abs(share)).max(axis=0))

    def chord(self, theta: FloatArray, direction: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Interval of t with θ + t·d in the box, for each column (p, K) of models in the box."""
        low, high = self._ends(theta)
        room = np.vstack([high - theta, theta - low])
        return halfspace_chord(room, np.vstack([direction, -direction]))

    def log_volume_bound(self, p: int) -> float:
        """Logarithm of the product of the widths."""
        self._check(p)
        return sum(math.log(high - low) for low, high in zip(self.low, self.high, strict=True))

    def uniform(self, p: int, size: int, rng: np.random.Generator) -> FloatArray:
        """Independent models (p, size), each entry uniform on its interval."""
        self._check(p)
        low, high = np.array(self.low)[:, None], np.array(self.high)[:, None]
        return np.asarray(low + (high - low) * rng.random((p, size)))

    def _ends(self, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        self._check(len(theta))
        return np.array(self.low)[:, None], np.array(self.high)[:, None]

    def _check(self, p: int) -> None:
        if p != len(self.low):
            raise ValueError(f"the box has {len(self.low)} intervals, got models of length {p}")
