"""The worst trade-off that bounded range leaves open."""

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from rashomon_explorer.array_types import FloatArray
from rashomon_explorer.privacy.tradeoff.base import TradeOff, type_one_errors
from rashomon_explorer.validation import check_nonnegative_or_infinite


@dataclass(frozen=True)
class BoundedRange(TradeOff):
    """f(α) = (1 − α)/(1 + α(e^η − 1)), what log ratios in some interval of width η leave open.

    The worst pairs take two values, of log ratio t and t − η; the maximum of their δ(ε) over t is
    at t = (η + ε)/2 and equals (1 − e^((ε − η)/2))²/(1 − e^(−η)) (Dong, Durfee and Rogers 2020),
    whose dual is f. Exact for one draw, and above the trade-off of pure η-DP. Each pair touches f
    in one point only: a mechanism that is f-DP need not be η²/8-zCDP, as bounded range is (Cesar
    and Rogers 2021), so that many draws are better composed by
    :func:`~rashomon_explorer.privacy.bounded_range` than by f.

    Parameters
    ----------
    eta : float
        η ≥ 0.

    Examples
    --------
    >>> curve = BoundedRange(1.0)
    >>> round(float(curve(0.1)), 4), round(float(curve.delta(0.0)), 4), curve.rho
    (0.768, 0.2449, 0.5)
    """

    eta: float
    kind: ClassVar[str] = "bounded_range"

    def __post_init__(self) -> None:
        """Refuse a width that is negative or NaN."""
        check_nonnegative_or_infinite(eta=self.eta)

    def _profile(self, epsilon: FloatArray) -> FloatArray:
        if self.eta == 0:
            return np.zeros_like(epsilon)
        half = np.expm1(np.minimum(0.0, (epsilon - self.eta) / 2))
        return half**2 / -math.expm1(-self.eta)

    def __call__(self, alpha: ArrayLike) -> FloatArray:
        """f(α), exactly."""
        alpha = type_one_errors(alpha)
        small = math.exp(-self.eta)
        return (small * (1 - alpha) / (small + alpha * (1 - small)))[()]

    @property
    def rho(self) -> float:
        """ρ = η²/2, that of pure η-DP; η²/8 holds for the mechanism, not for all that is f-DP."""
        return self.eta**2 / 2

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {"kind": self.kind, "eta": self.eta}
