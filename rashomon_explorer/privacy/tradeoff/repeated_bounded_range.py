"""The worst trade-off of many independent draws of bounded range."""

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import brentq
from scipy.special import betainc

from rashomon_explorer.array_types import FloatArray
from rashomon_explorer.privacy.tradeoff.base import TradeOff, envelope
from rashomon_explorer.privacy.zcdp import zcdp_epsilon
from rashomon_explorer.validation import check_count, check_delta, check_nonnegative_or_infinite

_WHOLE = 1000  # up to so many draws every test is tried; beyond, only those that may be best
_BLOCKS = 64
_LINES, _FEWER_LINES = 129, 65  # of an envelope; each is true, and more cost time


@dataclass(frozen=True)
class RepeatedBoundedRange(TradeOff):
    """What k independent η-bounded-range mechanisms leave open, the optimum.

    The worst pairs are k coins whose log ratio is t or t − η, with one t for all. The test "at most
    m lower ones" has power minus e^ε times level

        F(m; k, x) − e^ε F(m; k, y),  x = (e^t − 1)/(e^η − 1),  y = e^(η − t) x,

    with F the distribution function of a binomial, which is largest at t = (ε + (m + 1)η)/(k + 1),
    and δ(ε) is the maximum over m < k (Dong, Durfee and Rogers 2020; docs/composition.md). Exact,
    and then raised by more than its rounding. It holds for mechanisms that were all chosen before
    any of them was run: who chooses as they go gets further.

    Parameters
    ----------
    eta : float
        η ≥ 0 of one draw.
    count : int
        k ≥ 1.

    Examples
    --------
    >>> curve = RepeatedBoundedRange(0.5, 20)
    >>> round(curve.epsilon(1e-6), 3), curve.epsilon(0.0)
    (5.393, 10.0)
    """

    eta: float
    count: int
    kind: ClassVar[str] = "repeated_bounded_range"

    def __post_init__(self) -> None:
        """Refuse a width that is negative or NaN, and a count that is none."""
        check_nonnegative_or_infinite(eta=self.eta)
        check_count(count=self.count)

    def _profile(self, epsilon: FloatArray) -> FloatArray:
        flat = [self._largest(float(e)) for e in np.ravel(epsilon)]
        return np.array(flat, dtype=float).reshape(np.shape(epsilon))

    def epsilon(self, delta: float) -> float:
        """Least ε ≥ 0 with δ(ε) ≤ ``delta``, from above; kη at ``delta`` = 0."""
        check_delta(delta)
        top = self.count * self.eta
        if delta == 0 or not math.isfinite(top):
            return top
        return _least(self, float(delta))

    def __call__(self, alpha: ArrayLike) -> FloatArray:
        """f(α), from below."""
        lines = _LINES if self.count <= _WHOLE else _FEWER_LINES
        epsilon = np.linspace(0.0, min(self.epsilon(1e-15), 100.0), lines)
        return envelope(alpha, epsilon, self._profile(epsilon))

    @property
    def rho_of_draws(self) -> float:
        """ρ = kη²/8 of the draws (Cesar and Rogers 2021); what is only f-DP may have more."""
        # Not η**2, which raises where a price overflows: an infinite one is true.
        return self.count * self.eta * self.eta / 8

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {"kind": self.kind, "eta": self.eta, "count": self.count}

    def _largest(self, epsilon: float) -> float:
        """δ at one ε ≥ 0."""
        eta, count = self.eta, self.count
        if epsilon >= count * eta:
            return 0.0
        if not math.isfinite(eta):
            return 1.0
        tests: FloatArray = np.arange(count, dtype=float)
        if count > _WHOLE:
            tests = self._promising(epsilon)
        upper = np.minimum((epsilon + (tests + 1) * eta) / (count + 1), eta)
        return min(1.0, float(_power(count, tests, upper - eta, upper, epsilon).max()))

    def _promising(self, epsilon: float) -> FloatArray:
        """All tests m that may be best, by branch and bound.

        Ratios in [t − η, t] with t from t₁ to t₂ are ratios in [t₁ − η, t₂], so that the worst
        pair of that range bounds a whole block of tests.
        """
        eta, count = self.eta, self.count
        edges = np.unique(np.linspace(0, count, _BLOCKS + 1).round())
        best = np.minimum((epsilon + (edges + 1) * eta) / (count + 1), eta)
        low, high = best[:-1] - eta, best[1:]
        last = np.ceil((count * high - epsilon) / (high - low)) - 1
        bounds = _power(count, np.clip(last, 0, count - 1), low, high, epsilon)
        inner = (edges[:-1] + edges[1:]) // 2
        middle = np.minimum((epsilon + (inner + 1) * eta) / (count + 1), eta)
        reached = float(_power(count, inner, middle - eta, middle, epsilon).max())
        kept = np.flatnonzero(bounds >= reached)
        if kept.size == 0:
            return inner
        blocks = [np.arange(edges[block], edges[block + 1]) for block in kept]
        return np.concatenate(blocks)


@lru_cache(maxsize=256)  # plans, their labels and a ledger ask for the same ones
def _least(curve: RepeatedBoundedRange, delta: float) -> float:
    """Root of δ(ε) = ``delta`` > 0, from above."""
    if curve._largest(0.0) <= delta:
        return 0.0
    top = min(curve.count * curve.eta, zcdp_epsilon(curve.rho_of_draws, delta))

    def excess(epsilon: float) -> float:
        return math.log(max(curve._largest(epsilon), 1e-320) / delta)

    if excess(top) >= 0:  # the two sums are as good, up to rounding
        return top
    root = brentq(excess, 0.0, top, xtol=1e-15 * top, rtol=1e-13)
    hair = 1e-13  # of ε: what the root may be off by, doubled until δ fits
    while curve._largest(root) > delta:
        root, hair = root * (1 + hair), 2 * hair
    return min(float(root), top)


def _power(
    count: int, tests: FloatArray, low: FloatArray, high: FloatArray, epsilon: float
) -> FloatArray:
    """F(m) under one law minus e^ε F(m) under the other, for log ratios ``low`` and ``high``."""
    first = np.expm1(low) / np.expm1(low - high)  # mass of the high ratio
    second = np.exp(-high) * first
    likely = betainc(count - tests, tests + 1.0, first)
    # e^ε that would overflow is held back, which can only raise δ.
    rare = betainc(count - tests, tests + 1.0, second) * math.exp(min(epsilon, 700.0))
    rounding = 1e-15 * (count + 1000)
    return np.asarray(likely * (1 + rounding) - rare * (1 - rounding))
