"""Methods for one model by the exponential mechanism."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer.mechanisms.localisation.output_plan import plan_regularised
from rashomon_explorer.mechanisms.localisation.plan import (
    LocalisationPlan,
    plan_perturbed,
)
from rashomon_explorer.mechanisms.localisation.sampler import (
    OutputPerturbationSampler,
    first_draw,
    if_drawn,
)
from rashomon_explorer.mechanisms.one_model.base import (
    Method,
    ModelOffer,
    declined,
    generalisation_gap,
    stable_gap,
)
from rashomon_explorer.mechanisms.planning.offers import ZCDP, Request, best_ridged, own_cost
from rashomon_explorer.mechanisms.planning.plan import Plan
from rashomon_explorer.mechanisms.planning.planner import plan
from rashomon_explorer.mechanisms.planning.suggestions import suppress_weak_warnings
from rashomon_explorer.mechanisms.samplers.exponential import ExactSampler
from rashomon_explorer.mechanisms.target import GibbsTarget
from rashomon_explorer.problem.problem import Problem


@dataclass(frozen=True)
class Gibbs:
    """An exact draw from exp(−βL)."""

    name: ClassVar[str] = "gibbs"
    model: ClassVar[str] = "an exact draw from exp(−βL)"

    def offer(self, request: Request) -> ModelOffer:
        """See :class:`Method`."""
        pure = request.delta == 0 or request.ledger == ZCDP

        def made(tried: Request) -> tuple[float, Plan]:
            bought = _bought(tried, pure)
            return bought.excess_bound + own_cost(request, tried.ridge), bought

        # With bounded range only, a ridge does not change the privacy cost.
        ridge, bought = (
            (request.ridge, made(request)[1]) if pure else best_ridged(request, made, every=3)
        )
        excess = bought.excess_bound + own_cost(request, ridge)
        return ModelOffer(
            self.name,
            self.model,
            f"certified by {bought.certificate}",
            guarantee=_sampler(request, ridge).guarantee(bought),
            excess=excess,
            unseen=excess + stable_gap(request, ridge),
            ridge=ridge,
            settings=bought,
            exact=bought,
            may_give_up=True,
        )

    def draw(self, problem: Problem, offer: ModelOffer, rng: np.random.Generator) -> FloatArray:
        """See :class:`Method`."""
        target = GibbsTarget(problem, offer.settings.beta, psi=0.0)
        return first_draw(target, ExactSampler(), rng)


def _bought(tried: Request, pure: bool) -> Plan:
    with suppress_weak_warnings():  # the plan of the model warns once
        return plan(
            **{**tried.numbers, "psi": 0.0, "n_draws": 1},
            certificate="oscillation" if pure else "best",
        )


def _sampler(request: Request, ridge: float) -> ExactSampler:
    """Sampler with the range of the loss, for a bound on the probability of giving up."""
    steepest = replace(request, ridge=ridge).constants.L
    return ExactSampler(spread=steepest * 2 * request.radius)


@dataclass(frozen=True)
class Localised:
    """Output perturbation, then the exponential mechanism near its result; pure DP."""

    name: ClassVar[str] = "localised"
    model: ClassVar[str] = "an exact draw near a noisy minimiser"

    def offer(self, request: Request) -> ModelOffer:
        """See :class:`Method`."""
        ridge, bought = best_localised(
            request, lambda one: plan_perturbed(one.constants, one.domain, epsilon=one.epsilon)
        )
        return offered_localised(self, request, ridge, bought)

    def draw(self, problem: Problem, offer: ModelOffer, rng: np.random.Generator) -> FloatArray:
        """See :class:`Method`."""
        return OutputPerturbationSampler(offer.settings.epsilon).draw(problem, rng)


def best_localised(
    request: Request, planned: Callable[[Request], LocalisationPlan]
) -> tuple[float, LocalisationPlan]:
    """Plan under the best positive ridge; the mechanism requires one."""

    def made(tried: Request) -> tuple[float, LocalisationPlan | None]:
        if tried.ridge == 0:
            return float("inf"), None
        bought = planned(tried)
        return bought.excess_bound + own_cost(request, tried.ridge), bought

    ridge, bought = best_ridged(request, made)
    assert bought is not None  # a positive ridge is always tried, and has a finite bound
    return ridge, bought


def offered_localised(
    method: Method, request: Request, ridge: float, bought: LocalisationPlan
) -> ModelOffer:
    """Candidate for a plan whose last draw is near a model that was released earlier."""
    excess = bought.excess_bound + own_cost(request, ridge)
    return ModelOffer(
        method.name,
        method.model,
        f"pure DP of {len(bought.stages) + bool(bought.noise_scale)} releases",
        guarantee=if_drawn(replace(bought.guarantee)),
        excess=excess,
        # A later stage depends on the rows through the earlier one: no stability is claimed.
        unseen=excess + generalisation_gap(request),
        ridge=ridge,
        settings=bought,
        may_give_up=True,
    )


@dataclass(frozen=True)
class Regularised:
    """The exponential mechanism under the ridge that is best for new rows; pure DP."""

    name: ClassVar[str] = "regularised"
    model: ClassVar[str] = "an exact draw under a ridge chosen for new rows"

    def offer(self, request: Request) -> ModelOffer:
        """See :class:`Method`."""
        if request.ridge > 0:
            return declined(self, "chooses the ridge itself: needs ridge = 0")
        bought = plan_regularised(request.constants, request.domain, epsilon=request.epsilon)
        numbers = {**request.numbers, "ridge": bought.ridge, "psi": 0.0, "n_draws": 1}
        with suppress_weak_warnings():
            exact = plan(**numbers)
        return ModelOffer(
            self.name,
            self.model,
            "pure DP, by bounded range",
            guarantee=if_drawn(bought.guarantee),
            excess=bought.excess_bound,
            unseen=bought.population_bound,
            ridge=bought.ridge,
            settings=bought,
            exact=exact,
            may_give_up=True,
        )

    def draw(self, problem: Problem, offer: ModelOffer, rng: np.random.Generator) -> FloatArray:
        """See :class:`Method`."""
        return Gibbs().draw(problem, offer, rng)
