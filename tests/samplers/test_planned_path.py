"""The draws of a planned path are the averages that its bound is for, at the path's price."""

import numpy as np
import pytest

from rashomon_explorer.planning import plan_path
from rashomon_explorer.planning.path import path_guarantee
from rashomon_explorer.problem import Problem
from rashomon_explorer.samplers import LangevinSampler, PlannedPath
from rashomon_explorer.samplers.collect import collect
from rashomon_explorer.target import GibbsTarget


def planned(psi, epsilon=8.0, n_draws=40, n=2_000, p=4, seed=0, **setting):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    y = np.where(X @ rng.standard_normal(p) + 0.3 * rng.standard_normal(n) > 0, 1.0, -1.0)
    problem = Problem(X, y, radius=2.0, intercept=False)
    plan = plan_path(
        n, p, psi, radius=2.0, row_norm=1.0, epsilon=epsilon, delta=1e-6, n_draws=n_draws, **setting
    )
    return plan, GibbsTarget(problem, plan.beta, plan.psi, plan.threshold)


@pytest.mark.parametrize("psi", [0.0, 0.05])
def test_a_draw_is_the_mean_of_the_states_that_a_gradient_was_taken_at(psi):
    plan, target = planned(psi, n_draws=3, max_steps=50)
    batch = list(PlannedPath(plan).batches(target, np.random.default_rng(5)))[-1]
    sampler = LangevinSampler(plan.step_size, plan.n_steps, n_chains=3)
    states = np.array(list(sampler.states(target, np.random.default_rng(5))))
    started = np.concatenate([np.zeros_like(states[:1]), states[:-1]])
    np.testing.assert_allclose(batch.theta, started.mean(axis=0), atol=1e-12)
    np.testing.assert_allclose(batch.losses, target.problem.value(batch.theta))
    assert np.abs(batch.theta - states[-1]).max() > 0.01  # what used to be drawn


def test_averaging_costs_nothing():
    plan, _ = planned(0.05)
    path = path_guarantee(
        beta=plan.beta,
        sensitivity=plan.sensitivity,
        step_size=plan.step_size,
        n_steps=plan.n_steps,
        n_chains=plan.n_draws,
    )
    assert PlannedPath(plan).guarantee(plan) == plan.guarantee == path


@pytest.mark.parametrize(
    ("psi", "epsilon", "n_draws"), [(0.0, 8.0, 40), (0.0, 50.0, 10), (0.05, 50.0, 10)]
)
@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.law)])
def test_the_mean_excess_of_the_draws_is_below_the_bound(psi, epsilon, n_draws, seed):
    plan, target = planned(psi, epsilon, n_draws, max_steps=300, seed=seed)
    rng = np.random.default_rng(seed)
    losses = np.concatenate(
        [collect(PlannedPath(plan), target, n_draws, rng).losses for _ in range(3)]
    )
    excess = losses - target.problem.minimum.value
    assert excess.mean() + 4 * excess.std() / np.sqrt(len(excess)) < plan.excess_bound
