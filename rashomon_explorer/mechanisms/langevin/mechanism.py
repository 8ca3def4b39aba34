"""Mechanisms whose draws are states or averages of Langevin paths, planned for a budget."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from typing import ClassVar

import numpy as np

from rashomon_explorer._utils.formatting import rounded_up
from rashomon_explorer.mechanisms.base import Batch, Mechanism, Traits, cost_sentence, hits_sentence
from rashomon_explorer.mechanisms.bounds import accelerated_share
from rashomon_explorer.mechanisms.improvements import Improvement, path_improvements
from rashomon_explorer.mechanisms.langevin import gradients, states
from rashomon_explorer.mechanisms.langevin import plan as plans
from rashomon_explorer.mechanisms.noisy_descent import (
    DescentStep,
    Schedule,
    chain_noise,
    noisy_descent,
    watched,
)
from rashomon_explorer.mechanisms.plans import Plan, Rejected
from rashomon_explorer.mechanisms.request import ALLOCATED, POISSON, Request
from rashomon_explorer.mechanisms.target import GibbsTarget
from rashomon_explorer.problem.losses import clipped

_SECONDS_BETWEEN_LOOKS = 0.1  # between checks of the Stop button


class Langevin(Mechanism):
    """States of one Langevin path, or its average as one model; one cost covers all its states."""

    name: ClassVar[str] = "langevin"
    summary: ClassVar[str] = "a state of one Langevin path, one privacy cost for any number"
    traits: ClassVar[Traits] = Traits(
        n_chains=1, compared=True, bound_slack=30.0, free_draws=states.N_STATES
    )

    def why_unsupported(self, request: Request) -> str:
        """Decline pure DP, and losses with kinks."""
        return request.why_no_descent

    def why_not_compared(self, request: Request) -> str:
        """Decline the order of batches that guarantees no share of the states."""
        allocates = request.batch_order == ALLOCATED and request.batch_size is not None
        return states.NO_SHARE if allocates and self.traits.free_draws else ""

    def plan_supported(self, request: Request) -> Plan:
        """Plan the states of a path, or the average of an accelerated one as one model."""
        if request.n_draws > 1:
            return states.plan_states(request)
        planned = plans.plan_for_request(replace(request, psi=0.0))
        # Markov's inequality on the excess gives the hit rate at ψ.
        within = 1 - planned.excess_bound / request.psi if request.psi else 0.0
        hit_rate = within if within > 0 else None
        return replace(planned, request=request, law_psi=0.0, hit_rate=hit_rate)

    def estimate(self, request: Request) -> Plan | Rejected:
        """Plan as if batches were drawn anew in each step, at the cost of all rows: it is near."""
        if self.why_unsupported(request) or request.n_draws == 1:
            return self.plan(request)
        try:
            return states.plan_states(replace(request, batch_order=POISSON), exact=False)
        except ValueError as error:
            return Rejected(self.name, str(error))

    def explain(self, plan: Plan) -> list[str]:
        """Say what the path costs, its steps, and what is guaranteed of its states or average."""
        excess = rounded_up(plan.excess_bound)
        if isinstance(plan.details, states.StatesDetails):
            return states.explain(plan)
        return [
            cost_sentence(plan, "chain"),
            _steps_sentence(plan),
            "A draw is an average of a chain's states, and its loss exceeds the least by at most "
            f"{excess} in expectation. {hits_sentence(plan)}",
        ]

    def improvements(self, plan: Plan, *, ridge: bool = False) -> list[Improvement]:
        if isinstance(plan.details, states.StatesDetails):
            return states.improvements(plan)
        return path_improvements(plan)

    def batches(self, target: GibbsTarget, plan: Plan, rng: np.random.Generator) -> Iterator[Batch]:
        """Yield states as they are made, or averages at the end; a caller may stop at any batch."""
        if isinstance(plan.details, states.StatesDetails):
            yield from states.batches(target, plan, rng)
            return
        last_batch = time.perf_counter()
        for step in watched(self.steps(target, plan, rng), target.problem, path_schedule(plan)):
            if time.perf_counter() - last_batch > _SECONDS_BETWEEN_LOOKS:
                yield Batch(step.average[:, :0], np.empty(0), evaluated=0)
                last_batch = time.perf_counter()
        evaluated = plan.n_draws * (plan.details.n_steps + 1)
        losses = target.problem.value(step.average)
        yield Batch(step.average, losses, evaluated=evaluated)

    def steps(
        self, target: GibbsTarget, plan: Plan, rng: np.random.Generator
    ) -> Iterator[DescentStep]:
        """Yield the steps of chains whose averages are the draws."""
        drift = self._drift(target, plan)
        smoothness = 2 / (drift.beta * drift.largest_step)
        n_steps, step_size = plan.details.n_steps, plan.details.step_size
        if not accelerated_share(smoothness, drift.beta * step_size * n_steps, n_steps) < 1:
            raise ValueError(
                f"{n_steps} steps of {step_size:.3g} are too few for the chains to be stable on "
                "this target: plan for its own n, p, loss, radius and row_norm"
            )
        project = target.problem.domain.project
        start = project(np.zeros((target.problem.p, plan.n_draws)))
        return noisy_descent(drift.run(rng), project, start, path_schedule(plan), rng)

    def _drift(self, target: GibbsTarget, plan: Plan) -> gradients.Drift:
        """Gradient that the chains follow."""
        return gradients.drift_for(target)


class LangevinClipped(Langevin):
    """Averages of chains that follow the loss with clipped slopes; they always end."""

    name: ClassVar[str] = "langevin_clipped"
    summary: ClassVar[str] = "the average of a Langevin chain with clipped slopes"
    traits: ClassVar[Traits] = Traits(
        independent=True, compared=True, bound_slack=30.0, bias=0.0015, regression_bias=0.1
    )

    def why_unsupported(self, request: Request) -> str:
        """Decline losses without a clipped form."""
        if clipped(request.loss_function) is None:
            return "needs logistic or squared loss"
        return super().why_unsupported(request)

    def plan_supported(self, request: Request) -> Plan:
        """See :func:`plan_clipped_path`; only the clipped loss has a bound."""
        return plans.plan_clipped_path(request)

    def explain(self, plan: Plan) -> list[str]:
        """Say what chains cost, their steps, and what is guaranteed of the clipped loss."""
        clipped_bound = (
            f"The slope of each row is clipped to {plan.details.slope_bound:g}, which keeps the "
            f"noise small. The clipped loss of a draw exceeds its least by at most "
            f"{rounded_up(plan.comparison_excess)} in expectation; no bound is guaranteed for the "
            f"loss itself or for the hit rate."
        )
        return [cost_sentence(plan, "chain"), _steps_sentence(plan), clipped_bound]

    def _drift(self, target: GibbsTarget, plan: Plan) -> gradients.Drift:
        return gradients.ClippedDrift(target, plan.details.slope_bound)


def path_schedule(plan: Plan) -> Schedule:
    """Schedule of the accelerated steps of a plan."""
    size = plan.details.step_size
    return Schedule.accelerated(size, chain_noise(size), plan.details.n_steps)


def _steps_sentence(plan: Plan) -> str:
    details = plan.details
    return (
        f"Each of {details.n_steps:,} steps, of h = {details.step_size:.3g} on average, adds "
        f"noise at β = {plan.beta:,.0f}, a time of {details.n_steps * details.step_size:.3g}; one "
        f"record moves the gradient by at most {rounded_up(details.sensitivity)}, and every state "
        "is accounted for."
    )
