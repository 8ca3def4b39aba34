"""How one good model is made private, and how far its loss may be from the least."""

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.special import gammainccinv

from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer.mechanisms.bounds.excess import accelerated_share
from rashomon_explorer.mechanisms.certificates.sensitivity import data_slope
from rashomon_explorer.mechanisms.localisation.plan import solver_distance
from rashomon_explorer.problem.constants import Constants
from rashomon_explorer.problem.domains import Ball

_MOST_STEPS = 2_000
_WORTHWHILE = 1.25  # of the least bound, for which no further step is taken
_CLEARLY = 0.9  # of plain descent's bound: with a ridge it is better than its bound by more
_ADDED = 0.2  # share of p/β that the size of accelerated steps may add before more are taken


@dataclass(frozen=True)
class Centre:
    """A way to make one good model private, in public numbers.

    Parameters
    ----------
    name : {"gradients", "accelerated", "output"}
        A weighted average of noisy gradient descent, of accelerated descent, or the noisy
        minimiser.
    mu : float
        Its Gaussian DP.
    noise : float
        σ of a gradient, at a step of mean size, or of the minimiser.
    excess : float
        Expected excess loss of the centre is at most this, whatever the rows.
    step_size : float
        η of θ ← Π(θ − η(∇L + σξ)), the mean one of accelerated steps; 0 without steps.
    n_steps : int
        N; 0 without steps.
    root_deviation : float
        d such that the root of the excess is at most √excess + d·√(2·log(1/failure)), except with
        probability ``failure``; of the average of plain descent alone.
    solver : float
        Distance from the minimiser that the solver keeps to; of the noisy minimiser alone.
    """

    name: str
    mu: float
    noise: float
    excess: float
    step_size: float = 0.0
    n_steps: int = 0
    root_deviation: float = 0.0
    solver: float = 0.0


def best_centre(constants: Constants, radius: float, mu: float, zero_loss: float) -> Centre:
    """Centre of the smallest promised excess for a price; reads no row.

    Acceleration is taken where it promises a tenth less than plain descent, and where no
    promise needs to know how far a centre's excess is from its mean.

    Parameters
    ----------
    constants : Constants
        Of a smooth loss on the ball.
    radius : float
        R of the ball.
    mu : float
        Gaussian DP that it may cost.
    zero_loss : float
        What the loss of the model of zeros is at most.

    Examples
    --------
    >>> ball = Ball(4.0)
    >>> for ridge in (0.0, 0.1, 1.0):
    ...     rows = {"n": 50_000, "p": 92, "domain": ball, "row_bound": 1.4, "ridge": ridge}
    ...     print(best_centre(Constants.of("logistic", **rows), 4.0, 0.17, 0.7).name)
    accelerated
    output
    output
    """
    ways = [by_gradients(constants, radius, mu, zero_loss)]
    if not surely_inside(constants, radius, zero_loss):  # where a promise needs concentration
        quicker = by_acceleration(constants, radius, mu, zero_loss)
        if quicker.excess <= _CLEARLY * ways[0].excess:
            ways.append(quicker)
    if constants.m > 0:
        ways.append(by_output(constants, radius, mu, zero_loss))
    return min(ways, key=lambda centre: centre.excess)


def by_gradients(
    constants: Constants, radius: float, mu: float, zero_loss: float, start: float | None = None
) -> Centre:
    """Weighted average of projected noisy gradient descent from 0, all of whose path is paid for.

    Steps θ_j = Π(θ_{j−1} − η(∇L + σξ)), η = 1/M and σ = Δ√N/μ with Δ the gradient's sensitivity,
    have, with c = 1 − ηm and the weights w_j = c^{−j}, W = Σ w_j, a weighted average of expected
    excess at most

        D²/(2ηW) + ηpσ²,   D² = min{R², 2·zero_loss/m}

    (docs/theory.md §13). As few steps are taken as come within a quarter of the least bound.

    Parameters
    ----------
    constants, radius, mu, zero_loss
        As in :func:`best_centre`.
    start : float, optional
        D, where the first state is another one than 0: the root of its mean square distance from
        the minimiser.

    Examples
    --------
    >>> ball = Ball(4.0)
    >>> rows = {"n": 50_000, "p": 92, "domain": ball, "row_bound": 1.4, "ridge": 0.01}
    >>> centre = by_gradients(Constants.of("logistic", **rows), 4.0, 0.17, 0.7)
    >>> centre.n_steps, round(centre.excess, 4)
    (157, 0.0066)
    """
    moved, step = data_slope(constants, _ball(radius)), 1 / constants.M
    start = furthest_start(constants, radius, zero_loss) if start is None else start
    shrink = 1 - step * constants.m
    roots, weights = _walked(shrink)
    noise = moved * roots / mu
    bounds = start**2 / (2 * step * weights) + step * constants.p * noise**2
    enough = int(np.argmax(bounds <= _WORTHWHILE * bounds.min()))
    n_steps, sigma = enough + 1, float(noise[enough])
    return Centre(
        "gradients",
        mu,
        sigma,
        float(bounds[enough]),
        step,
        n_steps,
        step * sigma * math.sqrt(constants.M / 2) * _carried(shrink, n_steps),
    )


