"""Mechanisms that release one model: noisy descent and output perturbation."""

import math
from abc import abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from operator import attrgetter
from typing import Any, ClassVar

import numpy as np

from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer._utils.formatting import hit_rate_text
from rashomon_explorer.mechanisms import centres, ellipsoid
from rashomon_explorer.mechanisms.base import (
    Batch,
    Mechanism,
    Traits,
    cost_sentence,
    excess_sentence,
)
from rashomon_explorer.mechanisms.bounds import added, best_ridged, own_cost, stable_gap
from rashomon_explorer.mechanisms.centres import plan_weighted_path
from rashomon_explorer.mechanisms.langevin import batches, sampled_plan
from rashomon_explorer.mechanisms.noisy_descent import DescentStep, Schedule, noisy_descent, watched
from rashomon_explorer.mechanisms.objective_perturbation.sampler import ROUNDING, radial_noise
from rashomon_explorer.mechanisms.plans import MINIMUM_PASSES, Details, Plan
from rashomon_explorer.mechanisms.request import Request
from rashomon_explorer.mechanisms.target import GibbsTarget
from rashomon_explorer.privacy import Guarantee, gdp, pure
from rashomon_explorer.problem.problem import Problem

_SAFE = 1 - 1e-9  # of μ: keeps the charge within the budget despite rounding


@dataclass(frozen=True)
class OneModelDetails(Details):
    """A mechanism's own numbers, and the ridge that it adds to the request's."""

    settings: Any = field(default=None, compare=False)
    added_ridge: float = 0.0


class OneModelMechanism(Mechanism):
    """Base of mechanisms that release one model."""

    traits: ClassVar[Traits] = Traits(
        independent=True,
        unplanned="one model, which has no temperature",
        one_model=True,
        compared=True,
    )

    def why_unsupported(self, request: Request) -> str:
        return "releases one model" if request.n_draws > 1 else ""

    def plan_with(
        self,
        request: Request,
        settings: Any,
        *,
        proof: str,
        guarantee: Guarantee,
        excess: float,
        ridge: float | None = None,
        gap: float = math.inf,
        beta: float = math.inf,
        hit_rate: float | None = None,
        generalisation_gap: float | None = None,
    ) -> Plan:
        """Plan with these settings and bounds, for the rows or, with ``gap``, for new rows."""
        ridge = request.ridge if ridge is None else ridge
        added_ridge = added(request, ridge)
        within = hit_rate
        if within is None:
            within = 1 - excess / request.psi if request.psi else 0.0
        if generalisation_gap is None:
            generalisation_gap = min(gap, stable_gap(request, 0.0))
        return Plan(
            request=replace(request, n_draws=1, ridge=float(ridge)),
            mechanism=self.name,
            guarantee=replace(
                guarantee,
                requested=(request.epsilon, request.delta),
                assumptions=(*guarantee.assumptions, *self.assumptions),
            ),
            excess_bound=excess,
            # The ridge that the mechanism adds is part of the bound already.
            comparison_excess=excess - added_ridge * request.radius**2 / 2,
            hit_rate=within if within > 0 and request.psi > 0 else None,
            certificate=proof,
            beta=beta,
            law_psi=0.0,
            generalisation_gap=generalisation_gap,
            steps=_n_steps(settings),
            details=OneModelDetails(settings, added_ridge),
        )

    assumptions: ClassVar[tuple[str, ...]] = (ROUNDING,)
    """Assumptions of every guarantee: noise with the digits of doubles."""

    def explain(self, plan: Plan) -> list[str]:
        proof = plan.certificate
        lines = [f"{cost_sentence(plan, 'model')} {proof[:1].upper()}{proof[1:]}."]
        if plan.hit_rate is not None:
            within = f"within ψ = {plan.psi:g} of the least loss"
            share = hit_rate_text(plan.hit_rate).replace("%", " %")
            lines.append(f"It is {within} with a probability of at least {share}.")
        return [*lines, excess_sentence(plan)]

    def batches(self, target: GibbsTarget, plan: Plan, rng: np.random.Generator) -> Iterator[Batch]:
        theta = self.model(target.problem, plan, rng)[:, None]
        yield Batch(theta, target.problem.value(theta), evaluated=1)

    @abstractmethod
    def model(self, problem: Problem, plan: Plan, rng: np.random.Generator) -> FloatArray:
        """Model (p,) of a problem with the plan's ridge."""


def _n_steps(settings: Any) -> float:
    """Return the steps, times their share of the rows; 0 for a minimum without later steps."""
    later = getattr(settings, "then", None)
    if later is not None:
        return float(MINIMUM_PASSES + later.n_steps)
    return float(getattr(settings, "n_steps", 0) * getattr(settings, "rate", 1.0))


def affordable_mu(request: Request) -> float:
    """Gaussian DP within a request's budget, with a margin for rounding."""
    return _SAFE * request.gaussian_mu


