"""Hit rates and excess loss of exact draws, and their number of proposals."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import erfcx, gammainc, gammaincc, gammaincinv, logsumexp

from rashomon_explorer._utils import validation
from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer._utils.bisection import bisect
from rashomon_explorer._utils.validation import check_count, check_nonnegative, check_positive


def guaranteed_hit_rate(p: int, beta: float, psi: float) -> float:
    """Lower bound on the probability that a draw lies in the Rashomon set, for convex losses.

    [Σ_{j=0..p} p!/(p−j)! (βψ)^{−j}]⁻¹ ≥ 1 − p/(βψ): the cone has the least mass near its tip
    (own derivation, docs/theory.md §2; Theorem D.6 of Ganesh et al. 2023 needs p²).

    Parameters
    ----------
    p, beta, psi
        Number of parameters, inverse temperature and Rashomon threshold.

    Examples
    --------
    >>> round(guaranteed_hit_rate(p=1, beta=10.0, psi=1.0), 4)
    0.9091
    """
    x = float(beta * psi)  # a NumPy number would warn of terms that overflow, where the rate is 0
    if x <= 0:
        return 0.0
    total = term = 1.0
    for j in range(1, p + 1):
        term *= (p - j + 1) / x
        total += term
        if total > 1e300:
            return 0.0
    return 1 / total


def unthresholded_hit_rate(p: int, beta: float, psi: float) -> float:
    """Lower bound P(p, βψ), of a Gamma law, on a hit by a draw at ψ = 0 (docs/theory.md §2)."""
    return float(gammainc(p, beta * psi))


def beta_for_unthresholded_hit_rate(p: int, psi: float, hit_rate: float) -> float:
    """Least inverse temperature at which :func:`unthresholded_hit_rate` reaches ``hit_rate``."""
    beta = float(gammaincinv(p, hit_rate)) / psi
    while unthresholded_hit_rate(p, beta, psi) < hit_rate:  # an ulp short
        beta *= 1 + 1e-12
    return beta


def beta_for_hit_rate(p: int, psi: float, hit_rate: float) -> float:
    """Least inverse temperature at which :func:`guaranteed_hit_rate` reaches ``hit_rate``."""
    validation.check_count(p=p)
    if not (math.isfinite(psi) and psi > 0):
        raise ValueError(f"psi must be finite and > 0 for a guaranteed hit rate, got {psi!r}")
    validation.check_inner_share(hit_rate=hit_rate)
    high = p / (1 - hit_rate)  # 1 − p/x is a lower bound on the guaranteed hit rate
    while not guaranteed_hit_rate(p, high, 1.0) >= hit_rate:  # an ulp short
        high *= 1 + 1e-12
    high = bisect(lambda x: guaranteed_hit_rate(p, x, 1.0) >= hit_rate, high, 0.0, halvings=100)
    beta = high / psi
    while guaranteed_hit_rate(p, beta, psi) < hit_rate:
        beta = math.nextafter(beta, math.inf)
    return beta


_CELLS = 4096
_LARGEST_LOG = 700.0


def hit_probability(*, p: int, beta: float, psi: float, width: float = 0.0) -> float:
    """Lower bound on the probability that a draw lies in the Rashomon set.

    For the hard threshold [Σ_{j=0..p} p!/(p−j)!·(βψ)^{−j}]⁻¹ ≥ 1 − p/(βψ), attained by a cone
    (:func:`rashomon_explorer.mechanisms.guaranteed_hit_rate`, docs/theory.md §2). For the
    smooth one of width s the same argument on each ray gives [1 + A]⁻¹ with the mass outside

        A = p ∫₀^∞ (1 + v/ψ)^{p−1} exp(−β φ_s(v)) dv/ψ,

    bounded above by a sum over cells up to v = s, and exact beyond.
    """
    validation.check_count(p=p)
    validation.check_positive(beta=beta)
    validation.check_nonnegative(psi=psi, width=width)
    if psi == 0 or width == 0:
        return guaranteed_hit_rate(p, beta, psi)
    beyond = np.linspace(0, width, _CELLS + 1)
    growth = p * np.log1p(beyond / psi)
    # Each cell: its exact volume, times the density at its near end, where it is largest.
    volume = growth[1:] + np.log(-np.expm1(growth[:-1] - growth[1:]))
    log_outside = float(logsumexp(volume - beta * beyond[:-1] ** 2 / (2 * width)))
    share = guaranteed_hit_rate(p, beta, psi + width)
    if share == 0:
        return 0.0
    log_linear = p * np.log1p(width / psi) - beta * width / 2 + np.log(1 / share - 1)
    log_outside = float(np.logaddexp(log_outside, log_linear))
    return float(1 / (1 + np.exp(log_outside))) if log_outside < _LARGEST_LOG else 0.0


def hit_probability_from_excess(*, p: int, beta: float, psi: float) -> float:
    """Lower bound on the hit probability by the published argument, for comparison.

    Theorem D.6 of Ganesh, Thakurta and Upadhyay (2023): 1 − φ − pγ/ψ if the excess is at most
    ψ + γ with probability 1 − φ. Here φ = P(Gamma(p) > βγ), because β·(L − min L − ψ)⁺ is
    stochastically at most Gamma(p) for every convex loss, and γ is the best of a grid, each of
    which is valid. It needs βψ ≫ p² where :func:`hit_probability` needs βψ ≫ p.
    """
    validation.check_count(p=p)
    validation.check_positive(beta=beta)
    validation.check_nonnegative(psi=psi)
    if psi == 0:
        return 0.0
    gamma = psi / p * np.linspace(0, 1, _CELLS)
    bounds = 1 - gammaincc(p, beta * gamma) - p * gamma / psi
    return max(0.0, float(bounds.max()))


_STEPS = 4000
_COLDEST = 60.0  # a mass of e⁻⁶⁰ lies beyond
_ROUNDING = 1e-9  # far above the rounding error of four thousand terms


def least_acceptance(p: int, beta: float, psi: float, spread: float) -> float:
    """Lower bound on the probability that a proposal becomes a draw, for a convex loss.

    A proposal of the uniform law on the domain is accepted with probability
    E exp(−β(excess − ψ)₊) ≥ p ∫₀¹ tᵖ⁻¹ exp(−β(t·spread − ψ)₊) dt, because the models of excess at
    most t·spread include the domain shrunk by t towards the minimiser. A proposal of less mass is
    accepted more often (docs/theory.md §3). The integral is bounded by a lower sum. ``spread`` is a
    public upper bound on max − min of the loss over the domain, > 0.
    """
    if psi >= spread:
        return 1.0
    top = spread if beta == 0 else min(spread, psi + _COLDEST / beta)
    # The sum counts no mass beyond the last level.
    levels = np.linspace(psi, top, _STEPS + 1)
    shares = (levels / spread) ** p
    total = shares[0] + float(np.diff(shares) @ np.exp(-beta * (levels[1:] - psi)))
    return float(min(1.0, max(0.0, total)) * (1 - _ROUNDING))


def giving_up_probability(acceptance: float, patience: int, n_draws: int) -> float:
    """Upper bound n_draws·(1 − a)^patience on the probability of giving up before the last draw."""
    if acceptance >= 1:
        return 0.0
    bound = n_draws * math.exp(patience * math.log1p(-acceptance))
    return min(1.0, bound * (1 + _ROUNDING * (1 + patience * acceptance)))


def enough_patience(acceptance: float, n_draws: int, failure: float) -> int:
    """Least patience for which the probability of giving up is at most ``failure``."""
    validation.check_inner_share(acceptance=acceptance, failure=failure)
    patience = max(1, math.ceil(math.log(n_draws / failure) / -math.log1p(-acceptance)))
    while giving_up_probability(acceptance, patience, n_draws) > failure:
        patience += max(1, patience // 10**6)
    return patience


_SMALLEST = 1e-280  # below it the incomplete gamma function loses digits


@dataclass(frozen=True)
class ExcessLaw:
    """Law of e = L(θ) − min L with density ∝ e^{a−1} exp(−β·max{e, ψ}) on e ≥ 0."""

    twice_shape: int
    beta: float
    psi: float

    def __post_init__(self) -> None:
        check_count(twice_shape=self.twice_shape)
        check_positive(beta=self.beta)
        check_nonnegative(psi=self.psi)

    @property
    def shape(self) -> float:
        """Exponent a: the excess loss of a ball of models grows as its volume to the power 1/a."""
        return self.twice_shape / 2

    @property
    def hit_rate(self) -> float:
        """Probability of e ≤ ψ: x^a e^{−x}/(x^a e^{−x} + a·Γ(a, x)) with x = βψ."""
        return _hit_rate(self.twice_shape, self.beta * self.psi)

    @property
    def mean(self) -> float:
        """Mean of e: a/β + ψ·a/(a + 1)·P(e ≤ ψ), by parts (docs/theory.md §8)."""
        a = self.shape
        return a / self.beta + self.psi * a / (a + 1) * self.hit_rate

    def cdf(self, excess: ArrayLike) -> FloatArray:
        """Probability that e is at most ``excess``; same shape."""
        y = self.beta * np.maximum(np.asarray(excess, dtype=float), 0.0)
        x, a = self.beta * self.psi, self.shape
        inside = self.hit_rate * (np.minimum(y, x) / x) ** a if x > 0 else np.zeros_like(y)
        above = np.maximum(y, x)
        # P(βe > y) = Q(a, y)/Q(a + 1, βψ) for y ≥ βψ, Q the upper incomplete gamma function.
        mass = gammaincc(a + 1, x)
        if mass > _SMALLEST:
            return np.where(y <= x, inside, 1 - gammaincc(a, above) / mass)
        beyond = np.array([1 / _hit_rate(self.twice_shape, value) - 1 for value in above.ravel()])
        decay = np.exp(a * np.log(above / x) - (above - x))
        return np.where(y <= x, inside, 1 - self.hit_rate * beyond.reshape(y.shape) * decay)


def convex_law(*, p: int, beta: float, psi: float = 0.0) -> ExcessLaw:
    """Law that is stochastically at least the excess loss of a draw, for any convex loss.

    It is the law of a cone, L = ‖θ‖ (own derivation). Along a ray from the minimiser the radius
    r(e) at excess e is concave with r(0) = 0, and e has density ∝ r(e)^{p−1} r'(e)
    exp(−β·max{e, ψ}). Relative to the cone's, that density is (r/e)^{p−1} r', which does not
    increase: the monotone likelihood ratio puts every ray's law below the cone's, also where the
    domain cuts the ray off, and a mixture of laws below a law is below it. Hence P(e ≤ t) is at
    least ``cdf(t)`` for every t, and the mean excess at most ``mean`` = p/β + ψ·p/(p+1)·P(e ≤ ψ),
    which is less than the p/β + ψ of Theorem 2.4 of Ganesh, Thakurta and Upadhyay (2023).
    """
    check_count(p=p)
    return ExcessLaw(twice_shape=2 * p, beta=beta, psi=psi)


def quadratic_law(*, p: int, beta: float, psi: float = 0.0) -> ExcessLaw:
    """Exact law of the excess loss for a quadratic loss of full rank on all of ℝᵖ."""
    check_count(p=p)
    return ExcessLaw(twice_shape=p, beta=beta, psi=psi)


def _hit_rate(twice_shape: int, x: float) -> float:
    """x^a e^{−x}/(x^a e^{−x} + a·Γ(a, x)), without underflow where x is large."""
    if twice_shape % 2 == 0:
        return guaranteed_hit_rate(twice_shape // 2, 1.0, x)
    if x <= 0:
        return 0.0
    # 1 + a·u(a), u(a) = Γ(a, x) eˣ x^{−a}, from a = ½ up: integration by parts, all terms > 0.
    total = 1 + 0.5 * math.sqrt(math.pi / x) * float(erfcx(math.sqrt(x)))
    for doubled in range(3, twice_shape + 1, 2):
        total = 1 + doubled / 2 * total / x
        if total > 1e300:
            return 0.0
    return 1 / total
