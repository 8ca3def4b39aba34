"""One linear model from noisy moments."""

import math
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer._utils.bisection import bisect
from rashomon_explorer._utils.validation import check_count, check_positive
from rashomon_explorer.mechanisms import base, one_model, plans
from rashomon_explorer.mechanisms.request import Request
from rashomon_explorer.privacy import gdp
from rashomon_explorer.problem.losses.squared import SquaredLoss
from rashomon_explorer.problem.problem import Problem

_RATIOS = np.geomspace(2.0**-8, 2.0**8, 65)  # of both variances, in units of the bounds
_SLACK = 3.0  # factor of the bound, measured on simulated tables
_LEFT = 1 / math.sqrt(2 * math.pi)  # E max(z, 0), z standard normal


@dataclass(frozen=True)
class NoisyMoments:
    """Standard deviations of the noise, the ridge added for it, and the excess bound."""

    second: float
    first: float
    lift: float
    excess: float


def moments_sensitivity(n: int, row_bound: float, target_bound: float, weight: float) -> float:
    """Largest √(‖A − A'‖²_F + w‖b − b'‖²) over neighbours, A = mean zzᵀ and b = mean yz."""
    check_count(n=n)
    check_positive(row_bound=row_bound, target_bound=target_bound, weight=weight)
    quartic, square = row_bound**4, weight * (row_bound * target_bound) ** 2
    tau = min(1.0, square / (2 * quartic))
    return math.sqrt(2 * quartic * (1 - tau**2) + 2 * square * (1 + tau)) / n


def plan_noisy_moments(
    n: int, p: int, *, radius: float, row_bound: float, target_bound: float, mu: float
) -> NoisyMoments:
    """Noise for μ-Gaussian DP, split between both moments for the least bound; reads no row."""
    check_count(n=n, p=p)
    check_positive(radius=radius, row_bound=row_bound, target_bound=target_bound, mu=mu)
    scale = (row_bound / target_bound) ** 2

    def moments_at(ratio: float) -> NoisyMoments:
        weight = ratio * scale
        second = moments_sensitivity(n, row_bound, target_bound, weight) / mu
        first, lift = second / math.sqrt(weight), math.sqrt(2 * p) * second
        excess = radius**2 / 2 * (lift + _LEFT * second) + radius * math.sqrt(p) * first
        return NoisyMoments(second, first, lift, excess)

    return min((moments_at(float(ratio)) for ratio in _RATIOS), key=lambda one: one.excess)


class Moments(one_model.OneModelMechanism):
    """Minimiser of a quadratic loss for noisy mean zzᵀ and mean yz (docs/theory.md §15)."""

    name: ClassVar[str] = "moments"
    summary: ClassVar[str] = "the minimiser for noisy moments"
    # Its bound takes the noise at the farthest model of the ball.
    traits: ClassVar[base.Traits] = replace(
        one_model.OneModelMechanism.traits, bound_slack=_SLACK, regression_slack=_SLACK
    )

    def why_unsupported(self, request: Request) -> str:
        if not isinstance(request.loss_function, SquaredLoss):
            return "needs squared loss: two moments do not determine another"
        return super().why_unsupported(request) if request.delta > 0 else "needs delta > 0"

    def plan_supported(self, request: Request) -> plans.Plan:
        loss, mu = request.loss_function, one_model.affordable_mu(request)
        assert isinstance(loss, SquaredLoss)
        planned = plan_noisy_moments(
            request.n,
            request.p,
            radius=request.radius,
            row_bound=request.row_norm,
            target_bound=loss.target_bound,
            mu=mu,
        )
        return self.plan_with(
            request,
            planned,
            proof="Gaussian DP of both moments",
            guarantee=gdp(mu),
            excess=planned.excess,
        )

    def model(self, problem: Problem, plan: plans.Plan, rng: np.random.Generator) -> FloatArray:
        planned: NoisyMoments = plan.details.settings
        second, first = released_moments(problem, planned, rng)
        matrix = second + (problem.ridge + planned.lift) * np.eye(problem.p)
        return least_on_ball(matrix, first, problem.domain.diameter / 2)


def released_moments(
    problem: Problem, planned: NoisyMoments, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray]:
    """Mean zzᵀ (p, p) and mean yz (p,) of the clipped rows, with noise."""
    zeros = np.zeros(problem.p)
    second = problem.hessian(zeros) - problem.ridge * np.eye(problem.p)
    first = -problem.value_and_gradient(zeros[:, None])[1][:, 0]  # with clipped targets
    noise = rng.standard_normal(second.shape)
    return (
        np.asarray((second + second.T) / 2 + planned.second * (noise + noise.T) / 2),
        np.asarray(first + planned.first * rng.standard_normal(problem.p)),
    )


def least_on_ball(matrix: FloatArray, first: FloatArray, radius: float) -> FloatArray:
    """Minimiser (p,) of ½θᵀAθ − bᵀθ on a ball, for A positive definite or not."""
    values, vectors = np.linalg.eigh(matrix)
    along = vectors.T @ first
    floor = max(0.0, -float(values[0]))
    smallest = floor + 1e-12 * (1 + float(np.abs(values).max()))

    def long(shift: float) -> bool:
        return float(np.linalg.norm(along / (values + shift))) > radius

    shift = smallest
    if long(smallest):
        far = smallest + float(np.linalg.norm(first)) / radius + float(np.abs(values).max())
        shift = bisect(lambda one: not long(one), far, smallest, halvings=200)
    theta = vectors @ (along / (values + shift))
    return np.asarray(theta * min(1.0, radius / max(float(np.linalg.norm(theta)), 1e-300)))
