"""Gaussian mechanisms on rows that are each taken with probability q."""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import log_ndtr

from rashomon_explorer.array_types import FloatArray
from rashomon_explorer.privacy.tradeoff.base import REPLACE, TradeOff, check_relation
from rashomon_explorer.privacy.tradeoff.composition import Composition
from rashomon_explorer.privacy.tradeoff.tails import poisson_renyi
from rashomon_explorer.validation import check_count, check_positive, check_share

# Where a sampled record puts the mean under the first law and under the second, in record norms.
_PAIRS = {
    "replace": ((1, -1),),
    "add_or_remove": ((1, 0), (0, -1)),
}
_GRID = 2e-4  # of the losses of many steps: ε is then right to about 10⁻⁴
_HUGE = 18.0  # beyond it arcsinh(e^x) is x + log 2 to a double's digits


@dataclass(frozen=True)
class PoissonSampled(TradeOff):
    """Sums with Gaussian noise over rows that are each taken with probability q, anew each time.

    With m = 1/σ, the worst neighbours of one such sum are

    - a record *replaced* by another, as everywhere in this package:
      (1 − q)N(0, 1) + qN(m, 1) and (1 − q)N(0, 1) + qN(−m, 1);
    - a record *added or removed*, which is what most accountants report and what a replaced record
      costs more than: (1 − q)N(0, 1) + qN(m, 1) and N(0, 1), in either order.

    Of all sets S with the same mass under N(0, 1) a half-line has most under N(u, 1), ‖u‖ ≤ m, and
    least under N(v, 1) with v on the other side, so that no other records do worse (docs/
    composition.md). For one step δ(ε) is in closed form, rounding added; for several each order of
    the neighbours is composed by itself, numerically and from above, by the extra ``accounting``.

    Batches of a fixed size have :class:`Subsampled`.

    Parameters
    ----------
    sigma : float
        σ: deviation of the noise over the bound of one record's norm.
    rate : float
        q in [0, 1].
    steps : int, default=1
        How many such sums, each with its own sample.
    relation : {"replace", "add_or_remove"}, default="replace"
        Which data sets are neighbours. A :class:`~rashomon_explorer.privacy.Guarantee` takes only
        "replace", and curves of different relations do not compose.

    Raises
    ------
    ValueError
        If a parameter is out of range.

    Examples
    --------
    >>> thousand = PoissonSampled(sigma=1.0, rate=0.01, steps=1000)
    >>> usual = PoissonSampled(sigma=1.0, rate=0.01, steps=1000, relation="add_or_remove")
    >>> round(thousand.epsilon(1e-5), 3), round(usual.epsilon(1e-5), 3)
    (2.843, 1.828)
    """

    sigma: float
    rate: float
    steps: int = 1
    relation: str = REPLACE
    kind: ClassVar[str] = "poisson"

    def __post_init__(self) -> None:
        """Refuse what is out of range."""
        check_positive(sigma=self.sigma)
        check_share(rate=self.rate)
        check_count(steps=self.steps)
        check_relation(self.relation)

    def _profile(self, epsilon: FloatArray) -> FloatArray:
        if self.rate == 0:
            return np.zeros_like(epsilon)
        return np.asarray(np.max([way.delta(epsilon) for way in self._ways], axis=0))

    @cached_property
    def _ways(self) -> list[TradeOff]:
        ways: list[TradeOff] = [_OneWay(self, *pair) for pair in _PAIRS[self.relation]]
        if self.steps == 1:
            return ways
        return [Composition(((way, self.steps),), _GRID) for way in ways]

    def renyi_bound(self, order: float) -> float:
        """Bound D_a by that of one step: the worst neighbours are, for every divergence."""
        if self.steady:
            return order * self.rho
        pairs = _PAIRS[self.relation]
        return self.steps * max(poisson_renyi(self.sigma, self.rate, *p, order) for p in pairs)

    @property
    def steady(self) -> bool:
        """Only without sampling: a rare loss weighs more at every order."""
        return self.rate in (0.0, 1.0)

    @property
    def rho(self) -> float:
        """ρ of the same sums over all rows, which sampling keeps."""
        apart = max(first - second for first, second in _PAIRS[self.relation])
        return self.steps * (apart / self.sigma) ** 2 / 2 if self.rate else 0.0

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "kind": self.kind,
            "sigma": self.sigma,
            "rate": self.rate,
            "steps": self.steps,
            "relation": self.relation,
        }


