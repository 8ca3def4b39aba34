"""Trade-off functions in closed form: of Gaussians, bounded range and objective perturbation."""

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from functools import cached_property, lru_cache
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import brentq
from scipy.special import betainc, erfc, gammaln, ndtr, ndtri

from rashomon_explorer._utils import validation
from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer._utils.bisection import bisect
from rashomon_explorer.privacy import conversions

_NEGLIGIBLE = 1e-18  # δ below which an envelope needs no further line
_LINES = 4001
REPLACE = "replace"
"""Neighbours differ in one record, which is replaced; this is the package-wide relation."""
RELATIONS = (REPLACE, "add_or_remove")


class TradeOff(ABC):
    """Least type II error f(α) of any test between neighbours at type I error α.

    A mechanism is f-DP if no test does better (Dong, Roth and Su 2022, Definition 2.3). The curve
    is represented by its dual, the privacy profile

        δ(ε) = 1 + f*(−e^ε) = max over α of 1 − f(α) − e^ε α

    (their Proposition 2.12). Values that are not exact err towards less privacy: f from below, δ
    and ε from above. Curves are symmetric, f = f⁻¹, unless their class states otherwise.
    """

    kind: ClassVar[str]
    notion: ClassVar[str] = "f-DP"
    """Text that names the notion in which the curve was proved."""

    @property
    def relation(self) -> str:
        """Neighbour relation: "replace" or "add_or_remove" one record."""
        return REPLACE

    @abstractmethod
    def _profile(self, epsilon: FloatArray) -> FloatArray:
        """Return δ(ε) for ε ≥ 0."""

    def to_dict(self) -> dict[str, Any]:
        """Return plain values from which :func:`from_dict` creates the curve."""
        parameters = {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]
        return {"kind": self.kind, **_plain(parameters)}

    def delta(self, epsilon: ArrayLike) -> FloatArray:
        """Return δ(ε) for any real ε; by symmetry δ(−ε) = 1 − e^(−ε) (1 − δ(ε))."""
        epsilon = np.asarray(epsilon, dtype=float)
        size = np.abs(epsilon)
        above = np.clip(self._profile(size), 0.0, 1.0)
        below = -np.expm1(-size) + np.exp(-size) * above
        return np.where(epsilon < 0, below, above)[()]

    def epsilon(self, delta: float) -> float:
        """Upper bound on the least ε ≥ 0 with δ(ε) ≤ ``delta``; infinity if there is none."""
        validation.check_delta(delta)
        if self.delta(0.0) <= delta:
            return 0.0
        low, high = 0.0, 1.0
        while self.delta(high) > delta:
            low, high = high, 2 * high
            if high > 1e9:
                return math.inf
        return bisect(lambda epsilon: bool(self.delta(epsilon) <= delta), high, low, halvings=80)

    def __call__(self, alpha: ArrayLike) -> FloatArray:
        """Lower bound on f(α), never above 1 − α."""
        top = min(self.epsilon(_NEGLIGIBLE), 100.0)
        epsilon = np.linspace(0.0, top, _LINES)
        return envelope(alpha, epsilon, np.atleast_1d(self.delta(epsilon)))

    def renyi(self, order: float) -> float:
        """Proved upper bound on the Rényi divergence D_a, a > 1; infinity if nothing is proved.

        A profile δ(ε) proves a bound only if its tail does, which never holds for curves that add
        rounding errors. Classes with a bound other than aρ override this method.
        """
        check_order(order)
        return order * self.rho

    @property
    def sublinear(self) -> bool:
        """Whether the bounds D_a/a of :meth:`renyi` decrease in the order, as with aρ."""
        return True

    @property
    def rho(self) -> float:
        """ρ of zero-concentrated DP if it is known, otherwise infinity."""
        return math.inf

    def inverse(self) -> "TradeOff":
        """Return f⁻¹, the trade-off function with the two neighbours swapped."""
        return self


