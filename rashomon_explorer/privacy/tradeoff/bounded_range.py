"""Trade-off functions of bounded-range mechanisms, single, repeated and adaptive."""

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import brentq
from scipy.special import betainc

from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer._utils.validation import (
    check_count,
    check_delta,
    check_nonnegative_or_infinite,
)
from rashomon_explorer.privacy.conversions import zcdp_epsilon
from rashomon_explorer.privacy.tradeoff.curves import TradeOff, envelope, type_one_errors


@dataclass(frozen=True)
class BoundedRange(TradeOff):
    """f(α) = (1 − α)/(1 + α(e^η − 1)): trade-off of log ratios in some interval of width η.

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


_MOST = 400  # mechanisms; the work grows with their square
_WIDEST = 600.0  # kη, so that e^(kη) is a double


@dataclass(frozen=True)
class AdaptiveBoundedRange(TradeOff):
    """Trade-off of k η-bounded-range mechanisms, each chosen after seeing the earlier results.

    Their number and η are fixed. An analyst who has ε left to lose at j mechanisms gets at most

        V_j(ε) = max over t of p(t) V_{j−1}(ε − t) + (1 − p(t)) V_{j−1}(ε − t + η),

    with V_0(ε) = max(0, 1 − e^ε) and p(t) the mass of log ratio t in the pair of t and t − η
    (Dong, Durfee and Rogers 2020; docs/composition.md); δ(ε) = V_k(ε). Each V_j is convex in
    e^ε, so that lines between the points of a grid are above it, and along two lines the maximum
    over t is in closed form: the result is an upper bound, ε less than a thousandth above the
    truth for up to 50 mechanisms and a hundredth for 400.

    Parameters
    ----------
    eta : float
        η ≥ 0 of one mechanism; kη at most 600.
    count : int
        k from 1 to 400.

    Raises
    ------
    ValueError
        If a number is out of range.

    Examples
    --------
    >>> curve = AdaptiveBoundedRange(0.5, 20)
    >>> round(curve.epsilon(1e-6), 2), curve.epsilon(0.0)
    (5.43, 10.0)
    """

    eta: float
    count: int
    kind: ClassVar[str] = "adaptive_bounded_range"

    def __post_init__(self) -> None:
        """Refuse what is out of range or too much work."""
        check_nonnegative_or_infinite(eta=self.eta)
        check_count(count=self.count)
        if self.count > _MOST:
            raise ValueError(f"count must be at most {_MOST}, got {self.count!r}")
        if not self.eta * self.count <= _WIDEST:
            raise ValueError(f"eta * count must be at most {_WIDEST}, got {self.eta * self.count}")

    def _profile(self, epsilon: FloatArray) -> FloatArray:
        grid, values = self._table
        if self.eta == 0:
            return np.zeros_like(epsilon)
        inside = np.interp(np.exp(np.minimum(epsilon, _WIDEST)), np.exp(grid), values)
        return np.where(epsilon >= self.count * self.eta, 0.0, inside)

    def epsilon(self, delta: float) -> float:
        """Least ε ≥ 0 with δ(ε) ≤ ``delta``, never above kη."""
        return min(super().epsilon(delta), self.count * self.eta)

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {"kind": self.kind, "eta": self.eta, "count": self.count}

    @cached_property
    def _table(self) -> tuple[FloatArray, FloatArray]:
        """ε from −kη to kη, and V_k from above."""
        cells = max(8, min(32, 1600 // self.count))
        half = self.count * cells
        # One η more on either side, for what the last step still asks for.
        steps = np.arange(-half - cells, half + cells + 1, dtype=float)
        grid: FloatArray = steps * (self.eta / cells)
        values: FloatArray = np.maximum(0.0, -np.expm1(grid))
        if self.eta > 0:
            for _ in range(self.count):
                values = _step(grid, values, cells, self.eta)
        return grid, np.minimum(1.0, values)


def _step(grid: FloatArray, values: FloatArray, cells: int, eta: float) -> FloatArray:
    """V_j from V_{j−1}, both above the truth."""
    s = np.exp(grid)
    slope = -np.diff(values) / np.diff(s)
    height = values[:-1] + slope * s[:-1]
    inner = np.arange(cells, len(grid) - cells)
    here, best = s[inner], np.maximum(0.0, -np.expm1(grid[inner]))
    for cell in range(cells):
        near, far = inner - cell - 1, inner - cell - 1 + cells
        a = height[near] - height[far]
        b = here * math.exp(eta) * (slope[near] - slope[far])
        top = np.sqrt(np.divide(np.maximum(b, 0.0), a, out=np.ones_like(a), where=a > 0))
        ratio = np.clip(top, math.exp(cell * eta / cells), math.exp((cell + 1) * eta / cells))
        first = np.clip(-np.expm1(np.log(ratio) - eta) / -math.expm1(-eta), 0.0, 1.0)
        lost, spared = here / ratio, here / ratio * math.exp(eta)
        line = height[near] - slope[near] * lost
        other = height[far] - slope[far] * spared
        best = np.maximum(best, first * line + (1 - first) * other)
    result = np.maximum(0.0, -np.expm1(grid))
    result[inner] = best * (1 + 1e-12) + 1e-15  # more than a step rounds
    return result


_WHOLE = 1000  # up to so many draws every test is tried; beyond, only those that may be best
_BLOCKS = 64
_LINES, _FEWER_LINES = 129, 65  # of an envelope; each is true, and more cost time


@dataclass(frozen=True)
class RepeatedBoundedRange(TradeOff):
    """Optimal trade-off of k independent η-bounded-range mechanisms.

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
        """All tests m that may be best, by branch and bound."""
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
