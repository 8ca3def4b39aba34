"""Noisy projected descent: its schedule, its steps, and the privacy of all that it computes.

From a start z = x that depends on no row, or on an earlier release, step t = 1, …, N is

    u = g(y) + σ_t ξ,    z ← Π(z − η_t u),    x ← x + a_t (z − x):

the gradient at y with Gaussian noise, the state, and the average of the states with weights in
which the newest has the share a_t. y is the state z or, with momentum, x + a_t (z − x). Rows are
read in g alone, so that everything is computed from the noisy gradients. Given the earlier ones
each is a Gaussian mechanism, and a record that moves g by Δ costs μ² = Σ (Δ/σ_t)².

A Langevin chain θ ← Π(θ − hβ∇L + √(2h) ξ) is the descent of g = β∇L with η = h and σ = −√(2/h).
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple, Self

import numpy as np

from rashomon_explorer._utils import validation
from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer._utils.progress import ChainLooks, ChainState, progress
from rashomon_explorer._utils.threads import pause
from rashomon_explorer.privacy import Guarantee, gdp
from rashomon_explorer.problem.problem import Problem

Map = Callable[[FloatArray], FloatArray]
"""A map of states (p, K) to gradients or to their nearest points in the domain."""


@dataclass(frozen=True)
class Schedule:
    """Numbers of each step, fixed before a row is read."""

    step_sizes: FloatArray  # (N,): η_t
    noise: FloatArray  # (N,): σ_t, per coordinate of a gradient; its sign is that of the seed's ξ
    shares: FloatArray | None = None  # (N,): a_t of the newest state; None: the last state alone
    momentum: bool = False  # whether gradients are taken at the average
    lagged: bool = False  # whether the average is of the states before the steps
    batch: int = 0  # rows a step; 0 for all of them

    @property
    def n_steps(self) -> int:
        return len(self.step_sizes)

    @classmethod
    def constant(
        cls,
        step_size: float,
        noise: float,
        n_steps: int,
        shares: FloatArray | None = None,
        *,
        lagged: bool = False,
    ) -> Self:
        sizes, deviations = (np.broadcast_to(float(x), (n_steps,)) for x in (step_size, noise))
        return cls(sizes, deviations, shares, lagged=lagged)

    @classmethod
    def chain(
        cls, step_size: float, n_steps: int, shares: FloatArray | None = None, batch: int = 0
    ) -> Self:
        """Schedule of a Langevin chain; its averages are of the states before the steps."""
        steps = cls.constant(step_size, chain_noise(step_size), n_steps, shares, lagged=True)
        return replace(steps, batch=batch)

    @classmethod
    def accelerated(cls, step_size: float, noise: float, n_steps: int) -> Self:
        """Schedule of steps s_t·η, s_t = 2t/(N + 1), noise σ/√s_t and weights ∝ t."""
        t = np.arange(1, n_steps + 1)
        paces = 2 * t / (n_steps + 1)
        return cls(paces * step_size, noise / np.sqrt(paces), 2 / (t + 1), momentum=True)

    @classmethod
    def decreasing(
        cls, first_step: float, noise: float, n_steps: int, m: float, *, lagged: bool, batch: int
    ) -> Self:
        """Schedule of steps 1/u_t, u_t = 1/η₁ + m(t − 1)/2, and weights u_t − m/2."""
        rise = 1 / first_step + m * np.arange(n_steps) / 2
        steps = cls.constant(first_step, noise, n_steps, newest_shares(rise - m / 2), lagged=lagged)
        return replace(steps, step_sizes=1 / rise, batch=batch)


def chain_noise(step_size: float) -> float:
    """σ of a Langevin chain: it enters the gradient, whose step of size h subtracts it."""
    return -math.sqrt(2 / step_size)


def newest_shares(weights: FloatArray) -> FloatArray:
    """Share (N,) of each state in the average of it and of the earlier ones."""
    return np.asarray(weights / np.cumsum(weights))


def fading_shares(fade: float, n_steps: int, burn_in: int = 0) -> FloatArray:
    """Shares (N,) (1 − f)/(1 − f^j) of weights ∝ f^−j, which begin after ``burn_in`` states."""
    j = np.arange(1.0, n_steps - burn_in + 1)
    with np.errstate(divide="ignore"):
        log = np.log(fade)
    shares = 1 / j if fade == 1 else np.expm1(log) / np.expm1(j * log)
    return np.concatenate([np.zeros(burn_in), shares])


class DescentStep(NamedTuple):
    """What a step computes from the noisy gradients so far, in columns of K chains."""

    at: FloatArray
    gradient: FloatArray  # with its noise
    ahead: FloatArray  # the state before its projection
    state: FloatArray
    average: FloatArray


def noisy_descent(
    gradient: Map,
    project: Map,
    start: FloatArray,
    schedule: Schedule,
    rng: np.random.Generator,
    *,
    scale: Callable[[FloatArray], float] | None = None,
) -> Iterator[DescentStep]:
    """Yield the steps from ``start`` (p, K); ``scale`` multiplies the noise, by the place."""
    state = average = np.asarray(start, dtype=float)
    for t in progress(range(schedule.n_steps), "steps"):
        share = 1.0 if schedule.shares is None else schedule.shares[t]
        at = average + share * (state - average) if schedule.momentum else state
        deviation = schedule.noise[t] if scale is None else schedule.noise[t] * scale(at)
        noise = deviation * rng.standard_normal(state.shape)
        noisy = gradient(at) + noise
        ahead = state - schedule.step_sizes[t] * noisy
        before, state = state, project(ahead)
        newest = before if schedule.lagged else state
        average = newest if share == 1 else average + share * (newest - average)
        yield DescentStep(at, noisy, ahead, state, average)
        pause()  # lets a dashboard's event loop run


def watched(
    steps: Iterator[DescentStep], problem: Problem, schedule: Schedule
) -> Iterator[DescentStep]:
    """Yield the steps, and pass looks at them to whoever watches the chains (curator)."""
    look = ChainLooks()
    for t, step in enumerate(steps):
        look(partial(_chain_state, problem, schedule, step, t))
        yield step


def _chain_state(problem: Problem, schedule: Schedule, step: DescentStep, t: int) -> ChainState:
    models = step.state
    if schedule.shares is not None:
        models = np.concatenate([step.state, step.average], axis=1)
    excess = problem.value(models) - problem.minimum.value
    n_chains = step.state.shape[1]
    return ChainState(
        step=t + 1,
        n_steps=schedule.n_steps,
        excess=excess[:n_chains],
        averages=excess[n_chains:],
        step_size=float(schedule.step_sizes[t]),
        batch=schedule.batch,
    )


def guarantee(schedule: Schedule, sensitivity: float, n_chains: int = 1) -> Guarantee:
    """μ² = K·Σ (Δ/σ_t)²: guarantee of all that K chains compute."""
    mu = sensitivity * math.sqrt(n_chains * float(np.sum(schedule.noise**-2.0)))
    return _path_theorem(mu, schedule.n_steps)


def path_guarantee(
    *, beta: float, sensitivity: float, step_size: float, n_steps: int, n_chains: int = 1
) -> Guarantee:
    """μ² = Kβ²Δ²Nh/2: guarantee of all states of K chains θ ← Π(θ − hβg(θ) + √(2h) ξ)."""
    validation.check_nonnegative_or_infinite(
        beta=beta, sensitivity=sensitivity, step_size=step_size, n_steps=n_steps, n_chains=n_chains
    )
    time = n_steps * step_size
    return _path_theorem(beta * sensitivity * math.sqrt(n_chains * time / 2), n_steps)


def _path_theorem(mu: float, n_steps: int) -> Guarantee:
    theorem = f"path of {n_steps} noisy gradient steps (Lemma 2.2 of Ganesh et al. 2023)"
    return replace(gdp(mu=mu), theorem=theorem)


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
    # (1 − c^N)/(1 + c^N) · (1 + c)/(1 − c), by hyperbolic tangents so that c → 1 gives N.
    half = -math.log(contraction) / 2 if contraction > 0 else math.inf
    if half == math.inf or n_steps == 0:
        factor = float(min(n_steps, 1))
    elif half * n_steps < 1e-9:  # tanh(x) is x to more than a double's digits
        factor = float(n_steps)
    else:
        factor = float(np.tanh(half * n_steps) / np.tanh(half))
    return min(shift**2 * factor, least_shift(diameter, shift, n_steps))


def least_shift(diameter: float, shift: float, most: int, n_batches: int = 1) -> float:
    """Least (D + ks)²/(kl) over k from 1 to ``most``; infinite if there is no bound."""
    if not (math.isfinite(diameter) and shift > 0 and most > 0):
        return math.inf
    best = diameter / shift  # the k at which it is least
    counts = (min(max(k, 1), most) for k in (math.floor(best), math.ceil(best)))
    return min((diameter + k * shift) ** 2 / (k * n_batches) for k in counts)
