"""What mechanisms of one model share: ridges, gaps to new rows, noise; and noisy moments."""

import math

import numpy as np
import pytest
from scipy.stats import kstest

from rashomon_explorer import DPClassifier, DPRegressor
from rashomon_explorer.mechanisms import moments, one_model, request
from rashomon_explorer.mechanisms.certificates.sensitivity import data_slope
from rashomon_explorer.mechanisms.langevin.accounting import plan_weighted_path
from rashomon_explorer.mechanisms.objective_perturbation.sampler import radial_noise
from rashomon_explorer.mechanisms.planning.centres import Centre, average_weights, by_gradients
from rashomon_explorer.mechanisms.planning.options import cost
from rashomon_explorer.mechanisms.planning.registry import MECHANISMS
from rashomon_explorer.problem.domains import Ball
from rashomon_explorer.problem.losses.softmax import SoftmaxLoss
from rashomon_explorer.problem.problem import Problem
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

    monkeypatch.setattr(one_model.sampler, "refined", refined)
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


def moments_plan(n, p, mu, radius=3.0, row_bound=1.0):
    bounds = {"radius": radius, "row_bound": row_bound, "target_bound": 1.0}
    return moments.plan_noisy_moments(n, p, **bounds, mu=mu)


def moved(one, other, weight):
    """Root of ‖A − A'‖² + w‖b − b'‖² of two records (z, y), n = 1."""
    (z, y), (x, v) = one, other
    second = np.sum((np.outer(z, z) - np.outer(x, x)) ** 2)
    return math.sqrt(second + weight * np.sum((y * z - v * x) ** 2))


@pytest.mark.parametrize("weight", [1e-3, 0.3, 1.0, 2.0, 30.0])
def test_no_two_records_move_more_and_some_move_all_of_it(weight):
    rng, bound, target = np.random.default_rng(0), 1.4, 0.8
    claimed, found = moments.moments_sensitivity(1, bound, target, weight), 0.0
    for _ in range(500):
        z, x = rng.standard_normal((2, 2))
        z *= bound * rng.choice([1.0, rng.random()]) / np.linalg.norm(z)
        x *= bound * rng.choice([1.0, rng.random()]) / np.linalg.norm(x)
        y, v = target * rng.choice([-1.0, 1.0, rng.uniform(-1, 1)], 2)
        found = max(found, moved((z, y), (x, v), weight))
    assert 0.9 * claimed < found <= claimed * (1 + 1e-12)  # the control: a tenth less is passed
    angle = math.acos(min(1.0, weight * target**2 / (2 * bound**2)))
    z, x = bound * np.eye(2)[0], bound * np.array([math.cos(angle), math.sin(angle)])
    assert moved((z, target), (x, -target), weight) == pytest.approx(claimed)
    assert moments.moments_sensitivity(50, bound, target, weight) == pytest.approx(claimed / 50)


class Silent:
    """A generator whose noise is all zero: what is released is the mean of its law."""

    def standard_normal(self, shape):
        return np.zeros(shape)


def test_the_release_is_gaussian_dp_as_charged():
    """Two normal laws: μ is the distance of their means in units of the noise, exactly."""
    mu, rng, tables = 0.7, np.random.default_rng(0), []
    X, y = rng.uniform(-0.5, 0.5, (6, 2)), rng.uniform(-1, 1, 6)
    for first, target in [((0.8, 0.6), 1.0), ((0.6, 0.8), -1.0)]:  # the worst pair
        X[0], y[0] = first, target
        tables.append(Problem(X.copy(), y.copy(), loss="squared", radius=3.0, intercept=False))
    planned = moments_plan(6, 2, mu)
    means = [moments.released_moments(each, planned, Silent()) for each in tables]
    apart = [np.linalg.norm(one - other) for one, other in zip(*means, strict=True)]
    shown = math.hypot(apart[0] / planned.second, apart[1] / planned.first)
    assert 0.7 * mu < shown <= mu * (1 + 1e-9)  # noise of 0.7 of the scale would be caught
    seeds = map(np.random.default_rng, range(300))
    second, first = zip(
        *(moments.released_moments(tables[0], planned, s) for s in seeds), strict=True
    )
    off, first = np.std([one[0, 1] for one in second]), np.std([one[0] for one in first])
    assert off == pytest.approx(planned.second / math.sqrt(2), rel=0.12)
    assert first == pytest.approx(planned.first, rel=0.12)
    np.testing.assert_allclose(means[0][0], tables[0].rows.T @ tables[0].rows / 6)


