"""Plans and paths of differentiable models: their cost, their law, and their files."""

import json
import math
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest
from scipy import stats

from rashomon_explorer.exceptions import SamplerError
from rashomon_explorer.mechanisms.request import GDP
from rashomon_explorer.networks import Network
from rashomon_explorer.networks.losses import Logistic, Squared
from rashomon_explorer.networks.path import NetworkPlan, mean_losses, plan_path, released_states
from rashomon_explorer.privacy import compose, gdp
from rashomon_explorer.privacy.audit import monte_carlo
from rashomon_explorer.privacy.tradeoff import Gaussian, PoissonSampled, compose_tradeoffs

SETTINGS: dict[str, Any] = {"n": 1_000, "p": 50, "epsilon": 2.0, "delta": 1e-5, "psi": 0.02}
SETTINGS |= {"n_draws": 20, "n_losses": 10, "n_steps": 60, "batch_size": 100}
SETTINGS |= {"step_size": 0.5, "clip": 1.0, "loss_bound": 2.0}


@pytest.mark.parametrize("batch_size", [100, None])
def test_steps_and_losses_together_cost_the_budget_and_hardly_less(batch_size):
    plan = plan_path(**{**SETTINGS, "batch_size": batch_size})

    def cost(noise):
        if batch_size is None:
            return compose([gdp(2 * math.sqrt(60) / noise), gdp(plan.loss_mu)]).epsilon(1e-5)
        parts = [PoissonSampled(noise, plan.rate, plan.n_steps), Gaussian(plan.loss_mu)]
        return compose_tradeoffs([(part, 1) for part in parts]).epsilon(1e-5)

    assert 0.99 * 2.0 <= cost(plan.noise) <= 2.0
    assert plan.guarantee.epsilon(1e-5) == pytest.approx(cost(plan.noise), rel=1e-6)
    assert cost(plan.noise / 2) > 2.0  # the control


@pytest.mark.parametrize("ledger", [True, GDP])
def test_a_ledger_composes_the_cost_within_the_budget(ledger):
    settings = {**SETTINGS, "ledger": ledger}
    if ledger == GDP:
        with pytest.raises(SamplerError, match="batch_size=None"):
            plan_path(**settings)
        settings["batch_size"] = None
    plan = plan_path(**settings)
    assert plan.guarantee.epsilon(1e-5) <= 2.0


def test_plans_refuse_what_has_no_guarantee_and_survive_json():
    with pytest.raises(SamplerError, match="delta > 0"):
        plan_path(**{**SETTINGS, "delta": 0.0})
    with pytest.raises(SamplerError, match="as many steps"):
        plan_path(**{**SETTINGS, "n_steps": 10})
    plan = plan_path(**SETTINGS)
    again = NetworkPlan.from_values(json.loads(json.dumps(plan.to_values())))
    assert again == plan and again.guarantee.epsilon(1e-5) == plan.guarantee.epsilon(1e-5)
    assert "more than ψ = 0.02" in repr(plan) and plan.loss_margin() > 0.02
    enough = replace(plan, psi=9.0)
    assert "measured by the released losses" in repr(enough) and not enough.weakness
    (improvement,) = plan.improvements
    for change in improvement.changes:  # as stated, and hardly more
        value = change.value if change.setting == "psi" else int(change.value)
        assert not replace(plan, **{change.setting: value}).weakness
        less = 0.95 * value if change.setting == "psi" else int(0.95 * value)
        assert replace(plan, **{change.setting: less}).weakness
    assert plan.burn_in + plan.thin * plan.n_draws == plan.n_steps
    assert len(plan.measured) == 10 and plan.measured[-1] == 19
    # β, by the Langevin step: η g + √(2h) ξ with h = η/β, so that 2η/β = (ησC/(qn))².
    deviation = plan.step_size * plan.noise * plan.clip / plan.batch_size
    assert 2 * plan.step_size / plan.beta == pytest.approx(deviation**2)


def test_losses_are_released_with_their_sensitivity():
    """Any record changes k clipped means by at most √k·bound/n, and one attains it."""
    model, loss, n = Network(()), Logistic(2), 40
    plan = plan_path(**{**SETTINGS, "n": n, "batch_size": None, "loss_bound": loss.bound})
    rows, targets = np.zeros((n, 1)), np.zeros(n)
    states = np.tile([100.0, -100.0], (plan.n_losses, 1))  # loss 0 of the rows
    worst, labels = rows.copy(), targets.copy()
    worst[0], labels[0] = -1.0, 1.0  # the largest loss in all states
    before = mean_losses(model, loss, states, rows, targets)[1]
    after = mean_losses(model, loss, states, worst, labels)[1]
    moved = float(np.linalg.norm(after - before))
    sensitivity = math.sqrt(plan.n_losses) * loss.bound / n
    assert moved == pytest.approx(sensitivity, rel=1e-6)
    assert plan.loss_deviation * plan.loss_mu == pytest.approx(sensitivity)


def neighbours(n=8):
    """Tables whose gradients at the start differ by twice the clip, in one record."""
    rows, targets = np.full((n, 1), 1.0), np.full(n, 0.0)
    changed = targets.copy()
    targets[0], changed[0] = 9.0, -9.0
    return (rows, targets), (rows, changed)


def small_plan(n_steps=1, batch_size=None, n=8):
    """Plan of a path of a linear model of one column, for ε = 2."""
    small = {"n": n, "p": 2, "n_draws": 1, "n_steps": n_steps, "batch_size": batch_size}
    return plan_path(**{**SETTINGS, **small})


def last_state(data, rng, plan):
    *_, state = released_states(Network(()), Squared(), *data, plan, rng)
    return state


def test_one_step_is_the_gaussian_mechanism_of_the_plan():
    (first, _), plan, rng = neighbours(), small_plan(), np.random.default_rng(0)
    states = np.array([last_state(first, rng, plan) for _ in range(1_000)])
    pull = np.array([1.0, 1.0]) / math.sqrt(2)  # of the record far away, clipped to 1
    deviation = plan.step_size * plan.noise / 8
    standard = (states - plan.step_size * pull / 8) / deviation
    assert stats.kstest(standard.ravel(), "norm").pvalue > 1e-3


@pytest.mark.law
@pytest.mark.parametrize(
    ("n_steps", "batch_size", "less"), [(1, None, 1 / 7), (4, None, 1 / 7), (4, 64, 1 / 30)]
)
def test_neighbours_do_not_refute_the_cost_and_less_noise_does(n_steps, batch_size, less):
    n = 8 if batch_size is None else 128
    plan = small_plan(n_steps, batch_size, n)
    settings: dict[str, Any] = {"delta": 1e-5, "n_runs": 1_000}
    for factor, broken in ((1.0, False), (less, True)):
        noisy = replace(plan, noise=factor * plan.noise)
        audit = monte_carlo(
            partial(last_state, plan=noisy), *neighbours(n), **settings, random_state=0
        )
        assert (audit.epsilon() > plan.epsilon) == broken, (factor, str(audit))