def by_acceleration(constants: Constants, radius: float, mu: float, zero_loss: float) -> Centre:
    """Weighted average of accelerated noisy descent from 0, all of whose path is paid for.

    Step t of N has the size η_t = 2ηt/(N + 1), the gradient at y = x + 2(z − x)/(t + 1) and the
    noise σ_t = σ√((N + 1)/(2t)): z ← Π(z − η_t(∇L(y) + σ_tξ)), x ← x + 2(z − x)/(t + 1). That is a
    Langevin path of ``plan_path`` at ψ = 0, with β = 2/(ησ²) and T = Nη/β; x has an expected excess
    of at most p/(β − b) + D²/(2βT), b = 4Mβ²T/(N + 1)² (docs/theory.md §6), and
    μ² = Σ(Δ/σ_t)² = NΔ²/σ². Without a ridge that is little more than half of the bound of
    :func:`by_gradients`.

    Parameters
    ----------
    constants, radius, mu, zero_loss
        As in :func:`best_centre`.

    Examples
    --------
    >>> rows = {"n": 50_000, "p": 92, "domain": Ball(4.0), "row_bound": 1.4}
    >>> known = Constants.of("logistic", **rows), 4.0, 0.17, 0.7
    >>> centre = by_acceleration(*known)
    >>> centre.n_steps, round(centre.excess, 4), round(by_gradients(*known).excess, 4)
    (111, 0.0138, 0.0222)
    """
    moved, start = (
        data_slope(constants, _ball(radius)),
        furthest_start(constants, radius, zero_loss),
    )
    bought = 2 * mu**2 / moved**2  # β²T
    ideal = math.sqrt(2 * bought * constants.p) / start
    enough = math.sqrt(accelerated_share(constants.M, bought, 0) / (_ADDED * ideal)) - 1
    n_steps = math.ceil(min(max(enough, 1.0), _MOST_STEPS))
    beta = ideal + accelerated_share(constants.M, bought, n_steps)
    return Centre(
        "accelerated",
        mu,
        moved * math.sqrt(n_steps) / mu,
        constants.p / ideal + start**2 * beta / (2 * bought),
        bought / (beta * n_steps),
        n_steps,
    )


def by_output(constants: Constants, radius: float, mu: float, zero_loss: float) -> Centre:
    """Minimiser plus Gaussian noise, put back into the ball.

    A record moves the minimiser by at most 2L/(nm), L without the ridge, and the solver is off by
    at most e on either data set: σ = (2L/(nm) + 2e)/μ. With G = min{L, zero_loss/R}, or 0 where
    every data set has its minimiser inside the ball, the expected excess is at most

        ½M(pσ² + e²) + G(σ/√(2π) + e + (pσ² + e²)/(2R))

    (docs/theory.md §13).

    Parameters
    ----------
    constants, radius, mu, zero_loss
        As in :func:`best_centre`; m > 0.

    Examples
    --------
    >>> ball = Ball(4.0)
    >>> rows = {"n": 50_000, "p": 92, "domain": ball, "row_bound": 1.4, "ridge": 0.1}
    >>> round(by_output(Constants.of("logistic", **rows), 4.0, 0.17, 0.7).excess, 5)
    0.0003
    """
    off = solver_distance(constants, _ball(radius))
    sigma = (data_slope(constants, _ball(radius)) / constants.m + 2 * off) / mu
    square = constants.p * sigma**2 + off**2
    inside = surely_inside(constants, radius, zero_loss)
    slope = 0.0 if inside else min(constants.L, zero_loss / radius)
    edge = slope * (sigma / math.sqrt(2 * math.pi) + off + square / (2 * radius))
    return Centre("output", mu, sigma, constants.M * square / 2 + edge, solver=off)


def surely_inside(constants: Constants, radius: float, zero_loss: float) -> bool:
    """Whether every data set has its minimiser over all models in the ball.

    ½m‖θ*‖² ≤ L(0) ≤ zero_loss, as losses are at least 0.

    Examples
    --------
    >>> rows = {"n": 9, "p": 2, "domain": Ball(4.0), "row_bound": 1.0, "ridge": 0.1}
    >>> surely_inside(Constants.of("logistic", **rows), 4.0, 0.7)
    True
    """
    return 2 * zero_loss <= constants.m * radius**2


