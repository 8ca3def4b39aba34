"""Noisy moments: what one record moves, what that costs, what is promised, and who takes it."""

import math

import numpy as np
import pytest

from rashomon_explorer import DPRegressor
from rashomon_explorer.mechanisms.moments import (
    least_on_ball,
    moments_sensitivity,
    plan_noisy_moments,
    released_moments,
)
from rashomon_explorer.mechanisms.planning.options import cost
from rashomon_explorer.mechanisms.planning.registry import MECHANISMS
from rashomon_explorer.mechanisms.request import Request
from rashomon_explorer.problem.problem import Problem


def moved(one, other, weight):
    """Root of ‖A − A'‖² + w‖b − b'‖² of two records (z, y), n = 1."""
    (z, y), (x, v) = one, other
    second = np.sum((np.outer(z, z) - np.outer(x, x)) ** 2)
    return math.sqrt(second + weight * np.sum((y * z - v * x) ** 2))


@pytest.mark.parametrize("weight", [1e-3, 0.3, 1.0, 2.0, 30.0])
def test_no_two_records_move_more_and_some_move_all_of_it(weight):
    rng, bound, target = np.random.default_rng(0), 1.4, 0.8
    claimed = moments_sensitivity(1, bound, target, weight)
    found = 0.0
    for _ in range(500):
        z, x = rng.standard_normal((2, 2))
        z *= bound * rng.choice([1.0, rng.random()]) / np.linalg.norm(z)
        x *= bound * rng.choice([1.0, rng.random()]) / np.linalg.norm(x)
        y, v = target * rng.choice([-1.0, 1.0, rng.uniform(-1, 1)], 2)
        found = max(found, moved((z, y), (x, v), weight))
    assert found <= claimed * (1 + 1e-12)
    angle = math.acos(min(1.0, weight * target**2 / (2 * bound**2)))
    z, x = bound * np.eye(2)[0], bound * np.array([math.cos(angle), math.sin(angle)])
    assert moved((z, target), (x, -target), weight) == pytest.approx(claimed)
    assert found > 0.9 * claimed  # the control: a tenth less would be passed
    assert moments_sensitivity(50, bound, target, weight) == pytest.approx(claimed / 50)


