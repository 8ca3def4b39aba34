"""What mechanisms of one model share: ridges, gaps to new rows, noise, bounds, an audit."""

import math

import numpy as np
import pytest
from scipy.stats import kstest

from rashomon_explorer import DPClassifier
from rashomon_explorer.mechanisms import one_model, request
from rashomon_explorer.mechanisms.certificates.sensitivity import data_slope
from rashomon_explorer.mechanisms.langevin.accounting import plan_weighted_path
from rashomon_explorer.mechanisms.objective_perturbation.sampler import radial_noise
from rashomon_explorer.mechanisms.planning.centres import Centre, average_weights, by_gradients
from rashomon_explorer.mechanisms.planning.registry import MECHANISMS
from rashomon_explorer.problem.domains import Ball
from rashomon_explorer.problem.losses.softmax import SoftmaxLoss
from tests.crossing import crossed
from tests.mechanisms.builders import constants_of, request_of

ROW_NORM, RADIUS, P = 1.2, 4.0, 5


def test_the_best_ridge_is_found_and_counted():
    known = request_of(ridge=0.1)
    ridge, best = request.best_ridged(known, lambda one: ((one.ridge - 0.35) ** 2, one))
    assert best.ridge == ridge and 0.2 < ridge < 0.5
    assert request.own_cost(known, 0.35) == pytest.approx(0.25 / 2 * 4)
    assert request.own_cost(known, 0.1) == 0.0


def test_gaps_to_new_rows():
    known = request_of(loss="hinge", n=400)
    gap, stable = request.generalisation_gap(known), request.stable_gap(known, 5.0)
    assert gap == pytest.approx(2 * ROW_NORM * 2.0 / 20) == request.stable_gap(known, 0.0)
    assert stable == pytest.approx(2 * ROW_NORM**2 / (5 * 400))
    assert request.stable_gap(known, 5.0, 0.01) == pytest.approx(stable + 0.01 * ROW_NORM)
    two, three = (request_of(loss=SoftmaxLoss(k), p=3 * (k - 1)) for k in (2, 3))
    assert request.generalisation_gap(three) > 2 * request.generalisation_gap(two)


def test_the_gap_to_new_rows_holds_for_the_worst_model():
    """Linear losses y·θ of signs: sup over the ball of risk − mean is R|mean y|."""
    means = np.random.default_rng(0).choice([-1.0, 1.0], (4_000, 100)).mean(axis=1)
    gap = request.generalisation_gap(request_of(loss="hinge", n=100, p=1, radius=0.5, row_norm=1.0))
    assert 0.2 * gap < 0.5 * np.abs(means).mean() < gap


@pytest.mark.parametrize("gaussian", [True, False])
def test_noise_has_its_law(gaussian):
    rng = np.random.default_rng(0)
    noise = np.array([radial_noise(4, 0.3, rng, gaussian=gaussian) for _ in range(2_000)])
    lengths = np.linalg.norm(noise, axis=1) / 0.3
    assert kstest(lengths, "chi" if gaussian else "gamma", args=(4,)).pvalue > 1e-3
    directions = noise / np.linalg.norm(noise, axis=1, keepdims=True)
    assert np.abs(directions.mean(axis=0)).max() < 0.05


def test_a_noisy_minimisers_gap_is_that_of_the_distance_that_was_paid_for(monkeypatch):
    gaps = []

    def refined(problem, minimum, tolerance):
        gaps.append((tolerance, problem.m))
        return minimum

    monkeypatch.setattr(one_model, "refined", refined)
    X = np.random.default_rng(0).uniform(-0.5, 0.5, (400, 2))
    one = DPClassifier(mechanism="output_perturbation", epsilon=4.0, radius=4.0, random_state=0)
    one.fit(X, (X[:, 0] > 0).astype(int))
    [(tolerance, m)] = gaps
    assert tolerance == m * one.plan_.settings.solver**2 / 2


@crossed({"share": [0.5, 1 / 32], "bend": ["M", "m"]})
def test_the_promise_holds_of_quadratic_losses_exactly(share, bend):
    """E L(θ_j) − L*, L = ½·bend·‖θ − θ*‖², ‖θ*‖ = 1, far from the sphere, weighted over states."""
    known, noise = constants_of(p=P, radius=RADIUS, ridge=0.1), 0.3
    pace, bend = share / known.M, getattr(known, bend)
    for n_steps in (20, 300):
        path = Centre("gradients", 1.0, noise, 0.0, step_size=pace, n_steps=n_steps)
        left = (1 - pace * bend) ** (2 * np.arange(n_steps + 1))
        square = left[1:] + P * (pace * noise) ** 2 * np.cumsum(left[:-1])
        found = float(average_weights(path, known) @ square) * bend / 2
        total = ((1 - pace * known.m) ** -np.arange(1.0, n_steps + 1)).sum()
        added = pace * P * noise**2 / (2 * (1 - share))
        assert found <= 1 / (2 * pace * total) + added
        if bend == known.M and n_steps == 300:
            assert found > 0.3 * added  # and the noise's part is no fancy


def test_the_plan_is_the_promise_of_its_path():
    known, mu = constants_of(p=P, radius=RADIUS, ridge=0.1), 0.3
    path = plan_weighted_path(known, RADIUS, mu, 0.7)
    total = ((1 - path.step_size * known.m) ** -np.arange(1.0, path.n_steps + 1)).sum()
    share = path.step_size * known.M
    by_hand = min(RADIUS**2, 2 * 0.7 / 0.1) / (2 * path.step_size * total)
    by_hand += path.step_size * P * path.noise**2 / (2 * (1 - share))
    assert path.excess == pytest.approx(by_hand)
    moved = data_slope(known, Ball(RADIUS))
    assert math.sqrt(path.n_steps) * moved / path.noise == pytest.approx(mu)  # Gaussian DP
    assert path.excess < 0.6 * by_gradients(known, RADIUS, mu, 0.7).excess
    under = request_of(p=P, radius=RADIUS, row_norm=1.0, ridge=0.1)
    offer = MECHANISMS["noisy_descent"].offer(under)
    paid = one_model.affordable_mu(under)
    assert offer.excess < by_gradients(known, RADIUS, paid, math.log(2)).excess
    assert offer.guarantee.mu == offer.plan.settings.mu and offer.plan.ridge >= 0.1


def test_noise_that_the_ball_stops_adds_no_more_than_is_counted():
    """One step of a linear loss with its minimiser on the edge of [−1, 1], by many draws."""
    pace, slope, start = 0.1, 0.5, 0.2
    noise = np.random.default_rng(0).standard_normal(200_000)
    found = slope * (np.clip(-1 + start - pace * (slope + noise), -1, 1).mean() + 1)
    assert found <= start**2 / (2 * pace) + pace / 2


@pytest.mark.law
def test_the_promise_falls_as_p_over_n_squared():
    sizes = ({"n": 10_000, "p": 4}, {"n": 40_000, "p": 4}, {"n": 40_000, "p": 16})
    known = [constants_of(**size, radius=RADIUS, ridge=0.5) for size in sizes]
    fits = [plan_weighted_path(one, RADIUS, 0.3, 0.7).excess for one in known]
    assert math.log(fits[1] / fits[0]) / math.log(4) == pytest.approx(-2, abs=0.25)
    assert math.log(fits[2] / fits[1]) / math.log(4) == pytest.approx(1, abs=0.1)
