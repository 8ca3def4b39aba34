"""Minimisers of perturbed objectives."""

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import ClassVar

import numpy as np

from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer._utils.formatting import rounded_up
from rashomon_explorer._utils.threads import pause
from rashomon_explorer.exceptions import SamplerError
from rashomon_explorer.mechanisms.base import Batch, Mechanism, Traits, hits_sentence
from rashomon_explorer.mechanisms.ellipsoid import CERTIFIED
from rashomon_explorer.mechanisms.objective_perturbation import plan as plans
from rashomon_explorer.mechanisms.plans import Plan
from rashomon_explorer.mechanisms.request import Request
from rashomon_explorer.mechanisms.target import GibbsTarget
from rashomon_explorer.problem.constants import Constants
from rashomon_explorer.problem.losses import Loss, clipped
from rashomon_explorer.problem.minimisation import MinimisedObjective, best_found
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


def perturbed_minimiser(problem: Problem, tilt: FloatArray, error: float) -> FloatArray:
    """Minimiser (p,) over the ball, certified within ``error`` of the exact one (theory §15)."""
    objective = MinimisedObjective(problem.objective.loss, problem.ridge, tilt)
    # Steps continue below it, as long as they lower the gap.
    tolerance, start = problem.m * error**2 / 2, problem.coarse_minimiser(tilt)
    theta = best_found(objective, problem.domain, tolerance, start).theta
    off = distance_bound(objective, theta, problem.domain.radius, problem.m)
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


class ObjectivePerturbation(Mechanism):
    """Draws θ = argmin of mean loss + ½m‖θ‖² + b·θ over the ball, b random, plus a little noise."""

    name: ClassVar[str] = "objective_perturbation"
    summary: ClassVar[str] = "the minimiser of a randomly perturbed objective"
    traits: ClassVar[Traits] = Traits(
        independent=True,
        unplanned="minimisers of perturbed objectives, which have no temperature",
        compared=True,
        bound_slack=60.0,
        several_scores=(2.0, 4.0),
    )

    def why_unsupported(self, request: Request) -> str:
        if math.isfinite(request.constants.M):
            return ""
        return "the loss has kinks, where the perturbation has no density"

    def why_not_compared(self, request: Request) -> str:
        several = request.outputs > 1 and request.n_draws > 1
        counted = request.cost_at_order is not None and not several
        if request.ledger and request.delta > 0 and not counted:
            return "pure DP costs more in zCDP, which the ledger composes"
        return ""

    def plan_supported(self, request: Request) -> Plan:
        planned = plans.plan_objective_perturbation(request)
        assumptions = (*planned.guarantee.assumptions, ROUNDING, CERTIFIED)
        return replace(planned, guarantee=replace(planned.guarantee, assumptions=assumptions))

    def explain(self, plan: Plan) -> list[str]:
        details = plan.details
        each = f", {rounded_up(plan.eta)} each" if plan.n_draws > 1 else ""
        draws = "models cost" if plan.n_draws > 1 else "model costs"
        total = rounded_up(plan.guarantee.epsilon(plan.delta))
        at = f" at δ = {plan.delta:g}" if details.gaussian else ""
        pure = "" if details.gaussian else "pure "
        lines = [
            f"{plan.n_draws:,} {draws} {pure}ε = {total}{at}{each}; the mechanism always returns "
            "a model.",
            f"A model minimises the loss with a random linear term of scale "
            f"{details.linear_noise:.3g} and a ridge of {details.added_ridge:.3g}.",
        ]
        subject = "the loss"
        if math.isfinite(details.slope_bound):
            subject = "the clipped loss"
            lines.append(f"The slope of each row is clipped to {details.slope_bound:g}.")
        bound = (
            f"On average {subject} exceeds its least by at most "
            f"{rounded_up(plan.comparison_excess)}."
        )
        return [*lines, f"{bound} {hits_sentence(plan)}"]

    def batches(self, target: GibbsTarget, plan: Plan, rng: np.random.Generator) -> Iterator[Batch]:
        details = plan.details
        surrogate = _surrogate_loss(target, details.slope_bound)
        problem = SurrogateProblem(target.problem, surrogate, details.added_ridge)
        while True:
            linear = radial_noise(problem.p, details.linear_noise, rng, gaussian=details.gaussian)
            blur = radial_noise(problem.p, details.output_noise, rng, gaussian=details.gaussian)
            near = perturbed_minimiser(problem, linear, details.solver) + blur
            theta = problem.domain.project(near[:, None])
            yield Batch(theta, target.problem.value(theta), evaluated=1)
            pause()


def _surrogate_loss(target: GibbsTarget, slope_bound: float) -> Loss:
    loss = target.problem.loss
    surrogate = loss if math.isinf(slope_bound) else clipped(loss, slope_bound)
    if surrogate is None:
        raise ValueError(f"{loss.name} loss has no form with a clipped slope")
    return surrogate
