"""Law of a draw's excess loss: exact for cones and quadratics, worst case for convex losses."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import erfcx, gammaincc

from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer._utils.validation import check_count, check_nonnegative, check_positive
from rashomon_explorer.mechanisms.bounds.hit_rate import guaranteed_hit_rate

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
        return np.where(y <= x, inside, 1 - self._tail(np.maximum(y, x)))

    def _tail(self, y: FloatArray) -> FloatArray:
        """P(βe > y) = Q(a, y)/Q(a + 1, βψ) for y ≥ βψ, Q the upper incomplete gamma function."""
        x, a = self.beta * self.psi, self.shape
        inside_mass = gammaincc(a + 1, x)
        if inside_mass > _SMALLEST:
            return np.asarray(gammaincc(a, y) / inside_mass)
        beyond = np.array([1 / _hit_rate(self.twice_shape, value) - 1 for value in y.ravel()])
        return self.hit_rate * beyond.reshape(y.shape) * np.exp(a * np.log(y / x) - (y - x))


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
