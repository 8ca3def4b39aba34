"""The trade-off of two Laplace laws with centres θ scales apart."""

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from rashomon_explorer.array_types import FloatArray
from rashomon_explorer.privacy.tradeoff.base import TradeOff, check_order, type_one_errors
from rashomon_explorer.validation import check_delta, check_nonnegative_or_infinite


@dataclass(frozen=True)
class Laplace(TradeOff):
    """The trade-off of Lap(0, 1) and Lap(θ, 1), exact.

    f(α) = 1 − e^θ α below α = e^(−θ)/2, then e^(−θ)/(4α) up to 1/2, then e^(−θ)(1 − α) (Dong, Roth
    and Su 2022, Lemma A.6); δ(ε) = 1 − e^((ε − θ)/2) for 0 ≤ ε ≤ θ.

    Parameters
    ----------
    shift : float
        θ ≥ 0: sensitivity over scale, the ε of pure DP.

    Examples
    --------
    >>> curve = Laplace(1.0)
    >>> round(float(curve(0.25)), 4), curve.epsilon(0.0)
    (0.3679, 1.0)
    """

    shift: float
    kind: ClassVar[str] = "laplace"

    def __post_init__(self) -> None:
        """Refuse a shift that is negative or NaN."""
        check_nonnegative_or_infinite(shift=self.shift)

    def _profile(self, epsilon: FloatArray) -> FloatArray:
        return -np.expm1(np.minimum(0.0, (epsilon - self.shift) / 2))

    def __call__(self, alpha: ArrayLike) -> FloatArray:
        """f(α), exactly."""
        alpha = type_one_errors(alpha)
        small = math.exp(-self.shift)
        middle = small / (4 * np.maximum(alpha, small / 2))
        steep = 1 - alpha / small
        upper = np.where(alpha > 0.5, small * (1 - alpha), middle)
        return np.where(alpha < small / 2, steep, upper)[()]

    def epsilon(self, delta: float) -> float:
        """ε = θ + 2 log(1 − δ), at least 0."""
        check_delta(delta)
        epsilon = self.shift + 2 * math.log1p(-delta)
        return min(self.shift, max(0.0, epsilon * (1 + 1e-15)))  # a hair up, for rounding

    def renyi(self, order: float) -> float:
        """D_a = log[(a e^((a−1)θ) + (a − 1) e^(−aθ))/(2a − 1)]/(a − 1) (Mironov 2017)."""
        check_order(order)
        first = math.log(order) + (order - 1) * self.shift
        second = math.log(order - 1) - order * self.shift
        return float(np.logaddexp(first, second) - math.log(2 * order - 1)) / (order - 1)

    @property
    def rho(self) -> float:
        """ρ = θ²/2, as of any pure DP."""
        return self.shift**2 / 2

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {"kind": self.kind, "shift": self.shift}