def envelope(alpha: ArrayLike, epsilon: FloatArray, delta: FloatArray) -> FloatArray:
    """Max over (ε, δ) of {1 − δ − e^ε α, e^(−ε)(1 − δ − α), 0} (Dong et al. 2022, Prop. 2.12)."""
    alpha = type_one_errors(alpha)
    result = np.empty(alpha.size)
    for i, level in enumerate(alpha.ravel()):  # by line: a table of α by ε can be huge
        steep = 1 - delta - np.exp(epsilon) * level
        flat = np.exp(-epsilon) * (1 - delta - level)
        result[i] = max(0.0, float(steep.max()), float(flat.max()))
    return np.minimum(result.reshape(alpha.shape), 1 - alpha)[()]


def type_one_errors(alpha: ArrayLike) -> FloatArray:
    """Return α as an array; raise a ValueError outside [0, 1]."""
    levels = np.asarray(alpha, dtype=float)
    strange = ~((levels >= 0) & (levels <= 1))
    if strange.any():
        raise ValueError(f"alpha must be in [0, 1], got {levels[strange].flat[0]:g}")
    return levels


def shared_relation(curves: Iterable[TradeOff]) -> str:
    """Neighbour relation of all curves; "replace" if there are no curves."""
    relations = sorted({curve.relation for curve in curves})
    if len(relations) > 1:
        raise ValueError(
            "trade-off functions with different neighbour relations do not compose, got "
            f"{relations}: use one relation for all. A Gaussian mechanism for a record that is "
            "added or removed is PoissonSampled(sigma, 1.0, relation='add_or_remove')"
        )
    return relations[0] if relations else REPLACE


def check_relation(relation: str) -> None:
    """Raise a ValueError if the neighbour relation is unknown."""
    if relation not in RELATIONS:
        raise ValueError(f"relation must be one of {sorted(RELATIONS)}, got {relation!r}")


def check_order(order: float) -> None:
    """Raise a ValueError if the Rényi order is not above 1."""
    if not order > 1:
        raise ValueError(f"order must be > 1, got {order!r}")


def from_dict(values: Mapping[str, Any]) -> TradeOff:
    """Create a curve from the values of its ``to_dict``; a ValueError names an unknown kind."""
    kinds = {curve.kind: curve for curve in TradeOff.__subclasses__() if hasattr(curve, "kind")}
    parameters = dict(values)
    kind = parameters.pop("kind", None)
    if kind not in kinds:
        raise ValueError(f"kind must be a known trade-off, got {kind!r}")
    return kinds[kind](**{name: _restored(value) for name, value in parameters.items()})


def _plain(value: Any) -> Any:
    if isinstance(value, TradeOff):
        return value.to_dict()
    if isinstance(value, dict):
        return {name: _plain(item) for name, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, tuple) else value


def _restored(value: Any) -> Any:
    if isinstance(value, Mapping):
        return from_dict(value)
    return tuple(map(_restored, value)) if isinstance(value, list | tuple) else value


