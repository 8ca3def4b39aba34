"""A run of noisy gradient chains in public numbers, and theorems on its privacy."""

import math
from dataclasses import dataclass, replace

from rashomon_explorer._utils.validation import check_count, check_nonnegative, check_positive
from rashomon_explorer.mechanisms.certificates.base import Certificate, refused
from rashomon_explorer.mechanisms.certificates.sensitivity import data_slope, gradient_sensitivity
from rashomon_explorer.mechanisms.noisy_descent import last_iterate_guarantee, path_guarantee
from rashomon_explorer.privacy import Guarantee, gdp
from rashomon_explorer.problem import thresholds
from rashomon_explorer.problem.constants import Constants
from rashomon_explorer.problem.domains import Domain

# Name, title and source of each certificate.
_PATH = (
    "path",
    "every iterate of every chain may be shown",
    "Lemma 2.2 of Ganesh et al. 2023; Theorem 4.1 of Bok, Su and Altschuler 2024",
)
_LAST = (
    "last_iterate",
    "only the last iterate of each chain is released",
    "Theorems 4.2 and 4.3 of Bok, Su and Altschuler 2024",
)
_FINITE = (
    "finite_time",
    "the Langevin diffusion, stopped at time T",
    "limit of Theorem 4.2 of Bok, Su and Altschuler 2024 (own derivation, docs/certificates.md)",
)


@dataclass(frozen=True)
class PathRun:
    """Chains θ ← Π(θ − hβg(θ) + √(2h) ξ) of full gradients, in public numbers."""

    constants: Constants
    domain: Domain
    psi: float
    beta: float
    step_size: float
    n_steps: int
    threshold: thresholds.Threshold
    n_chains: int = 1
    interior: bool = False

    def __post_init__(self) -> None:
        check_nonnegative(psi=self.psi)
        check_positive(beta=self.beta, step_size=self.step_size)
        check_count(n_steps=self.n_steps, n_chains=self.n_chains)
        data_slope(self.constants, self.domain)
        object.__setattr__(self, "threshold", thresholds.get_threshold(self.threshold, self.psi))

    @property
    def hard(self) -> bool:
        """Whether the gradient is discontinuous at the threshold."""
        return isinstance(self.threshold, thresholds.HardThreshold)

    @property
    def gaussian(self) -> bool:
        """Whether the gradient is a mean over random points."""
        return isinstance(self.threshold, thresholds.GaussianThreshold)

    @property
    def width(self) -> float:
        """Width s of the smooth threshold, or 0."""
        return (
            self.threshold.width if isinstance(self.threshold, thresholds.SmoothThreshold) else 0.0
        )

    @property
    def bare(self) -> bool:
        """Whether there is no threshold."""
        return not (self.hard or self.gaussian or self.width)

    @property
    def sensitivity(self) -> float:
        """Sensitivity Δ of the gradient that the run follows."""
        psi = 0.0 if self.bare else self.psi
        inside = self.interior and not self.gaussian
        return gradient_sensitivity(
            self.constants,
            psi,
            width=self.width,
            interior=inside,
            data_slope=data_slope(self.constants, self.domain),
        )

    @property
    def bend(self) -> float:
        """Smoothness M + L²/s of the energy; infinite if the gradient is discontinuous."""
        if self.hard or self.gaussian:
            return math.inf
        return self.constants.M + (self.constants.L**2 / self.width if self.width else 0.0)

    @property
    def time(self) -> float:
        """T = Nh."""
        return self.n_steps * self.step_size

    def in_words(self) -> str:
        """Short description of the run."""
        shape = "no" if self.bare else f"the {self.threshold.name}"
        return (
            f"{self.n_steps} steps of {self.step_size:.3g} at β = {self.beta:.4g} with {shape} "
            f"threshold, {self.n_chains} chains"
        )


def path(run: PathRun) -> Certificate:
    """μ-GDP with μ² = kNhβ²Δ²/2, for every threshold; see :func:`path_guarantee`."""
    if run.gaussian and run.constants.m > 0:
        why = (
            "the Gaussian threshold evaluates outside the domain, where a ridge has no bounded "
            f"gradient, and m = {run.constants.m:.3g}"
        )
        return refused(*_PATH, why)
    guarantee = path_guarantee(
        beta=run.beta,
        sensitivity=run.sensitivity,
        step_size=run.step_size,
        n_steps=run.n_steps,
        n_chains=run.n_chains,
    )
    why = (
        f"needs no convexity: μ = βΔ√(kT/2) = {guarantee.mu:.4g} with Δ = {run.sensitivity:.4g} "
        f"({run.in_words()})"
    )
    return Certificate(*_PATH, guarantee, True, why)


def last_iterate(run: PathRun) -> Certificate:
    """μ-GDP of the last of N steps, for steps that do not expand distances between models."""
    if not math.isfinite(run.bend):
        cause = f"{run.threshold.name} threshold" if run.hard or run.gaussian else "loss with kinks"
        why = f"the gradient is discontinuous ({cause}), so that steps may expand distances"
        return refused(*_LAST, why)
    pace = run.step_size * run.beta
    if pace * run.bend > 2:
        why = (
            f"h = {run.step_size:.3g} is above 2/(β·smoothness) = {2 / (run.beta * run.bend):.3g}, "
            "so that steps may expand distances"
        )
        return refused(*_LAST, why)
    m, largest = run.constants.m, run.constants.M
    contraction = max(abs(1 - pace * m), abs(1 - pace * largest)) if run.bare else 1.0
    guarantee = last_iterate_guarantee(
        beta=run.beta,
        sensitivity=run.sensitivity,
        step_size=run.step_size,
        n_steps=run.n_steps,
        contraction=contraction,
        diameter=run.domain.diameter,
        n_chains=run.n_chains,
    )
    why = (
        f"a step contracts distances by c = {contraction:.6g} on a domain of diameter "
        f"{run.domain.diameter:.3g}: μ = {guarantee.mu:.4g} ({run.in_words()}); releasing a trace, "
        "or stopping by it, voids the guarantee"
    )
    return Certificate(*_LAST, guarantee, True, why)


def diffusion_guarantee(*, beta: float, sensitivity: float, m: float, time: float) -> Guarantee:
    """State at time T of dθ = −β∇L dt + √2 dW: μ² = (βΔ²/m)·tanh(βmT/2), β²Δ²T/2 for m = 0."""
    check_positive(beta=beta)
    check_nonnegative(sensitivity=sensitivity, m=m, time=time)
    square = beta * sensitivity**2 / m * math.tanh(beta * m * time / 2) if m > 0 else math.inf
    mu = math.sqrt(min(square, (beta * sensitivity) ** 2 * time / 2))
    return replace(
        gdp(mu=mu),
        theorem="Langevin diffusion at a finite time (limit of Theorem 4.2 of Bok, Su and "
        "Altschuler 2024)",
        assumptions=("holds for the diffusion in continuous time, not for a chain of steps",),
    )


def finite_time(run: PathRun) -> Certificate:
    """Limit of the last iterate's privacy cost as steps shrink; never applies to a chain."""
    if not run.bare:
        why = "is stated for the diffusion without a threshold, whose drift is smooth"
        return refused(*_FINITE, why)
    limit = diffusion_guarantee(
        beta=run.beta, sensitivity=run.sensitivity, m=run.constants.m, time=run.time
    )
    why = (
        f"holds for the diffusion, a limit of chains, not for a chain: μ = {limit.mu:.4g} for each "
        f"chain at T = {run.time:.4g}; a run is charged by its steps"
    )
    return refused(*_FINITE, why)
