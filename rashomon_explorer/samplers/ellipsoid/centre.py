"""One good model, made private as a plan says."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from rashomon_explorer.array_types import FloatArray
from rashomon_explorer.planning.centres import Centre, average_weights
from rashomon_explorer.problem import Problem
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


def descent(problem: Problem, centre: Centre, rng: np.random.Generator) -> Iterator[FloatArray]:
    """States (p,) of noisy gradient descent from 0, each before it is put back into the ball.

    A state shows the noisy gradient at the one before, and no more: N Gaussian mechanisms of
    sensitivity Δ and deviation σ, √N·Δ/σ-GDP together.
    """
    theta = np.zeros(problem.p)
    for _ in range(centre.n_steps):
        gradient = problem.value_and_gradient(theta[:, None])[1][:, 0]
        noisy = gradient + centre.noise * rng.standard_normal(problem.p)
        ahead = theta - centre.step_size * noisy
        yield ahead
        theta = _into(problem, ahead)


def _noisy_minimiser(problem: Problem, centre: Centre, rng: np.random.Generator) -> FloatArray:
    known = refined(problem, problem.minimum, problem.m * centre.solver**2 / 2)
    return np.asarray(known.theta + centre.noise * rng.standard_normal(problem.p))


def _into(problem: Problem, theta: FloatArray) -> FloatArray:
    return problem.domain.project(theta[:, None])[:, 0]
