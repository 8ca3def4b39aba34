"""Chains along a loss with clipped slopes: what they follow, what it costs, what is promised."""

import math
from dataclasses import replace

import numpy as np
import pytest

from rashomon_explorer import RashomonClassifier, RashomonRegressor
from rashomon_explorer.mechanisms.langevin.accounting import path_guarantee
from rashomon_explorer.mechanisms.langevin.gradients import ClippedDrift
from rashomon_explorer.mechanisms.langevin.plan import ClippedPathPlan, plan_clipped_path, plan_path
from rashomon_explorer.mechanisms.langevin.sampler import LangevinClipped
from rashomon_explorer.mechanisms.planning.advice import explain
from rashomon_explorer.mechanisms.planning.registry import MECHANISMS
from rashomon_explorer.mechanisms.planning.suggestions import suppress_weak_warnings
from rashomon_explorer.mechanisms.planning.weakness import weak_guarantee_reason
from rashomon_explorer.mechanisms.request import Request
from rashomon_explorer.mechanisms.target import GibbsTarget
from rashomon_explorer.problem.losses import clipped
from rashomon_explorer.problem.problem import Problem

ROWS = {"n": 2_000, "p": 4, "psi": 0.02, "radius": 2.0, "row_norm": 1.0}
BUDGET = {"epsilon": 4.0, "delta": 1e-6}


def planned(loss="logistic", n_draws=60, **changed):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((2_000, 4))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    score = X @ rng.standard_normal(4)
    noisy = score + 0.3 * rng.standard_normal(2_000)
    y = np.where(noisy > 0, 1.0, -1.0) if loss == "logistic" else np.clip(noisy, -1, 1)
    plan = plan_clipped_path(**{**ROWS, **BUDGET, **changed}, loss=loss, n_draws=n_draws)
    problem = Problem(X, y, loss=loss, radius=2.0, intercept=False, ridge=plan.ridge)
    return plan, GibbsTarget(problem, plan.beta, plan.drawn_psi, plan.threshold)


@pytest.mark.parametrize("loss", ["logistic", "squared"])
def test_the_gradient_is_that_of_the_loss_with_each_rows_own_clipped(loss):
    """Row by row, from the loss itself: what is longer than ½ is cut to ½."""
    plan, target = planned(loss, ridge=0.1)
    drift = ClippedDrift(target, plan.most)
    theta = np.random.default_rng(1).normal(size=(4, 5))
    rows, y = target.problem.rows, target.problem.targets[:, None]
    scores = rows @ theta
    pull = -y / (1 + np.exp(y * scores)) if loss == "logistic" else scores - y
    assert (np.abs(pull) > 0.5).any()
    by_hand = rows.T @ np.clip(pull, -0.5, 0.5) / 2_000 + 0.1 * theta
    found = drift.run(np.random.default_rng(0))(theta)
    np.testing.assert_allclose(found, drift.beta * by_hand, rtol=1e-10)


@pytest.mark.parametrize("loss", ["logistic", "squared"])
def test_a_record_moves_it_by_what_is_paid_for_and_no_more(loss):
    """A row of full length and either label reach it at the model of zeros."""
    plan, target = planned(loss)
    drift = ClippedDrift(target, plan.most)
    zeros = np.zeros((4, 1))
    rows, y = target.problem.rows.copy(), target.problem.targets.copy()
    found = []
    for label in (1.0, -1.0):
        rows[0], y[0] = (1.0, 0, 0, 0), label
        with_it = Problem(rows, y, loss=loss, radius=2.0, intercept=False)
        found.append(ClippedDrift(replace_problem(target, with_it), plan.most).run(None)(zeros))
    moved = float(np.linalg.norm(found[0] - found[1])) / plan.beta
    assert drift.sensitivity(1) == pytest.approx(plan.sensitivity, rel=1e-9)
    assert moved == pytest.approx(plan.sensitivity, rel=1e-6)
    assert moved <= plan.sensitivity
    assert plan.sensitivity == pytest.approx(2 * 0.5 / 2_000, rel=1e-6)


