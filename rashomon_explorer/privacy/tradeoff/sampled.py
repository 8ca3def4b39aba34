"""Trade-off functions of Gaussian mechanisms on sampled rows."""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import gammaln, log_ndtr, logsumexp

from rashomon_explorer._utils.arrays import Delegated, FloatArray
from rashomon_explorer._utils.validation import check_count, check_positive, check_share
from rashomon_explorer.privacy.tradeoff import curves
from rashomon_explorer.privacy.tradeoff.composition import Composition

_NOTHING = 80.0  # −log of the bound on each error of the integral
_MOST_NODES = 2**20
_CELLS = 2**16
_LARGEST_ORDER = 2**22  # largest order for a binomial sum
_UP = 1 + 1e-11
_SMALL = 5e-3


def poisson_renyi(sigma: float, rate: float, first: int, second: int, order: float) -> float:
    """Bound on D_a of (1 − q)N(0, 1) + qN(±m, 1) and its neighbour, m = 1/σ, by trapezoid sums."""
    curves.check_order(order)
    excess, m = order - 1, 1 / sigma
    unsampled = order * ((first - second) * m) ** 2 / 2
    strip = 1 / math.hypot(1.0, math.sqrt(order) * m / 2)
    growth = strip**2 / 2 - excess * math.log(math.cos(m * strip / 2))
    step = 2 * math.pi * strip / (growth + _NOTHING)
    low = -m - math.sqrt(m**2 + 2 * _NOTHING)
    high = _end(order, m, rate)
    if not (high - low) / step < _MOST_NODES:
        return min(unsampled, _binomial_renyi(m, rate, order))
    x: FloatArray = low + step * np.arange(math.ceil((high - low) / step) + 1.0)
    lifts = [_log_lift(mean * m * x - m**2 / 2, mean, rate) for mean in (first, second)]
    near = _difference(x, m, rate, first, second)
    log_density = lifts[1] - x**2 / 2 - math.log(2 * math.pi) / 2
    terms = log_density + _log_bend(lifts[0] - lifts[1], near, order)
    total = float(logsumexp(terms)) + math.log(step)
    error = 4 * (1 + 2 * order) * math.exp(-_NOTHING)
    return min(unsampled, _UP * _log_one_plus(total, error) / excess)


def batches_renyi(mu: float, rate: float, order: float) -> float:
    """Bound on D_a of C_q(G(μ)), for batches of a fixed size, in both directions."""
    # With r = 1 − q + q·e^(μx − μ²/2), e^((a − 1)D_a) − 1 = ∫φ(x)(r^a − 1)(1 − r^(1 − a))dx over
    # x > μ/2 (docs/theory.md §4). The product of the last two factors is convex and φ decreases:
    # the mass of a cell times the mean of both ends is an upper bound.
    curves.check_order(order)
    excess = order - 1
    high = order * mu + math.sqrt(order * excess * mu**2 + 2 * _NOTHING)
    x = mu / 2 + (high - mu / 2) * (np.arange(_CELLS + 1) / _CELLS)
    exponent = mu * x - mu**2 / 2
    with np.errstate(divide="ignore"):  # at μ/2 the loss is 0 and its logarithm −∞
        near = np.log1p(rate * np.expm1(np.minimum(exponent, 1.0)))
        loss = np.maximum(np.where(exponent < 1, near, _log_lift(exponent, 1, rate)), 0.0)
        risen = order * loss
        bend = risen + np.log(-np.expm1(-risen)) + np.log(-np.expm1(-excess * loss))
    tail = log_ndtr(-x)
    mass = tail[:-1] + np.log(-np.expm1(np.diff(tail)))
    total = float(logsumexp(mass + np.logaddexp(bend[:-1], bend[1:]))) - math.log(2)
    return min(order * mu**2 / 2, _UP * _log_one_plus(total, math.exp(-_NOTHING)) / excess)


def _end(order: float, m: float, rate: float) -> float:
    """Point where the integrand's tail is below e^(−80)/2, by r ≤ e^(2mx) or Q ≥ (1 − q)φ."""
    centres = ((2 * order - 1) * m, 0.0), (order * m, -(order - 1) * math.log1p(-rate))
    return min(c + math.sqrt(c**2 + 2 * (more + _NOTHING)) for c, more in centres)


