"""Output perturbation and noisy descent: exact laws and divergences on the two tables furthest."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import kstest, laplace, norm

from rashomon_explorer.mechanisms.langevin.accounting import plan_weighted_path
from rashomon_explorer.mechanisms.one_model import (
    NoisyDescent,
    OutputPerturbation,
    plan_noisy_minimiser,
)
from rashomon_explorer.mechanisms.planning.centres import average_weights
from rashomon_explorer.privacy.conversions import gdp_delta
from rashomon_explorer.problem.constants import Constants
from rashomon_explorer.problem.domains import Ball
from rashomon_explorer.problem.losses.kinked import SmoothedHingeLoss
from rashomon_explorer.problem.problem import Problem

N, RIDGE, LOSS, RADIUS = 200, 1.0, SmoothedHingeLoss(smoothing=0.5), 0.5
KNOWN = Constants.of(LOSS, n=N, p=1, domain=Ball(RADIUS), row_bound=1.0, ridge=RIDGE)
EPSILON, MU = 2.0, 1.0
NOISES = {
    "pure": plan_noisy_minimiser(KNOWN, RADIUS, 1.0, epsilon=EPSILON),
    "Gaussian": plan_noisy_minimiser(KNOWN, RADIUS, 1.0, epsilon=EPSILON, mu=MU),
}
PATH = plan_weighted_path(KNOWN, RADIUS, MU, 1.0)
every_noise = pytest.mark.parametrize("kind", NOISES)
every_pull = pytest.mark.parametrize("pull", [1.0, -1.0])


def table(pull):
    """One record has the steepest slope; in the ball all losses are linear."""
    rows = np.zeros((N, 1))
    rows[0] = pull
    return Problem(
        rows, np.ones(N), loss=LOSS, radius=RADIUS, ridge=RIDGE, row_norm=1.0, intercept=False
    )


def law(planned, pull, off=0.0):
    """Law of the minimiser of a table, with an error of the solver, plus noise."""
    return (norm if planned.gaussian else laplace)(pull * (1 / (N * RIDGE) + off), planned.scale)


def divergence(planned, epsilon):
    """δ at ε of the two tables, with the solver's errors apart, by a sum over a fine grid."""
    grid = np.linspace(-30 * planned.scale, 30 * planned.scale, 200_001)
    one, other = (law(planned, pull, planned.solver).pdf(grid) for pull in (1.0, -1.0))
    return float(np.maximum(one - math.exp(epsilon) * other, 0).sum() * (grid[1] - grid[0]))


def charged(kind, epsilon):
    """δ of the charge at ε."""
    if kind == "Gaussian":
        return gdp_delta(MU, epsilon)
    return max(0.0, -math.expm1((epsilon - EPSILON) / 2))  # of Laplace noise


@every_noise
@pytest.mark.parametrize("epsilon", [0.0, 0.5, 1.5, EPSILON])
def test_a_noisy_minimiser_has_the_divergence_that_is_charged(kind, epsilon):
    planned, most = NOISES[kind], charged(kind, epsilon)
    assert 0.99 * most - 1e-9 <= divergence(planned, epsilon) <= most + 1e-6
    assert divergence(replace(planned, scale=planned.scale / 2), epsilon) > most + 0.01  # control


@every_noise
@every_pull
def test_a_noisy_minimiser_has_its_law(kind, pull):
    planned, rng = NOISES[kind], np.random.default_rng(0)
    mechanism, problem = OutputPerturbation(planned), table(pull)
    drawn = [mechanism.draw(problem, rng)[0] for _ in range(150)]
    assert kstest(drawn, law(planned, pull).cdf).pvalue > 1e-3
    half = replace(planned, scale=planned.scale / 2)
    assert kstest(drawn, law(half, pull).cdf).pvalue < 1e-3  # control


def average_law(pull):
    """Law of the weighted mean of the states, which are linear in the noise."""
    weights, forget = average_weights(PATH, KNOWN), 1 - PATH.step_size * RIDGE
    after = [PATH.step_size * forget ** np.arange(PATH.n_steps - k) for k in range(PATH.n_steps)]
    steps = np.array([weights[k:] @ part for k, part in enumerate(after)])
    return norm(steps.sum() * pull / N, float(np.linalg.norm(steps)) * PATH.noise)


@every_pull
def test_noisy_descent_has_its_law(pull):
    rng, problem = np.random.default_rng(0), table(pull)
    drawn = [NoisyDescent(PATH).draw(problem, rng)[0] for _ in range(150)]
    exact = average_law(pull)
    assert kstest(drawn, exact.cdf).pvalue > 1e-3
    assert kstest(drawn, norm(exact.mean(), exact.std() / 2).cdf).pvalue < 1e-3  # control


def two_states(noise, epsilon):
    """δ at ε of the first two states on a grid, the second's law depending on the first."""
    deviation = PATH.step_size * noise
    grid = np.linspace(-9 * deviation, 9 * deviation, 901)

    def density(pull):
        first = norm.pdf(grid, PATH.step_size * pull / N, deviation)
        mean = grid - PATH.step_size * (RIDGE * grid - pull / N)
        return first[:, None] * norm.pdf(grid[None], mean[:, None], deviation)

    one, other = density(1.0), density(-1.0)
    cell = (grid[1] - grid[0]) ** 2
    return float(np.maximum(one - math.exp(epsilon) * other, 0).sum() * cell)


@pytest.mark.parametrize("epsilon", [0.2, 1.0])
def test_states_of_noisy_descent_have_the_divergence_that_is_charged(epsilon):
    """Two states with the noise of a path of two steps at this cost, by brute force."""
    assert math.sqrt(PATH.n_steps) * 2 / N / PATH.noise == pytest.approx(PATH.mu)
    noise, most = PATH.noise * math.sqrt(2 / PATH.n_steps), gdp_delta(PATH.mu, epsilon)
    assert 0.95 * most < two_states(noise, epsilon) <= most * (1 + 1e-5)
    assert two_states(noise / 2, epsilon) > 1.5 * most  # control
