"""The trade-off of two normal laws with means μ apart."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import erfcx, ndtr, ndtri

from rashomon_explorer.array_types import FloatArray
from rashomon_explorer.privacy.gaussian import gdp_epsilon
from rashomon_explorer.privacy.tradeoff.base import TradeOff, check_order, type_one_errors
from rashomon_explorer.validation import check_delta, check_nonnegative_or_infinite


@dataclass(frozen=True)
class Gaussian(TradeOff):
    """G(μ): α ↦ Φ(Φ⁻¹(1 − α) − μ), the trade-off of N(0, 1) and N(μ, 1).

    Dong, Roth and Su 2022, Definition 2.6 and Corollary 2.13; exact.

    Parameters
    ----------
    mu : float
        μ ≥ 0; at 0 the two laws are the same, f(α) = 1 − α.

    Examples
    --------
    >>> curve = Gaussian(1.0)
    >>> round(float(curve(0.05)), 4), round(curve.epsilon(1e-5), 4), curve.rho
    (0.7405, 4.3772, 0.5)
    """

    mu: float
    kind: ClassVar[str] = "gaussian"

    def __post_init__(self) -> None:
        """Refuse a μ that is negative or NaN."""
        check_nonnegative_or_infinite(mu=self.mu)

    def _profile(self, epsilon: FloatArray) -> FloatArray:
        if self.mu == 0:
            return np.zeros_like(epsilon)
        if not np.isfinite(self.mu):
            return np.ones_like(epsilon)
        # As in gdp_delta: both terms share the factor φ(near), so that nothing overflows.
        near, far = epsilon / self.mu - self.mu / 2, epsilon / self.mu + self.mu / 2
        with np.errstate(under="ignore"):
            shared = np.exp(-near * near / 2) / 2
            scaled = shared * erfcx(np.maximum(near, 0.0) / np.sqrt(2))
            above = np.where(near > 0, scaled, ndtr(-near))
            return np.asarray(np.maximum(0.0, above - shared * erfcx(far / np.sqrt(2))))

    def epsilon(self, delta: float) -> float:
        """Least ε ≥ 0 with δ(ε) ≤ ``delta``; see :func:`gdp_epsilon`."""
        check_delta(delta)
        return gdp_epsilon(self.mu, delta)

    def __call__(self, alpha: ArrayLike) -> FloatArray:
        """f(α), exactly."""
        return np.asarray(ndtr(-ndtri(type_one_errors(alpha)) - self.mu))[()]

    def renyi(self, order: float) -> float:
        """D_a = a μ²/2."""
        check_order(order)
        return order * self.rho

    @property
    def rho(self) -> float:
        """ρ = μ²/2."""
        return self.mu**2 / 2

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {"kind": self.kind, "mu": self.mu}
