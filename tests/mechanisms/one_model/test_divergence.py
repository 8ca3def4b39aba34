"""Noisy minimisers and noisy descent: exact laws and divergences on the two tables furthest."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import kstest, laplace, norm

from rashomon_explorer.mechanisms import one_model
from rashomon_explorer.mechanisms.langevin.accounting import plan_weighted_path
from rashomon_explorer.mechanisms.langevin.sampled_plan import plan_localised_descent
from rashomon_explorer.mechanisms.planning.centres import average_weights
from rashomon_explorer.mechanisms.planning.registry import MECHANISMS
from rashomon_explorer.privacy.conversions import gdp_delta
from rashomon_explorer.problem.losses.kinked import SmoothedHingeLoss
from rashomon_explorer.problem.problem import Problem
from tests.mechanisms.builders import constants_of, request_of

N, RIDGE, LOSS, RADIUS = 200, 1.0, SmoothedHingeLoss(smoothing=0.5), 0.5
KNOWN = constants_of(LOSS, n=N, p=1, radius=RADIUS, ridge=RIDGE)
EPSILON, MU = 2.0, 1.0
NOISES = {
    "pure": one_model.plan_noisy_minimiser(KNOWN, RADIUS, 1.0, epsilon=EPSILON),
    "Gaussian": one_model.plan_noisy_minimiser(KNOWN, RADIUS, 1.0, epsilon=EPSILON, mu=MU),
}
PATH = plan_weighted_path(KNOWN, RADIUS, MU, 1.0)
SHORT = replace(PATH, n_steps=20)
BOTH = plan_localised_descent(KNOWN, RADIUS, MU, 1.0)
KINDS = pytest.mark.parametrize("kind", NOISES)


def table(pull):
    """One record has the steepest slope; in the ball all losses are linear."""
    rows = np.zeros((N, 1))
    rows[0] = pull
    return Problem(
        rows, np.ones(N), loss=LOSS, radius=RADIUS, ridge=RIDGE, row_norm=1.0, intercept=False
    )


def noise_law(planned, pull, off=0.0):
    """Law of the minimiser of a table, with an error of the solver, plus noise."""
    return (norm if planned.gaussian else laplace)(pull * (1 / (N * RIDGE) + off), planned.scale)


def descent_law(path, pull, start_noise=None):
    """Law of the weighted mean of the states, which are linear in start, pull and noise."""
    weights, forget = average_weights(path, KNOWN), 1 - path.step_size * RIDGE
    after = [path.step_size * forget ** np.arange(path.n_steps - k) for k in range(path.n_steps)]
    steps = np.array([weights[k:] @ part for k, part in enumerate(after)])
    start = 0.0 if start_noise is None else weights @ forget ** np.arange(1, path.n_steps + 1)
    spread = float(np.linalg.norm(steps)) * path.noise, start * (start_noise or 0.0)
    return norm(start * pull / (N * RIDGE) + steps.sum() * pull / N, math.hypot(*spread))


LAWS = {
    "pure": lambda pull: noise_law(NOISES["pure"], pull),
    "Gaussian": lambda pull: noise_law(NOISES["Gaussian"], pull),
    "descent": lambda pull: descent_law(SHORT, pull),
    "localised": lambda pull: descent_law(BOTH.then, pull, BOTH.scale),
}
MODELS = {
    "pure": one_model.OutputPerturbation(NOISES["pure"]),
    "Gaussian": one_model.OutputPerturbation(NOISES["Gaussian"]),
    "descent": one_model.NoisyDescent(SHORT),
    "localised": one_model.LocalisedGaussian(BOTH),
}


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("pull", [1.0, -1.0])
def test_a_model_has_its_law(name, pull):
    problem, rng, law = table(pull), np.random.default_rng(0), LAWS[name](pull)
    drawn = [MODELS[name].draw(problem, rng)[0] for _ in range(150)]
    assert kstest(drawn, law.cdf).pvalue > 1e-3
    doubled = law.mean() + (np.array(drawn) - law.mean()) * 2
    assert kstest(doubled, law.cdf).pvalue < 1e-3  # control: at half of the noise it is caught


@KINDS
@pytest.mark.parametrize("epsilon", [0.0, 0.5, 1.5, EPSILON])
def test_a_noisy_minimiser_has_the_divergence_that_is_charged(kind, epsilon):
    """δ of the two tables, with the solver's errors apart, by a sum over a fine grid."""
    pure = max(0.0, -math.expm1((epsilon - EPSILON) / 2))  # of Laplace noise
    most = gdp_delta(MU, epsilon) if kind == "Gaussian" else pure

    def divergence(planned):
        grid = np.linspace(-30 * planned.scale, 30 * planned.scale, 200_001)
        one, other = (noise_law(planned, pull, planned.solver).pdf(grid) for pull in (1.0, -1.0))
        return np.maximum(one - math.exp(epsilon) * other, 0).sum() * (grid[1] - grid[0])

    planned = NOISES[kind]
    assert 0.99 * most - 1e-9 <= divergence(planned) <= most + 1e-6
    assert divergence(replace(planned, scale=planned.scale / 2)) > most + 0.01  # control


