"""One model from the exponential mechanism."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer.mechanisms.localisation.disjoint_plan import DisjointPlan, plan_disjoint
from rashomon_explorer.mechanisms.localisation.output_plan import plan_regularised
from rashomon_explorer.mechanisms.localisation.plan import (
    LocalisationPlan,
    plan_iterated,
    plan_perturbed,
)
from rashomon_explorer.mechanisms.localisation.sampler import (
    IteratedSampler,
    OutputPerturbationSampler,
    draw_by_batches,
    first_draw,
    if_drawn,
)
from rashomon_explorer.mechanisms.one_model.base import (
    Method,
    ModelOffer,
    batch_gap,
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
from rashomon_explorer.privacy import pure
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

        # By bounded range alone a ridge changes no price.
        ridge, bought = (
            (request.ridge, made(request)[1]) if pure else best_ridged(request, made, every=3)
        )
        excess = bought.excess_bound + own_cost(request, ridge)
        return ModelOffer(
            self.name,
            self.model,
            f"paid for by {bought.certificate}",
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
    with suppress_weak_warnings():  # who asks for a model is told once
        return plan(
            **{**tried.numbers, "psi": 0.0, "n_draws": 1},
            certificate="oscillation" if pure else "best",
        )


def _sampler(request: Request, ridge: float) -> ExactSampler:
    """Sampler that knows how much the loss may vary, for what is said of giving up."""
    steepest = replace(request, ridge=ridge).constants.L
    return ExactSampler(spread=steepest * 2 * request.radius)


@dataclass(frozen=True)
class Localised:
    """Output perturbation, then an exponential mechanism on what is near; pure DP."""

    name: ClassVar[str] = "localised"
    model: ClassVar[str] = "an exact draw near a noisy minimiser"

    def offer(self, request: Request) -> ModelOffer:
        """See :class:`Method`."""
        ridge, bought = _best(
            request, lambda one: plan_perturbed(one.constants, one.domain, epsilon=one.epsilon)
        )
        return _offered(self, request, ridge, bought)

    def draw(self, problem: Problem, offer: ModelOffer, rng: np.random.Generator) -> FloatArray:
        """See :class:`Method`."""
        return OutputPerturbationSampler(offer.settings.epsilon).draw(problem, rng)


@dataclass(frozen=True)
class Iterated:
    """Exponential mechanisms on ever smaller sets; pure DP."""

    name: ClassVar[str] = "iterated"
    model: ClassVar[str] = "the last of exact draws, each near the one before"

    def offer(self, request: Request) -> ModelOffer:
        """See :class:`Method`."""
        ridge, bought = _best(
            request, lambda one: plan_iterated(one.constants, one.domain, epsilon=one.epsilon)
        )
        if len(bought.stages) == 1:
            return declined(self, "a second draw would be no better for its price: see gibbs")
        return _offered(self, request, ridge, bought)

    def draw(self, problem: Problem, offer: ModelOffer, rng: np.random.Generator) -> FloatArray:
        """See :class:`Method`."""
        return IteratedSampler(offer.settings.epsilon).draw(problem, rng)


def _best(
    request: Request, planned: Callable[[Request], LocalisationPlan]
) -> tuple[float, LocalisationPlan]:
    """Plan under the best ridge, for it needs one."""

    def made(tried: Request) -> tuple[float, LocalisationPlan | None]:
        if tried.ridge == 0:
            return float("inf"), None
        bought = planned(tried)
        return bought.excess_bound + own_cost(request, tried.ridge), bought

    ridge, bought = best_ridged(request, made)
    assert bought is not None  # a positive ridge is always tried, and its promise finite
    return ridge, bought


def _offered(
    method: Method, request: Request, ridge: float, bought: LocalisationPlan
) -> ModelOffer:
    excess = bought.excess_bound + own_cost(request, ridge)
    return ModelOffer(
        method.name,
        method.model,
        f"pure DP of {len(bought.stages) + bool(bought.noise_scale)} releases",
        guarantee=if_drawn(replace(bought.guarantee)),
        excess=excess,
        # A later stage depends on the rows through the one before: no stability is claimed.
        unseen=excess + generalisation_gap(request),
        ridge=ridge,
        settings=bought,
        may_give_up=True,
    )


@dataclass(frozen=True)
class IteratedBatches:
    """Draws on batches that share no row, each near the one before; pure DP of one of them."""

    name: ClassVar[str] = "iterated_batches"
    model: ClassVar[str] = "the last of exact draws on disjoint batches, each near the one before"

    def offer(self, request: Request) -> ModelOffer:
        """See :class:`Method`."""

        def made(tried: Request) -> tuple[float, DisjointPlan | None]:
            if tried.ridge == 0:
                return math.inf, None
            bought = plan_disjoint(tried.constants, tried.domain, epsilon=tried.epsilon)
            return _unseen(request, tried.ridge, bought), bought

        ridge, bought = best_ridged(request, made, every=3)
        assert bought is not None  # a positive ridge is always tried, and its promise finite
        if len(bought.stages) == 1:
            return declined(self, "one draw on all rows promises no less: see gibbs")
        last = bought.sizes[-1]
        excess = bought.fitted + own_cost(request, ridge)
        return ModelOffer(
            self.name,
            self.model,
            f"pure DP of one draw: a record is in one of {len(bought.sizes)} batches",
            guarantee=if_drawn(pure(request.epsilon)),
            excess=excess + batch_gap(request, last, request.radius),
            unseen=_unseen(request, ridge, bought),
            ridge=ridge,
            settings=bought,
            may_give_up=True,
            picks_rows=True,
        )

    def draw(self, problem: Problem, offer: ModelOffer, rng: np.random.Generator) -> FloatArray:
        """See :class:`Method`."""
        return draw_by_batches(problem, offer.settings, rng)


def _unseen(request: Request, ridge: float, bought: DisjointPlan) -> float:
    """Excess of the risk, over the best model for it."""
    strays = min(bought.stable, batch_gap(request, bought.sizes[-1], bought.reach))
    return bought.fitted + strays + own_cost(request, ridge)


@dataclass(frozen=True)
class Regularised:
    """The exponential mechanism under the ridge that is best for new rows; pure DP."""

    name: ClassVar[str] = "regularised"
    model: ClassVar[str] = "an exact draw under a ridge that serves new rows"

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