def test_chains_follow_the_gradient_that_they_pay_for():
    plan, target = planned(n_draws=2)
    drift = LangevinClipped(plan)._drift(target)
    assert drift.sensitivity(plan.n_steps) == pytest.approx(plan.sensitivity, rel=1e-9)
    assert isinstance(drift, ClippedDrift)


def replace_problem(target, problem):
    return GibbsTarget(problem, target.beta, target.psi, target.shape)


def test_its_price_is_that_of_the_path_of_its_steps():
    plan, _ = planned(n_draws=3)
    settings = {"beta": plan.beta, "step_size": plan.step_size, "n_steps": plan.n_steps}
    alone = path_guarantee(**settings, sensitivity=plan.sensitivity, n_chains=3)
    assert plan.guarantee.mu == pytest.approx(alone.mu)
    assert plan.guarantee.epsilon(1e-6) <= 4.0


@pytest.mark.parametrize("loss", ["logistic", "squared"])
def test_the_clipped_loss_is_within_what_is_promised(loss):
    plan, target = planned(loss)
    batch = list(LangevinClipped(plan).batches(target, np.random.default_rng(2)))[-1]
    problem = target.problem
    followed = Problem(
        problem.rows,
        problem.targets,
        loss=clipped(problem.loss),
        radius=2.0,
        intercept=False,
    )
    excess = followed.value(batch.theta) - followed.minimum.value
    assert excess.mean() <= plan.clipped_excess
    assert (followed.value(batch.theta) <= problem.value(batch.theta) + 1e-12).all()
    assert followed.minimum.value <= problem.minimum.value + 1e-9
    np.testing.assert_allclose(batch.losses, problem.value(batch.theta))


def test_nothing_is_promised_of_the_loss_itself():
    plan, _ = planned()
    assert plan.hit_rate_bound == 0 and math.isinf(plan.excess_bound)
    assert (
        plan.weighed_excess
        == plan.clipped_excess
        < plan_path(**{**ROWS, "psi": 0.0}, **BUDGET, n_draws=60).excess_bound
    )
    assert "no bound is guaranteed for the loss itself" in explain(plan)
    assert "clipped loss" in str(plan) and "excess loss" not in str(plan)
    with suppress_weak_warnings():
        weak, _ = planned(epsilon=0.1, n_draws=2_000)
    assert "with clipped slopes" in weak_guarantee_reason(weak)
    assert "rows" in explain(weak)


def test_losses_without_such_a_form_are_declined():
    asked = Request(**ROWS, **BUDGET, loss="smoothed_hinge", ridge=0.0, n_draws=1)
    assert MECHANISMS["langevin_clipped"].offer(asked).why == "needs logistic or squared loss"
    with pytest.raises(ValueError, match="no form with a clipped slope"):
        MECHANISMS["langevin_clipped"].plan_for(asked)
    with pytest.raises(TypeError, match="plan_clipped_path"):
        LangevinClipped(plan_path(**{**ROWS, "psi": 0.0}, **BUDGET))


@pytest.mark.parametrize("kind", [RashomonClassifier, RashomonRegressor])
def test_estimators_draw_save_and_load_it(kind, tmp_path):
    rng = np.random.default_rng(0)
    X = rng.uniform(-0.5, 0.5, (1_000, 2))
    y = (X[:, 0] > 0).astype(int) if kind is RashomonClassifier else X[:, 0]
    fitted = kind(mechanism="langevin_clipped", epsilon=8.0, n_draws=3, random_state=0).fit(X, y)
    models = fitted.rashomon_set_
    assert isinstance(models.plan, ClippedPathPlan)
    assert models.plan.psi == 0.02 and models.plan.drawn_psi == 0
    models.save(tmp_path / "set.npz")
    assert type(models).load(tmp_path / "set.npz").plan == replace(models.plan, options=())
    assert fitted.score(X, y) > 0.5
