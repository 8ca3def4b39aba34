"""The minimiser of an objective with a random linear term."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import ClassVar, cast

import numpy as np

from rashomon_explorer.array_types import FloatArray
from rashomon_explorer.domains import Ball
from rashomon_explorer.exceptions import SamplerError
from rashomon_explorer.losses import get_loss
from rashomon_explorer.minimum import Objective
from rashomon_explorer.minimum.ball import minimise_on_ball
from rashomon_explorer.one_model.method import ModelOffer, declined
from rashomon_explorer.one_model.ridges import added, best_ridged
from rashomon_explorer.one_model.unseen import stable_gap
from rashomon_explorer.planning import Request
from rashomon_explorer.planning.objective import PerturbedObjective, plan_perturbed_objective
from rashomon_explorer.privacy import pure
from rashomon_explorer.privacy.notions import approximate
from rashomon_explorer.problem import Problem
from rashomon_explorer.samplers.radial_noise import radial_noise

_SOLVED = (
    "the minimum was certified as closely as the noise allows for: where it is not, an error tells "
    "something of the rows"
)
_ON_SPHERE = 1e-9
_THEOREM = "objective perturbation (Kifer, Smith and Thakurta 2012; docs/theory.md §15)"


@dataclass(frozen=True)
class ObjectivePerturbation:
    """argmin of mean loss + ½m‖θ‖² + b·θ over the ball, b random; and a little noise on it.

    Pure DP, or (ε, δ)-DP where that promises more and no ledger is given, which adds up by one
    rule.
    """

    name: ClassVar[str] = "objective_perturbation"
    model: ClassVar[str] = "the minimiser of a randomly tilted objective"

    def offer(self, request: Request) -> ModelOffer:
        """See :class:`Method`."""
        why = _unsuited(request)
        if why:
            return declined(self, why)

        def made(tried: Request) -> tuple[float, PerturbedObjective | None]:
            best = min(_tried(request, tried), key=lambda one: one.excess, default=None)
            return (math.inf if best is None else best.excess), best

        ridge, best = best_ridged(request, made)
        if best is None:
            return declined(self, "takes a larger epsilon, or more rows")
        paid, held = "pure DP", pure(request.epsilon)
        if best.gaussian:
            paid, held = "(ε, δ)-DP", approximate(request.epsilon, request.delta)
        return ModelOffer(
            self.name,
            self.model,
            paid,
            guarantee=replace(held, theorem=_THEOREM, assumptions=(*held.assumptions, _SOLVED)),
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
        return tilted_minimiser(problem, tilt, best.solver) + blur


class Tilted:
    """A problem's objective with a linear term b·θ, for the solver.

    Parameters
    ----------
    problem : Problem
    tilt : ndarray of shape (p,)

    Examples
    --------
    >>> tilted = Tilted(Problem([[0.5], [-0.5]], [1, -1]), np.array([1.0, 0.0]))
    >>> tilted.value_and_gradient(np.zeros((2, 1)))[1].T
    array([[0.75, 0.  ]])
    """

    def __init__(self, problem: Problem, tilt: FloatArray) -> None:
        self._problem, self._tilt = problem, tilt

    def value_and_gradient(self, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Objective (K,) and gradient (p, K) of each column of ``theta`` (p, K)."""
        value, gradient = self._problem.value_and_gradient(theta)
        return value + self._tilt @ theta, gradient + self._tilt[:, None]

    def hessian(self, theta: FloatArray) -> FloatArray:
        """Hessian (p, p) at one model (p,)."""
        return self._problem.hessian(theta)


def tilted_minimiser(problem: Problem, tilt: FloatArray, error: float) -> FloatArray:
    """Minimiser (p,) over the ball, certified to lie within ``error`` of the exact one.

    With r = ∇J(θ) + λθ, λ ≥ 0, the distance d has md² ≤ ‖r‖d + λ‖θ‖(R − ‖θ‖) (docs/theory.md §15).

    Raises
    ------
    SamplerError
        If rounding keeps it from being certified so closely.
    """
    objective, ball = cast(Objective, Tilted(problem, tilt)), cast(Ball, problem.domain)
    # Steps go on below it, for as long as they lower the gap.
    tolerance = problem.m * error**2 / 2
    theta = minimise_on_ball(objective, ball, tolerance, np.zeros(problem.p)).theta
    off = distance_bound(objective, theta, ball.radius, problem.m)
    if off > error:
        raise SamplerError(
            f"the tilted minimiser could not be certified to {error:.2e}, only to {off:.2e}: use "
            "more ridge or a larger epsilon"
        )
    return theta


def distance_bound(
    objective: Objective, theta: FloatArray, radius: float, strong_convexity: float
) -> float:
    """Bound ‖r‖/m + √(λ‖θ‖(R − ‖θ‖)/m) of the distance from the minimiser over the ball.

    Examples
    --------
    >>> problem = Problem([[0.5], [-0.5]], [1, -1], ridge=0.5)
    >>> best = problem.minimum.theta
    >>> objective = cast(Objective, Tilted(problem, np.zeros(2)))
    >>> distance_bound(objective, best, 4.0, 0.5) < 1e-6 < 0.1
    True
    >>> distance_bound(objective, best + 0.1, 4.0, 0.5) > 0.1
    True
    """
    gradient = objective.value_and_gradient(theta[:, None])[1][:, 0]
    length = float(np.linalg.norm(theta))
    held = length > radius * (1 - _ON_SPHERE)
    multiplier = max(0.0, -float(gradient @ theta) / length**2) if held else 0.0
    residual = float(np.linalg.norm(gradient + multiplier * theta))
    inside = multiplier * length * max(0.0, radius - length)
    return residual / strong_convexity + math.sqrt(inside / strong_convexity)


def _tried(request: Request, tried: Request) -> Iterator[PerturbedObjective]:
    """Plans by either noise under one ridge, if it is large enough for them."""
    if tried.ridge == 0:
        return
    for delta in {0.0, 0.0 if request.ledger else request.delta}:
        planned = plan_perturbed_objective(
            tried.constants,
            tried.radius,
            _row_slope(request),
            own=added(request, tried.ridge),
            monotone=get_loss(request.loss).task == "classification",
            epsilon=tried.epsilon,
            delta=delta,
        )
        if planned is not None:
            yield planned


def _row_slope(request: Request) -> float:
    """Slope of one row's loss at every model: the exact one's limit may come from outside."""
    loss = get_loss(request.loss)
    reach = math.inf if loss.globally_lipschitz else request.domain.reach(request.row_norm)
    return float(loss.lipschitz(reach, request.row_norm))


def _unsuited(request: Request) -> str:
    if get_loss(request.loss).outputs > 1:
        return "several scores a row: the determinant is not bounded here"
    if not math.isfinite(request.constants.M):
        return "the loss has kinks, and the tilt no density there"
    return ""