def problems(rows=6):
    """Two tables that differ in one record, the worst pair for the weight that is planned."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-0.5, 0.5, (rows, 2))
    y = rng.uniform(-1, 1, rows)
    tables = []
    for first, target in [((0.8, 0.6), 1.0), ((0.6, 0.8), -1.0)]:
        X[0], y[0] = first, target
        kept = {"loss": "squared", "radius": 3.0, "row_norm": 1.0, "intercept": False, "ridge": 0.2}
        tables.append(Problem(X.copy(), y.copy(), **kept))
    return tables


class Silent:
    """A generator whose noise is all zero: what is released is the mean of its law."""

    def standard_normal(self, shape):
        return np.zeros(shape)


def test_the_release_is_gaussian_dp_as_charged():
    """Two normal laws: μ is the distance of their means in units of the noise, exactly."""
    mu = 0.7
    bought = plan_noisy_moments(6, 2, radius=3.0, row_bound=1.0, target_bound=1.0, mu=mu)
    means = [released_moments(each, bought, Silent()) for each in problems()]
    second = np.sum((means[0][0] - means[1][0]) ** 2) / bought.second**2
    first = np.sum((means[0][1] - means[1][1]) ** 2) / bought.first**2
    shown = math.sqrt(second + first)
    assert shown <= mu * (1 + 1e-9)
    assert shown > 0.7 * mu  # the control: noise of 0.7 of the scale would be caught
    spread = [released_moments(problems()[0], bought, np.random.default_rng(s)) for s in range(300)]
    off = np.array([second[0, 1] for second, _ in spread])
    assert off.std() == pytest.approx(bought.second / math.sqrt(2), rel=0.12)
    assert np.std([first[0] for _, first in spread]) == pytest.approx(bought.first, rel=0.12)
    np.testing.assert_allclose(means[0][0], problems()[0].rows.T @ problems()[0].rows / 6)


def test_targets_are_clipped_before_they_are_summed():
    X = np.full((4, 1), 0.5)
    with pytest.warns(UserWarning):
        far = Problem(X, np.full(4, 1e9), loss="squared", intercept=False)
    bought = plan_noisy_moments(4, 1, radius=1.0, row_bound=1.0, target_bound=1.0, mu=1.0)
    assert released_moments(far, bought, Silent())[1] == pytest.approx([0.5])


def test_half_of_the_noise_would_break_the_price():
    one = plan_noisy_moments(100, 4, radius=2.0, row_bound=1.2, target_bound=1.0, mu=0.5)
    weight = (one.second / one.first) ** 2
    assert moments_sensitivity(100, 1.2, 1.0, weight) / one.second == pytest.approx(0.5)
    assert one.lift == pytest.approx(math.sqrt(8) * one.second)
    told = 2.0 * (one.lift + one.second / math.sqrt(2 * math.pi)) + 2.0 * 2.0 * one.first
    assert one.excess == pytest.approx(told)


@pytest.mark.parametrize("seed", range(6))
def test_the_least_of_any_quadratic_on_a_ball(seed):
    rng = np.random.default_rng(seed)
    matrix = rng.standard_normal((3, 3))
    matrix = matrix + matrix.T + (4.0 if seed % 2 else 0.0) * np.eye(3)
    first = rng.standard_normal(3)
    found = least_on_ball(matrix, first, 1.5)
    assert np.linalg.norm(found) <= 1.5 * (1 + 1e-9)

    def value(theta):
        return 0.5 * np.sum(theta * (matrix @ theta), axis=0) - first @ theta

    points = rng.standard_normal((3, 20_000))
    points *= 1.5 * rng.random(20_000) ** (1 / 3) / np.linalg.norm(points, axis=0)
    near = found[:, None] + 0.01 * rng.standard_normal((3, 2000))
    near *= np.minimum(1.0, 1.5 / np.linalg.norm(near, axis=0))
    assert value(found) <= min(value(points).min(), value(near).min()) + 1e-9


@pytest.mark.parametrize("radius", [0.5, 4.0])
def test_models_keep_the_promise(radius):
    """On a table whose loss is all in the corner that noise can hide, and on a flat one."""
    request = Request(400, 3, 0.0, "squared", radius, 1.0, 0.0, 2.0, 1e-5, 1)
    offer = MECHANISMS["moments"].offer(request)
    for rows in (np.eye(3)[np.arange(400) % 3], np.tile([1.0, 0.0, 0.0], (400, 1))):
        posed = Problem(rows, np.full(400, 0.3), loss="squared", radius=radius, intercept=False)
        rng = np.random.default_rng(0)
        drawn = np.column_stack(
            [MECHANISMS["moments"].for_plan(offer.plan).draw(posed, rng) for _ in range(40)]
        )
        assert posed.value(drawn).mean() - posed.minimum.value <= offer.excess


def test_a_regression_is_made_so_where_delta_allows():
    planned = DPRegressor(radius=1.0, epsilon=4.0).plan(60_000, 2)
    assert planned.mechanism == "moments"
    by_name = {one.name: one for one in planned.options}
    costs = {name: cost(name, one.plan) for name, one in by_name.items() if one.applies}
    assert costs["moments"] == pytest.approx(by_name["moments"].excess / 3 + 0.5)
    assert costs["moments"] == min(costs.values())
    assert DPRegressor(radius=1.0, epsilon=4.0, delta=0.0).plan(60_000, 2).mechanism != "moments"
    assert (
        "squared loss"
        in MECHANISMS["moments"]
        .offer(Request(400, 3, 0.0, "logistic", 1.0, 1.0, 0.0, 2.0, 1e-5, 1))
        .why
    )
