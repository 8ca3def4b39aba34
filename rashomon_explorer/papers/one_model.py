"""Mechanisms of one model that papers print: last states, sampled steps, and boosting."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer._utils.bisection import bisect, double
from rashomon_explorer._utils.formatting import rounded_up
from rashomon_explorer._utils.validation import check_inner_share
from rashomon_explorer.mechanisms import one_model
from rashomon_explorer.mechanisms.base import Traits
from rashomon_explorer.mechanisms.bounds import added, own_cost, stable_gap
from rashomon_explorer.mechanisms.centres import furthest_start
from rashomon_explorer.mechanisms.certificates.sensitivity import data_lipschitz
from rashomon_explorer.mechanisms.langevin.batch_accounting import last_sampled_state_guarantee
from rashomon_explorer.mechanisms.langevin.batches import unsampled_because
from rashomon_explorer.mechanisms.langevin.plan import LastState, last_state_excess, plan_last_state
from rashomon_explorer.mechanisms.langevin.sampler import LangevinSampler
from rashomon_explorer.mechanisms.one_model import NoisySGD, OneModelMechanism
from rashomon_explorer.mechanisms.plans import Plan, Rejected
from rashomon_explorer.mechanisms.registry import get_mechanism
from rashomon_explorer.mechanisms.request import Request
from rashomon_explorer.mechanisms.selection import Exponential
from rashomon_explorer.mechanisms.target import GibbsTarget
from rashomon_explorer.privacy import Guarantee, compose
from rashomon_explorer.privacy.conversions import zcdp_epsilon, zcdp_rho
from rashomon_explorer.problem.constants import Constants
from rashomon_explorer.problem.domains import Ball
from rashomon_explorer.problem.problem import Problem

_SHARE = 16  # a batch has the n-th part of the rows
_ROUNDED_UP = 1 + 1e-9


class LastIterate(one_model.DescentMechanism):
    """The last state of noisy gradient descent; the others stay hidden (docs/theory §17)."""

    name: ClassVar[str] = "last_iterate"
    summary: ClassVar[str] = "the last state of noisy gradient descent"
    traits: ClassVar[Traits] = replace(one_model.DescentMechanism.traits, compared=False)

    def plan_supported(self, request: Request) -> Plan:
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
        return super().why_unsupported(request) or unsampled_because(request).strip(" ()")

    def plan_supported(self, request: Request) -> Plan:
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
            shift=moved / noise * _ROUNDED_UP,
            rate=size / request.n,
            n_steps=steps.n_steps,
            contraction=max(0.0, 1 - steps.pace * constants.m),
            diameter=domain.diameter / (steps.pace * noise) * _ROUNDED_UP,
        )

    def affordable(noise: float) -> bool:
        cost, orders = guarantee(noise), one_model.orders(request)
        if not orders:
            return cost.epsilon(request.delta) / request.epsilon <= 1
        if cost.curve is None:
            return max(order * cost.rho / most for order, most in orders) <= 1
        return max(cost.curve.renyi(order) / most for order, most in orders) * _ROUNDED_UP <= 1

    # More noise always costs less.
    low, noise = double(lambda noise: not affordable(noise), steps.noise)
    noise = bisect(affordable, noise, low, halvings=7)
    square = constants.p * noise**2 + sampling_error(constants, domain, size)
    start = furthest_start(constants, request.radius, request.zero_loss)
    reach = {"start": start, "diameter": domain.diameter}
    excess = last_state_excess(steps.pace, constants.m, square, steps.n_steps, **reach)
    known = steps.pace, noise, steps.n_steps, excess, guarantee(noise)
    return LastSampled(*known, batch_size=size, n=request.n)


class SmoothSGD(NoisySGD):
    """Algorithm 1 for smooth losses; ``noisy_descent`` has the smaller bound."""

    name: ClassVar[str] = "smooth_sgd"
    summary: ClassVar[str] = "the average of noisy gradient descent on sampled rows"
    traits: ClassVar[Traits] = replace(NoisySGD.traits, compared=False)

    def why_unsupported(self, request: Request) -> str:
        return request.why_no_descent or super(NoisySGD, self).why_unsupported(request)


_RUNS = (1, 2, 3, 4, 6, 8)
_SHARES = (0.1, 0.25, 0.5)  # of the budget, for the selection
_ROUNDED_DOWN = 1 - 1e-9
_PURE = ("objective_perturbation", "output_perturbation")
_GAUSSIAN = ("noisy_descent", "localised_gaussian", "output_perturbation", "noisy_sgd")


@dataclass(frozen=True)
class Boosting:
    """k runs of one plan and a selection of exponent η/osc, in public numbers."""

    k: int
    run: Plan
    run_mechanism: str
    own_ridge: float
    pick: Exponential
    failure: float
    excess: float  # on average
    likely: float  # with probability 1 − failure
    guarantee: Guarantee

    @property
    def n_steps(self) -> int:
        """Passes of all runs, for the time."""
        return math.ceil(self.k * float(getattr(self.run, "passes", 1.0)))


def plan_boosting(request: Request, failure: float = 0.05) -> Boosting:
    """Least a·F + osc·log(2k/ρ)/η, a = (2/ρ)^(1/k), that fails with probability ρ (Appendix D)."""
    check_inner_share(failure=failure)
    tried = [*_tried(request, 4, 0.25, failure, _PURE if request.delta == 0 else _GAUSSIAN)]
    if not tried:
        raise ValueError("no mechanism of one model applies to this request")
    best = min(tried, key=lambda one: one.likely)
    for k in _RUNS:
        for share in _SHARES if k > 1 else (0.0,):
            tried += _tried(request, k, share, failure, (best.run_mechanism,))
    return min(tried, key=lambda one: one.likely)


def _tried(
    request: Request, k: int, share: float, failure: float, names: tuple[str, ...]
) -> Iterator[Boosting]:
    """Boosting of each mechanism that applies, with this share of the budget for the selection."""
    osc = request.constants.charged_oscillation
    if k == 1:
        cost, asked = 0.0, replace(request, n_draws=1)
    elif request.delta == 0:
        each, cost = (
            (1 - share) / k * request.epsilon * _ROUNDED_DOWN,
            share * request.epsilon * _ROUNDED_DOWN,
        )
        asked = replace(request, epsilon=each, n_draws=1)
    else:
        rho = zcdp_rho(request.epsilon, request.delta) * _ROUNDED_DOWN**2
        each, cost = zcdp_epsilon((1 - share) / k * rho, request.delta), math.sqrt(8 * share * rho)
        asked = replace(request, epsilon=each, n_draws=1, ledger="zcdp")
    for name in names:
        run = get_mechanism(name).plan(asked)
        if isinstance(run, Rejected):
            continue
        pick = Exponential(cost, osc / 2)
        parts = [run.guarantee] * k
        parts += [pick.guarantee] * (k > 1)
        guarantee = compose(parts)
        if guarantee.epsilon(request.delta) > request.epsilon:
            continue  # pure DP, which zCDP cannot share out
        factor, selection, tail = 1 / failure, 0.0, 0.0
        if k > 1:
            factor = (2 / failure) ** (1 / k)
            selection, tail = osc * math.log(k) / cost, osc * math.log(2 * k / failure) / cost
        yield Boosting(
            k=k,
            run=run,
            run_mechanism=name,
            own_ridge=added(request, run.ridge),
            pick=pick,
            failure=failure,
            excess=run.excess_bound + selection,
            likely=factor * run.excess_bound + tail,
            guarantee=replace(guarantee, requested=(request.epsilon, request.delta)),
        )


class Boosted(OneModelMechanism):
    """The best of several runs by its loss, selected privately (Appendix D)."""

    name: ClassVar[str] = "boosted"
    summary: ClassVar[str] = "one of several runs, with a bound of high probability"
    traits: ClassVar[Traits] = replace(OneModelMechanism.traits, compared=False, bound_slack=30.0)

    def plan_supported(self, request: Request) -> Plan:
        planned = plan_boosting(request)
        proof = (
            f"with probability {1 - planned.failure:g} the excess is at most "
            f"{rounded_up(planned.likely)}; {planned.k} runs of {planned.run_mechanism} and a "
            "selection by their losses are accounted for"
        )
        return self.plan_with(
            request,
            planned,
            proof=proof,
            guarantee=planned.guarantee,
            excess=planned.excess,
            ridge=planned.run.ridge,
        )

    def model(self, problem: Problem, plan: Plan, rng: np.random.Generator) -> FloatArray:
        planned: Boosting = plan.details.settings
        mechanism = get_mechanism(planned.run_mechanism)
        runs = [mechanism.draw(problem, planned.run, rng).coef[0] for _ in range(planned.k)]
        theta = problem.domain.project(np.column_stack(runs))  # where the oscillation holds
        losses = problem.value(theta) - planned.own_ridge / 2 * (theta**2).sum(axis=0)
        return np.asarray(theta[:, planned.pick.draw(losses, rng) if planned.k > 1 else 0])
