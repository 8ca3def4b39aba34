"""Plans of regularised and output-perturbed minimisers."""

import math
from dataclasses import dataclass

from rashomon_explorer._utils.validation import check_positive
from rashomon_explorer.mechanisms.bounds.hit_rate import unthresholded_hit_rate
from rashomon_explorer.mechanisms.certificates.sensitivity import data_slope
from rashomon_explorer.mechanisms.localisation.plan import solver_distance
from rashomon_explorer.mechanisms.planning.centres import surely_inside
from rashomon_explorer.privacy.guarantee import Guarantee
from rashomon_explorer.privacy.notions import bounded_range
from rashomon_explorer.problem.constants import Constants
from rashomon_explorer.problem.domains import Ball, Domain


@dataclass(frozen=True)
class RegularisedPlan:
    """Plan of the exponential mechanism on a loss with ridge, in public numbers."""

    ridge: float
    beta: float
    p: int
    cost: float
    population_bound: float
    statistical_bound: float
    guarantee: Guarantee

    @property
    def excess_bound(self) -> float:
        """Bound p/β + ½mR² + τ on the expected excess on the rows, without the ridge."""
        return self.p / self.beta + self.cost

    def hit_rate(self, psi: float) -> float:
        """Lower bound P(p, β(ψ − ½mR² − τ)) on the probability of an excess of at most ψ."""
        return unthresholded_hit_rate(self.p, self.beta, max(0.0, psi - self.cost))


def plan_regularised(
    constants: Constants, domain: Domain, *, epsilon: float, ridge: float | None = None
) -> RegularisedPlan:
    """Ridge and temperature of the regularised exponential mechanism; reads no row.

    Theorem E.4 of "On the universality of Langevin diffusion for private Euclidean (convex)
    optimization" (submitted to ICLR 2023) gives orders; the constants here are our own. For rows
    drawn independently from one law, the expected excess of the population risk of a draw from
    exp(−β(L + ½m‖θ‖²)) is at most p/β + τ + ½mR² + 2L₀²/(mn), L₀ the Lipschitz constant.
    """
    check_positive(epsilon=epsilon)
    if constants.m > 0:
        raise ValueError(
            f"the plan chooses the ridge itself: pose the problem with ridge=0, got {constants.m:g}"
        )
    radius, n = domain.radius, constants.n
    best = 2 * constants.L / (radius * math.sqrt(n))
    chosen = best if ridge is None else ridge
    check_positive(ridge=chosen)
    beta = epsilon / constants.charged_oscillation
    statistical = chosen / 2 * radius**2 + 2 * constants.L**2 / (chosen * n)
    return RegularisedPlan(
        ridge=chosen,
        beta=beta,
        p=constants.p,
        cost=constants.gap_tolerance + chosen / 2 * radius**2,
        population_bound=constants.p / beta + constants.gap_tolerance + statistical,
        statistical_bound=statistical,
        guarantee=bounded_range(epsilon),
    )


@dataclass(frozen=True)
class NoisyMinimiser:
    """Plan of the minimiser over the ball plus noise, projected onto the ball."""

    gaussian: bool
    scale: float
    solver: float
    excess: float


def plan_noisy_minimiser(
    constants: Constants,
    radius: float,
    zero_loss: float,
    *,
    epsilon: float,
    mu: float | None = None,
) -> NoisyMinimiser:
    """Noise for ε-DP, or for μ-Gaussian DP if ``mu`` is given; reads no row.

    The excess bound uses the slope min{L, zero_loss/R} at the sphere, or 0 if the minimiser is
    inside the ball for every data set (own derivation, docs/theory.md §15).
    """
    ball, p = Ball(radius), constants.p
    off = solver_distance(constants, ball)
    moved = data_slope(constants, ball) / constants.m + 2 * off
    if mu is None:
        scale = moved / epsilon
        square, outward = p * (p + 1) * scale**2, math.sqrt(p) * scale / 2
    else:
        scale = moved / mu
        square, outward = p * scale**2, scale / math.sqrt(2 * math.pi)
    inside = surely_inside(constants, radius, zero_loss)
    slope = 0.0 if inside else min(constants.L, zero_loss / radius)
    steep = constants.L * (math.sqrt(square) + off)
    both = square + off**2
    # Infinite for a loss with kinks.
    smooth = constants.M * both / 2 + slope * (outward + off + both / (2 * radius))
    return NoisyMinimiser(mu is not None, scale, off, min(steep, smooth))
