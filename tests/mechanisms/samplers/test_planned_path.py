"""The draws of a planned path are the averages that its bound is for, at the path's price."""

from dataclasses import replace

import numpy as np
import pytest

from rashomon_explorer.mechanisms.base import collect
from rashomon_explorer.mechanisms.langevin.accounting import path_guarantee
from rashomon_explorer.mechanisms.langevin.gradients import FullDrift
from rashomon_explorer.mechanisms.langevin.plan import plan_path
from rashomon_explorer.mechanisms.langevin.sampler import PlannedPath
from rashomon_explorer.mechanisms.target import GibbsTarget
from rashomon_explorer.problem.problem import Problem


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
def test_a_draw_is_the_mean_of_the_states_each_as_heavy_as_it_is_late(psi):
    plan, target = planned(psi, n_draws=3, max_steps=50)
    batch = list(PlannedPath(plan).batches(target, np.random.default_rng(5)))[-1]
    pairs = PlannedPath(plan).states(target, np.random.default_rng(5))
    states = np.array([state for state, _ in pairs])
    weights = np.arange(1.0, plan.n_steps + 1)
    np.testing.assert_allclose(batch.theta, np.average(states, axis=0, weights=weights), atol=1e-12)
    np.testing.assert_allclose(batch.losses, target.problem.value(batch.theta))
    assert np.abs(batch.theta - states[-1]).max() > 0.01


@pytest.mark.parametrize("psi", [0.0, 0.05])
def test_every_step_is_a_gaussian_mechanism_and_together_they_cost_what_is_charged(psi):
    """Written down once more from the states alone: what noise each step added to what it saw.

    A step moves by −h_tβ∇energy(y), which a record moves by h_tβΔ, and its noise has variance 2h_t:
    μ² of all steps is the sum of (h_tβΔ)²/(2h_t). The noise is that of the stream, in order.
    """
    plan, target = planned(psi, n_draws=2, max_steps=30)
    smoothness = FullDrift(target)
    run, stream = smoothness.run(np.random.default_rng(0)), np.random.default_rng(5)
    state = average = np.zeros((target.problem.p, 2))
    square, total = 0.0, 0.0
    for t, (now, mean) in enumerate(
        PlannedPath(plan).states(target, np.random.default_rng(5)), start=1
    ):
        taken = plan.step_size * t / ((plan.n_steps + 1) / 2)
        ahead = ((t - 1) * average + 2 * state) / (t + 1)
        noise = np.sqrt(2 * taken) * stream.standard_normal(state.shape)
        moved = smoothness.project(state - taken * run(ahead) + noise)
        np.testing.assert_allclose(now, moved, atol=1e-10)
        square += 2 * (taken * plan.beta * plan.sensitivity) ** 2 / (2 * taken)
        total += taken
        state, average = now, mean
    assert total == pytest.approx(plan.n_steps * plan.step_size)
    assert plan.guarantee.mu == pytest.approx(np.sqrt(square))


def test_a_plan_for_another_problem_is_refused_where_its_chains_would_not_be_stable():
    plan, target = planned(0.0, max_steps=30)
    far = replace(plan, step_size=plan.step_size * 1e4)
    with pytest.raises(ValueError, match="too few for the chains to be stable"):
        list(PlannedPath(far).batches(target, np.random.default_rng(0)))


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
