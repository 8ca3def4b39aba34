"""A Langevin path of small steps, and an average that forgets its start: F.2 of 003, repaired."""

from dataclasses import replace

import numpy as np

from rashomon_explorer.constants import Constants
from rashomon_explorer.domains import Ball
from rashomon_explorer.planning.centres import Centre, by_gradients, furthest_start
from rashomon_explorer.planning.sensitivity import data_slope

_MOST_STEPS = 2_000
_SHARES = (1 / 2, 1 / 4, 1 / 8, 1 / 16, 1 / 32)  # ηM
_WORTHWHILE = 1.05  # of a share's least bound, for which no further step is taken


def plan_weighted_path(constants: Constants, radius: float, mu: float, zero_loss: float) -> Centre:
    """Noisy gradient descent of small steps, planned as a path at one temperature; reads no row.

    Steps θ_j = Π(θ_{j−1} − η(∇L + σξ)) from 0, η = hβ and σ² = 2/(ηβ), all of which are paid for:
    μ = √N·Δ/σ. With weights w_j = c^{−j}, c = 1 − ηm, W their sum, the average has an expected
    excess of at most

        D²/(2ηW) + p/(β(1 − ηM)),   D² = min{R², 2·zero_loss/m},

    half of what steps of η = 1/M add by their noise, once they are small (docs/theory.md §21).
    With m > 0 the first term falls as e^{−mβT}: Theorem F.2 of "On the universality of Langevin
    diffusion" promises as much of temperatures that change on the way, whose printed form has no
    drift left.

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
    >>> rows = {"n": 50_000, "p": 92, "domain": Ball(4.0), "row_bound": 1.4, "ridge": 0.1}
    >>> known = Constants.of("logistic", **rows), 4.0, 0.17, 0.7
    >>> path = plan_weighted_path(*known)
    >>> path.n_steps, round(path.excess, 5), round(by_gradients(*known).excess, 5)
    (1629, 0.00056, 0.00109)
    """
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
        enough = int(np.argmax(bounds <= _WORTHWHILE * bounds.min()))
        if bounds[enough] < best.excess:
            best = replace(
                best,
                noise=float(noise[enough]),
                excess=float(bounds[enough]),
                step_size=pace,
                n_steps=enough + 1,
            )
    return best
