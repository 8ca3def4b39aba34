"""The L2 ball of models, centred at the origin."""

import math
from dataclasses import dataclass

import numpy as np

from rashomon_explorer.array_types import FloatArray, Mask
from rashomon_explorer.arrays import is_foreign, namespace
from rashomon_explorer.domains.base import inner
from rashomon_explorer.validation import check_positive


@dataclass(frozen=True)
class Ball:
    """Models θ with ‖θ‖ ≤ radius.

    Parameters
    ----------
    radius : float
        Radius, > 0.

    Raises
    ------
    ValueError
        If the radius is not a finite number above 0.

    Examples
    --------
    >>> Ball(2.5).project(np.array([[3.0], [4.0]])).ravel().tolist()
    [1.5, 2.0]
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
        """Largest ‖θ‖."""
        return self.radius

    @property
    def diameter(self) -> float:
        """Largest distance of two models."""
        return 2 * self.radius

    def reach(self, row_bound: float) -> float:
        """Largest |z·θ| over models in the ball and rows with ‖z‖ ≤ row_bound."""
        return self.radius * row_bound

    def contains(self, theta: FloatArray) -> Mask:
        """Whether each column of ``theta`` (p, K) lies in the ball; shape (K,)."""
        return np.asarray(inner(theta, theta) <= self.radius**2)

    def project(self, theta: FloatArray) -> FloatArray:
        """Nearest point of the ball to each column of ``theta`` (p, K)."""
        if is_foreign(theta):
            xp = namespace(theta)
            norm = xp.linalg.vector_norm(theta, axis=0)
            return theta * (self.radius / xp.maximum(norm, xp.ones_like(norm) * self.radius))
        norm = np.linalg.norm(theta, axis=0)
        return theta * (self.radius / np.maximum(norm, self.radius))

    def extreme(self, direction: FloatArray) -> FloatArray:
        """Point of the sphere along each column of ``direction`` (p, K); the centre for 0."""
        norm = np.linalg.norm(direction, axis=0)
        return direction * (self.radius / np.where(norm > 0, norm, np.inf))

    def support(self, direction: FloatArray) -> FloatArray:
        """Radius times the norm of each column of ``direction`` (p, K); shape (K,)."""
        return np.asarray(self.radius * np.linalg.norm(direction, axis=0))

    def gauge(self, theta: FloatArray) -> FloatArray:
        """‖θ‖/radius of each column of ``theta`` (p, K); shape (K,)."""
        return np.asarray(np.linalg.norm(theta, axis=0) / self.radius)

    def chord(self, theta: FloatArray, direction: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Interval of t with θ + t·d in the ball, for each column (p, K) of models in the ball.

        Returns
        -------
        low, high : ndarray of shape (K,)
            The two ends, low ≤ 0 ≤ high up to rounding.
        """
        a = inner(direction, direction)
        b = inner(theta, direction)
        c = inner(theta, theta) - self.radius**2
        root = np.sqrt(np.maximum(b * b - a * c, 0.0))
        return (-b - root) / a, (-b + root) / a

    def log_volume_bound(self, p: int) -> float:
        """Logarithm of the volume π^{p/2} radius^p / Γ(p/2 + 1).

        Examples
        --------
        >>> round(math.exp(Ball(2.0).log_volume_bound(2)) / math.pi, 9)
        4.0
        """
        return p / 2 * math.log(math.pi) - math.lgamma(p / 2 + 1) + p * math.log(self.radius)

    def uniform(self, p: int, size: int, rng: np.random.Generator) -> FloatArray:
        """Independent models (p, size): a uniform direction, and radius·U^{1/p}."""
        direction = rng.standard_normal((p, size))
        length = self.radius * rng.random(size) ** (1 / p)
        return np.asarray(direction * (length / np.linalg.norm(direction, axis=0)))
