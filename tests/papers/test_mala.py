"""MALA: the target's law in the limit, and never with a privacy label."""

import numpy as np
import pytest
from scipy.stats import ks_2samp, kstest

from rashomon_explorer.mechanisms.base import collect
from rashomon_explorer.mechanisms.planning.planner import plan
from rashomon_explorer.mechanisms.samplers.exponential import ExactSampler
from rashomon_explorer.mechanisms.target import GibbsTarget
from rashomon_explorer.papers import mala
from rashomon_explorer.papers.mala import Kernel, MalaSampler
from tests.crossing import crossed
from tests.mechanisms.samplers.laws import (
    ks_against_quadrature,
    line_law,
    polar_grid,
    small_problem,
)

LEVEL = 1e-3  # seeds are fixed: a test that passes keeps passing, whatever the level


def walk(target, n_draws, seed=0, n_chains=250, thin=25):
    # Long strides: the tests below compare with laws of independent draws.
    sampler = MalaSampler(n_chains=n_chains, thin=thin)
    return collect(sampler, target, n_draws, np.random.default_rng(seed))


def gaussian():
    """A target that is Gaussian, and how to whiten its draws."""
    problem = small_problem(3, "squared", radius=40.0, n=400)
    target = GibbsTarget(problem, beta=300.0, psi=0.0)
    eigenvalues, vectors = np.linalg.eigh(problem.hessian(problem.minimum.theta))
    return target, vectors * np.sqrt(eigenvalues * 300.0)


def white(target, coef, whiten):
    return ((coef - target.problem.minimum.theta) @ whiten).T


def test_squared_loss_without_a_threshold_is_gaussian():
    target, whiten = gaussian()
    for column in white(target, walk(target, 4000).coef, whiten):
        assert kstest(column, "norm").pvalue > LEVEL


def without_proposals(state, proposed, step_size, noise):
    return state.energy - proposed.energy


def without_energies(state, proposed, step_size, noise):
    return np.zeros(len(state.energy))


@pytest.mark.parametrize("broken", [without_proposals, without_energies])
def test_a_broken_acceptance_ratio_is_caught(broken, monkeypatch):
    target, whiten = gaussian()
    monkeypatch.setattr(mala, "log_acceptance", broken)
    # A step fitted in the warm-up would run away from a ratio that refuses nothing.
    monkeypatch.setattr(mala, "adapted", lambda step_size, accepted, step: step_size)
    columns = white(target, walk(target, 4000).coef, whiten)
    assert min(kstest(column, "norm").pvalue for column in columns) < LEVEL


@crossed(
    {
        "threshold": ["hard", "smooth"],
        "loss, radius, scale": [("logistic", 4.0, 1.0), ("squared", 0.3, 2)],
    }
)
def test_one_parameter_parity_with_quadrature(threshold, loss, radius, scale):
    problem = small_problem(1, loss, radius, scale=scale)
    target = GibbsTarget(problem, 200.0, 0.02, threshold=threshold)
    draws = walk(target, 3000).coef[:, 0]
    assert ks_against_quadrature(draws, *line_law(target)) > LEVEL


def test_the_two_thresholds_are_told_apart():
    problem = small_problem(1, radius=4.0)
    draws = walk(GibbsTarget(problem, 60.0, 0.05), 4000).coef[:, 0]
    smooth = line_law(GibbsTarget(problem, 60.0, 0.05, threshold="smooth"))
    assert ks_against_quadrature(draws, *smooth) < LEVEL


@crossed(
    {
        "threshold": ["hard", "smooth"],
        "radius, scale": [(4.0, 1.0), (0.7, 4.0)],
    }
)
def test_two_parameter_parity_with_quadrature(threshold, radius, scale):
    target = GibbsTarget(small_problem(2, radius=radius, scale=scale), 120.0, 0.02, threshold)
    draws = walk(target, 3000)
    places, probabilities = polar_grid(target)
    for direction in ([1.0, 0.0], [0.0, 1.0], [0.6, -0.8]):
        along = ks_against_quadrature(draws.coef @ direction, direction @ places, probabilities)
        assert along > LEVEL
    hit = probabilities[target.excess(places) <= 0.02].sum()
    drawn = np.mean(draws.losses - target.problem.minimum.value <= 0.02)
    assert drawn == pytest.approx(hit, abs=4 * np.sqrt(0.25 / 3000))


