"""A path of small steps: its promise against exact laws of quadratic losses, and its price."""

import math
from dataclasses import replace

import numpy as np
import pytest

from rashomon_explorer.mechanisms.certificates.sensitivity import data_slope
from rashomon_explorer.mechanisms.langevin.accounting import plan_weighted_path
from rashomon_explorer.mechanisms.one_model import affordable_mu
from rashomon_explorer.mechanisms.planning.centres import Centre, average_weights, by_gradients
from rashomon_explorer.mechanisms.planning.registry import MECHANISMS
from rashomon_explorer.mechanisms.request import Request
from rashomon_explorer.problem.constants import Constants
from rashomon_explorer.problem.domains import Ball
from tests.crossing import crossed

RADIUS, P = 4.0, 5


def known(ridge, loss="logistic"):
    return Constants.of(loss, n=2_000, p=P, domain=Ball(RADIUS), row_bound=1.0, ridge=ridge)


def of_states(path, constants, bend):
    """Exact weighted mean of E L(θ_j) − L*, L = ½·bend·‖θ − θ*‖², ‖θ*‖ = 1, far from the sphere."""
    forget, places = 1 - path.step_size * bend, np.arange(1, path.n_steps + 1)
    left = forget ** (2 * places)
    kept = np.array([(forget ** (2 * np.arange(j))).sum() for j in places])
    square = left + P * (path.step_size * path.noise) ** 2 * kept
    return float(average_weights(path, constants) @ square) * bend / 2


@crossed({"share": [0.5, 1 / 32], "bend": ["M", "m"]})
def test_the_promise_holds_of_quadratic_losses_exactly(share, bend):
    constants = known(0.1)
    pace = share / constants.M
    for n_steps in (20, 300):
        noise = 0.3
        path = Centre("gradients", 1.0, noise, 0.0, step_size=pace, n_steps=n_steps)
        whole = ((1 - pace * constants.m) ** -np.arange(1.0, n_steps + 1)).sum()
        added = pace * P * noise**2 / (2 * (1 - share))
        promised = 1 / (2 * pace * whole) + added
        found = of_states(path, constants, getattr(constants, bend))
        assert found <= promised
        if bend == "M" and n_steps == 300:
            assert found > 0.3 * added  # and the noise's part is no fancy


def test_the_plan_is_the_promise_of_its_path():
    constants, mu = known(0.1), 0.3
    path = plan_weighted_path(constants, RADIUS, mu, 0.7)
    whole = ((1 - path.step_size * constants.m) ** -np.arange(1.0, path.n_steps + 1)).sum()
    share = path.step_size * constants.M
    by_hand = min(RADIUS**2, 2 * 0.7 / 0.1) / (2 * path.step_size * whole)
    by_hand += path.step_size * P * path.noise**2 / (2 * (1 - share))
    assert path.excess == pytest.approx(by_hand)
    moved = data_slope(constants, Ball(RADIUS))
    assert math.sqrt(path.n_steps) * moved / path.noise == pytest.approx(mu)  # Gaussian DP
    assert path.excess < 0.6 * by_gradients(constants, RADIUS, mu, 0.7).excess
    beta = 2 / (path.step_size * path.noise**2)
    assert path.excess > P / beta


def test_noise_that_the_ball_stops_adds_no_more_than_is_counted():
    """One step of a linear loss with its minimiser on the edge of [−1, 1], by many draws."""
    rng = np.random.default_rng(0)
    pace, slope, start, noise = 0.1, 0.5, 0.2, rng.standard_normal(200_000)
    found = slope * (np.clip(-1 + start - pace * (slope + noise), -1, 1).mean() + 1)
    assert found <= start**2 / (2 * pace) + pace / 2


def asked(**changed):
    numbers = {"n": 2_000, "p": P, "psi": 0.0, "loss": "logistic", "radius": RADIUS}
    budget = {"row_norm": 1.0, "ridge": 0.1, "epsilon": 1.0, "delta": 1e-6, "n_draws": 1}
    return Request(**{**numbers, **budget, **changed})


def test_it_is_offered_under_a_ridge_and_keeps_to_the_budget():
    way = MECHANISMS["noisy_descent"]
    under = way.offer(asked())
    known = asked()
    large = by_gradients(known.constants, RADIUS, affordable_mu(known), math.log(2))
    assert under.excess < large.excess
    assert under.guarantee.epsilon(1e-6) <= 1.0 and under.guarantee.mu == under.plan.settings.mu
    assert under.plan.ridge >= 0.1
    assert way.offer(asked(ledger=True)).excess >= under.excess


@pytest.mark.law
def test_the_promise_falls_as_p_over_n_squared():
    fits = [
        plan_weighted_path(replace(known(0.5), n=n, p=p), RADIUS, 0.3, 0.7).excess
        for n, p in ((10_000, 4), (40_000, 4), (40_000, 16))
    ]
    assert math.log(fits[1] / fits[0]) / math.log(4) == pytest.approx(-2, abs=0.25)
    assert math.log(fits[2] / fits[1]) / math.log(4) == pytest.approx(1, abs=0.1)
