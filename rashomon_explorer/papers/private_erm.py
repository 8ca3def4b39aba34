"""Two mechanisms of Bassily, Smith and Thakurta (2014), selected by name only.

Sampled steps for smooth losses, and boosting to a bound that holds with high probability.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer._utils.formatting import rounded_up
from rashomon_explorer._utils.validation import check_inner_share
from rashomon_explorer.mechanisms.base import Traits
from rashomon_explorer.mechanisms.bounds.one_model import added
from rashomon_explorer.mechanisms.one_model import NoisySGD, OneModelMechanism
from rashomon_explorer.mechanisms.plans import Plan, Rejected
from rashomon_explorer.mechanisms.registry import get_mechanism
from rashomon_explorer.mechanisms.request import Request
from rashomon_explorer.mechanisms.selection import Exponential
from rashomon_explorer.privacy import Guarantee, compose
from rashomon_explorer.privacy.conversions import zcdp_epsilon, zcdp_rho
from rashomon_explorer.problem.problem import Problem


class SmoothSGD(NoisySGD):
    """Algorithm 1 for smooth losses; ``noisy_descent`` has the smaller bound."""

    name: ClassVar[str] = "smooth_sgd"
    summary: ClassVar[str] = "the average of noisy gradient descent on sampled rows"
    traits: ClassVar[Traits] = replace(NoisySGD.traits, compared=False)

    def why_unsupported(self, request: Request) -> str:
        """Decline pure DP, and losses with kinks."""
        return request.why_no_descent or super(NoisySGD, self).why_unsupported(request)


_RUNS = (1, 2, 3, 4, 6, 8)
_SHARES = (0.1, 0.25, 0.5)  # of the budget, for the selection
_SAFE = 1 - 1e-9
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
        each, cost = (1 - share) / k * request.epsilon * _SAFE, share * request.epsilon * _SAFE
        asked = replace(request, epsilon=each, n_draws=1)
    else:
        rho = zcdp_rho(request.epsilon, request.delta) * _SAFE**2
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
        """Boosting that fails with probability .05."""
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
        """See :class:`OneModelMechanism`."""
        planned: Boosting = plan.details.settings
        mechanism = get_mechanism(planned.run_mechanism)
        runs = [mechanism.draw(problem, planned.run, rng).coef[0] for _ in range(planned.k)]
        theta = problem.domain.project(np.column_stack(runs))  # where the oscillation holds
        losses = problem.value(theta) - planned.own_ridge / 2 * (theta**2).sum(axis=0)
        return np.asarray(theta[:, planned.pick.draw(losses, rng) if planned.k > 1 else 0])