@dataclass(frozen=True)
class _OneWay(TradeOff):
    """One step and one order of the neighbours; the ratio of the first to the second rises."""

    of: PoissonSampled
    first: int
    second: int
    kind: ClassVar[str] = "poisson, one way"

    def delta(self, epsilon: ArrayLike) -> FloatArray:
        """P(x > c) − e^ε Q(x > c) for any ε, c where the densities' ratio is e^ε."""
        epsilon = np.asarray(epsilon, dtype=float)
        with np.errstate(over="ignore", divide="ignore", invalid="ignore", under="ignore"):
            edge = self._edge(epsilon)
            log_first = self._log_above(edge, self.first)
            log_second = self._log_above(edge, self.second)
            lost = np.exp(np.minimum(epsilon + log_second, log_first))
            mass = np.exp(log_first)
            # Of the logarithms, of a mass that is near e^ε times the other, and below all doubles.
            off = 1e-15 * (10 + np.abs(epsilon) + np.minimum(-log_first, 1e3)) * mass
            off = off + np.where(np.isinf(edge) & (edge > 0), 0.0, math.ulp(0.0))
        return np.clip(mass - lost + off, 0.0, 1.0)[()]

    def _profile(self, epsilon: FloatArray) -> FloatArray:
        return self.delta(epsilon)

    @property
    def relation(self) -> str:
        """That of the curve of both orders."""
        return self.of.relation

    def inverse(self) -> TradeOff:
        """Swap the two laws, and left and right, so that the ratio rises again."""
        return _OneWay(self.of, -self.second, -self.first)

    def _edge(self, epsilon: FloatArray) -> FloatArray:
        """Where the ratio is e^ε, or an infinity."""
        rate, step = self.of.rate, 1 / self.of.sigma
        if self.second == 0:
            return step / 2 + _log_share(epsilon, rate) / step
        if self.first == 0:
            return -step / 2 - _log_share(-epsilon, rate) / step
        if rate == 1:
            return epsilon / (2 * step)
        # e^(mx) solves a quadratic equation, whose root is an inverse hyperbolic sine in logs.
        half = np.abs(epsilon) / 2
        log_sinh = half + np.log(-np.expm1(-2 * half)) - math.log(2)  # of ε/2
        size = log_sinh + math.log1p(-rate) - math.log(rate) + step**2 / 2
        risen = np.where(size > _HUGE, size + math.log(2), np.arcsinh(np.exp(np.minimum(size, 18))))
        return np.asarray((epsilon / 2 + np.sign(epsilon) * risen) / step)

    def _log_above(self, edge: FloatArray, place: int) -> FloatArray:
        """Logarithm of the mass above the edge, with a sampled record at ``place``."""
        rest = math.log1p(-self.of.rate) if self.of.rate < 1 else -math.inf
        taken = math.log(self.of.rate) + log_ndtr(place / self.of.sigma - edge)
        return np.asarray(np.logaddexp(rest + log_ndtr(-edge), taken))

    def to_dict(self) -> dict[str, Any]:
        """Refuse: what is stored is the curve of both orders."""
        raise NotImplementedError("store the curve of both orders of the neighbours")


def _log_share(epsilon: FloatArray, rate: float) -> FloatArray:
    """log((e^ε − 1 + q)/q), −∞ where that is of nothing."""
    near = np.log(np.maximum(np.expm1(np.minimum(epsilon, 50.0)) + rate, 0.0))
    return np.asarray(np.where(epsilon < 50.0, near, epsilon) - math.log(rate))
