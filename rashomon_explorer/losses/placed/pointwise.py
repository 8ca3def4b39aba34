"""Losses of one score, written for any namespace of the array API."""

import math
from dataclasses import dataclass
from typing import Any, Protocol

from rashomon_explorer.losses.clipped_slope import ClippedSlope
from rashomon_explorer.losses.placed.rows import GROUP

# exp of so much stays far from the overflow at 88 in float32, 709 in float64.
_SAFE_EXPONENT = {"float32": 80.0, "float64": 600.0}


class Pointwise(Protocol):
    """A loss f of one score, for scores (K, m) of K models and m rows."""

    @property
    def at_zero(self) -> float:
        """f(0), the loss of a row of zeros."""
        ...

    @property
    def bend(self) -> float:
        """Largest f'', infinite with a kink."""
        ...

    def losses(self, xp: Any, scores: Any) -> Any:
        """Return the sums (K,) of f."""
        ...

    def losses_and_slopes(self, xp: Any, scores: Any) -> tuple[Any, Any]:
        """Return the sums (K,) of f, and f' (K, m)."""
        ...

    def curvature(self, xp: Any, scores: Any) -> Any:
        """Return f'', same shape."""
        ...


@dataclass(frozen=True)
class Softplus:
    """log(1 + eᵃ), for scores of any size."""

    at_zero: float = math.log(2)
    bend: float = 0.25

    def losses(self, xp: Any, scores: Any) -> Any:
        """Add up log(1 + eᵃ)."""
        return self.losses_and_slopes(xp, scores)[0]

    def losses_and_slopes(self, xp: Any, scores: Any) -> tuple[Any, Any]:
        """Add up log(1 + eᵃ); and σ(a)."""
        small = xp.exp(-xp.abs(scores))
        zeros = xp.zeros_like(scores)
        total = xp.sum(xp.maximum(scores, zeros) + xp.log1p(small), axis=-1)
        return total, xp.where(scores < 0, small, xp.ones_like(scores)) / (1 + small)

    def curvature(self, xp: Any, scores: Any) -> Any:
        """σ(1 − σ)."""
        small = xp.exp(-xp.abs(scores))
        return small / ((1 + small) * (1 + small))


@dataclass(frozen=True)
class BoundedSoftplus(Softplus):
    """log(1 + eᵃ) with one logarithm for 16 rows, for scores of which no product overflows."""

    @classmethod
    def within(cls, reach: float, dtype: str) -> Softplus:
        """Return this form where scores up to ``reach`` allow it, else the one for any score."""
        return cls() if GROUP * (reach + 1) <= _SAFE_EXPONENT[dtype] else Softplus()

    def losses_and_slopes(self, xp: Any, scores: Any) -> tuple[Any, Any]:
        """Logarithms of products of sixteen 1 + eᵃ, and 1 − 1/(1 + eᵃ)."""
        factors = 1 + xp.exp(scores)
        models, rows = scores.shape
        products = xp.prod(xp.reshape(factors, (models, rows // GROUP, GROUP)), axis=-1)
        return xp.sum(xp.log(products), axis=-1), 1 - 1 / factors


@dataclass(frozen=True)
class Clipped:
    """f(a) = max_{low ≤ α ≤ high} αa − ½·smoothing·α²: hinge, smoothed hinge, absolute, pinball."""

    shape: ClippedSlope
    at_zero: float = 0.0

    @property
    def bend(self) -> float:
        """1/smoothing."""
        return 1 / self.shape.smoothing if self.shape.smoothing else math.inf

    def losses(self, xp: Any, scores: Any) -> Any:
        """Add up f."""
        return self.losses_and_slopes(xp, scores)[0]

    def losses_and_slopes(self, xp: Any, scores: Any) -> tuple[Any, Any]:
        """Add up f; and f', at a kink the subgradient 0."""
        shape = self.shape
        if shape.smoothing:
            slopes = xp.clip(scores / shape.smoothing, shape.low, shape.high)
            return xp.sum(slopes * (scores - shape.smoothing / 2 * slopes), axis=-1), slopes
        zeros, ones = xp.zeros_like(scores), xp.ones_like(scores)
        below = xp.where(scores < 0, ones * shape.low, zeros)
        slopes = xp.where(scores > 0, ones * shape.high, below)
        return xp.sum(slopes * scores, axis=-1), slopes

    def curvature(self, xp: Any, scores: Any) -> Any:
        """1/smoothing within the parabola's zone, 0 outside it and with a kink."""
        zeros, shape = xp.zeros_like(scores), self.shape
        if not shape.smoothing:
            return zeros
        share = scores / shape.smoothing
        inside = (share > shape.low) & (share < shape.high)
        return xp.where(inside, xp.ones_like(scores) / shape.smoothing, zeros)