def _log_lift(exponent: FloatArray, mean: int, rate: float) -> FloatArray:
    """Logarithm of 1 − q + q·e^exponent, or 0 if the mean does not move."""
    if mean == 0:
        return np.zeros_like(exponent)
    rest = math.log1p(-rate) if rate < 1 else -math.inf
    return np.asarray(np.logaddexp(rest, math.log(rate) + exponent))


def _difference(x: FloatArray, m: float, rate: float, first: int, second: int) -> FloatArray:
    """Return r − 1 without cancellation for r near 1."""
    lifts = [
        np.expm1(np.minimum(mean * m * x - m**2 / 2, 50.0)) if mean else np.zeros_like(x)
        for mean in (first, second)
    ]
    return np.asarray(rate * (lifts[0] - lifts[1]) / (1 + rate * lifts[1]))


def _log_bend(log_ratio: FloatArray, near: FloatArray, order: float) -> FloatArray:
    """Upper bound on the logarithm of r^a − 1 − a(r − 1)."""
    excess = order - 1
    far = order * log_ratio > 40 + math.log(2 * order)
    inside = np.where(far, 0.0, log_ratio)
    t = np.where(np.abs(inside) > 0.1, np.expm1(inside), near)
    t = np.where(far, 0.0, t)
    direct = (1 + t) * np.expm1(excess * inside) - excess * t
    series = 1 + (order - 2) / 3 * t * (1 + (order - 3) / 4 * t * (1 + (order - 4) / 5 * t))
    series = np.where(order * np.abs(t) < _SMALL, order * excess / 2 * t**2 * series, direct)
    with np.errstate(divide="ignore"):  # where r = 1
        return np.asarray(np.where(far, order * log_ratio, np.log(np.maximum(series, 0.0))))


def _log_one_plus(log_value: float, more: float) -> float:
    """Return log(1 + e^value + more)."""
    if log_value > 30:
        return log_value + math.exp(-log_value) * (1 + more)
    return math.log1p(math.exp(log_value) + more)


def _binomial_renyi(m: float, rate: float, order: float) -> float:
    """Bound on D_a if a grid needs too many steps, by Q ≥ (1 − q)φ and the next integer order."""
    n = math.ceil(order)
    if n > _LARGEST_ORDER:
        return math.inf
    k = np.arange(n + 1.0)
    log_choices = gammaln(n + 1.0) - gammaln(k + 1) - gammaln(n - k + 1)
    rest = math.log1p(-rate)
    total = logsumexp(log_choices + (n - k) * rest + k * math.log(rate) + k * (k - 1) * m**2 / 2)
    off = 1e-15 * (n * math.log(n) + 100)  # rounding error of the logarithms of factorials
    return (_UP * max(0.0, float(total)) + off - (n - 1) * rest) / (n - 1)


# Means under the first and second distribution if the record is sampled, in units of its norm.
_PAIRS = {"replace": ((1, -1),), "add_or_remove": ((1, 0), (0, -1))}
_GRID = 2e-4  # grid of the losses of many steps; ε is then correct to about 10⁻⁴
_HUGE = 18.0  # above it arcsinh(e^x) equals x + log 2 in double precision


