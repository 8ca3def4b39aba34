"""The minimiser plus noise: how much noise, and how far its loss may be from the least."""

import math
from dataclasses import dataclass

from rashomon_explorer.constants import Constants
from rashomon_explorer.domains import Ball
from rashomon_explorer.planning.centres import surely_inside
from rashomon_explorer.planning.localisation import solver_distance
from rashomon_explorer.planning.sensitivity import data_slope


@dataclass(frozen=True)
class NoisyMinimiser:
    """The minimiser over the ball plus noise, put back into the ball; public numbers.

    Parameters
    ----------
    gaussian : bool
        Whether the noise is Gaussian, or has density ∝ exp(−‖z‖/scale).
    scale : float
        Its deviation, or the scale.
    solver : float
        Distance from the minimiser that the solver keeps to.
    excess : float
        Expected excess loss is at most this, the ridge included, whatever the rows.
    """

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
    """Noise for ε-DP, or for μ-Gaussian DP where μ is given; reads no row.

    A record moves the minimiser by at most 2L₀/(mn), L₀ without the ridge, and the solver is off by
    e at most on either data set, so that the sensitivity is Δ = 2L₀/(mn) + 2e. Density
    ∝ exp(−ε‖z‖/Δ) is ε-DP (Bassily, Smith and Thakurta 2014, Algorithm 3), N(0, (Δ/μ)²I) is μ-GDP.
    With S = E‖z‖², which is p(p + 1)(Δ/ε)² or p(Δ/μ)², and a = E max(z₁, 0), at most √p·Δ/(2ε) or
    Δ/(μ√(2π)), the expected excess is at most

        min{½M(S + e²) + G(a + e + (S + e²)/(2R)), L(√S + e)},

    G = min{L, zero_loss/R}, or 0 where every data set has its minimiser inside the ball (own
    derivation, docs/theory.md §15).

    Parameters
    ----------
    constants : Constants
        Of the loss on the ball, m > 0.
    radius : float
        R of the ball.
    zero_loss : float
        What the loss of the model of zeros is at most.
    epsilon : float
        Price of pure DP.
    mu : float, optional
        Price in Gaussian DP instead.

    Examples
    --------
    >>> ball = Ball(4.0)
    >>> rows = {"n": 50_000, "p": 92, "domain": ball, "row_bound": 1.4, "ridge": 0.1}
    >>> known = Constants.of("logistic", **rows)
    >>> round(plan_noisy_minimiser(known, 4.0, 0.7, epsilon=1.0).excess, 5)
    0.0008
    >>> round(plan_noisy_minimiser(known, 4.0, 0.7, epsilon=1.0, mu=0.17).excess, 5)
    0.0003
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
    # The first is infinite for a loss with kinks.
    smooth = constants.M * both / 2 + slope * (outward + off + both / (2 * radius))
    return NoisyMinimiser(mu is not None, scale, off, min(steep, smooth))
