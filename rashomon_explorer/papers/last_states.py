"""The last state of noisy steps, on all rows or on batches of a fixed size."""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer._utils.bisection import bisect, double
from rashomon_explorer.mechanisms import one_model
from rashomon_explorer.mechanisms.base import Traits
from rashomon_explorer.mechanisms.bounds.one_model import own_cost, stable_gap
from rashomon_explorer.mechanisms.centres import furthest_start
from rashomon_explorer.mechanisms.certificates.sensitivity import data_lipschitz
from rashomon_explorer.mechanisms.langevin.batch_accounting import last_sampled_state_guarantee
from rashomon_explorer.mechanisms.langevin.plan import LastState, last_state_excess, plan_last_state
from rashomon_explorer.mechanisms.langevin.sampler import LangevinSampler
from rashomon_explorer.mechanisms.plans import Plan
from rashomon_explorer.mechanisms.request import Request
from rashomon_explorer.mechanisms.target import GibbsTarget
from rashomon_explorer.privacy import Guarantee
from rashomon_explorer.problem.constants import Constants
from rashomon_explorer.problem.domains import Ball
from rashomon_explorer.problem.problem import Problem

_SHARE = 16  # a batch has the n-th part of the rows
_SAFE = 1 + 1e-9


class LastIterate(one_model.DescentMechanism):
    """The last state of noisy gradient descent; the others stay hidden (docs/theory §17)."""

    name: ClassVar[str] = "last_iterate"
    summary: ClassVar[str] = "the last state of noisy gradient descent"
    traits: ClassVar[Traits] = replace(one_model.DescentMechanism.traits, compared=False)

    def plan_supported(self, request: Request) -> Plan:
        """Descent under the best ridge."""
        ridge, planned, excess = self.best_descent(request, plan_last_state)
        return self.plan_with(
            request,
            planned,
            proof=f"only the last of {planned.n_steps} steps is released and accounted for",
            guarantee=planned.guarantee,
            excess=excess,
            ridge=ridge,
            gap=stable_gap(request, one_model.path_pull(planned.pace, planned.n_steps, ridge)),
        )

    def model(self, problem: Problem, plan: Plan, rng: np.random.Generator) -> FloatArray:
        """See :class:`OneModelMechanism`."""
        planned: LastState = plan.details.settings
        target = GibbsTarget(problem, planned.beta, psi=0.0)
        chain = LangevinSampler(planned.step_size, planned.n_steps, n_chains=1, shown="last")
        *_, last = chain.batches(target, rng)
        return np.asarray(last.theta[:, 0])


@dataclass(frozen=True)
class LastSampled(LastState):
    """Noisy steps on batches drawn anew, of which the last state is released."""

    batch_size: int
    n: int

    @property
    def rate(self) -> float:
        """Share of the rows in a step."""
        return self.batch_size / self.n


class LastSampledState(one_model.DescentMechanism):
    """The last state of noisy steps on rows drawn without replacement (docs/theory.md §12)."""

    name: ClassVar[str] = "last_sampled_state"
    summary: ClassVar[str] = "the last state of noisy descent on sampled rows"
    traits: ClassVar[Traits] = LastIterate.traits

    def why_unsupported(self, request: Request) -> str:
        """Decline also what keeps rows from being sampled."""
        return super().why_unsupported(request) or one_model.unsampled_because(request).strip(" ()")

    def plan_supported(self, request: Request) -> Plan:
        """Plan ridge and steps as for all rows, and the noise by the whole curve."""
        mu, zeros, size = one_model.affordable_mu(request), request.zero_loss, batch_size(request.n)

        def first(one: Request) -> LastState:
            error = sampling_error(one.constants, one.domain, size)
            return plan_last_state(one.constants, one.radius, mu, zeros, error)

        ridge, steps, _ = one_model.under_best_ridge(request, first, every=3)
        planned = calibrated(replace(request, ridge=ridge), steps, size)
        return self.plan_with(
            request,
            planned,
            proof=f"only the last of {planned.n_steps} steps on {size} sampled rows is released",
            guarantee=planned.guarantee,
            excess=planned.excess + own_cost(request, ridge),
            ridge=ridge,
        )

    def model(self, problem: Problem, plan: Plan, rng: np.random.Generator) -> FloatArray:
        """See :class:`OneModelMechanism`."""
        planned: LastSampled = plan.details.settings
        # A simulated table has fewer rows than the planned one.
        planned = replace(planned, batch_size=min(planned.batch_size, problem.n))
        *_, last = chain(planned).batches(GibbsTarget(problem, planned.beta, psi=0.0), rng)
        return np.asarray(last.theta[:, 0])


def chain(planned: LastSampled) -> LangevinSampler:
    """Return the sampler that takes the steps of a plan."""
    return LangevinSampler(
        planned.step_size,
        planned.n_steps,
        n_chains=1,
        batch_size=planned.batch_size,
        batch_order="sampled",
        shown="last",
    )


def batch_size(n: int) -> int:
    """Rows of a step."""
    return max(1, n // _SHARE)


def sampling_error(constants: Constants, domain: Ball, size: int) -> float:
    """Mean square of a batch's gradient around that of all rows, without replacement."""
    left = (constants.n - size) / max(1, constants.n - 1)
    return left * data_lipschitz(constants, domain) ** 2 / size


def calibrated(request: Request, steps: LastState, size: int) -> LastSampled:
    """Raise the noise of steps until the last state, on batches, is within the budget."""
    constants, domain = request.constants, request.domain
    moved = 2 * data_lipschitz(constants, domain) / size

    def guarantee(noise: float) -> Guarantee:
        return last_sampled_state_guarantee(
            shift=moved / noise * _SAFE,
            rate=size / request.n,
            n_steps=steps.n_steps,
            contraction=max(0.0, 1 - steps.pace * constants.m),
            diameter=domain.diameter / (steps.pace * noise) * _SAFE,
        )

    def affordable(noise: float) -> bool:
        cost, orders = guarantee(noise), one_model.orders(request)
        if not orders:
            return cost.epsilon(request.delta) / request.epsilon <= 1
        if cost.curve is None:
            return max(order * cost.rho / most for order, most in orders) <= 1
        return max(cost.curve.renyi(order) / most for order, most in orders) * _SAFE <= 1

    # More noise always costs less.
    low, noise = double(lambda noise: not affordable(noise), steps.noise)
    noise = bisect(affordable, noise, low, halvings=7)
    square = constants.p * noise**2 + sampling_error(constants, domain, size)
    start = furthest_start(constants, request.radius, request.zero_loss)
    reach = {"start": start, "diameter": domain.diameter}
    excess = last_state_excess(steps.pace, constants.m, square, steps.n_steps, **reach)
    known = steps.pace, noise, steps.n_steps, excess, guarantee(noise)
    return LastSampled(*known, batch_size=size, n=request.n)
