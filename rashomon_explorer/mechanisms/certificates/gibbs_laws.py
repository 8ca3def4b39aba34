"""A thresholded Gibbs law in public numbers, and theorems on exact draws from it."""

import math
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from scipy.optimize import brentq
from scipy.special import gammainccinv, gammaln

from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer._utils.validation import check_count, check_nonnegative, check_positive
from rashomon_explorer.mechanisms.certificates import sensitivity
from rashomon_explorer.mechanisms.certificates.base import Certificate, refused
from rashomon_explorer.privacy import Guarantee, gdp, repeated_bounded_range, zcdp
from rashomon_explorer.privacy.conversions import bounded_range_mu
from rashomon_explorer.privacy.guarantee import ADJACENCY
from rashomon_explorer.problem.constants import Constants
from rashomon_explorer.problem.domains import Domain

# Name, title and source of each certificate.
_OSCILLATION = (
    "oscillation",
    "the losses of neighbours differ by a small range",
    "Theorem 2.1 of Ganesh et al. 2023; Cesar and Rogers 2021, Lemma 3.5",
)
_GAUSSIAN = (
    "gaussian_gibbs",
    "strongly convex laws are as hard to distinguish as two normal laws",
    "Gopi, Lee and Liu 2022 (Corollary 5.2 of Bok, Su and Altschuler 2024); with a threshold: own "
    "derivation, docs/certificates.md",
)
_ISOPERIMETRY = (
    "isoperimetry",
    "a log-Sobolev inequality concentrates the privacy loss",
    "Theorem 2.7 of Ganesh et al. 2023, with Herbst's argument and explicit constants "
    "(docs/certificates.md)",
)
_CONVEX_BODY = (
    "convex_body",
    "a convex law on a bounded domain, as the limit of a chain",
    "Corollary 5.4 of Bok, Su and Altschuler 2024",
)
_NO_RIDGE = "needs a strongly convex loss, and m = 0: give the problem a ridge > 0"
_RIDGED = (ADJACENCY, "the loss is convex and its ridge is m", "the draw is exact")


@dataclass(frozen=True)
class GibbsLaw:
    """Law ∝ exp(−β·φ(L − L̂ − ψ)) on a convex domain, in public numbers."""

    constants: Constants
    domain: Domain
    psi: float
    beta: float
    width: float = 0.0
    interior: bool = False

    def __post_init__(self) -> None:
        check_nonnegative(psi=self.psi, width=self.width)
        check_positive(beta=self.beta)
        sensitivity.data_lipschitz(self.constants, self.domain)

    @property
    def slope(self) -> float:
        """Δ = 2L₀/n, Lipschitz constant of L_D − L_D'; the ridge cancels and is not in L₀."""
        return sensitivity.data_slope(self.constants, self.domain)

    @property
    def energy_slope(self) -> float:
        """Δ_ψ, Lipschitz constant of the difference of the thresholded losses."""
        return sensitivity.gradient_sensitivity(
            self.constants,
            self.psi,
            width=self.width,
            interior=self.interior,
            data_slope=self.slope,
        )

    @property
    def tolerance(self) -> float:
        return self.constants.gap_tolerance

    @property
    def lowered(self) -> float:
        """ψ + τ + s/2: φ(L − L̂ − ψ) differs from L by a range of at most this."""
        return self.psi + self.tolerance + self.width / 2

    @property
    def bare(self) -> bool:
        """Whether there is no threshold: ψ = 0, and no width."""
        return self.psi == 0 and self.width == 0

    def in_words(self) -> str:
        """Short description of the law."""
        shape = f", width s = {self.width:.3g}" if self.width else ""
        return f"β = {self.beta:.4g}, ψ = {self.psi:.3g}{shape}, n = {self.constants.n}"


def oscillation(law: GibbsLaw, *, delta: float, n_draws: int = 1) -> Certificate:
    """η-bounded range, η = β·(osc + 2τ), for every ψ, convex or not (docs/theory.md §1)."""
    check_count(n_draws=n_draws)
    eta = law.beta * law.constants.charged_oscillation
    why = f"holds for every ψ: η = β·osc = {eta:.4g} a draw ({law.in_words()})"
    return Certificate(*_OSCILLATION, repeated_bounded_range(eta, n_draws), True, why)


def gaussian_gibbs(law: GibbsLaw, *, delta: float, n_draws: int = 1) -> Certificate:
    """μ-GDP with μ = Δ√(β/m) + 2μ(c), c = β(ψ + τ + s/2), for a loss with ridge."""
    check_count(n_draws=n_draws)
    m = law.constants.m
    if not m > 0:
        return refused(*_GAUSSIAN, _NO_RIDGE)
    bare = law.slope * math.sqrt(law.beta / m)
    change = law.beta * law.lowered
    raised = 2 * bounded_range_mu(change)
    guarantee = replace(
        gdp(mu=math.sqrt(n_draws) * (bare + raised)),
        theorem="strongly convex Gibbs law (Gopi, Lee and Liu 2022; docs/certificates.md)",
        assumptions=_RIDGED,
    )
    why = (
        f"m = {m:.3g}: μ = Δ√(β/m) = {bare:.4g}, and {raised:.3g} more because the threshold "
        f"changes log densities by β(ψ + τ + s/2) = {change:.3g} ({law.in_words()})"
    )
    return Certificate(*_GAUSSIAN, guarantee, True, why)


