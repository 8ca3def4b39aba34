"""The L2 ball of models, centred at the origin."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]


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
        if not (np.isfinite(self.radius) and self.radius > 0):
            raise ValueError(f"radius must be finite and > 0, got {self.radius!r}")

    @property
    def diameter(self) -> float:
        """Largest distance of two models."""
        return 2 * self.radius

    def reach(self, row_bound: float) -> float:
        """Largest |z·θ| over models in the ball and rows with ‖z‖ ≤ row_bound."""
        return self.radius * row_bound

    def contains(self, theta: FloatArray) -> NDArray[np.bool_]:
        """Whether each column of ``theta`` (p, K) lies in the ball; shape (K,)."""
        return np.asarray(np.einsum("ij,ij->j", theta, theta) <= self.radius**2)

    def project(self, theta: FloatArray) -> FloatArray:
        """Nearest point of the ball to each column of ``theta`` (p, K)."""
        norm = np.linalg.norm(theta, axis=0)
        return theta * (self.radius / np.maximum(norm, self.radius))

    def chord(self, theta: FloatArray, direction: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Interval of t with θ + t·d in the ball, for each column (p, K) of models in the ball.

        Returns
        -------
        low, high : ndarray of shape (K,)
        """
        a = np.einsum("ij,ij->j", direction, direction)
        b = np.einsum("ij,ij->j", theta, direction)
        c = np.einsum("ij,ij->j", theta, theta) - self.radius**2
        root = np.sqrt(np.maximum(b * b - a * c, 0.0))
        return (-b - root) / a, (-b + root) / a
