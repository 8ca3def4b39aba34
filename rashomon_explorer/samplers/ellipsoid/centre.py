"""One good model, made private as a plan says."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from rashomon_explorer.array_types import FloatArray
from rashomon_explorer.planning.centres import Centre, average_weights
from rashomon_explorer.problem import Problem
from rashomon_explorer.progress import progress
from rashomon_explorer.samplers.collect import to_public_grid
from rashomon_explorer.samplers.localisation.local_problem import refined


@dataclass(frozen=True)
class Released:
    """A private centre, and how hard the ball holds it back.

    Parameters
    ----------
    theta : ndarray of shape (p,)
        A model of the ball.
    multiplier : float
        Estimate of λ ≥ 0 with ∇L(θ) ≈ −λθ; 0 where the path was never outside the ball.
    """

    theta: FloatArray
    multiplier: float


def released_centre(
    problem: Problem, centre: Centre, rng: np.random.Generator
) -> Iterator[Released | None]:
    """Yield None while at work, and at the end the private centre.

    Parameters
    ----------
    problem : Problem
        On a ball.
    centre : Centre
        How, from :func:`rashomon_explorer.planning.centres.best_centre`.
    rng : numpy.random.Generator

    Raises
    ------
    SamplerError
        If the minimum cannot be certified as closely as the noisy minimiser's price allows for,
        which depends on the rows; noisy gradients always come.
    """
    theta, pushed = np.zeros(problem.p), 0.0
    if centre.name == "accelerated":
        yield from _by_acceleration(problem, centre, rng)
        return
    if centre.name == "output":
        theta = _noisy_minimiser(problem, centre, rng)
    else:
        weights = average_weights(centre, problem.constants)
        for weight, ahead in zip(weights, descent(problem, centre, rng), strict=True):
            here = _into(problem, ahead)
            theta += weight * here
            pushed += weight * float(np.linalg.norm(ahead - here))
            yield None
    # The grid may lead beyond the ball by its rounding.
    kept = _into(problem, to_public_grid(theta))
    slope = pushed / centre.step_size if pushed else 0.0
    yield Released(kept, slope / float(problem.domain.radius))


def descent(
    problem: Problem, centre: Centre, rng: np.random.Generator, start: FloatArray | None = None
) -> Iterator[FloatArray]:
    """States (p,) of noisy gradient descent, each before it is put back into the ball.

    A state shows the noisy gradient at the one before, and no more: N Gaussian mechanisms of
    sensitivity Δ and deviation σ, √N·Δ/σ-GDP together. It starts from 0, or from what was
    released before.
    """
    theta = np.zeros(problem.p) if start is None else start
    for _ in progress(range(centre.n_steps), "steps"):
        gradient = problem.value_and_gradient(theta[:, None])[1][:, 0]
        noisy = gradient + centre.noise * rng.standard_normal(problem.p)
        ahead = theta - centre.step_size * noisy
        yield ahead
        theta = _into(problem, ahead)


@dataclass(frozen=True)
class Stride:
    """A step of accelerated descent, all of which is made of the noisy gradients so far.

    Parameters
    ----------
    ahead : ndarray of shape (p,)
        z less its step, before it is put back into the ball.
    gradient : ndarray of shape (p,)
        The noisy gradient that was followed.
    at : ndarray of shape (p,)
        y, where it was taken.
    average : ndarray of shape (p,)
        x after the step.
    """

    ahead: FloatArray
    gradient: FloatArray
    at: FloatArray
    average: FloatArray


def strides(problem: Problem, centre: Centre, rng: np.random.Generator) -> Iterator[Stride]:
    """Take the steps of accelerated noisy descent from 0.

    The noise σ_t is larger where steps are smaller, σ√((N + 1)/(2t)): N Gaussian mechanisms of
    sensitivity Δ, √(Σ(Δ/σ_t)²) = √N·Δ/σ-GDP together.
    """
    state = average = np.zeros(problem.p)
    for t in progress(range(1, centre.n_steps + 1), "steps"):
        pace, share = 2 * t / (centre.n_steps + 1), 2 / (t + 1)
        at = average + share * (state - average)
        gradient = problem.value_and_gradient(at[:, None])[1][:, 0]
        noisy = gradient + centre.noise / np.sqrt(pace) * rng.standard_normal(problem.p)
        ahead = state - pace * centre.step_size * noisy
        state = _into(problem, ahead)
        average = average + share * (state - average)
        yield Stride(ahead, noisy, at, average)


def _by_acceleration(
    problem: Problem, centre: Centre, rng: np.random.Generator
) -> Iterator[Released | None]:
    """Yield None while at work, and at the end the average of the path.

    The mean of the noisy gradients, with the weights of the average, tells how hard the ball holds
    back; the noise of one step alone would push outwards as well.
    """
    slope, was_outside = np.zeros(problem.p), False
    for t, stride in enumerate(strides(problem, centre, rng), start=1):
        slope = slope + 2 / (t + 1) * (stride.gradient - slope)
        was_outside |= bool(np.linalg.norm(stride.ahead) > problem.domain.radius)
        yield None
    kept = _into(problem, to_public_grid(stride.average))
    length = float(kept @ kept)
    pull = -float(slope @ kept) / length if was_outside and length > 0 else 0.0
    yield Released(kept, max(0.0, pull))


def _noisy_minimiser(problem: Problem, centre: Centre, rng: np.random.Generator) -> FloatArray:
    known = refined(problem, problem.minimum, problem.m * centre.solver**2 / 2)
    return np.asarray(known.theta + centre.noise * rng.standard_normal(problem.p))


def _into(problem: Problem, theta: FloatArray) -> FloatArray:
    return problem.domain.project(theta[:, None])[:, 0]
