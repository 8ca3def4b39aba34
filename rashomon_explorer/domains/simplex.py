"""The solid simplex: nonnegative models of bounded sum."""

import math
from dataclasses import dataclass

import numpy as np

from rashomon_explorer.array_types import FloatArray, Mask
from rashomon_explorer.domains.base import halfspace_chord
from rashomon_explorer.validation import check_positive


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
    """Nearest nonnegative columns with sum at most ``total`` to nonnegative ones (p, K).

    Entries are lowered by a common amount and cut at 0 (Duchi, Shalev-Shwartz, Singer and
    Chandra, ICML 2008, Figure 1).

    Examples
    --------
    >>> soft_threshold(np.array([[3.0], [1.0]]), 1.0).ravel().tolist()
    [1.0, 0.0]
    """
    falling = -np.sort(-magnitude, axis=0)
    counts = np.arange(1, len(magnitude) + 1)[:, None]
    shifts = (np.cumsum(falling, axis=0) - total) / counts
    kept = np.maximum((falling > shifts).sum(axis=0), 1)
    shift = np.maximum(shifts[kept - 1, np.arange(magnitude.shape[1])], 0.0)
    return np.asarray(np.maximum(magnitude - shift, 0.0))
