"""Balls and ellipsoids that hold a whole Rashomon set, and what a tangent cuts off them."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from rashomon_explorer.array_types import FloatArray


class Reach(Protocol):
    """A bounded set around the level set."""

    @property
    def radius(self) -> float:
        """Largest ‖θ‖ that a model may have; infinite if none is refused for its length."""
        ...

    def least_bound(
        self, direction: FloatArray, gradient: FloatArray, room: FloatArray
    ) -> FloatArray:
        """Least over λ ≥ 0 of λ·room + max over the set of (a − λg)·(ϑ − θ*), shape (K,)."""
        ...


@dataclass(frozen=True)
class BallReach:
    """Models with ‖θ‖ ≤ radius, a constraint of the problem or of a ball around its domain."""

    radius: float
    centre: FloatArray  # (p,): θ*, which extents are measured from

    def least_bound(
        self, direction: FloatArray, gradient: FloatArray, room: FloatArray
    ) -> FloatArray:
        """Least of λ(room + g·θ*) + R‖a − λg‖ − a·θ*, shape (K,)."""
        bound = least_tilted_norm(direction, gradient, room + self.centre @ gradient, self.radius)
        return np.asarray(bound - self.centre @ direction)


@dataclass(frozen=True)
class EllipsoidReach:
    """Models θ* + W u with ‖u‖ ≤ extent, known to hold the level set; it constrains nothing.

    Parameters
    ----------
    whiten : ndarray of shape (p, p)
        W.
    extent : float
    """

    whiten: FloatArray
    extent: float

    @property
    def radius(self) -> float:
        """Infinite: no model is refused for its length."""
        return np.inf

    def least_bound(
        self, direction: FloatArray, gradient: FloatArray, room: FloatArray
    ) -> FloatArray:
        """Least of λ·room + extent·‖Wᵀ(a − λg)‖, shape (K,)."""
        a, g = self.whiten.T @ direction, self.whiten.T @ gradient
        return least_tilted_norm(a, g, room, self.extent)


def least_tilted_norm(a: FloatArray, g: FloatArray, price: FloatArray, radius: float) -> FloatArray:
    """Least over λ ≥ 0 of λ·price + radius·‖a − λg‖, shape (K,), for columns a, g of (p, K).

    With λ₀ = a·g/‖g‖² and d the distance of a from the line of g, ‖a − λg‖² = d² +
    (λ − λ₀)²‖g‖²: a hyperbola in λ, whose slope is −price at
    λ₀ − d·price/(‖g‖√(radius²‖g‖² − price²)), if there is such a place.

    Examples
    --------
    >>> one = np.array([[1.0]])
    >>> least_tilted_norm(one, 2 * one, np.array([0.5]), 3.0).tolist()
    [0.25]
    """
    square = np.maximum(np.einsum("ij,ij->j", g, g), 1e-300)
    best = np.einsum("ij,ij->j", a, g) / square
    away = np.linalg.norm(a - best * g, axis=0)
    rest = radius**2 * square - price**2
    with np.errstate(divide="ignore", invalid="ignore"):
        shift = away * price / np.sqrt(square * np.maximum(rest, 0.0))
    multiplier = np.where(rest > 0, best - shift, 0.0)
    multiplier = np.where(np.isfinite(multiplier), np.maximum(multiplier, 0.0), 0.0)
    return np.asarray(multiplier * price + radius * np.linalg.norm(a - multiplier * g, axis=0))
