"""Boxes, L1 balls and simplices."""

import math
from dataclasses import dataclass

import numpy as np

from rashomon_explorer._utils.arrays import FloatArray, Mask
from rashomon_explorer._utils.validation import check_positive
from rashomon_explorer.problem.domains.base import halfspace_chord, inner


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


@dataclass(frozen=True)
class Simplex:
    """Models θ with θ_j ≥ 0 and Σ θ_j ≤ scale.

    The solid simplex has volume in R^p. Weights that sum to ``scale`` exactly are the same set
    with one parameter fewer: the last weight is what the others leave.

    Parameters
    ----------
    scale : float
        Largest sum, > 0.

    Raises
    ------
    ValueError
        If the scale is not a finite number above 0.

    Examples
    --------
    >>> Simplex(1.0).project(np.array([[1.0], [0.6]])).ravel().round(9).tolist()
    [0.7, 0.3]
    """

    scale: float = 1.0

    def __post_init__(self) -> None:
        """Refuse a simplex without inside."""
        check_positive(scale=self.scale)

    @property
    def dimension(self) -> None:
        """Any number of parameters."""
        return None

    @property
    def radius(self) -> float:
        """Largest ‖θ‖: a corner's."""
        return self.scale

    @property
    def radius_bound(self) -> float:
        """Largest ‖θ‖: a corner's."""
        return self.scale

    @property
    def diameter(self) -> float:
        """Distance of two corners; for one parameter, an upper bound."""
        return math.sqrt(2) * self.scale

    def reach(self, row_bound: float) -> float:
        """Largest |z·θ| over models in the simplex and rows with ‖z‖ ≤ row_bound."""
        return self.scale * row_bound

    def contains(self, theta: FloatArray) -> Mask:
        """Whether each column of ``theta`` (p, K) lies in the simplex; shape (K,)."""
        return np.asarray((theta >= 0).all(axis=0) & (theta.sum(axis=0) <= self.scale))

    def project(self, theta: FloatArray) -> FloatArray:
        """Nearest point of the simplex to each column of ``theta`` (p, K)."""
        return soft_threshold(np.maximum(theta, 0.0), self.scale)

    def extreme(self, direction: FloatArray) -> FloatArray:
        """Corner furthest along each column of ``direction`` (p, K)."""
        corner = np.zeros_like(direction)
        best = direction.argmax(axis=0)
        columns = np.arange(direction.shape[1])
        corner[best, columns] = np.where(direction[best, columns] > 0, self.scale, 0.0)
        return corner

    def support(self, direction: FloatArray) -> FloatArray:
        """Support function (K,) of the columns of ``direction`` (p, K)."""
        return np.asarray(self.scale * direction.max(axis=0).clip(min=0.0))

    def gauge(self, theta: FloatArray) -> FloatArray:
        """Σ θ_j/scale of each column of ``theta`` (p, K), infinite for a negative entry; (K,)."""
        return np.where((theta >= 0).all(axis=0), theta.sum(axis=0) / self.scale, np.inf)

    def chord(self, theta: FloatArray, direction: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Interval of t with θ + t·d in the simplex, for each column (p, K) of models in it."""
        room = np.vstack([theta, self.scale - theta.sum(axis=0)])
        return halfspace_chord(room, np.vstack([-direction, direction.sum(axis=0)]))

    def log_volume_bound(self, p: int) -> float:
        """Logarithm of the volume scale^p/p!."""
        return p * math.log(self.scale) - math.lgamma(p + 1)

    def uniform(self, p: int, size: int, rng: np.random.Generator) -> FloatArray:
        """Independent models (p, size): p of p + 1 exponential variables over their sum."""
        parts = rng.standard_exponential((p + 1, size))
        return np.asarray(self.scale * parts[:p] / parts.sum(axis=0))


def soft_threshold(magnitude: FloatArray, total: float) -> FloatArray:
    """Nearest nonnegative columns with sum at most ``total`` to nonnegative ones (p, K)."""
    falling = -np.sort(-magnitude, axis=0)
    counts = np.arange(1, len(magnitude) + 1)[:, None]
    shifts = (np.cumsum(falling, axis=0) - total) / counts
    kept = np.maximum((falling > shifts).sum(axis=0), 1)
    shift = np.maximum(shifts[kept - 1, np.arange(magnitude.shape[1])], 0.0)
    return np.asarray(np.maximum(magnitude - shift, 0.0))


@dataclass(frozen=True)
class L1Ball:
    """Models θ with Σ |θ_j| ≤ radius.

    Parameters
    ----------
    radius : float
        Largest sum of magnitudes, > 0; it is also the largest ‖θ‖.

    Raises
    ------
    ValueError
        If the radius is not a finite number above 0.

    Examples
    --------
    >>> L1Ball(1.0).project(np.array([[1.0], [-0.6]])).ravel().round(9).tolist()
    [0.7, -0.3]
    """

    radius: float

    def __post_init__(self) -> None:
        """Refuse a ball without inside."""
        check_positive(radius=self.radius)

    @property
    def dimension(self) -> None:
        """Any number of parameters."""
        return None

    @property
    def radius_bound(self) -> float:
        """Largest ‖θ‖: a corner's."""
        return self.radius

    @property
    def diameter(self) -> float:
        """Distance of opposite corners."""
        return 2 * self.radius

    def reach(self, row_bound: float) -> float:
        """Largest |z·θ| over models in the ball and rows with ‖z‖ ≤ row_bound."""
        return self.radius * row_bound

    def contains(self, theta: FloatArray) -> Mask:
        """Whether each column of ``theta`` (p, K) lies in the ball; shape (K,)."""
        return np.asarray(np.abs(theta).sum(axis=0) <= self.radius)

    def project(self, theta: FloatArray) -> FloatArray:
        """Nearest point of the ball to each column of ``theta`` (p, K)."""
        return np.asarray(np.copysign(soft_threshold(np.abs(theta), self.radius), theta))

    def extreme(self, direction: FloatArray) -> FloatArray:
        """Corner furthest along each column of ``direction`` (p, K)."""
        corner = np.zeros_like(direction)
        best = np.abs(direction).argmax(axis=0)
        columns = np.arange(direction.shape[1])
        corner[best, columns] = self.radius * np.sign(direction[best, columns])
        return corner

    def support(self, direction: FloatArray) -> FloatArray:
        """Radius times the largest magnitude of each column of ``direction`` (p, K); (K,)."""
        return np.asarray(self.radius * np.abs(direction).max(axis=0))

    def gauge(self, theta: FloatArray) -> FloatArray:
        """Σ |θ_j|/radius of each column of ``theta`` (p, K); shape (K,)."""
        return np.asarray(np.abs(theta).sum(axis=0) / self.radius)

    def chord(self, theta: FloatArray, direction: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Interval of t with θ + t·d in the ball, for each column (p, K) of models in the ball."""
        high = self._furthest(theta, direction)
        return -self._furthest(theta, -direction), high

    def log_volume_bound(self, p: int) -> float:
        """Logarithm of the volume (2·radius)^p/p!."""
        return p * math.log(2 * self.radius) - math.lgamma(p + 1)

    def uniform(self, p: int, size: int, rng: np.random.Generator) -> FloatArray:
        """Independent models (p, size): a uniform point of the solid simplex, with random signs."""
        parts = rng.standard_exponential((p + 1, size))
        signs = rng.choice([-1.0, 1.0], size=(p, size))
        return np.asarray(self.radius * signs * parts[:p] / parts.sum(axis=0))

    def _furthest(self, theta: FloatArray, direction: FloatArray) -> FloatArray:
        """Largest t with Σ |θ_j + t·d_j| ≤ radius, by Newton's method from outside."""
        speed = np.abs(direction).sum(axis=0)
        t = (self.radius + np.abs(theta).sum(axis=0)) / speed
        for _ in range(len(theta) + 1):
            point = theta + t * direction
            slope = inner(np.sign(point), direction)
            outside = np.abs(point).sum(axis=0) - self.radius
            step = np.where(slope > 0, outside / np.where(slope > 0, slope, 1.0), 0.0)
            if not (step > 0).any():
                break
            t = t - np.maximum(step, 0.0)
        return np.maximum(t, 0.0)