def test_targets_are_clipped_before_they_are_summed():
    with pytest.warns(UserWarning):
        far = Problem(np.full((4, 1), 0.5), np.full(4, 1e9), loss="squared", intercept=False)
    assert moments.released_moments(far, moments_plan(4, 1, 1.0), Silent())[1] == pytest.approx(
        [0.5]
    )


def test_noise_and_bound_by_hand():
    one = moments_plan(100, 4, 0.5, radius=2.0, row_bound=1.2)
    weight = (one.second / one.first) ** 2
    assert moments.moments_sensitivity(100, 1.2, 1.0, weight) / one.second == pytest.approx(0.5)
    assert one.lift == pytest.approx(math.sqrt(8) * one.second)
    second = 2.0 * (one.lift + one.second / math.sqrt(2 * math.pi))
    assert one.excess == pytest.approx(second + 2.0 * 2.0 * one.first)


@pytest.mark.parametrize("seed", range(6))
def test_the_least_of_any_quadratic_on_a_ball(seed):
    rng = np.random.default_rng(seed)
    matrix = rng.standard_normal((3, 3))
    matrix = matrix + matrix.T + (4.0 if seed % 2 else 0.0) * np.eye(3)
    first = rng.standard_normal(3)
    found = moments.least_on_ball(matrix, first, 1.5)
    assert np.linalg.norm(found) <= 1.5 * (1 + 1e-9)
    points = rng.standard_normal((3, 20_000))
    points *= 1.5 * rng.random(20_000) ** (1 / 3) / np.linalg.norm(points, axis=0)
    near = found[:, None] + 0.01 * rng.standard_normal((3, 2000))
    near *= np.minimum(1.0, 1.5 / np.linalg.norm(near, axis=0))
    theta = np.column_stack([found, points, near])
    values = 0.5 * np.sum(theta * (matrix @ theta), axis=0) - first @ theta
    assert values[0] <= values.min() + 1e-9


@pytest.mark.parametrize("radius", [0.5, 4.0])
def test_models_keep_the_promise(radius):
    """On a table whose loss is all in the corner that noise can hide, and on a flat one."""
    known = request_of(n=400, loss="squared", radius=radius, row_norm=1.0)
    offer = MECHANISMS["moments"].offer(known)
    mechanism, rng = MECHANISMS["moments"].for_plan(offer.plan), np.random.default_rng(0)
    for rows in (np.eye(3)[np.arange(400) % 3], np.tile([1.0, 0.0, 0.0], (400, 1))):
        posed = Problem(rows, np.full(400, 0.3), loss="squared", radius=radius, intercept=False)
        drawn = np.column_stack([mechanism.draw(posed, rng) for _ in range(40)])
        assert posed.value(drawn).mean() - posed.minimum.value <= offer.excess


def test_a_regression_is_made_so_where_delta_allows():
    planned = DPRegressor(radius=1.0, epsilon=4.0).plan(60_000, 2)
    costs = {one.name: cost(one.name, one.plan) for one in planned.options if one.applies}
    excess = next(one.excess for one in planned.options if one.name == "moments")
    assert planned.mechanism == "moments"
    assert costs["moments"] == pytest.approx(excess / 3 + 0.5) == min(costs.values())
    gap = cost("moments", planned, "population") - costs["moments"]
    assert gap == pytest.approx(planned.generalisation_gap / 3)
    assert DPRegressor(radius=1.0, epsilon=4.0, delta=0.0).plan(60_000, 2).mechanism != "moments"
