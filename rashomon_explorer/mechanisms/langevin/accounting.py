"""Privacy accounting of noisy gradient paths."""

import math
from dataclasses import replace

import numpy as np

from rashomon_explorer._utils import validation
from rashomon_explorer.mechanisms.certificates.sensitivity import data_slope
from rashomon_explorer.mechanisms.planning.centres import Centre, by_gradients, furthest_start
from rashomon_explorer.privacy import Guarantee, gdp
from rashomon_explorer.problem.constants import Constants
from rashomon_explorer.problem.domains import Ball


def path_guarantee(
    *, beta: float, sensitivity: float, step_size: float, n_steps: int, n_chains: int = 1
) -> Guarantee:
    """Guarantee of all iterates of noisy gradient chains θ ← Π(θ − hβg(θ) + √(2h) ξ)."""
    validation.check_nonnegative_or_infinite(
        beta=beta, sensitivity=sensitivity, step_size=step_size, n_steps=n_steps, n_chains=n_chains
    )
    time = n_steps * step_size
    return replace(
        gdp(mu=beta * sensitivity * math.sqrt(n_chains * time / 2)),
        theorem=f"path of {n_steps} noisy gradient steps (Lemma 2.2 of Ganesh et al. 2023)",
    )


def last_iterate_guarantee(
    *,
    beta: float,
    sensitivity: float,
    step_size: float,
    n_steps: int,
    contraction: float,
    diameter: float = math.inf,
    n_chains: int = 1,
) -> Guarantee:
    """Guarantee of the last iterate of each chain, if nothing else of them is released.

    With s = hβΔ, μ² = k·S/(2h) for S = s²·(1 − c^N)/(1 + c^N)·(1 + c)/(1 − c) (Theorem 4.2 of Bok,
    Su and Altschuler 2024), or the least S = (D + τs)²/τ over τ ≤ N, on a domain of diameter D.
    """
    validation.check_nonnegative_or_infinite(
        beta=beta,
        sensitivity=sensitivity,
        step_size=step_size,
        n_steps=n_steps,
        contraction=contraction,
        diameter=diameter,
        n_chains=n_chains,
    )
    if contraction > 1:
        raise ValueError(f"contraction must be at most 1, got {contraction!r}")
    shift = step_size * beta * sensitivity
    square = least_square(shift, n_steps, contraction, diameter)
    return replace(
        gdp(mu=math.sqrt(n_chains * square / (2 * step_size))),
        theorem=f"last of {n_steps} noisy gradient steps (Bok, Su and Altschuler 2024)",
    )


def least_square(shift: float, n_steps: int, contraction: float, diameter: float) -> float:
    """S of :func:`last_iterate_guarantee` for gradients that move by ``shift`` in a step."""
    shifted = shift**2 * _contracted_steps(contraction, n_steps)
    return min(shifted, least_shift(diameter, shift, n_steps))


def least_shift(diameter: float, shift: float, most: int, n_batches: int = 1) -> float:
    """Least (D + ks)²/(kl) over k from 1 to ``most``; infinite if there is no bound."""
    if not (math.isfinite(diameter) and shift > 0 and most > 0):
        return math.inf
    best = diameter / shift  # the k at which it is least
    counts = (min(max(k, 1), most) for k in (math.floor(best), math.ceil(best)))
    return min((diameter + k * shift) ** 2 / (k * n_batches) for k in counts)


def _contracted_steps(contraction: float, n_steps: int) -> float:
    """(1 − c^N)/(1 + c^N) · (1 + c)/(1 − c), by hyperbolic tangents so that c → 1 gives N."""
    if contraction == 0 or n_steps == 0:
        return float(min(n_steps, 1))
    half = -math.log(contraction) / 2
    if half * n_steps < 1e-9:  # tanh(x) is x to more than a double's digits
        return float(n_steps)
    return float(np.tanh(half * n_steps) / np.tanh(half))


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