@pytest.mark.parametrize(("radius", "scale"), [(4.0, 1.0), (0.7, 4.0)])
@pytest.mark.law
def test_parity_with_exact_draws_at_five_parameters(radius, scale):
    target = GibbsTarget(small_problem(5, radius=radius, scale=scale, n=200), 300.0, 0.03)
    chains = walk(target, 3000, thin=40)
    exact = collect(ExactSampler(), target, 3000, np.random.default_rng(1))
    assert ks_2samp(chains.losses, exact.losses).pvalue > LEVEL
    for column, other in zip(chains.coef.T, exact.coef.T, strict=True):
        assert ks_2samp(column, other).pvalue > LEVEL


@pytest.mark.parametrize("step_size", [0.3, 1.5])
def test_exact_draws_stay_exact_under_any_step(step_size):
    target = GibbsTarget(small_problem(2, radius=0.7, scale=4.0), 120.0, 0.02)
    rng = np.random.default_rng(2)
    draws = collect(ExactSampler(), target, 3000, rng).coef
    kernel = Kernel.of(target)
    state = kernel.at(np.linalg.solve(kernel.whiten, draws.T * (1 - 1e-9) - kernel.centre[:, None]))
    for _ in range(12):
        state, _ = kernel.step(state, step_size, rng)
    places, probabilities = polar_grid(target)
    moved = kernel.models(state.u)
    for direction in ([1.0, 0.0], [0.6, -0.8]):
        along = ks_against_quadrature(direction @ moved, direction @ places, probabilities)
        assert along > LEVEL
    assert state.losses == pytest.approx(target.problem.value(moved))


def test_the_step_is_fitted_in_the_burn_in_and_then_left_alone(monkeypatch):
    sizes, honest = [], Kernel.step

    def spy(self, state, step_size, rng):
        sizes.append(step_size)
        return honest(self, state, step_size, rng)

    monkeypatch.setattr(Kernel, "step", spy)
    target = GibbsTarget(small_problem(2), 120.0, 0.0)
    sampler = MalaSampler(n_chains=50, burn_in=80, thin=5)
    collect(sampler, target, 500, np.random.default_rng(0))
    assert len(set(sizes[:80])) > 70
    assert len(set(sizes[80:])) == 1
    kernel, rng = Kernel.of(target), np.random.default_rng(1)
    state, rates = kernel.start(200), []
    for _ in range(100):
        state, accepted = honest(kernel, state, sizes[-1], rng)
        rates.append(accepted.mean())
    assert np.mean(rates) == pytest.approx(0.574, abs=0.1)


def test_the_drift_is_the_gradient_of_the_energy():
    target = GibbsTarget(small_problem(3), 30.0, 0.02, threshold="smooth")
    kernel = Kernel.of(target)
    u = np.random.default_rng(0).standard_normal((3, 20)) * 0.5
    step = 1e-6
    for axis in np.eye(3):
        rise = (
            kernel.at(u + step * axis[:, None]).energy - kernel.at(u - step * axis[:, None]).energy
        )
        assert kernel.at(u).gradient.T @ axis == pytest.approx(rise / (2 * step), abs=1e-5)


def test_every_state_lies_in_the_domain_and_warming_up_yields_empty_batches():
    target = GibbsTarget(small_problem(5, radius=1.0, scale=4.0), 50.0, 0.01)
    batches = MalaSampler(n_chains=30, burn_in=40).batches(target, np.random.default_rng(0))
    assert [next(batches).theta.shape for _ in range(5)] == [(5, 0)] * 5
    for _ in range(20):
        batch = next(batches)
        assert target.problem.domain.contains(batch.theta).all()
        assert batch.losses == pytest.approx(target.problem.value(batch.theta))


def test_no_guarantee_is_claimed_and_bad_settings_are_refused():
    bought = plan(100, 3, 0.02, radius=4.0, row_norm=1.0, epsilon=1.0)
    assert not MalaSampler().guarantee(bought).holds
    with pytest.raises(ValueError, match="n_chains must be a whole number, at least 1, got 0"):
        MalaSampler(n_chains=0)
    with pytest.raises(ValueError, match="thin must be a whole number, at least 1, got 0"):
        MalaSampler(thin=0)