def isoperimetry(law: GibbsLaw, *, delta: float, n_draws: int = 1) -> Certificate:
    """ρ-zCDP with ρ = β²Δ_ψ²/(2c), c the log-Sobolev constant of the law of a loss with ridge."""
    check_count(n_draws=n_draws)
    m = law.constants.m
    if not m > 0:
        return refused(*_ISOPERIMETRY, _NO_RIDGE)
    if law.bare:
        why = "at ψ = 0 it is the zCDP part of gaussian_gibbs, which is stronger"
        return refused(*_ISOPERIMETRY, why)
    slope, constant = law.energy_slope, log_sobolev(law.beta, law.constants.m, law.lowered)
    rho = (law.beta * slope) ** 2 / (2 * constant)
    guarantee = replace(
        zcdp(rho=n_draws * rho),
        theorem="log-Sobolev inequality of a Gibbs law (Theorem 2.7 of Ganesh et al. 2023, own "
        "constants)",
        assumptions=_RIDGED,
    )
    why = (
        f"m = {m:.3g}: c = {constant:.4g}, and one record moves the thresholded gradient by up to "
        f"{slope:.4g}, so that ρ = {rho:.4g} ({law.in_words()})"
    )
    return Certificate(*_ISOPERIMETRY, guarantee, True, why)


def log_sobolev(beta: float, m: float, level: float) -> float:
    """c, the largest aβm·exp(−aβℓ) over 0 ≤ a ≤ 1, ℓ the largest lift of the loss by ψ."""
    raised = beta * level
    share = min(1.0, 1 / raised) if raised > 0 else 1.0
    return share * beta * m * math.exp(-share * raised)


def convex_body(law: GibbsLaw, *, delta: float, n_draws: int = 1) -> Certificate:
    """μ-GDP with μ = √(2βΔ_ψD), D the diameter, for convex losses with or without ridge."""
    check_count(n_draws=n_draws)
    slope, diameter = law.energy_slope, law.domain.diameter
    mu = math.sqrt(2 * law.beta * slope * diameter)
    if law.bare:
        mu += 2 * bounded_range_mu(law.beta * law.tolerance)
    guarantee = replace(
        gdp(mu=math.sqrt(n_draws) * mu),
        theorem="convex Gibbs law on a bounded domain (Corollary 5.4 of Bok, Su and Altschuler "
        "2024)",
        assumptions=(ADJACENCY, "the loss is convex", "the draw is exact"),
    )
    why = (
        f"the energy gradients differ by at most βΔ = {law.beta * slope:.4g} on a domain of "
        f"diameter {diameter:.3g}: μ = {mu:.4g} ({law.in_words()})"
    )
    return Certificate(*_CONVEX_BODY, guarantee, True, why)


# Shares of δ for draws far from the minimiser; the rest is for composition, if there is any.
_SHARES = (1 - 1e-9, 0.9, 0.5, 0.1, 0.01)
_MANY_TERMS = 30  # from here numpy is faster than a loop
_LOCALISED = (
    "localised",
    "the draws stay near the minimiser, where neighbours' losses differ by less",
    "own derivation, docs/certificates.md",
)


def localised(law: GibbsLaw, *, delta: float, n_draws: int = 1) -> Certificate:
    """Approximate DP with δ', from the region where an m-strongly convex law has its mass."""
    check_count(n_draws=n_draws)
    m = law.constants.m
    if not m > 0:
        why = "needs a strongly convex loss, and m = 0: without a ridge no radius is known"
        return refused(*_LOCALISED, why)
    if not delta > 0:
        why = "needs δ > 0, which covers draws far from the minimiser; got δ = 0"
        return refused(*_LOCALISED, why)
    shares = _SHARES if n_draws > 1 else _SHARES[:1]
    failures = [share * delta / n_draws for share in shares]
    guarantees = [_draws(law, failure, n_draws) for failure in failures]
    # Compare by zCDP, which is fast to evaluate; any share is valid.
    best = min(guarantees, key=lambda one: replace(one, curve=None).epsilon(delta))
    lost = best.approximate_delta / n_draws
    reach = math.sqrt(2 * _quantile(law, lost) / m)
    why = (
        f"m = {m:.3g} keeps a draw within {reach:.3g} of the minimiser except with probability "
        f"{lost:.2g} ({law.in_words()})"
    )
    return Certificate(*_LOCALISED, best, True, why)


