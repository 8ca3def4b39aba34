"""A thresholded Gibbs law in public numbers, and theorems on exact draws from it."""

import math
from dataclasses import dataclass, replace
from typing import Protocol

from rashomon_explorer._utils.validation import check_count, check_nonnegative, check_positive
from rashomon_explorer.mechanisms.certificates import sensitivity
from rashomon_explorer.mechanisms.certificates.base import Certificate, refused
from rashomon_explorer.privacy import gdp, repeated_bounded_range, zcdp
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
        """Tolerance τ of the minimum."""
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


class GibbsTheorem(Protocol):
    """A theorem on exact draws from a Gibbs law of a convex loss."""

    def __call__(self, law: GibbsLaw, *, delta: float, n_draws: int = 1) -> Certificate:
        """Apply the theorem to public numbers."""
        ...


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
