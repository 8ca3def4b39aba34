"""One linear model from noisy moments."""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer._utils.bisection import bisect
from rashomon_explorer._utils.validation import check_count, check_positive
from rashomon_explorer.mechanisms.langevin.one_model import affordable_mu
from rashomon_explorer.mechanisms.one_model.base import ModelOffer, declined, generalisation_gap
from rashomon_explorer.mechanisms.planning.offers import Request
from rashomon_explorer.privacy import gdp
from rashomon_explorer.problem.losses import get_loss
from rashomon_explorer.problem.losses.smooth import SquaredLoss
from rashomon_explorer.problem.problem import Problem

_RATIOS = np.geomspace(2.0**-8, 2.0**8, 65)  # of both variances, in units that bounds settle
_LEFT = 1 / math.sqrt(2 * math.pi)  # of E max(z, 0), z standard normal


@dataclass(frozen=True)
class NoisyMoments:
    """Deviations of the noise, the ridge that stands for it, and what is promised.

    Parameters
    ----------
    second : float
        σ of mean zzᵀ: of its diagonal, and √½ of it beside.
    first : float
        σ of each entry of mean yz.
    lift : float
        Ridge √(2p)·σ that is added: the largest eigenvalue of the noise, on average at most.
    excess : float
        Expected excess loss is at most this, whatever the rows.
    """

    second: float
    first: float
    lift: float
    excess: float


def moments_sensitivity(n: int, row_bound: float, target_bound: float, weight: float) -> float:
    """Largest √(‖A − A'‖²_F + w‖b − b'‖²) of neighbours, A = mean zzᵀ and b = mean yz.

    With ‖z‖ ≤ B and |y| ≤ Y it is the root of the largest over τ in [0, 1] of
    2B⁴(1 − τ²) + 2wB²Y²(1 + τ), over n: at τ = wY²/2B², or 1. For two records of lengths uB and B
    at an angle of cosine t, y = Y and y' = −Y, the square is
    B⁴(1 + u⁴ − 2u²t²) + wB²Y²(1 + u² + 2ut), no more than the above at τ = ut; other targets move
    b less, for ‖yz − y'z'‖² is convex in them.

    Parameters
    ----------
    n : int
    row_bound, target_bound : float
        B and Y.
    weight : float
        w > 0.

    Examples
    --------
    >>> round(moments_sensitivity(100, 1.0, 1.0, 2.0), 4)
    0.0283
    """
    check_count(n=n)
    check_positive(row_bound=row_bound, target_bound=target_bound, weight=weight)
    quartic, square = row_bound**4, weight * (row_bound * target_bound) ** 2
    tau = min(1.0, square / (2 * quartic))
    return math.sqrt(2 * quartic * (1 - tau**2) + 2 * square * (1 + tau)) / n


def plan_noisy_moments(
    n: int, p: int, *, radius: float, row_bound: float, target_bound: float, mu: float
) -> NoisyMoments:
    """Noise for μ-Gaussian DP, split between both moments for the least promise; reads no row.

    θ̂ is the least of ½θᵀ(A + E + λI)θ − (b + e)ᵀθ on the ball, λ = √(2p)·σ. The best model θ* does
    not depend on the noise, so that E θ*ᵀEθ* and E eᵀθ* are 0, and the excess is on average at most

        ½λR² + ½R²·E max(λ_max(−E) − λ, 0) + R·E‖e‖ ≤ ½R²σ(√(2p) + 1/√(2π)) + R√p·σ':

    E λ_max ≤ √(2p)·σ (Slepian's inequality beside √2·gᵀθ), and its parts beyond the mean are no
    larger than those of σz, z standard normal: it is a σ-Lipschitz function of Gaussian noise, the
    end of a martingale of squared variation σ² at most.

    Parameters
    ----------
    n, p : int
        Rows, and parameters, the intercept included.
    radius, row_bound, target_bound : float
        R, B and Y.
    mu : float
        μ > 0 of both moments together.

    Examples
    --------
    >>> found = plan_noisy_moments(10_000, 11, radius=2.0, row_bound=1.0, target_bound=1.0, mu=0.3)
    >>> round(found.second, 5), round(found.excess, 4)
    (0.00061, 0.0115)
    """
    check_count(n=n, p=p)
    check_positive(radius=radius, row_bound=row_bound, target_bound=target_bound, mu=mu)
    scale = (row_bound / target_bound) ** 2

    def made(ratio: float) -> NoisyMoments:
        weight = ratio * scale
        second = moments_sensitivity(n, row_bound, target_bound, weight) / mu
        first, lift = second / math.sqrt(weight), math.sqrt(2 * p) * second
        excess = radius**2 / 2 * (lift + _LEFT * second) + radius * math.sqrt(p) * first
        return NoisyMoments(second, first, lift, excess)

    return min((made(float(ratio)) for ratio in _RATIOS), key=lambda one: one.excess)


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
