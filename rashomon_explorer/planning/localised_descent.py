"""Noisy descent from a noisy minimiser: two prices, and what the second promises from so near."""

import math
from dataclasses import dataclass

from rashomon_explorer.constants import Constants
from rashomon_explorer.domains import Ball
from rashomon_explorer.planning.centres import Centre, by_gradients
from rashomon_explorer.planning.localisation import solver_distance
from rashomon_explorer.planning.sampled_descent import SampledDescent, plan_sampled_descent
from rashomon_explorer.planning.sensitivity import data_slope

_SHARES = (0.2, 0.35, 0.5, 0.65, 0.8)  # of μ² that the start may take
_SAFE = 1 - 1e-12


@dataclass(frozen=True)
class LocalisedDescent:
    """Descent from the noisy minimiser, in public numbers.

    Parameters
    ----------
    scale : float
        Deviation of the noise on the minimiser.
    solver : float
        Distance from the minimiser that the solver keeps to.
    start : float
        Root of the mean square distance of the start from the minimiser, at most.
    then : Centre or SampledDescent
        The descent; with kinks of all rows in each step.
    mu : float
        Gaussian DP of both together.
    excess : float
        Expected excess loss of the result is at most this, the ridge included.
    """

    scale: float
    solver: float
    start: float
    then: Centre | SampledDescent
    mu: float
    excess: float


def plan_localised_descent(
    constants: Constants, radius: float, mu: float, zero_loss: float
) -> LocalisedDescent:
    """Two phases for μ-Gaussian DP; reads no row.

    First the minimiser with noise of deviation s = (2L₀/(mn) + 2e)/μ₁, put back into the ball: its
    mean square distance from the minimiser is at most D² = ps² + e². From there noisy gradient
    descent, or subgradient descent where there are kinks, for μ₂, μ² = μ₁² + μ₂², whose promise
    grows with D and not with the ball. A descent needs no smaller ball to know where it starts
    (Appendix C of Bassily, Smith and Thakurta 2014 draws one, and prints an s that is not private;
    docs/theory.md §19).

    Parameters
    ----------
    constants : Constants
        On the ball, m > 0.
    radius : float
        R of the ball.
    mu : float
        Gaussian DP that both may cost.
    zero_loss : float
        What the loss of the model of zeros is at most.

    Examples
    --------
    >>> rows = {"n": 20_000, "p": 30, "domain": Ball(4.0), "row_bound": 1.4, "ridge": 0.1}
    >>> near = plan_localised_descent(Constants.of("hinge", **rows), 4.0, 0.25, 1.0)
    >>> round(near.start, 3), round(near.excess, 4)
    (0.04, 0.0016)
    """
    both = (_tried(constants, radius, mu, zero_loss, share) for share in _SHARES)
    return min(both, key=lambda one: one.excess)


def _tried(
    constants: Constants, radius: float, mu: float, zero_loss: float, share: float
) -> LocalisedDescent:
    ball = Ball(radius)
    first, second = math.sqrt(share) * mu * _SAFE, math.sqrt(1 - share) * mu * _SAFE
    off = solver_distance(constants, ball)
    scale = (data_slope(constants, ball) / constants.m + 2 * off) / first
    start = min(math.sqrt(constants.p * scale**2 + off**2), 2 * radius)
    then: Centre | SampledDescent
    if math.isfinite(constants.M):
        then = by_gradients(constants, radius, second, zero_loss, start)
    else:
        then = plan_sampled_descent(
            constants, radius, zero_loss,
            epsilon=1.0, delta=1.0, mu=second, sampling=False, start=start,
        )  # fmt: skip
    return LocalisedDescent(scale, off, start, then, mu, then.excess)
