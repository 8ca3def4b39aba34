"""Trade-off functions of bounded-range mechanisms, single and repeated."""

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import brentq
from scipy.special import betainc

from rashomon_explorer._utils import validation
from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer.privacy.conversions import zcdp_epsilon
from rashomon_explorer.privacy.tradeoff.curves import TradeOff, envelope, type_one_errors


@dataclass(frozen=True)
class BoundedRange(TradeOff):
    """f(α) = (1 − α)/(1 + α(e^η − 1)): trade-off if all log ratios lie in an interval of width η.

    The worst pairs take two values, with log ratios t and t − η. The maximum of their δ(ε) over t
    is at t = (η + ε)/2 and equals (1 − e^((ε − η)/2))²/(1 − e^(−η)) (Dong, Durfee and Rogers 2020);
    f is its dual. f is exact for one draw, and above the trade-off of pure η-DP. Each pair touches
    f in only one point. A mechanism that is f-DP need not be η²/8-zCDP, as bounded range is (Cesar
    and Rogers 2021). For many draws, :func:`~rashomon_explorer.privacy.bounded_range` therefore
    composes better than f.

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
        validation.check_nonnegative_or_infinite(eta=self.eta)

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
        """ρ = η²/2, that of pure η-DP; η²/8 holds for the mechanism, not for every f-DP one."""
        return self.eta**2 / 2


# Up to this many draws all tests are tried; above, only those that may be best.
_MOST_EXHAUSTIVE = 1000
_BLOCKS = 64
_LINES, _FEWER_LINES = 129, 65  # lines of an envelope; each is a valid bound


@dataclass(frozen=True)
class RepeatedBoundedRange(TradeOff):
    """Optimal trade-off of k independent η-bounded-range mechanisms.

    The worst pairs are k coins whose log ratio is t or t − η, with one t for all. The test "at most
    m of the lower ratio" has power minus e^ε times level

        F(m; k, x) − e^ε F(m; k, y),  x = (e^t − 1)/(e^η − 1),  y = e^(η − t) x,

    where F is the distribution function of a binomial. It is largest at t = (ε + (m + 1)η)/(k + 1),
    and δ(ε) is the maximum over m < k (Dong, Durfee and Rogers 2020; docs/composition.md). The
    result is exact, then raised by more than its rounding error. It holds only if all mechanisms
    are chosen before any of them runs; adaptive choices can reveal more.

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
        validation.check_nonnegative_or_infinite(eta=self.eta)
        validation.check_count(count=self.count)

    def _profile(self, epsilon: FloatArray) -> FloatArray:
        flat = [self._largest_delta(float(e)) for e in np.ravel(epsilon)]
        return np.array(flat, dtype=float).reshape(np.shape(epsilon))

    def epsilon(self, delta: float) -> float:
        """Upper bound on the least ε ≥ 0 with δ(ε) ≤ ``delta``; kη at ``delta`` = 0."""
        validation.check_delta(delta)
        top = self.count * self.eta
        if delta == 0 or not math.isfinite(top):
            return top
        return _least_epsilon(self, float(delta))

    def __call__(self, alpha: ArrayLike) -> FloatArray:
        """Lower bound on f(α)."""
        lines = _LINES if self.count <= _MOST_EXHAUSTIVE else _FEWER_LINES
        epsilon = np.linspace(0.0, min(self.epsilon(1e-15), 100.0), lines)
        return envelope(alpha, epsilon, self._profile(epsilon))

    @property
    def rho_of_draws(self) -> float:
        """ρ = kη²/8 of the draws (Cesar and Rogers 2021); an f-DP mechanism may have more."""
        # Not η**2, which raises an error on overflow; an infinite value is valid here.
        return self.count * self.eta * self.eta / 8

    def _largest_delta(self, epsilon: float) -> float:
        eta, count = self.eta, self.count
        if epsilon >= count * eta:
            return 0.0
        if not math.isfinite(eta):
            return 1.0
        tests: FloatArray = np.arange(count, dtype=float)
        if count > _MOST_EXHAUSTIVE:
            tests = self._candidate_tests(epsilon)
        upper = np.minimum((epsilon + (tests + 1) * eta) / (count + 1), eta)
        return min(1.0, float(_power(count, tests, upper - eta, upper, epsilon).max()))

    def _candidate_tests(self, epsilon: float) -> FloatArray:
        """All tests m that may be optimal, found by branch and bound."""
        eta, count = self.eta, self.count
        edges = np.unique(np.linspace(0, count, _BLOCKS + 1).round())
        best = np.minimum((epsilon + (edges + 1) * eta) / (count + 1), eta)
        low, high = best[:-1] - eta, best[1:]
        last = np.ceil((count * high - epsilon) / (high - low)) - 1
        bounds = _power(count, np.clip(last, 0, count - 1), low, high, epsilon)
        inner = (edges[:-1] + edges[1:]) // 2
        middle = np.minimum((epsilon + (inner + 1) * eta) / (count + 1), eta)
        reached = float(_power(count, inner, middle - eta, middle, epsilon).max())
        kept_blocks = np.flatnonzero(bounds >= reached)
        if kept_blocks.size == 0:
            return inner
        blocks = [np.arange(edges[block], edges[block + 1]) for block in kept_blocks]
        return np.concatenate(blocks)


@lru_cache(maxsize=256)  # plans, their labels and a ledger need the same values
def _least_epsilon(curve: RepeatedBoundedRange, delta: float) -> float:
    """Upper bound on the root of δ(ε) = ``delta`` > 0."""
    if curve._largest_delta(0.0) <= delta:
        return 0.0
    top = min(curve.count * curve.eta, zcdp_epsilon(curve.rho_of_draws, delta))

    def excess(epsilon: float) -> float:
        return math.log(max(curve._largest_delta(epsilon), 1e-320) / delta)

    if excess(top) >= 0:  # the two bounds are equal, up to rounding
        return top
    root = brentq(excess, 0.0, top, xtol=1e-15 * top, rtol=1e-13)
    hair = 1e-13  # relative to ε: step that raises the root, doubled until δ is not exceeded
    while curve._largest_delta(root) > delta:
        root, hair = root * (1 + hair), 2 * hair
    return min(float(root), top)


def _power(
    count: int, tests: FloatArray, low: FloatArray, high: FloatArray, epsilon: float
) -> FloatArray:
    """F(m) of one distribution minus e^ε F(m) of the other, for log ratios ``low`` and ``high``."""
    first = np.expm1(low) / np.expm1(low - high)  # mass of the high ratio
    second = np.exp(-high) * first
    likely = betainc(count - tests, tests + 1.0, first)
    # e^ε is capped to avoid overflow, which can only raise δ.
    rare = betainc(count - tests, tests + 1.0, second) * math.exp(min(epsilon, 700.0))
    rounding = 1e-15 * (count + 1000)
    return np.asarray(likely * (1 + rounding) - rare * (1 - rounding))
