"""The L1 ball of models: few coefficients far from 0."""

import math
from dataclasses import dataclass

import numpy as np

from rashomon_explorer.array_types import FloatArray, Mask
from rashomon_explorer.domains.base import inner
from rashomon_explorer.domains.simplex import soft_threshold
from rashomon_explorer.validation import check_positive


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
        """Largest t with Σ |θ_j + t·d_j| ≤ radius, by Newton's method from outside.

        The sum is convex and piecewise linear in t, so that the steps only shrink t and end on
        the root after at most one a piece.
        """
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
