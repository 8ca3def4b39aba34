"""Plans of exponential mechanisms on successively smaller sets, from public numbers."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from scipy.special import gammainccinv

from rashomon_explorer._utils.validation import check_inner_share, check_positive
from rashomon_explorer.mechanisms.bounds.hit_rate import unthresholded_hit_rate
from rashomon_explorer.mechanisms.certificates.sensitivity import (
    certifiable_gap,
    data_lipschitz,
    local_constants,
)
from rashomon_explorer.privacy.composition import compose
from rashomon_explorer.privacy.guarantee import Guarantee
from rashomon_explorer.privacy.notions import bounded_range, pure
from rashomon_explorer.problem.constants import Constants
from rashomon_explorer.problem.domains import Domain

_FAILURES = tuple(10.0**-k for k in range(2, 16))
_CLOSE = 0.01  # of half the sensitivity: distance to the minimiser that the solver must reach


@dataclass(frozen=True)
class Stage:
    """One exponential mechanism exp(−β·L) on the part of the domain near a released model."""

    epsilon: float  # privacy cost, β times the oscillation on the part with the solver's error
    beta: float  # inverse temperature
    distance: float  # distance from the previous model, infinite for the whole domain


@dataclass(frozen=True)
class LocalisationPlan:
    """Plan of mechanisms that first locate the minimiser, in public numbers."""

    stages: tuple[Stage, ...]
    noise_scale: float
    excess_bound: float
    p: int
    tolerance: float
    excess_quantile: float
    failure: float
    guarantee: Guarantee

    @property
    def epsilon(self) -> float:
        """Total privacy cost ε."""
        return self.guarantee.pure_epsilon

    @property
    def beta(self) -> float:
        """Inverse temperature of the last stage, whose draw is the result."""
        return self.stages[-1].beta

    @property
    def lost(self) -> float:
        """Bound on the probability that the minimiser is not where the last stage draws."""
        return self.failure * (len(self.stages) if self.noise_scale else len(self.stages) - 1)

    def hit_rate(self, psi: float) -> float:
        """Lower bound P(p, β(ψ − τ)) − ``lost`` on the probability of an excess of at most ψ."""
        within = unthresholded_hit_rate(self.p, self.beta, max(0.0, psi - self.tolerance))
        return max(0.0, within - self.lost)


def plan_perturbed(
    constants: Constants, domain: Domain, *, epsilon: float, failure: float | None = None
) -> LocalisationPlan:
    """Plan of output perturbation followed by an exponential mechanism nearby; reads no row."""
    check_localised(constants, epsilon, failure)
    moved = 2 * data_lipschitz(constants, domain) / (constants.m * constants.n)
    error = solver_distance(constants, domain)
    scale = (moved + 2 * error) / (epsilon / 2)

    def one(failure: float) -> TriedStages:
        distance = scale * _gamma_quantile(constants.p, failure) + error
        stages = planned_stages(constants, domain, [epsilon / 2], failure, start=distance)
        return TriedStages.of(constants, domain, stages, failure, losses=1)

    tried = [one(value) for value in tried_failures(failure)]
    best = min(tried, key=lambda plan: plan.excess_bound)
    return summed(constants, best, noise=(epsilon / 2, scale))


def solver_distance(constants: Constants, domain: Domain) -> float:
    """Distance √(2τ/m) from the minimiser that the solver must reach before noise is added."""
    wanted = _CLOSE * data_lipschitz(constants, domain) / (constants.m * constants.n)
    return max(wanted, math.sqrt(2 * certifiable_gap(constants, domain) / constants.m))


def planned_stages(
    constants: Constants, domain: Domain, prices: Sequence[float], failure: float, start: float
) -> tuple[Stage, ...]:
    """Stages of these privacy costs, each on the part of the domain near the previous draw."""
    quantile = _gamma_quantile(constants.p, failure)
    distance, stages = start, []
    for price in prices:
        local = local_constants(constants, domain, min(domain.diameter, 2 * distance))
        beta = price / local.charged_oscillation
        stages.append(Stage(price, beta, distance if 2 * distance < domain.diameter else math.inf))
        distance = math.sqrt(2 * (quantile / beta + local.gap_tolerance) / constants.m)
    return tuple(stages)


@dataclass(frozen=True)
class TriedStages:
    """Stages and their bounds, by which plans are compared, without their guarantee."""

    stages: tuple[Stage, ...]
    failure: float
    tolerance: float
    excess_bound: float
    found_excess: float
    """Bound on the expected excess if the minimiser is not lost."""

    @classmethod
    def of(
        cls,
        constants: Constants,
        domain: Domain,
        stages: tuple[Stage, ...],
        failure: float,
        losses: int,
    ) -> "TriedStages":
        """Stages that lose the minimiser with probability at most losses·failure."""
        last = min(domain.diameter, 2 * stages[-1].distance)
        tolerance = local_constants(constants, domain, last).gap_tolerance
        worst = constants.L * domain.diameter
        found = constants.p / stages[-1].beta + tolerance
        return cls(stages, failure, tolerance, found + losses * failure * worst, found)


def summed(
    constants: Constants, best: TriedStages, noise: tuple[float, float] = (0.0, 0.0)
) -> LocalisationPlan:
    """Plan of the selected stages, with its guarantee."""
    price, scale = noise
    quantile = _gamma_quantile(constants.p, best.failure)
    guarantees = [bounded_range(stage.epsilon) for stage in best.stages]
    return LocalisationPlan(
        stages=best.stages,
        noise_scale=scale,
        excess_bound=best.excess_bound,
        p=constants.p,
        tolerance=best.tolerance,
        excess_quantile=quantile / best.stages[-1].beta + best.tolerance,
        failure=best.failure,
        guarantee=compose([pure(price), *guarantees] if scale else guarantees),
    )


def _gamma_quantile(p: int, failure: float) -> float:
    return float(gammainccinv(p, failure))


def tried_failures(failure: float | None) -> Sequence[float]:
    """Failure probabilities to try, or the given one."""
    return _FAILURES if failure is None else [failure]


def check_localised(constants: Constants, epsilon: float, failure: float | None) -> None:
    """Raise an error if no plan is possible with the settings."""
    check_positive(epsilon=epsilon)
    if failure is not None:
        check_inner_share(failure=failure)
    if not constants.m > 0:
        raise ValueError(
            "localisation needs a strongly convex loss, which a loss of linear scores is not: give "
            "the problem a ridge > 0"
        )