@dataclass(frozen=True)
class PoissonSampled(curves.TradeOff):
    """Sums with Gaussian noise over rows that are sampled with probability q, anew each time.

    With m = 1/σ, the worst neighbours of one such sum are

    - if one record is *replaced*, as everywhere in this package:
      (1 − q)N(0, 1) + qN(m, 1) and (1 − q)N(0, 1) + qN(−m, 1);
    - if one record is *added or removed*, the relation most accountants report, at a lower cost
      than replacement: (1 − q)N(0, 1) + qN(m, 1) and N(0, 1), in either order.

    Among all sets S with the same mass under N(0, 1), a half-line has the most mass under N(u, 1),
    ‖u‖ ≤ m, and the least under N(v, 1) with v on the other side. So no other records are worse
    (docs/composition.md). For one step δ(ε) has a closed form, with rounding added. For several
    steps, each order of the neighbours is composed separately: a numerical upper bound by the
    extra ``accounting``. For batches of a fixed size use :class:`Subsampled`.

    Parameters
    ----------
    sigma : float
        σ: standard deviation of the noise divided by the bound on the norm of a record.
    rate : float
        q in [0, 1].
    steps : int, default=1
        Number of such sums, each with its own sample.
    relation : {"replace", "add_or_remove"}, default="replace"
        Neighbour relation. A :class:`~rashomon_explorer.privacy.Guarantee` accepts only
        "replace", and curves of different relations do not compose.

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
    relation: str = curves.REPLACE
    kind: ClassVar[str] = "poisson"

    def __post_init__(self) -> None:
        check_positive(sigma=self.sigma)
        check_share(rate=self.rate)
        check_count(steps=self.steps)
        curves.check_relation(self.relation)

    def _profile(self, epsilon: FloatArray) -> FloatArray:
        if self.rate == 0:
            return np.zeros_like(epsilon)
        return np.asarray(np.max([curve.delta(epsilon) for curve in self._directions], axis=0))

    def epsilon(self, delta: float) -> float:
        """Upper bound on the least ε at δ, for either order of the neighbours."""
        return max(curve.epsilon(delta) for curve in self._directions) if self.rate else 0.0

    @cached_property
    def _directions(self) -> list[curves.TradeOff]:
        directions: list[curves.TradeOff] = [
            _Direction(self, *pair) for pair in _PAIRS[self.relation]
        ]
        if self.steps == 1:
            return directions
        return [Composition(((curve, self.steps),), _GRID) for curve in directions]

    def renyi(self, order: float) -> float:
        """Bound on D_a: a multiple of one step, as the neighbours are worst for any divergence."""
        if self.sublinear:
            return order * self.rho
        pairs = _PAIRS[self.relation]
        return self.steps * max(poisson_renyi(self.sigma, self.rate, *p, order) for p in pairs)

    @property
    def sublinear(self) -> bool:
        """Whether D_a/a decreases: only without sampling, as rare losses weigh more with order."""
        return self.rate in (0.0, 1.0)

    @property
    def rho(self) -> float:
        """ρ of the same sums over all rows, which is an upper bound with sampling."""
        distance = max(first - second for first, second in _PAIRS[self.relation])
        return self.steps * (distance / self.sigma) ** 2 / 2 if self.rate else 0.0


@dataclass(frozen=True)
class _Direction(curves.TradeOff):
    """One step and one order of the neighbours; the density ratio of first to second increases."""

    of: PoissonSampled
    first: int
    second: int

    def delta(self, epsilon: ArrayLike) -> FloatArray:
        """P(x > c) − e^ε Q(x > c) for any ε, where the ratio of the densities at c is e^ε."""
        epsilon = np.asarray(epsilon, dtype=float)
        with np.errstate(over="ignore", divide="ignore", invalid="ignore", under="ignore"):
            edge = self._edge(epsilon)
            log_first = self._log_above(edge, self.first)
            log_second = self._log_above(edge, self.second)
            lost = np.exp(np.minimum(epsilon + log_second, log_first))
            mass = np.exp(log_first)
            # Errors of the logarithms, of masses whose ratio is near e^ε, and of underflow.
            off = 1e-15 * (10 + np.abs(epsilon) + np.minimum(-log_first, 1e3)) * mass
            off = off + np.where(np.isinf(edge) & (edge > 0), 0.0, math.ulp(0.0))
        return np.clip(mass - lost + off, 0.0, 1.0)[()]

    _profile = delta

    def renyi(self, order: float) -> float:
        """Bound on D_a of the first distribution from the second."""
        return poisson_renyi(self.of.sigma, self.of.rate, self.first, self.second, order)

    relation = Delegated[str]("of.relation", "Neighbour relation of the curve of both orders.")

    def inverse(self) -> curves.TradeOff:
        """Swap the two distributions, and left and right, so that the ratio increases again."""
        return _Direction(self.of, -self.second, -self.first)

    def _edge(self, epsilon: FloatArray) -> FloatArray:
        """Point where the density ratio is e^ε, or an infinity."""
        rate, step = self.of.rate, 1 / self.of.sigma
        if self.second == 0:
            return step / 2 + _log_share(epsilon, rate) / step
        if self.first == 0:
            return -step / 2 - _log_share(-epsilon, rate) / step
        if rate == 1:
            return epsilon / (2 * step)
        # e^(mx) solves a quadratic equation; its root is an inverse hyperbolic sine in log scale.
        half = np.abs(epsilon) / 2
        log_sinh = half + np.log(-np.expm1(-2 * half)) - math.log(2)  # of ε/2
        size = log_sinh + math.log1p(-rate) - math.log(rate) + step**2 / 2
        risen = np.where(size > _HUGE, size + math.log(2), np.arcsinh(np.exp(np.minimum(size, 18))))
        return np.asarray((epsilon / 2 + np.sign(epsilon) * risen) / step)

    def _log_above(self, edge: FloatArray, mean: int) -> FloatArray:
        """Logarithm of the mass above the edge if a sampled record has this mean."""
        rest = math.log1p(-self.of.rate) if self.of.rate < 1 else -math.inf
        sampled = math.log(self.of.rate) + log_ndtr(mean / self.of.sigma - edge)
        return np.asarray(np.logaddexp(rest + log_ndtr(-edge), sampled))


def _log_share(epsilon: FloatArray, rate: float) -> FloatArray:
    """Return log((e^ε − 1 + q)/q), or −∞ where its argument is not positive."""
    near = np.log(np.maximum(np.expm1(np.minimum(epsilon, 50.0)) + rate, 0.0))
    return np.asarray(np.where(epsilon < 50.0, near, epsilon) - math.log(rate))


@dataclass(frozen=True)
class Subsampled(curves.TradeOff):
    """C_q(f) = min{f_q, f_q⁻¹}**, f_q = q f + (1 − q) Id, for batches of fixed size q n.

    Dong, Roth and Su 2022, Definition 6; Definition 4.7 of Bok et al. 2024. The dual of a minimum
    is the maximum of the duals. For ε ≥ 0 the dual of f_q, q δ_f(log(1 + (e^ε − 1)/q)), is above
    that of its inverse, so it is the result: exact where δ_f is exact.

    Parameters
    ----------
    of : TradeOff
        Symmetric f of the mechanism on the batch.
    rate : float
        q in [0, 1]: batch size divided by n.

    Examples
    --------
    >>> from rashomon_explorer.privacy.tradeoff import Gaussian
    >>> curve = Subsampled(Gaussian(1.0), 0.01)
    >>> round(curve.epsilon(1e-5), 4)
    0.1995
    """

    of: curves.TradeOff
    rate: float
    kind: ClassVar[str] = "subsampled"

    def __post_init__(self) -> None:
        check_share(rate=self.rate)

    def _profile(self, epsilon: FloatArray) -> FloatArray:
        if self.rate == 0:
            return np.zeros_like(epsilon)
        # Above 50 the 1 and the −1 vanish in double precision, and e^ε could overflow.
        near = np.log1p(np.expm1(np.minimum(epsilon, 50.0)) / self.rate)
        inner = np.where(epsilon < 50.0, near, epsilon - np.log(self.rate))
        return self.rate * np.asarray(self.of.delta(inner))

    def renyi(self, order: float) -> float:
        """Bound on D_a for a Gaussian mechanism on batches; the bound of f for other mechanisms."""
        if self.rate == 0:
            return 0.0
        if not isinstance(self.of, curves.Gaussian) or self.of.mu in (0.0, math.inf):
            return self.of.renyi(order)
        return batches_renyi(self.of.mu, self.rate, order)

    relation = Delegated[str]("of.relation", "Neighbour relation of f.")

    @property
    def sublinear(self) -> bool:
        """Whether D_a/a decreases: only without sampling, as rare losses weigh more with order."""
        return self.of.sublinear and (
            self.rate in (0.0, 1.0) or not isinstance(self.of, curves.Gaussian)
        )

    rho = Delegated[float]("of.rho", "ρ of f, which is also valid for C_q(f) ≥ f.")