def two_states(path, noise, epsilon, start_noise=0.0):
    """δ of start (or first state) and next state on a grid, each law depending on the last."""
    deviation = path.step_size * noise
    first = start_noise or deviation
    grid, after = np.linspace(-9 * first, 9 * first, 901), 9 * (deviation + first)
    after = np.linspace(-after, after, 1201)

    def density(pull):
        start = pull / (N * RIDGE) if start_noise else path.step_size * pull / N
        mean = grid - path.step_size * (RIDGE * grid - pull / N)
        place = norm.pdf(grid, start, first)
        return place[:, None] * norm.pdf(after[None], mean[:, None], deviation)

    one, other = density(1.0), density(-1.0)
    cell = (grid[1] - grid[0]) * (after[1] - after[0])
    assert one.sum() * cell == pytest.approx(1.0, abs=1e-6)
    return float(np.maximum(one - math.exp(epsilon) * other, 0).sum() * cell)


@pytest.mark.parametrize("epsilon", [0.2, 1.0])
def test_states_of_noisy_descent_have_the_divergence_that_is_charged(epsilon):
    """Two states with the noise of a path of two steps at this cost, by brute force."""
    assert math.sqrt(PATH.n_steps) * 2 / N / PATH.noise == pytest.approx(PATH.mu)
    noise, most = PATH.noise * math.sqrt(2 / PATH.n_steps), gdp_delta(PATH.mu, epsilon)
    assert 0.95 * most < two_states(PATH, noise, epsilon) <= most * (1 + 1e-5)
    assert two_states(PATH, noise / 2, epsilon) > 1.5 * most  # control


@pytest.mark.parametrize("epsilon", [0.2, 1.0])
def test_both_phases_together_by_brute_force(epsilon):
    """δ of (start, next state), with the noise of one step for all of them."""
    noise = BOTH.then.noise / math.sqrt(BOTH.then.n_steps)
    found = two_states(BOTH.then, noise, epsilon, BOTH.scale)
    assert 0.95 * gdp_delta(BOTH.mu, epsilon) < found <= gdp_delta(BOTH.mu, epsilon) * (1 + 1e-5)
    assert found > gdp_delta(0.9 * BOTH.mu, epsilon)  # control


def test_start_and_steps_cost_what_is_charged_and_less_noise_costs_more():
    def price(plan):
        steps = math.sqrt(plan.then.n_steps) * 2 / N / plan.then.noise
        return math.hypot(2 / (N * RIDGE) / plan.scale, steps)

    assert 0.98 * BOTH.mu < price(BOTH) <= BOTH.mu <= MU
    assert price(replace(BOTH, scale=BOTH.scale / 2)) > MU
    assert price(replace(BOTH, then=replace(BOTH.then, noise=BOTH.then.noise / 2))) > MU
    assert math.hypot(2 / (N * RIDGE) / BOTH.scale, BOTH.then.mu) == pytest.approx(MU, rel=0.02)
    assert BOTH.start**2 == pytest.approx(BOTH.scale**2 + BOTH.solver**2)
    forget, pace = 1 - BOTH.then.step_size * RIDGE, BOTH.then.step_size
    weights = (forget ** -np.arange(1.0, BOTH.then.n_steps + 1)).sum()
    bound = BOTH.start**2 / (2 * pace * weights) + pace * BOTH.then.noise**2
    assert BOTH.excess == pytest.approx(bound)


def test_with_kinks_a_localised_descent_promises_much_more():
    request = request_of(n=20_000, loss="hinge", ridge=0.1, epsilon=1.0, ledger=True)
    names = ("localised_gaussian", "noisy_sgd", "output_perturbation")
    offer, *others = (MECHANISMS[name].offer(request) for name in names)
    assert offer.plan.settings.then.rate == 1.0
    assert offer.guarantee.mu == pytest.approx(offer.plan.settings.mu)
    assert all(offer.excess < other.excess / 5 for other in others)
    assert any("certified" in one for one in offer.guarantee.assumptions)
