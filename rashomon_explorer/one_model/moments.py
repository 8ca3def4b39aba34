"""A regression from noisy moments: all that a quadratic loss is made of."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from rashomon_explorer.array_types import FloatArray
from rashomon_explorer.losses import SquaredLoss, get_loss
from rashomon_explorer.one_model.gradients import affordable_mu
from rashomon_explorer.one_model.method import ModelOffer, declined
from rashomon_explorer.one_model.unseen import generalisation_gap
from rashomon_explorer.planning import Request
from rashomon_explorer.planning.moments import NoisyMoments, plan_noisy_moments
from rashomon_explorer.privacy import gdp
from rashomon_explorer.problem import Problem
from rashomon_explorer.search import bisect

# Its bound counts the noise of the farthest model of the ball, and a quadratic loss answers with
# its square where the best model is inside.
_LOOSE = 3.0


@dataclass(frozen=True)
class Moments:
    """Mean zzᵀ and mean yz with Gaussian noise, and the best model of what they say.

    As Vu and Slavković 2009 and AdaSSP (Wang 2018), priced together for a record that is replaced
    (docs/theory.md §15).
    """

    name: ClassVar[str] = "moments"
    model: ClassVar[str] = "the best model by noisy moments"

    def offer(self, request: Request) -> ModelOffer:
        """See :class:`Method`."""
        loss = get_loss(request.loss)
        if not isinstance(loss, SquaredLoss):
            return declined(self, "needs squared loss: no other is made of two moments")
        if not request.delta > 0:
            return declined(self, "needs delta > 0")
        mu = affordable_mu(request)
        bought = plan_noisy_moments(
            request.n,
            request.p,
            radius=request.radius,
            row_bound=request.row_norm,
            target_bound=loss.target_bound,
            mu=mu,
        )
        return ModelOffer(
            self.name,
            self.model,
            "Gaussian DP of both moments",
            guarantee=gdp(mu),
            excess=bought.excess,
            unseen=bought.excess + generalisation_gap(request),
            ridge=request.ridge,
            settings=bought,
            looseness=_LOOSE,
        )

    def draw(self, problem: Problem, offer: ModelOffer, rng: np.random.Generator) -> FloatArray:
        """See :class:`Method`."""
        second, first = released_moments(problem, offer.settings, rng)
        ridge = problem.ridge + offer.settings.lift
        matrix = second + ridge * np.eye(problem.p)
        return least_on_ball(matrix, first, problem.domain.diameter / 2)


def released_moments(
    problem: Problem, bought: NoisyMoments, rng: np.random.Generator
) -> tuple[FloatArray, FloatArray]:
    """Mean zzᵀ (p, p) and mean yz (p,) of the clipped rows, with noise.

    Parameters
    ----------
    problem : Problem
    bought : NoisyMoments
    rng : numpy.random.Generator
    """
    zeros = np.zeros(problem.p)
    second = problem.hessian(zeros) - problem.ridge * np.eye(problem.p)
    first = -problem.value_and_gradient(zeros[:, None])[1][:, 0]  # of clipped targets
    noise = rng.standard_normal(second.shape)
    return (
        np.asarray((second + second.T) / 2 + bought.second * (noise + noise.T) / 2),
        np.asarray(first + bought.first * rng.standard_normal(problem.p)),
    )


def least_on_ball(matrix: FloatArray, first: FloatArray, radius: float) -> FloatArray:
    """Least of ½θᵀAθ − bᵀθ on a ball (p,), whether A is positive or not.

    (A + νI)θ = b with the least ν ≥ 0 at which A + νI is positive and θ is in the ball.

    Examples
    --------
    >>> least_on_ball(np.diag([1.0, 4.0]), np.array([1.0, 0.0]), 2.0).round(6).tolist()
    [1.0, 0.0]
    >>> least_on_ball(np.diag([1.0, -4.0]), np.array([0.0, 0.1]), 2.0).round(6).tolist()
    [0.0, 2.0]
    """
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
