"""Private release of one good model as a centre, and bounds on its excess loss."""

import math
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from scipy.special import gammainccinv

from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer.mechanisms.bounds import accelerated_share, accelerated_steps
from rashomon_explorer.mechanisms.certificates.sensitivity import data_slope, solver_distance
from rashomon_explorer.problem.constants import Constants
from rashomon_explorer.problem.domains import Ball

_MOST_STEPS = 2_000
_WORTHWHILE = 1.25  # times the least bound: the fewest steps within this factor are taken
_CLEARLY = 0.9  # of plain descent's bound, which is more conservative if there is a ridge
_ADDED = 0.2  # share of p/β that the step size of accelerated descent may add to the bound


@dataclass(frozen=True)
class Centre:
    """Mechanism that releases one good model privately, in public numbers."""

    name: str
    mu: float
    noise: float
    excess: float
    step_size: float = 0.0
    n_steps: int = 0
    root_deviation: float = 0.0
    solver: float = 0.0


def best_centre(constants: Constants, radius: float, mu: float, zero_loss: float) -> Centre:
    """Centre with the smallest excess bound at the privacy cost mu; reads no row."""
    candidates = [by_gradients(constants, radius, mu, zero_loss)]
    if not surely_inside(constants, radius, zero_loss):  # inside, plain descent concentrates
        quicker = by_acceleration(constants, radius, mu, zero_loss)
        if quicker.excess <= _CLEARLY * candidates[0].excess:
            candidates.append(quicker)
    if constants.m > 0:
        candidates.append(by_output(constants, radius, mu, zero_loss))
    return min(candidates, key=lambda centre: centre.excess)


def by_gradients(
    constants: Constants, radius: float, mu: float, zero_loss: float, start: float | None = None
) -> Centre:
    """Weighted average of noisy gradient descent from 0, with few steps (docs/theory.md §13)."""
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
    """Weighted average of accelerated noisy descent from 0; the whole path is charged."""
    moved, start = (
        data_slope(constants, _ball(radius)),
        furthest_start(constants, radius, zero_loss),
    )
    scaled_time = 2 * mu**2 / moved**2  # β²T
    ideal = math.sqrt(2 * scaled_time * constants.p) / start
    cells = constants.n * constants.p
    enough = accelerated_steps(constants.M, scaled_time, ideal, _ADDED, cells)
    n_steps = math.ceil(min(enough, _MOST_STEPS))
    beta = ideal + accelerated_share(constants.M, scaled_time, n_steps)
    return Centre(
        "accelerated",
        mu,
        moved * math.sqrt(n_steps) / mu,
        constants.p / ideal + start**2 * beta / (2 * scaled_time),
        scaled_time / (beta * n_steps),
        n_steps,
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
    """Noise for ε-DP, or for μ-Gaussian DP; reads no row (docs/theory.md §15)."""
    ball, p = _ball(radius), constants.p
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


def by_output(constants: Constants, radius: float, mu: float, zero_loss: float) -> Centre:
    """Minimiser plus Gaussian noise, projected onto the ball."""
    best = plan_noisy_minimiser(constants, radius, zero_loss, epsilon=math.inf, mu=mu)
    return Centre("output", mu, best.scale, best.excess, solver=best.solver)


def surely_inside(constants: Constants, radius: float, zero_loss: float) -> bool:
    """Whether the minimiser over all models lies in the ball for every data set."""
    return 2 * zero_loss <= constants.m * radius**2


def excess_quantile(centre: Centre, constants: Constants, failure: float) -> float:
    """Bound on the centre's excess that fails with this probability, for a minimiser inside."""
    if centre.name == "output":
        length = centre.noise * math.sqrt(2 * float(gammainccinv(constants.p / 2, failure)))
        return constants.M / 2 * (length + centre.solver) ** 2
    if centre.name == "accelerated":
        return centre.excess / failure
    off = centre.root_deviation * math.sqrt(-2 * math.log(failure))
    return (math.sqrt(centre.excess) + off) ** 2


def average_weights(centre: Centre, constants: Constants) -> FloatArray:
    """Weights (N,) of the states θ_1, …, θ_N, which add up to 1."""
    weights = _weights(1 - centre.step_size * constants.m, centre.n_steps)
    return np.asarray(weights / weights.sum())


def furthest_start(constants: Constants, radius: float, zero_loss: float) -> float:
    """Largest distance of the minimiser from 0, as ½m‖θ*‖² ≤ L(0) ≤ zero_loss."""
    if not constants.m > 0:
        return radius
    return min(radius, math.sqrt(2 * zero_loss / constants.m))


_ball = lru_cache(maxsize=64)(Ball)  # requested for each of a thousand privacy costs


@lru_cache(maxsize=64)  # the same for one ball at every privacy cost
def _walked(shrink: float) -> tuple[FloatArray, FloatArray]:
    steps = np.arange(1, _MOST_STEPS + 1)
    return np.sqrt(steps), np.cumsum(_weights(shrink, _MOST_STEPS))


def _weights(shrink: float, n_steps: int) -> FloatArray:
    """c^{−j} for j = 1, …, N, capped at 1e200 so that sums do not overflow."""
    with np.errstate(over="ignore"):
        weights = shrink ** -np.arange(1.0, n_steps + 1) if shrink > 0 else np.full(n_steps, np.inf)
    return np.minimum(weights, 1e200)


@lru_cache(maxsize=1024)
def _carried(shrink: float, n_steps: int) -> float:
    """Norm over k of the effect of step k's noise on the average, Σ_j≥k w_j c^{j−k}/W."""
    weights = _weights(shrink, n_steps)
    left = np.arange(n_steps, 0, -1)
    return float(np.linalg.norm(weights / weights.sum() * left))


_SHARES = (1 / 2, 1 / 4, 1 / 8, 1 / 16, 1 / 32)  # candidates for ηM
_NEAR_LEAST = 1.05  # times a share's least bound: the fewest steps within this factor are taken


def plan_weighted_path(constants: Constants, radius: float, mu: float, zero_loss: float) -> Centre:
    """Path with the least ‖θ₀ − θ*‖²/(2ηW) + ηpσ²/(2(1 − ηM)) (docs/theory.md §21)."""
    moved = data_slope(constants, Ball(radius))
    far = furthest_start(constants, radius, zero_loss)
    steps = np.arange(1.0, _MOST_STEPS + 1)
    noise = moved * np.sqrt(steps) / mu
    best = by_gradients(constants, radius, mu, zero_loss)
    for share in _SHARES:
        pace = share / constants.M
        with np.errstate(over="ignore"):
            weights = np.cumsum(np.minimum((1 - pace * constants.m) ** -steps, 1e200))
        added = pace * constants.p * noise**2 / (2 * (1 - share))
        bounds = far**2 / (2 * pace * weights) + added
        enough = int(np.argmax(bounds <= _NEAR_LEAST * bounds.min()))
        if bounds[enough] < best.excess:
            best = replace(
                best,
                noise=float(noise[enough]),
                excess=float(bounds[enough]),
                step_size=pace,
                n_steps=enough + 1,
            )
    return best