def under_best_ridge(
    request: Request,
    planned: Callable[[Request], Any],
    every: int = 1,
    *,
    required: bool = False,
    bound: Callable[[Any], float] = attrgetter("excess"),
) -> tuple[float, Any, float]:
    """Best ridge, the plan under it, and its excess bound with the added ridge's effect."""

    def candidate(tried: Request) -> tuple[float, Any]:
        if required and tried.ridge == 0:
            return math.inf, None
        tried_plan = planned(tried)
        return bound(tried_plan) + own_cost(request, tried.ridge), tried_plan

    ridge, best = best_ridged(request, candidate, every)
    return ridge, best, bound(best) + own_cost(request, ridge)


class DescentMechanism(OneModelMechanism):
    """Base of mechanisms that follow noisy gradients."""

    traits: ClassVar[Traits] = replace(OneModelMechanism.traits, bound_slack=30.0)

    def why_unsupported(self, request: Request) -> str:
        return request.why_no_descent or super().why_unsupported(request)

    @staticmethod
    def best_descent(request: Request, plan: Callable[..., Any]) -> tuple[float, Any, float]:
        """Best ridge, the descent planned under it, and its excess bound."""
        mu, zeros = affordable_mu(request), request.zero_loss
        return under_best_ridge(
            request, lambda one: plan(one.constants, one.radius, mu, zeros), every=3
        )


def path_pull(pace: float, n_steps: int, m: float) -> float:
    """m/(1 − (1 − ηm)^N): ridge whose minimiser moves as much as N steps (Lemma F.3)."""
    reached = -math.expm1(n_steps * math.log1p(-pace * m)) if pace * m < 1 else 1.0
    return m / reached if m > 0 else 1 / (pace * n_steps)


class NoisyDescent(DescentMechanism):
    """Weighted average of projected noisy gradient descent (docs/theory.md §13, §21)."""

    name: ClassVar[str] = "noisy_descent"
    summary: ClassVar[str] = "the average of noisy gradient descent"

    def plan_supported(self, request: Request) -> Plan:
        ridge, planned, excess = self.best_descent(request, plan_weighted_path)
        return self.plan_with(
            request,
            planned,
            proof=f"every state of {planned.n_steps} steps is accounted for",
            guarantee=gdp(planned.mu),
            excess=excess,
            ridge=ridge,
            gap=stable_gap(request, path_pull(planned.step_size, planned.n_steps, ridge)),
        )

    def model(self, problem: Problem, plan: Plan, rng: np.random.Generator) -> FloatArray:
        *_, last = ellipsoid.released_centre(problem, plan.details.settings, rng)
        assert last is not None  # the centre is the last item
        return last.theta


class NoisySGD(OneModelMechanism):
    """Average of noisy subgradient steps, on sampled rows if that has a smaller bound."""

    name: ClassVar[str] = "noisy_sgd"
    summary: ClassVar[str] = "the average of noisy subgradient descent"
    traits: ClassVar[Traits] = DescentMechanism.traits

    def why_unsupported(self, request: Request) -> str:
        if not request.delta > 0:
            return "needs delta > 0"
        if math.isfinite(request.constants.M):
            return "without kinks, steps on all rows have a better bound: see noisy_descent"
        return super().why_unsupported(request)

    def plan_supported(self, request: Request) -> Plan:
        unsampled = batches.unsampled_because(request)
        planned = sampled_plan.plan_sampled_descent(
            request.constants,
            request.radius,
            request.zero_loss,
            epsilon=request.epsilon,
            delta=request.delta,
            mu=affordable_mu(request),
            sampling=not unsampled,
            orders=orders(request),
        )
        rows = f"about {planned.rate * request.n:.0f} rows" if planned.rate < 1 else "all rows"
        return self.plan_with(
            request,
            planned,
            proof=f"every state of {planned.n_steps} steps on {rows} is accounted for{unsampled}",
            guarantee=planned.guarantee,
            excess=planned.excess,
        )

    def model(self, problem: Problem, plan: Plan, rng: np.random.Generator) -> FloatArray:
        return average_of_steps(problem, plan.details.settings, np.zeros(problem.p), rng)


def average_of_steps(
    problem: Problem,
    planned: sampled_plan.SampledDescent,
    start: FloatArray,
    rng: np.random.Generator,
) -> FloatArray:
    """Weighted mean (p,) of the states of noisy descent, as planned."""
    for step in sampled_steps(problem, planned, start, rng):
        average = step.average
    return average[:, 0]


