"""Minimisers of perturbed objectives."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import ClassVar, cast

import numpy as np

from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer._utils.threads import pause
from rashomon_explorer.exceptions import SamplerError
from rashomon_explorer.mechanisms.base import Batch, Mechanism, Traits
from rashomon_explorer.mechanisms.ellipsoid.sampler import CERTIFIED
from rashomon_explorer.mechanisms.objective_perturbation import plan as plans
from rashomon_explorer.mechanisms.planning.plan import Plan
from rashomon_explorer.mechanisms.request import Offer, Request
from rashomon_explorer.mechanisms.target import GibbsTarget
from rashomon_explorer.privacy import Guarantee
from rashomon_explorer.problem.constants import Constants
from rashomon_explorer.problem.domains import Ball
from rashomon_explorer.problem.losses import Loss, clipped, get_loss
from rashomon_explorer.problem.minimisation import Evaluation, MinimisedObjective, minimise_on_ball
from rashomon_explorer.problem.problem import Problem

_ON_SPHERE = 1e-9


class SurrogateProblem(Problem):
    """The same rows and domain, under another loss and ridge, without copies."""

    def __init__(self, problem: Problem, loss: Loss, ridge: float) -> None:
        constants = Constants.from_loss(
            loss,
            n=problem.n,
            p=problem.p,
            domain=problem.domain,
            row_bound=problem.row_bound,
            ridge=ridge,
        )
        self._copy_rows_and_loss(problem, domain=problem.domain, ridge=ridge, constants=constants)
        if loss != problem.loss:
            self.loss = loss
            self._objective = MinimisedObjective(problem.mean_loss(loss), ridge)


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

    def evaluate(self, theta: FloatArray) -> Evaluation:
        """Evaluate one model (p,)."""
        near = self._problem.evaluate(theta)
        value = near.value + float(self._tilt @ theta)
        return replace(near, value=value, gradient=near.gradient + self._tilt)


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
    on_sphere = length > radius * (1 - _ON_SPHERE)
    multiplier = max(0.0, -float(gradient @ theta) / length**2) if on_sphere else 0.0
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


ROUNDING = "the noise is that of doubles, rounded to public grids (docs/floating-point.md)"


@dataclass(frozen=True)
class ObjectivePerturbationSampler(Mechanism):
    """Draws θ = argmin of mean loss + ½m‖θ‖² + b·θ over the ball, b random, plus a little noise."""

    name: ClassVar[str] = "objective_perturbation"
    summary: ClassVar[str] = "the minimiser of a randomly perturbed objective"
    traits: ClassVar[Traits] = Traits(
        independent=True,
        unplanned="minimisers of perturbed objectives, which have no temperature",
        compared=True,
        looseness=60.0,
    )

    plan: Plan

    def __post_init__(self) -> None:
        if not isinstance(self.plan, plans.ObjectivePerturbationPlan):
            raise TypeError(
                "plan must be an ObjectivePerturbationPlan, as plan_objective_perturbation returns"
            )

    @classmethod
    def unsuited(cls, request: Request) -> str:
        """Decline losses with kinks."""
        if math.isfinite(request.constants.M):
            return ""
        return "the loss has kinks, where the perturbation has no density"

    @classmethod
    def plan_for(cls, request: Request) -> plans.ObjectivePerturbationPlan:
        """See :func:`plan_objective_perturbation`."""
        return plans.plan_objective_perturbation(request)

    @classmethod
    def offer(cls, request: Request) -> Offer:
        """Decline also if a ledger adds up its zCDP, or if no ridge makes a draw affordable."""
        several = get_loss(request.loss).outputs > 1 and request.n_draws > 1
        counted = request.cost_at_order is not None and not several
        if request.ledger and request.delta > 0 and not counted and not cls.unsuited(request):
            return cls.declined("pure DP costs more in zCDP, which the ledger composes")
        try:
            return super().offer(request)
        except ValueError:
            return cls.declined("needs a larger epsilon, fewer draws or more rows")

    @classmethod
    def proof(cls, planned: plans.ObjectivePerturbationPlan) -> str:
        """Noise of the plan."""
        return "Gaussian noise" if planned.gaussian else "pure DP"

    @classmethod
    def looseness(cls, loss: Loss, *, compared: bool = False) -> float:
        """Factor of its excess bound; smaller with several scores per row."""
        usual = super().looseness(loss)
        return usual if loss.outputs == 1 else usual / (4 if compared else 2)

    def guarantee(self, plan: Plan) -> Guarantee:
        """Return the plan's guarantee; it assumes that the solver is accurate enough."""
        guarantee = plan.guarantee
        return replace(guarantee, assumptions=(*guarantee.assumptions, ROUNDING, CERTIFIED))

    def batches(self, target: GibbsTarget, rng: np.random.Generator) -> Iterator[Batch]:
        """Yield batches of one draw without end."""
        planned = self.plan
        assert isinstance(planned, plans.ObjectivePerturbationPlan)
        problem = SurrogateProblem(target.problem, _followed(target, planned), planned.tilt_ridge)
        while True:
            tilt = radial_noise(problem.p, planned.tilt, rng, gaussian=planned.gaussian)
            blur = radial_noise(problem.p, planned.blur, rng, gaussian=planned.gaussian)
            near = perturbed_minimiser(problem, tilt, planned.solver) + blur
            theta = problem.domain.project(near[:, None])
            yield Batch(theta, target.problem.value(theta), evaluated=1)
            pause()


def _followed(target: GibbsTarget, planned: plans.ObjectivePerturbationPlan) -> Loss:
    unclipped = target.problem.loss
    found = unclipped if math.isinf(planned.most) else clipped(unclipped, planned.most)
    if found is None:
        raise ValueError(f"{unclipped.name} loss has no form with a clipped slope")
    return found