def _draws(law: GibbsLaw, failure: float, n_draws: int) -> Guarantee:
    """Guarantee by both notions, for the same δ'; an ε₁-DP law has range 2ε₁."""
    quantile = _quantile(law, failure)
    epsilon, eta = _one_sided(law, quantile), _range(law, quantile)
    bounded = repeated_bounded_range(min(eta, 2 * epsilon), n_draws)
    return replace(
        bounded,
        notion="approximate",
        theorem="localised oscillation of a strongly convex Gibbs law (docs/certificates.md)",
        pure_epsilon=n_draws * min(epsilon, eta),
        approximate_delta=n_draws * failure,
        assumptions=(*bounded.assumptions, "the loss is convex with ridge m", "draws are exact"),
    )


def _one_sided(law: GibbsLaw, quantile: float) -> float:
    edge = _edge(law)
    top = law.psi + law.tolerance + law.width
    mass, mean = mean_above(law.constants.p, law.beta, top, min(edge, top))
    raised = min(mass * _difference(law, mean), law.constants.charged_oscillation)
    return law.beta * min(raised + _difference(law, quantile), law.constants.charged_oscillation)


def _range(law: GibbsLaw, quantile: float) -> float:
    shift = law.slope / law.constants.m
    reach = math.sqrt(2 * quantile / law.constants.m)
    across = law.slope * min(2 * reach + shift, law.domain.diameter)
    beyond = law.slope * min(reach + shift, law.domain.diameter) + law.tolerance
    return law.beta * min(max(across, beyond), law.constants.charged_oscillation)


def _difference(law: GibbsLaw, excess: float) -> float:
    """b(e): bound on the difference of the losses above their minima, at excess e of either."""
    reach = math.sqrt(2 * excess / law.constants.m) + law.slope / law.constants.m
    return law.slope * min(reach, law.domain.diameter) + law.tolerance


def _edge(law: GibbsLaw) -> float:
    """Largest excess e ≥ 0 with b(e) ≤ ψ − e, below which both losses are below the threshold."""
    room = law.psi - law.slope**2 / law.constants.m - law.tolerance
    if room <= 0:
        return 0.0
    half = law.slope / math.sqrt(2 * law.constants.m)
    root = room / (half + math.sqrt(half**2 + room))  # of t² + 2·half·t = room, t² = e
    return root**2


def _quantile(law: GibbsLaw, failure: float) -> float:
    """q: excess quantile, for a threshold raised by the minimum's error and the smooth rise."""
    p, beta, base = law.constants.p, law.beta, law.psi + law.tolerance
    hard = excess_quantile(p, beta, base + law.width, failure)
    if not law.width:
        return hard
    return min(hard, base + law.width / 2 + excess_quantile(p, beta, 0.0, failure))


@lru_cache(maxsize=1024)  # requested again for the text of a certificate
def excess_quantile(p: int, beta: float, level: float, failure: float) -> float:
    """Excess that a draw exceeds with probability at most ``failure`` (docs/certificates.md)."""
    x = beta * level
    log_failure = math.log(failure)
    least = _log_exponential_sum(p, x)

    def surplus(y: float) -> float:
        return _log_exponential_sum(p - 1, x + y) - y - least - log_failure

    if surplus(0.0) <= 0:
        return level
    # The Gamma law, at level 0, has the larger tail above its threshold.
    high = float(gammainccinv(p, failure)) * (1 + 1e-9) + 1e-9
    y = brentq(surplus, 0.0, high, xtol=1e-12, rtol=1e-13)
    return level + float(y) * (1 + 1e-10) / beta


def mean_above(p: int, beta: float, level: float, least: float) -> tuple[float, float]:
    """Mass of the cone's law above an excess ``least`` ≤ ``level``, and its mean excess there."""
    x = beta * level
    if x <= 0:
        return 1.0, p / beta
    inside = math.exp(p * math.log(x) - float(gammaln(p + 1)) - _log_exponential_sum(p, x))
    share = least / level
    mass = max(1 - inside * share**p, 1e-12)  # a larger mass only increases the bounds from it
    total = p / beta + inside * level * p / (p + 1) * (1 - share ** (p + 1))
    return mass, total / mass


def _log_exponential_sum(k: int, z: float) -> float:
    """Logarithm of T_k(z) = Σ_{j≤k} zʲ/j!."""
    if z <= 0 or k == 0:
        return 0.0
    factorials = _log_factorials(k)
    if k < _MANY_TERMS:
        log_z = math.log(z)
        few = [power * log_z - factorial for power, factorial in enumerate(factorials.tolist())]
        top = max(few)
        return top + math.log(math.fsum(math.exp(term - top) for term in few))
    terms = np.arange(k + 1) * math.log(z) - factorials
    top = float(terms.max())
    return top + math.log(float(np.exp(terms - top).sum()))


@lru_cache(maxsize=64)  # a search repeats the same ones hundreds of times
def _log_factorials(k: int) -> FloatArray:
    return np.asarray(gammaln(np.arange(1.0, k + 2.0)))
