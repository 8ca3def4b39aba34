"""What a record that is used with probability q leaves of a trade-off."""

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from rashomon_explorer.array_types import FloatArray
from rashomon_explorer.privacy.tradeoff.base import TradeOff
from rashomon_explorer.privacy.tradeoff.gaussian import Gaussian
from rashomon_explorer.privacy.tradeoff.tails import batches_renyi
from rashomon_explorer.validation import check_share


@dataclass(frozen=True)
class Subsampled(TradeOff):
    """C_q(f) = min{f_q, f_q⁻¹}**, f_q = q f + (1 − q) Id, for batches of fixed size q n.

    Dong, Roth and Su 2022, Definition 6; Definition 4.7 of Bok et al. 2024. The dual of a minimum
    is the maximum of the duals; with f_q's, q δ_f(log(1 + (e^ε − 1)/q)), above its inverse's for
    ε ≥ 0, that is all of it: exact wherever δ_f is.

    Parameters
    ----------
    of : TradeOff
        Symmetric f, that of the mechanism on the batch.
    rate : float
        q in [0, 1], batch size over n.

    Raises
    ------
    ValueError
        If ``rate`` is out of range.

    Examples
    --------
    >>> from rashomon_explorer.privacy.tradeoff import Gaussian
    >>> curve = Subsampled(Gaussian(1.0), 0.01)
    >>> round(curve.epsilon(1e-5), 4)
    0.1995
    """

    of: TradeOff
    rate: float
    kind: ClassVar[str] = "subsampled"

    def __post_init__(self) -> None:
        """Refuse a rate out of range."""
        check_share(rate=self.rate)
        object.__setattr__(self, "of", self.of.symmetrised())

    def _profile(self, epsilon: FloatArray) -> FloatArray:
        if self.rate == 0:
            return np.zeros_like(epsilon)
        # Beyond 50 the 1 and the −1 are below a double's digits, and e^ε could overflow.
        near = np.log1p(np.expm1(np.minimum(epsilon, 50.0)) / self.rate)
        inner = np.where(epsilon < 50.0, near, epsilon - np.log(self.rate))
        return self.rate * np.asarray(self.of.delta(inner))

    def renyi_bound(self, order: float) -> float:
        """D_a of a Gaussian mechanism on batches; that of f elsewhere."""
        if self.rate == 0:
            return 0.0
        if not isinstance(self.of, Gaussian) or self.of.mu in (0.0, math.inf):
            return self.of.renyi_bound(order)
        return batches_renyi(self.of.mu, self.rate, order)

    @property
    def relation(self) -> str:
        """That of f."""
        return self.of.relation

    @property
    def steady(self) -> bool:
        """Only without sampling: a rare loss weighs more at every order."""
        return self.of.steady and (self.rate in (0.0, 1.0) or not isinstance(self.of, Gaussian))

    @property
    def rho(self) -> float:
        """ρ of f, which C_q(f) ≥ f keeps."""
        return self.of.rho

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {"kind": self.kind, "of": self.of.to_dict(), "rate": self.rate}