def excess_quantile(centre: Centre, constants: Constants, failure: float) -> float:
    """Bound the centre's excess but for this probability, for a minimiser inside.

    Of an accelerated descent it is Markov's inequality: momentum is no contraction. The noisy
    minimiser is off by χ_p·σ + e at most, and the excess by half of M times its square.
    The root of an M-smooth excess has slope at most √(M/2), and the average of the path is a
    Lipschitz function of its noise, so that the root concentrates about its mean (docs/theory.md
    §13).

    Parameters
    ----------
    centre : Centre
    constants : Constants
    failure : float
        In (0, 1).

    Examples
    --------
    >>> rows = {"n": 50_000, "p": 92, "domain": Ball(4.0), "row_bound": 1.4, "ridge": 0.1}
    >>> constants = Constants.of("logistic", **rows)
    >>> centre = by_output(constants, 4.0, 0.17, 0.7)
    >>> 1 < excess_quantile(centre, constants, 0.05) / centre.excess < 2
    True
    """
    if centre.name == "output":
        length = centre.noise * math.sqrt(2 * float(gammainccinv(constants.p / 2, failure)))
        return constants.M / 2 * (length + centre.solver) ** 2
    if centre.name == "accelerated":
        return centre.excess / failure
    off = centre.root_deviation * math.sqrt(-2 * math.log(failure))
    return (math.sqrt(centre.excess) + off) ** 2


def excess_at_most(
    centre: Centre, constants: Constants, radius: float, zero_loss: float, failure: float
) -> float:
    """Bound the centre's excess but for this probability, wherever the minimiser is.

    By Markov's inequality, or :func:`excess_quantile` where every minimiser is inside the ball.

    Parameters
    ----------
    centre, constants, failure
        As in :func:`excess_quantile`.
    radius, zero_loss
        As in :func:`best_centre`.

    Examples
    --------
    >>> rows = {"n": 50_000, "p": 92, "domain": Ball(4.0), "row_bound": 1.4, "ridge": 0.1}
    >>> constants = Constants.of("logistic", **rows)
    >>> centre = by_output(constants, 4.0, 0.17, 0.7)
    >>> inside = excess_at_most(centre, constants, 4.0, 0.7, 0.05)
    >>> inside < excess_at_most(centre, constants, 4.0, 0.9, 0.05) == centre.excess / 0.05
    True
    """
    least = centre.excess / failure
    if not surely_inside(constants, radius, zero_loss):
        return least
    return min(least, excess_quantile(centre, constants, failure))


def average_weights(centre: Centre, constants: Constants) -> FloatArray:
    """Weights (N,) of the states θ_1, …, θ_N, which add up to 1.

    Examples
    --------
    >>> rows = {"n": 9, "p": 2, "domain": Ball(4.0), "row_bound": 1.0}
    >>> centre = Centre("gradients", 1.0, 1.0, 1.0, step_size=4.0, n_steps=4)
    >>> average_weights(centre, Constants.of("logistic", **rows))
    array([0.25, 0.25, 0.25, 0.25])
    """
    weights = _weights(1 - centre.step_size * constants.m, centre.n_steps)
    return np.asarray(weights / weights.sum())


def furthest_start(constants: Constants, radius: float, zero_loss: float) -> float:
    """Largest distance of the minimiser from 0, as ½m‖θ*‖² ≤ L(0) ≤ zero_loss.

    Examples
    --------
    >>> rows = {"n": 9, "p": 2, "domain": Ball(4.0), "row_bound": 1.0, "ridge": 0.5}
    >>> furthest_start(Constants.of("logistic", **rows), 4.0, 1.0)
    2.0
    """
    if not constants.m > 0:
        return radius
    return min(radius, math.sqrt(2 * zero_loss / constants.m))


_ball = lru_cache(maxsize=64)(Ball)  # each of a thousand prices that are compared asks for it


@lru_cache(maxsize=64)  # of one ball, whatever the price
def _walked(shrink: float) -> tuple[FloatArray, FloatArray]:
    """√N and W = Σ_j≤N c^{−j} for every number of steps N."""
    steps = np.arange(1, _MOST_STEPS + 1)
    return np.sqrt(steps), np.cumsum(_weights(shrink, _MOST_STEPS))


def _weights(shrink: float, n_steps: int) -> FloatArray:
    """c^{−j} for j = 1, …, N, or all 0 but for rounding where they would overflow."""
    with np.errstate(over="ignore"):
        weights = shrink ** -np.arange(1.0, n_steps + 1) if shrink > 0 else np.full(n_steps, np.inf)
    return np.minimum(weights, 1e200)


@lru_cache(maxsize=1024)
def _carried(shrink: float, n_steps: int) -> float:
    """Norm of what each step's noise does to the average: Σ_j≥k w_j c^{j−k}/W, over k."""
    weights = _weights(shrink, n_steps)
    left = np.arange(n_steps, 0, -1)
    return float(np.linalg.norm(weights / weights.sum() * left))
