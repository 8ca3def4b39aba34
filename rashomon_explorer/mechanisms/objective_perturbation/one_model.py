"""The minimiser of an objective with a random linear term."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer.mechanisms.ellipsoid.sampler import CERTIFIED
from rashomon_explorer.mechanisms.objective_perturbation.accounting import (
    THEOREM,
    PerturbedObjective,
    by_divergences,
    plan_perturbed_objective,
    row_slope,
)
from rashomon_explorer.mechanisms.objective_perturbation.sampler import (
    perturbed_minimiser,
    radial_noise,
)
from rashomon_explorer.mechanisms.one_model.base import ModelOffer, declined, stable_gap
from rashomon_explorer.mechanisms.planning.offers import Request, added, best_ridged
from rashomon_explorer.privacy import pure
from rashomon_explorer.privacy.notions import approximate
from rashomon_explorer.problem.losses import get_loss
from rashomon_explorer.problem.problem import Problem


@dataclass(frozen=True)
class ObjectivePerturbation:
    """argmin of mean loss + ½m‖θ‖² + b·θ over the ball, b random; and a little noise on it."""

    name: ClassVar[str] = "objective_perturbation"
    model: ClassVar[str] = "the minimiser of a randomly perturbed objective"

    def offer(self, request: Request) -> ModelOffer:
        """See :class:`Method`."""
        why = _unsuited(request)
        if why:
            return declined(self, why)

        def plan_at(tried: Request) -> tuple[float, PerturbedObjective | None]:
            best = min(_tried(request, tried), key=lambda one: one.excess, default=None)
            return (math.inf if best is None else best.excess), best

        ridge, best = best_ridged(request, plan_at)
        if best is None:
            return declined(self, "takes a larger epsilon, or more rows")
        paid, held = "pure DP", pure(request.epsilon)
        if best.curve is not None:
            asked = (request.epsilon, request.delta)
            paid, held = "Rényi DP", by_divergences(best.curve, asked)
        elif best.gaussian:
            paid, held = "(ε, δ)-DP", approximate(request.epsilon, request.delta)
        return ModelOffer(
            self.name,
            self.model,
            paid,
            guarantee=replace(held, theorem=THEOREM, assumptions=(*held.assumptions, CERTIFIED)),
            excess=best.excess,
            unseen=best.excess + stable_gap(request, ridge, 2 * best.solver),
            ridge=ridge,
            settings=best,
        )

    def draw(self, problem: Problem, offer: ModelOffer, rng: np.random.Generator) -> FloatArray:
        """See :class:`Method`."""
        best: PerturbedObjective = offer.settings
        tilt = radial_noise(problem.p, best.scale, rng, gaussian=best.gaussian)
        blur = radial_noise(problem.p, best.blur, rng, gaussian=best.gaussian)
        return perturbed_minimiser(problem, tilt, best.solver) + blur


def _tried(request: Request, tried: Request) -> Iterator[PerturbedObjective]:
    """Plans by either noise under one ridge, if it is large enough for them."""
    if tried.ridge == 0:
        return
    for price in _prices(request):
        planned = plan_perturbed_objective(
            tried.constants,
            tried.radius,
            row_slope(get_loss(request.loss), request.domain, request.row_norm),
            own=added(request, tried.ridge),
            monotone=get_loss(request.loss).task == "classification",
            outputs=get_loss(request.loss).outputs,
            **price,
        )
        if planned is not None:
            yield planned


def _prices(request: Request) -> Iterator[dict[str, Any]]:
    """List what may be paid: a pure ε, and (ε, δ) or what a ledger counts of it."""
    yield {"epsilon": request.epsilon, "delta": 0.0}
    counted = request.cost_at_order
    if counted is not None:
        order, most = counted
        yield {"epsilon": most, "delta": 0.0, "order": order}
    elif request.delta > 0 and not request.ledger:
        yield {"epsilon": request.epsilon, "delta": request.delta}


def _unsuited(request: Request) -> str:
    if not math.isfinite(request.constants.M):
        return "the loss has kinks, where the perturbation has no density"
    return ""
