"""Minimisers of perturbed objectives: draws, and one model."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self, cast

import numpy as np

from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer._utils.threads import pause
from rashomon_explorer.exceptions import SamplerError
from rashomon_explorer.mechanisms.ellipsoid.sampler import CERTIFIED
from rashomon_explorer.mechanisms.objective_perturbation.accounting import (
    THEOREM,
    PerturbedObjective,
    by_divergences,
    plan_perturbed_objective,
    row_slope,
)
from rashomon_explorer.mechanisms.objective_perturbation.plan import ObjectivePerturbationPlan
from rashomon_explorer.mechanisms.one_model.base import ModelOffer, declined, stable_gap
from rashomon_explorer.mechanisms.planning.offers import Request, added, best_ridged
from rashomon_explorer.mechanisms.planning.plan import Plan
from rashomon_explorer.mechanisms.samplers.base import Batch, Traits
from rashomon_explorer.mechanisms.target import GibbsTarget
from rashomon_explorer.privacy import Guarantee, pure
from rashomon_explorer.privacy.notions import approximate
from rashomon_explorer.problem.constants import Constants
from rashomon_explorer.problem.domains import Ball
from rashomon_explorer.problem.losses import Loss, clipped, get_loss
from rashomon_explorer.problem.minimisation import MinimisedObjective, minimise_on_ball
from rashomon_explorer.problem.problem import Problem

_ON_SPHERE = 1e-9


class SurrogateProblem(Problem):
    """The same rows and domain, under another loss and ridge, without copies."""

    def __init__(self, problem: Problem, loss: Loss, ridge: float) -> None:
        constants = Constants.of(
            loss,
            n=problem.n,
            p=problem.p,
            domain=problem.domain,
            row_bound=problem.row_bound,
            ridge=ridge,
        )
        self._pose_again(problem, domain=problem.domain, ridge=ridge, constants=constants)
        if loss != problem.loss:
            self.loss = loss
            self._objective = MinimisedObjective(problem.of_loss(loss), ridge)


class PerturbedObjectiveFunction:
    """A problem's objective with a linear term b·θ, for the solver."""

    def __init__(self, problem: Problem, tilt: FloatArray) -> None:
        self._problem, self._tilt = problem, tilt

    def value_and_gradient(self, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Objective (K,) and gradient (p, K) of each column of ``theta`` (p, K)."""
        value, gradient = self._problem.value_and_gradient(theta)
        return value + self._tilt @ theta, gradient + self._tilt[:, None]

    def hessian(self, theta: FloatArray) -> FloatArray:
        """Hessian (p, p) at one model (p,)."""
        return self._problem.hessian(theta)


def perturbed_minimiser(problem: Problem, tilt: FloatArray, error: float) -> FloatArray:
    """Minimiser (p,) over the ball, certified to lie within ``error`` of the exact one.

    With r = ∇J(θ) + λθ, λ ≥ 0, the distance d has md² ≤ ‖r‖d + λ‖θ‖(R − ‖θ‖) (docs/theory.md §15).
    """
    objective, ball = (
        cast(MinimisedObjective, PerturbedObjectiveFunction(problem, tilt)),
        cast(Ball, problem.domain),
    )
    # Steps continue below it, as long as they lower the gap.
    tolerance = problem.m * error**2 / 2
    theta = minimise_on_ball(objective, ball, tolerance, np.zeros(problem.p)).theta
    off = distance_bound(objective, theta, ball.radius, problem.m)
    if off > error:
        raise SamplerError(
            f"the minimiser of the perturbed objective could not be certified to {error:.2e}, "
            f"only to {off:.2e}: use "
            "more ridge or a larger epsilon"
        )
    return theta


def distance_bound(
    objective: MinimisedObjective, theta: FloatArray, radius: float, strong_convexity: float
) -> float:
    """Bound ‖r‖/m + √(λ‖θ‖(R − ‖θ‖)/m) on the distance from the minimiser over the ball."""
    gradient = objective.value_and_gradient(theta[:, None])[1][:, 0]
    length = float(np.linalg.norm(theta))
    held = length > radius * (1 - _ON_SPHERE)
    multiplier = max(0.0, -float(gradient @ theta) / length**2) if held else 0.0
    residual = float(np.linalg.norm(gradient + multiplier * theta))
    inside = multiplier * length * max(0.0, radius - length)
    return residual / strong_convexity + math.sqrt(inside / strong_convexity)


def radial_noise(
    p: int, scale: float, rng: np.random.Generator, *, gaussian: bool = False
) -> FloatArray:
    """Noise (p,) of density ∝ exp(−‖z‖/scale), or Gaussian with that standard deviation."""
    direction = rng.standard_normal(p)
    if gaussian:
        return np.asarray(scale * direction)
    length = scale * rng.standard_gamma(p)
    return np.asarray(direction * (length / np.linalg.norm(direction)))


_ROUNDING = "the noise is that of doubles, rounded to public grids (docs/floating-point.md)"


@dataclass(frozen=True)
class ObjectivePerturbationSampler:
    """Draws θ = argmin of mean loss + ½m‖θ‖² + b·θ over the ball, b random, plus a little noise."""

    name: ClassVar[str] = "objective_perturbation"
    traits: ClassVar[Traits] = Traits(
        independent=True,
        unplanned="minimisers of perturbed objectives, which have no temperature",
        mechanism="objective_perturbation",
        weighed=True,
    )

    plan: Plan

    def __post_init__(self) -> None:
        if not isinstance(self.plan, ObjectivePerturbationPlan):
            raise TypeError(
                "plan must be an ObjectivePerturbationPlan, as plan_objective_perturbation returns"
            )

    @classmethod
    def for_plan(
        cls, plan: Plan, *, patience: int | None = None, spread: float | None = None
    ) -> Self:
        """Create the sampler of this plan."""
        return cls(plan)

    def guarantee(self, plan: Plan) -> Guarantee:
        """Return the plan's guarantee; it assumes that the solver is accurate enough."""
        held = plan.guarantee
        return replace(held, assumptions=(*held.assumptions, _ROUNDING, CERTIFIED))

    def batches(self, target: GibbsTarget, rng: np.random.Generator) -> Iterator[Batch]:
        """Yield batches of one draw without end."""
        planned = self.plan
        assert isinstance(planned, ObjectivePerturbationPlan)
        problem = SurrogateProblem(target.problem, _followed(target, planned), planned.tilt_ridge)
        while True:
            tilt = radial_noise(problem.p, planned.tilt, rng, gaussian=planned.gaussian)
            blur = radial_noise(problem.p, planned.blur, rng, gaussian=planned.gaussian)
            near = perturbed_minimiser(problem, tilt, planned.solver) + blur
            theta = problem.domain.project(near[:, None])
            yield Batch(theta, target.problem.value(theta), evaluated=1)
            pause()


def _followed(target: GibbsTarget, planned: ObjectivePerturbationPlan) -> Loss:
    whole = target.problem.loss
    found = whole if math.isinf(planned.most) else clipped(whole, planned.most)
    if found is None:
        raise ValueError(f"{whole.name} loss has no form with a clipped slope")
    return found


@dataclass(frozen=True)
class ObjectivePerturbation:
    """argmin of mean loss + ½m‖θ‖² + b·θ over the ball, b random, plus a little noise."""

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
            return declined(self, "needs a larger epsilon or more rows")
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
    """List the budgets to try: a pure ε, and (ε, δ) or what a ledger composes for it."""
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
