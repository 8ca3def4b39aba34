"""Slow statistical laws: `make laws`."""

import math

import numpy as np
import pytest
from scipy.special import gamma, gammaincc
from scipy.stats import kstest

from rashomon_explorer import RashomonClassifier, load_dataset
from rashomon_explorer.mechanisms import ExactSampler, HitAndRunSampler
from rashomon_explorer.mechanisms.base import collect
from rashomon_explorer.mechanisms.target import GibbsTarget
from rashomon_explorer.problem.problem import Problem
from tests.mechanisms.samplers.laws import small_problem

pytestmark = pytest.mark.law


def metropolis(target, n_chains, steps, seed):
    """Independent reference: random-walk Metropolis from the minimiser, one state a chain."""
    rng = np.random.default_rng(seed)
    problem = target.problem
    metric = problem.hessian(problem.minimum.theta) + 0.01 * np.eye(problem.p)
    eigenvalues, vectors = np.linalg.eigh(metric)
    spread = vectors / np.sqrt(eigenvalues) * math.sqrt(2 * target.psi + 1 / target.beta)
    theta = np.repeat(problem.minimum.theta[:, None], n_chains, axis=1)
    log_density = np.zeros(n_chains)
    for _ in range(steps):
        move = spread @ rng.standard_normal(theta.shape) * 0.6 / math.sqrt(problem.p)
        proposed = target.log_density(theta + move)
        accept = np.log(rng.random(n_chains)) < proposed - log_density
        theta = np.where(accept, theta + move, theta)
        log_density = np.where(accept, proposed, log_density)
    return theta


@pytest.mark.parametrize("loss", ["logistic", "smoothed_hinge"])
@pytest.mark.parametrize(("radius", "scale"), [(8.0, 1.0), (1.0, 6.0)], ids=["inside", "sphere"])
def test_ten_parameters_parity_with_a_long_chain(loss, radius, scale):
    problem = small_problem(10, loss, radius=radius, n=400, scale=scale)
    assert problem.minimum.on_boundary == (radius < 2)
    target = GibbsTarget(problem, beta=400.0, psi=0.03)
    draws = collect(ExactSampler(), target, 6000, np.random.default_rng(0))
    reference = metropolis(target, n_chains=4000, steps=3000, seed=1)
    excess = draws.losses - problem.minimum.value
    energy = target.excess(reference)
    error = math.hypot(excess.std() / math.sqrt(6000), energy.std() / math.sqrt(4000))
    assert abs(excess.mean() - energy.mean()) < 4 * error
    assert abs(np.mean(excess <= 0.03) - np.mean(energy <= 0.03)) < 4 * 0.5 * math.sqrt(1 / 2400)
    for column in range(10):
        assert kstest(draws.coef[:, column], reference[column]).pvalue > 1e-4


def test_exact_draws_inside_the_set_agree_with_hit_and_run():
    problem = small_problem(8, radius=1.5, n=400, scale=4.0)
    target = GibbsTarget(problem, beta=2000.0, psi=0.03)
    draws = collect(ExactSampler(), target, 8000, np.random.default_rng(0))
    inside = draws.losses - problem.minimum.value <= 0.03
    sampler = HitAndRunSampler(n_chains=200, burn_in=300, thin=60)
    uniform = collect(sampler, target, 4000, np.random.default_rng(1))
    for column in range(8):
        assert kstest(draws.coef[inside, column], uniform.coef[:, column]).pvalue > 1e-4
    assert kstest(draws.losses[inside], uniform.losses).pvalue > 1e-4


@pytest.mark.parametrize("x", [2.0, 10.0])
@pytest.mark.parametrize("p", [1, 2, 5, 10])
def test_hit_rates_of_quadratic_losses_have_their_closed_form(p, x):
    """x^{p/2}e^{−x}/(x^{p/2}e^{−x} + (p/2)Γ(p/2, x)) for βψ = x, on a ball that does not bind."""
    problem = small_problem(p, "squared", radius=60.0, n=1000)
    psi = 0.01
    target = GibbsTarget(problem, x / psi, psi)
    draws = collect(ExactSampler(), target, 6000, np.random.default_rng(p))
    tail = p / 2 * gammaincc(p / 2, x) * gamma(p / 2)
    exact = x ** (p / 2) * math.exp(-x) / (x ** (p / 2) * math.exp(-x) + tail)
    excess = draws.losses - problem.minimum.value
    hit = np.mean(excess <= psi)
    assert hit == pytest.approx(exact, abs=4 * math.sqrt(exact * (1 - exact) / 6000))
    inside = excess[excess <= psi]
    # Inside, (excess/ψ)^{p/2} is uniform: excess/ψ has the Beta(p/2, 1) law.
    spread = math.sqrt((p / 2) / ((p / 2 + 1) ** 2 * (p / 2 + 2)) / len(inside))
    assert inside.mean() / psi == pytest.approx(p / (p + 2), abs=4 * spread)


# Its rows as they come, a few longer than the declared norm, as a newcomer fits them.
@pytest.mark.filterwarnings("ignore::rashomon_explorer.exceptions.RowsClippedWarning")
def test_lending_hits_as_promised():
    data = load_dataset("lending")
    many = RashomonClassifier(psi=0.02, epsilon=4.0, delta=1e-6, n_draws=20)
    rates, excess = [], []
    for _ in range(20):
        models = many.fit(data.X, data.y).rashomon_set_
        rates.append(models.hit_rate)
        excess.append(models.excess.mean())
    assert np.mean(rates) >= many.plan_.hit_rate_bound and np.min(rates) >= 0.6
    assert np.mean(excess) <= many.plan_.excess_bound
    one = RashomonClassifier(psi=0.02, epsilon=1.0, delta=0.0, n_draws=1, mechanism="exact")
    y = np.where(np.asarray(data.y) == np.unique(data.y)[1], 1.0, -1.0)
    planned = one.plan(*data.X.shape)
    problem = Problem(data.X, y, radius=planned.radius, row_norm=1.0)
    target = GibbsTarget(problem, planned.beta, 0.02)
    draws = collect(ExactSampler(), target, 2000, np.random.default_rng(0))
    assert np.mean(target.excess(draws.coef.T) <= 0.02) >= max(planned.hit_rate_bound, 0.5)