@dataclass(frozen=True)
class Approximate(TradeOff):
    """f(α) = max{0, 1 − δ − e^ε α, e^(−ε)(1 − δ − α)}, exact; pure ε-DP if δ = 0.

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
        validation.check_nonnegative_or_infinite(at=self.at)
        validation.check_share(slack=self.slack)

    def _profile(self, epsilon: FloatArray) -> FloatArray:
        # The corners of f are (0, 1 − δ), (a, a) and (1 − δ, 0). Only the first two count here:
        # 1 − a(1 + e^ε) with a = (1 − δ)/(1 + e^ε₀).
        ratio = np.exp(np.minimum(epsilon - self.at, 0.0))
        small = math.exp(-self.at)
        inner = (1 - ratio + self.slack * (small + ratio)) / (1 + small)
        return np.maximum(self.slack, inner)

    def epsilon(self, delta: float) -> float:
        """Least ε ≥ 0 with δ(ε) ≤ ``delta``; at most ε₀ if ``delta`` is at least δ."""
        if delta < self.slack:
            return math.inf
        return min(self.at, super().epsilon(delta))

    def __call__(self, alpha: ArrayLike) -> FloatArray:
        """Return f(α), exactly."""
        alpha = type_one_errors(alpha)
        room = 1 - self.slack
        flat = math.exp(-self.at) * (room - alpha)
        with np.errstate(over="ignore", invalid="ignore"):
            steep = np.where(alpha > 0, room - np.exp(self.at) * alpha, room)  # e^ε·0, not ∞·0
        return np.maximum(0.0, np.maximum(steep, flat))[()]

    @property
    def rho(self) -> float:
        """ρ = ε²/2 if δ = 0 (Bun and Steinke 2016, Proposition 3.3), else infinity."""
        return self.at**2 / 2 if self.slack == 0 else math.inf


@dataclass(frozen=True)
class Gaussian(TradeOff):
    """G(μ): α ↦ Φ(Φ⁻¹(1 − α) − μ), the trade-off function of N(0, 1) and N(μ, 1).

    Dong, Roth and Su 2022, Definition 2.6 and Corollary 2.13; exact.

    Parameters
    ----------
    mu : float
        μ ≥ 0; if μ = 0 the two distributions are equal and f(α) = 1 − α.

    Examples
    --------
    >>> curve = Gaussian(1.0)
    >>> round(float(curve(0.05)), 4), round(curve.epsilon(1e-5), 4), curve.rho
    (0.7405, 4.3772, 0.5)
    """

    mu: float
    kind: ClassVar[str] = "gaussian"

    def __post_init__(self) -> None:
        validation.check_nonnegative_or_infinite(mu=self.mu)

    def _profile(self, epsilon: FloatArray) -> FloatArray:
        if self.mu == 0:
            return np.zeros_like(epsilon)
        if not np.isfinite(self.mu):
            return np.ones_like(epsilon)
        with np.errstate(under="ignore"):
            return np.asarray(
                np.maximum(0.0, conversions.gaussian_profile(self.mu, epsilon, np.exp))
            )

    def epsilon(self, delta: float) -> float:
        """Least ε ≥ 0 with δ(ε) ≤ ``delta``; see :func:`gdp_epsilon`."""
        validation.check_delta(delta)
        return conversions.gdp_epsilon(self.mu, delta)

    def __call__(self, alpha: ArrayLike) -> FloatArray:
        """Return f(α), exactly."""
        return np.asarray(ndtr(-ndtri(type_one_errors(alpha)) - self.mu))[()]

    @property
    def rho(self) -> float:
        """ρ = μ²/2."""
        return self.mu**2 / 2


_UP = 1 + 1e-12
_AT_ONCE = 256  # number of ε for which all orders are tried in one array


@dataclass(frozen=True)
class GaussianObjectivePerturbation(TradeOff):
    """Minimisers of mean loss + ½m‖θ‖² + b·θ, b ~ N(0, σ²I), by their Rényi divergences.

    For θ from either table the privacy loss is at most J + u²/2 + ½u(‖X‖ + ‖Y‖). X and Y are the
    parts of b/σ along the two records: standard normal, with one dimension per score of a row. For
    losses that are monotone in their one score, positive parts replace the lengths. By the
    Cauchy–Schwarz inequality

        D_a ≤ J + a u²/2 + log g((a − 1)u)/(a − 1),   g(t) = e^(−t²/2)·E e^(t‖X‖)

    (docs/theory.md §15). For monotone losses g is Φ(t) + ½e^(−t²/2), which is at most 1.15. At
    every order the bound is slightly above the divergence of a Gaussian mechanism. It is no zCDP,
    because it does not vanish at orders next to 1.

    Parameters
    ----------
    ratio : float
        u = 2S/(nσ).
    jump : float
        J, change in the log determinant of b ↦ θ.
    monotone : bool
        Whether the loss of a row is monotone in its score.
    outputs : int, default=1
        Number of scores of a row.
    draws : int, default=1
        Number of such minimisers, each with its own b.
    mu : float, default=0.0
        μ of all Gaussian mechanisms composed with them, such as the one that hides solver error.

    Examples
    --------
    >>> curve = GaussianObjectivePerturbation(ratio=0.2, jump=0.01, monotone=True)
    >>> round(curve.renyi(20.0), 4), round(curve.epsilon(1e-6), 3), round(20 * 0.2**2 / 2, 4)
    (0.41, 0.91, 0.4)
    """

    ratio: float
    jump: float
    monotone: bool
    outputs: int = 1
    draws: int = 1
    mu: float = 0.0
    kind: ClassVar[str] = "gaussian_tilt"
    notion: ClassVar[str] = "Rényi DP"

    def __post_init__(self) -> None:
        validation.check_nonnegative(ratio=self.ratio, jump=self.jump, mu=self.mu)
        validation.check_count(outputs=self.outputs, draws=self.draws)

    def renyi(self, order: float) -> float:
        """Upper bound on D_a as above, in closed form."""
        check_order(order)
        return float(self._divergences(order, order - 1, _FLOATS))

    def repeated(self, draws: int) -> "GaussianObjectivePerturbation":
        """Curve of several copies of the minimisers, with everything composed with them."""
        return replace(self, draws=draws * self.draws, mu=math.sqrt(draws) * self.mu)

    def compose_gaussian(self, mu: float) -> "GaussianObjectivePerturbation":
        """Compose the curve with another Gaussian mechanism."""
        return replace(self, mu=math.hypot(self.mu, mu))

    def epsilon(self, delta: float) -> float:
        """Least ε ≥ 0 that any order proves at δ."""
        return conversions.renyi_epsilon(conversions.ORDERS, self._order_divergences, delta)

    def _profile(self, epsilon: FloatArray) -> FloatArray:
        flat = np.ravel(epsilon)
        log_delta = np.empty(len(flat))
        for start in range(0, len(flat), _AT_ONCE):
            part = slice(start, start + _AT_ONCE)
            gaps = self._order_divergences[:, None] - flat[part]
            exponents = conversions.EXCESS[:, None] * gaps + conversions.OFFSET[:, None]
            log_delta[part] = exponents.min(axis=0)
        return np.exp(np.minimum(0.0, log_delta)).reshape(np.shape(epsilon))

    @cached_property
    def _order_divergences(self) -> FloatArray:
        orders, excess = conversions.ORDERS, conversions.EXCESS
        return np.asarray(self._divergences(orders, excess, _ARRAYS))

    def _divergences(self, order: Any, excess: Any, xp: SimpleNamespace) -> Any:
        """Bound at one order or at an array of orders, and each order minus 1."""
        t = excess * self.ratio
        if self.outputs > 1:
            share = _log_length_share(np.asarray(t), self.outputs)
        else:
            side = xp.erfc(-t / math.sqrt(2)) / 2
            share = xp.log(side + xp.exp(-t * t / 2) / 2 if self.monotone else 2 * side)
        one_draw = self.jump + order * self.ratio**2 / 2 + xp.maximum(0.0, share) / excess
        return _UP * (self.draws * one_draw + order * self.mu**2 / 2)


# A planner needs thousands of values at one order, which floats give ten times as fast.
_FLOATS = SimpleNamespace(erfc=math.erfc, exp=math.exp, log=math.log, maximum=max)
_ARRAYS = SimpleNamespace(erfc=erfc, exp=np.exp, log=np.log, maximum=np.maximum)


def _log_length_share(t: FloatArray, dimensions: int) -> FloatArray:
    """Log of e^(−t²/2)·E e^(t‖X‖), X standard normal in two or more dimensions, t ≥ 0."""
    # Division by max(t, 1)^k avoids overflow.
    size = np.maximum(t, 1.0)
    lower = ndtr(t)
    moment = (t * lower + np.exp(-t * t / 2) / math.sqrt(2 * math.pi)) / size
    for k in range(2, dimensions):
        lower, moment = moment, t / size * moment + (k - 1) / size**2 * lower
    scale = (1 - dimensions / 2) * math.log(2) + math.log(2 * math.pi) / 2 - gammaln(dimensions / 2)
    return np.asarray(np.log(moment) + (dimensions - 1) * np.log(size) + scale)


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
    top = min(curve.count * curve.eta, conversions.zcdp_epsilon(curve.rho_of_draws, delta))

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
