"""Noisy moments: what one record moves, what that costs, the bound, and when they are chosen."""

import math

import numpy as np
import pytest

from rashomon_explorer import DPRegressor
from rashomon_explorer.mechanisms import moments
from rashomon_explorer.mechanisms.planning.options import cost
from rashomon_explorer.mechanisms.planning.registry import MECHANISMS
from rashomon_explorer.problem.problem import Problem
from tests.mechanisms.builders import request_of


def plan_of(n, p, mu, radius=3.0, row_bound=1.0):
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
    planned = plan_of(6, 2, mu)
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
    assert moments.released_moments(far, plan_of(4, 1, 1.0), Silent())[1] == pytest.approx([0.5])


def test_noise_and_bound_by_hand():
    one = plan_of(100, 4, 0.5, radius=2.0, row_bound=1.2)
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
    request = request_of(n=400, loss="squared", radius=radius, row_norm=1.0)
    offer = MECHANISMS["moments"].offer(request)
    mechanism, rng = MECHANISMS["moments"].for_plan(offer.plan), np.random.default_rng(0)
    for rows in (np.eye(3)[np.arange(400) % 3], np.tile([1.0, 0.0, 0.0], (400, 1))):
        posed = Problem(rows, np.full(400, 0.3), loss="squared", radius=radius, intercept=False)
        drawn = np.column_stack([mechanism.draw(posed, rng) for _ in range(40)])
        assert posed.value(drawn).mean() - posed.minimum.value <= offer.excess


def test_a_regression_is_made_so_where_delta_allows():
    planned = DPRegressor(radius=1.0, epsilon=4.0).plan(60_000, 2)
    assert planned.mechanism == "moments"
    costs = {one.name: cost(one.name, one.plan) for one in planned.options if one.applies}
    excess = next(one.excess for one in planned.options if one.name == "moments")
    assert costs["moments"] == pytest.approx(excess / 3 + 0.5) == min(costs.values())
    assert DPRegressor(radius=1.0, epsilon=4.0, delta=0.0).plan(60_000, 2).mechanism != "moments"
