"""Noisy descent from a noisy minimiser: its exact law, its price, and what kinks gain by it."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import kstest, norm

from rashomon_explorer import DPClassifier
from rashomon_explorer.mechanisms.langevin.sampled_plan import (
    SampledDescent,
    plan_localised_descent,
)
from rashomon_explorer.mechanisms.one_model import LocalisedGaussian, noisy_minimiser
from rashomon_explorer.mechanisms.planning.centres import average_weights
from rashomon_explorer.mechanisms.planning.registry import MECHANISMS
from rashomon_explorer.mechanisms.request import Request
from rashomon_explorer.privacy.conversions import gdp_delta
from rashomon_explorer.problem.constants import Constants
from rashomon_explorer.problem.domains import Ball
from rashomon_explorer.problem.losses.kinked import SmoothedHingeLoss
from rashomon_explorer.problem.problem import Problem

N, RIDGE, LOSS, RADIUS = 200, 1.0, SmoothedHingeLoss(smoothing=0.5), 0.5
KNOWN = Constants.of(LOSS, n=N, p=1, domain=Ball(RADIUS), row_bound=1.0, ridge=RIDGE)
PLAN = plan_localised_descent(KNOWN, RADIUS, 1.0, 1.0)


def table(pull):
    """One record pulls with all its might; in the ball all losses are linear."""
    rows = np.zeros((N, 1))
    rows[0] = pull
    return Problem(
        rows, np.ones(N), loss=LOSS, radius=RADIUS, ridge=RIDGE, row_norm=1.0, intercept=False
    )


def walked(plan):
    """How the mean of states depends on the start, on a pull, and on each step's noise."""
    then, forget = plan.then, 1 - plan.then.step_size * RIDGE
    weights = average_weights(then, KNOWN)
    left = [forget ** np.arange(1, then.n_steps + 1)]
    for k in range(then.n_steps):
        after = np.zeros(then.n_steps)
        after[k:] = forget ** np.arange(then.n_steps - k)
        left.append(then.step_size * after)
    start, *steps = (float(weights @ part) for part in left)
    return start, np.array(steps)


def law(plan, pull):
    """Mean and deviation of the model, the table's minimiser being pull/(nm)."""
    start, steps = walked(plan)
    mean = start * pull / (N * RIDGE) + steps.sum() * pull / N
    return mean, math.hypot(start * plan.scale, float(np.linalg.norm(steps)) * plan.then.noise)


@pytest.mark.parametrize("pull", [1.0, -1.0])
def test_a_model_has_its_law(pull):
    rng = np.random.default_rng(0)
    drawn = [LocalisedGaussian(PLAN).draw(table(pull), rng)[0] for _ in range(200)]
    assert kstest(drawn, norm(*law(PLAN, pull)).cdf).pvalue > 1e-3
    known = {"solver": PLAN.solver, "scale": PLAN.scale, "gaussian": True}
    start = [noisy_minimiser(table(pull), rng=rng, **known)[0] for _ in range(200)]
    assert kstest(start, norm(pull / (N * RIDGE), PLAN.scale).cdf).pvalue > 1e-3
    assert kstest(start, norm(pull / (N * RIDGE), PLAN.scale / 2).cdf).pvalue < 1e-3  # control


def price_of(plan):
    """Gaussian DP of start and path, on the two tables that differ most."""
    apart = 2 / (N * RIDGE) / plan.scale, math.sqrt(plan.then.n_steps) * 2 / N / plan.then.noise
    return math.hypot(*apart)


def test_start_and_steps_cost_what_is_charged_and_less_noise_costs_more():
    assert 0.98 * PLAN.mu < price_of(PLAN) <= PLAN.mu <= 1.0
    assert price_of(replace(PLAN, scale=PLAN.scale / 2)) > 1.0
    assert price_of(replace(PLAN, then=replace(PLAN.then, noise=PLAN.then.noise / 2))) > 1.0
    (one, spread), (other, _) = law(PLAN, 1.0), law(PLAN, -1.0)
    assert 0.3 < abs(one - other) / spread < PLAN.mu  # the mean alone tells less


def test_both_phases_together_by_brute_force():
    """δ of (start, next state) on a grid, the second's law depending on the first."""
    start = np.linspace(-0.3, 0.3, 601)
    pace, noise = PLAN.then.step_size, PLAN.then.noise * math.sqrt(1 / PLAN.then.n_steps)
    after = np.linspace(-0.4, 0.4, 801)

    def density(pull):
        first = norm.pdf(start, pull / N / RIDGE, PLAN.scale)
        mean = start - pace * (RIDGE * start - pull / N)
        return first[:, None] * norm.pdf(after[None], mean[:, None], pace * noise)

    cell = (start[1] - start[0]) * (after[1] - after[0])
    one, other = density(1.0), density(-1.0)
    assert one.sum() * cell == pytest.approx(1.0, abs=1e-6)
    for epsilon in (0.2, 1.0):
        told = np.maximum(one - math.exp(epsilon) * other, 0).sum() * cell
        assert 0.95 * gdp_delta(PLAN.mu, epsilon) < told <= gdp_delta(PLAN.mu, epsilon)
        assert told > gdp_delta(0.9 * PLAN.mu, epsilon)  # control


def asked(**changed):
    numbers = {"n": 20_000, "p": 3, "psi": 0.0, "loss": "hinge", "radius": 2.0, "row_norm": 1.2}
    budget = {"ridge": 0.1, "epsilon": 1.0, "delta": 1e-6, "n_draws": 1, "ledger": True}
    return Request(**{**numbers, **budget, **changed})


def test_with_kinks_it_promises_much_more_and_keeps_it():
    offer = MECHANISMS["localised_gaussian"].offer(asked())
    planned = offer.plan.settings
    assert isinstance(planned.then, SampledDescent) and planned.then.rate == 1.0
    assert offer.guarantee.mu == pytest.approx(planned.mu)
    assert offer.guarantee.epsilon(1e-6) <= 1.0
    for other in ("noisy_sgd", "output_perturbation"):
        assert offer.excess < MECHANISMS[other].offer(asked()).excess / 5


def test_a_hinge_is_fitted_by_it_unasked():
    rng = np.random.default_rng(0)
    X = rng.uniform(-0.5, 0.5, (800, 4))
    y = (X[:, 0] > 0).astype(int)
    clf = DPClassifier(loss="hinge", epsilon=4.0, delta=1e-5, radius=4.0, ridge=0.05)
    assert clf.fit(X, y).plan_.mechanism == "localised_gaussian"
    assert clf.score(X, y) > 0.9
    assert any("certified" in one for one in clf.guarantee_.assumptions)


def test_the_promise_by_hand():
    first, second = 2 / (N * RIDGE) / PLAN.scale, PLAN.then.mu
    assert math.hypot(first, second) == pytest.approx(PLAN.mu, rel=0.02)
    assert PLAN.start**2 == pytest.approx(PLAN.scale**2 + PLAN.solver**2)
    forget = 1 - PLAN.then.step_size * RIDGE
    whole = (forget ** -np.arange(1.0, PLAN.then.n_steps + 1)).sum()
    size = PLAN.then.step_size * PLAN.then.noise**2
    assert PLAN.excess == pytest.approx(PLAN.start**2 / (2 * PLAN.then.step_size * whole) + size)