def sampled_steps(
    problem: Problem,
    planned: sampled_plan.SampledDescent,
    start: FloatArray,
    rng: np.random.Generator,
) -> Iterator[DescentStep]:
    """Yield the descent on sampled rows from a model (p,), in one column."""
    schedule = sampled_schedule(problem, planned)
    steps = noisy_descent(
        batches.batch_gradient(problem, planned.rate, rng),
        problem.domain.project,
        start[:, None],
        schedule,
        rng,
    )
    return watched(steps, problem, schedule)


def sampled_schedule(problem: Problem, planned: sampled_plan.SampledDescent) -> Schedule:
    """Schedule on means over about qn rows, whose sums have noise L₀σ."""
    batch_size = planned.rate * problem.n
    return Schedule.decreasing(
        planned.pace,
        planned.slope * planned.noise / batch_size,
        planned.n_steps,
        planned.m,
        lagged=not planned.smooth,
        batch=round(batch_size) if planned.rate < 1 else 0,
    )


def orders(request: Request) -> tuple[tuple[float, float], ...]:
    """Rényi budgets (order, D) that sampled steps must meet in a ledger."""
    at = request.cost_at_order
    return () if at is None else (at,)


class OutputPerturbation(OneModelMechanism):
    """Certified minimiser under a ridge plus noise, projected onto the ball."""

    name: ClassVar[str] = "output_perturbation"
    summary: ClassVar[str] = "the minimiser plus noise"

    def plan_supported(self, request: Request) -> Plan:
        costs = [None, affordable_mu(request)] if request.delta > 0 else [None]
        zeros = request.zero_loss

        def planned(one: Request) -> centres.NoisyMinimiser:
            known, epsilon = (one.constants, one.radius, zeros), one.epsilon
            both = [centres.plan_noisy_minimiser(*known, epsilon=epsilon, mu=mu) for mu in costs]
            return min(both, key=lambda one: one.excess)

        ridge, best, excess = under_best_ridge(request, planned, required=True)
        proof, guarantee = "pure DP of the noise", pure(request.epsilon)
        if best.gaussian:
            proof, guarantee = "Gaussian DP of the noise", gdp(affordable_mu(request))
        return self.plan_with(
            request,
            best,
            proof=proof,
            guarantee=replace(guarantee, assumptions=(*guarantee.assumptions, ellipsoid.CERTIFIED)),
            excess=excess,
            ridge=ridge,
            gap=stable_gap(request, ridge, 2 * best.solver),
        )

    def model(self, problem: Problem, plan: Plan, rng: np.random.Generator) -> FloatArray:
        best: centres.NoisyMinimiser = plan.details.settings
        return noisy_minimiser(problem, best.solver, best.scale, rng, gaussian=best.gaussian)


class LocalisedGaussian(OneModelMechanism):
    """Noisy descent that starts at a noisy minimiser; Gaussian DP of both (docs/theory §19)."""

    name: ClassVar[str] = "localised_gaussian"
    summary: ClassVar[str] = "the average of noisy descent from a noisy minimiser"
    traits: ClassVar[Traits] = DescentMechanism.traits

    def why_unsupported(self, request: Request) -> str:
        return super().why_unsupported(request) if request.delta > 0 else "needs delta > 0"

    def plan_supported(self, request: Request) -> Plan:
        mu, zeros = affordable_mu(request), request.zero_loss
        ridge, planned, excess = under_best_ridge(
            request,
            lambda one: sampled_plan.plan_localised_descent(one.constants, one.radius, mu, zeros),
            required=True,
        )
        steps, guarantee = planned.then.n_steps, gdp(planned.mu)
        smooth = math.isfinite(request.constants.M)  # then steps keep what the start moves
        gap = stable_gap(request, ridge if smooth else 0.0, 2 * planned.solver)
        return self.plan_with(
            request,
            planned,
            proof=f"Gaussian DP of the minimiser and of every state of {steps} steps",
            guarantee=replace(guarantee, assumptions=(*guarantee.assumptions, ellipsoid.CERTIFIED)),
            excess=excess,
            ridge=ridge,
            gap=gap,
        )

    def model(self, problem: Problem, plan: Plan, rng: np.random.Generator) -> FloatArray:
        planned: sampled_plan.LocalisedDescent = plan.details.settings
        start = noisy_minimiser(problem, planned.solver, planned.scale, rng, gaussian=True)
        if not isinstance(planned.then, centres.Centre):
            return average_of_steps(problem, planned.then, start, rng)
        for step in ellipsoid.centre_descent(problem, planned.then, rng, start):
            average = step.average
        return average[:, 0]


def noisy_minimiser(
    problem: Problem, solver: float, scale: float, rng: np.random.Generator, *, gaussian: bool
) -> FloatArray:
    """Minimiser (p,), certified to a distance, plus noise; projected onto the ball."""
    noise = radial_noise(problem.p, scale, rng, gaussian=gaussian)
    noisy = ellipsoid.certified_minimiser(problem, solver) + noise
    return np.asarray(problem.domain.project(noisy[:, None])[:, 0])
