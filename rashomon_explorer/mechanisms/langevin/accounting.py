"""Plan of noisy descent in small steps, as a path at one temperature."""

from dataclasses import replace

import numpy as np

from rashomon_explorer.mechanisms.centres import Centre, by_gradients, furthest_start
from rashomon_explorer.mechanisms.certificates.sensitivity import data_slope
from rashomon_explorer.problem.constants import Constants
from rashomon_explorer.problem.domains import Ball

_MOST_STEPS = 2_000
_SHARES = (1 / 2, 1 / 4, 1 / 8, 1 / 16, 1 / 32)  # candidates for ηM
_WORTHWHILE = 1.05  # times a share's least bound: the fewest steps within this factor are taken


def plan_weighted_path(constants: Constants, radius: float, mu: float, zero_loss: float) -> Centre:
    """Noisy gradient descent of small steps, planned as a path at one temperature; reads no row.

    The bound is ‖θ₀ − θ*‖²/(2ηW) + ηpσ²/(2(1 − ηM)), W = Σ_j≤N (1 − ηm)^−j. Small steps add about
    half the noise of η = 1/M (docs/theory.md §21). With m > 0 the first term falls as e^{−mβT}.
    Theorem F.2 of "On the universality of Langevin diffusion" claims as much for temperatures that
    change on the way, whose printed form has no drift.
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
