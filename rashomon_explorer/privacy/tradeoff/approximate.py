"""The worst trade-off that (ε, δ)-DP leaves open."""

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from rashomon_explorer.array_types import FloatArray
from rashomon_explorer.privacy.tradeoff.base import TradeOff, check_order, type_one_errors
from rashomon_explorer.validation import check_nonnegative_or_infinite, check_share


@dataclass(frozen=True)
class Approximate(TradeOff):
    """f(α) = max{0, 1 − δ − e^ε α, e^(−ε)(1 − δ − α)}, exact; pure ε-DP at δ = 0.

    Wasserman and Zhou 2010; Dong, Roth and Su 2022, Proposition 2.5.

    Parameters
    ----------
    at : float
        ε ≥ 0.
    slack : float, default=0.0
        δ in [0, 1].

    Examples
    --------
    >>> curve = Approximate(1.0, 1e-6)
    >>> curve.epsilon(1e-6), curve.epsilon(0.0)
    (1.0, inf)
    """

    at: float
    slack: float = 0.0
    kind: ClassVar[str] = "approximate"

    def __post_init__(self) -> None:
        """Refuse numbers out of range."""
        check_nonnegative_or_infinite(at=self.at)
        check_share(slack=self.slack)

    def _profile(self, epsilon: FloatArray) -> FloatArray:
        # The corners of f are (0, 1 − δ), (a, a) and (1 − δ, 0); the first and second count here:
        # 1 − a(1 + e^ε) with a = (1 − δ)/(1 + e^ε₀).
        ratio = np.exp(np.minimum(epsilon - self.at, 0.0))
        small = math.exp(-self.at)
        inner = (1 - ratio + self.slack * (small + ratio)) / (1 + small)
        return np.maximum(self.slack, inner)

    def epsilon(self, delta: float) -> float:
        """Least ε ≥ 0 with δ(ε) ≤ ``delta``; never above ε₀ where δ is enough."""
        if delta < self.slack:
            return math.inf
        return min(self.at, super().epsilon(delta))

    def __call__(self, alpha: ArrayLike) -> FloatArray:
        """f(α), exactly."""
        alpha = type_one_errors(alpha)
        room = 1 - self.slack
        flat = math.exp(-self.at) * (room - alpha)
        with np.errstate(over="ignore", invalid="ignore"):
            steep = np.where(alpha > 0, room - np.exp(self.at) * alpha, room)  # e^ε·0, not ∞·0
        return np.maximum(0.0, np.maximum(steep, flat))[()]

    def renyi(self, order: float) -> float:
        """D_a of randomised response (Mironov 2017, Proposition 5) at δ = 0, else infinity."""
        check_order(order)
        if self.slack > 0:
            return math.inf
        both = np.logaddexp(order * self.at, (1 - order) * self.at)
        return float(both - np.logaddexp(self.at, 0.0)) / (order - 1)

    @property
    def rho(self) -> float:
        """ρ = ε²/2 at δ = 0 (Bun and Steinke 2016, Proposition 3.3), else infinity."""
        return self.at**2 / 2 if self.slack == 0 else math.inf

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {"kind": self.kind, "at": self.at, "slack": self.slack}


def pure_curve(epsilon: float) -> Approximate:
    """Worst trade-off of pure ε-DP, that of randomised response.

    Examples
    --------
    >>> round(float(pure_curve(1.0)(0.1)), 4)
    0.7282
    """
    return Approximate(epsilon)
