"""Hit-and-run: uniform on the Rashomon set, and never with a privacy label."""

import numpy as np
import pytest
from scipy.stats import kstest

from rashomon_explorer import RashomonClassifier
from rashomon_explorer.exceptions import RadiusBindsWarning
from rashomon_explorer.mechanisms.base import collect
from rashomon_explorer.mechanisms.samplers.hit_and_run import (
    HitAndRunSampler,
    _Walk,
    reaches_sphere,
)
from rashomon_explorer.mechanisms.target import GibbsTarget
from rashomon_explorer.problem.problem import Problem
from rashomon_explorer.sets import RashomonSet
from tests.mechanisms.samplers.laws import LEVEL, agreement, small_problem, uniform_target


def walk(target, n_draws, seed=0):
    # Long strides: the tests below compare with laws of independent draws.
    sampler = HitAndRunSampler(n_chains=100, burn_in=60, thin=20)
    return collect(sampler, target, n_draws, np.random.default_rng(seed))


def test_on_an_ellipsoid_the_radius_and_direction_are_uniform():
    problem = small_problem(4, "squared", radius=40.0, n=400)
    target = GibbsTarget(problem, beta=1.0, psi=0.02)
    first = next(HitAndRunSampler(n_chains=4).batches(target, np.random.default_rng(0)))
    assert first.theta.shape == (4, 0)  # while it warms up, so that Stop is heard
    draws = walk(target, 4000)
    share = (draws.losses - problem.minimum.value) / 0.02
    assert share.max() <= 1
    assert kstest(share ** (4 / 2), "uniform").pvalue > 1e-3


@pytest.mark.parametrize(("radius", "scale"), [(4.0, 1.0), (0.7, 4.0)])
@pytest.mark.law
def test_two_parameter_parity_with_quadrature(radius, scale):
    problem = small_problem(2, radius=radius, scale=scale)
    draws = walk(GibbsTarget(problem, beta=1.0, psi=0.02), 3000)
    assert agreement(draws.coef, uniform_target(problem, 0.02)) > LEVEL


@pytest.mark.parametrize("ridge", [0.0, 0.01])
def test_with_many_parameters_lines_end_just_outside_the_set(ridge):
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(300, 80)) / 9, rng.choice([-1, 1], 300)
    problem = Problem(x, y, radius=40.0, row_norm=2.0, ridge=ridge)
    walk = _Walk(GibbsTarget(problem, beta=1.0, psi=0.02), n_chains=8)
    for _ in range(3):
        walk.move(20, rng)
        direction, move = (block[0] for block in walk._directions(1, rng))
        for ends in walk._shortened(walk._by_line, move, walk._chord(direction, move)):
            beyond = problem.value(walk.theta + ends * move) - problem.minimum.value
            assert (beyond > 0.02 - 1e-9).all() and (beyond < 0.03).all()


@pytest.mark.parametrize("radius", [0.5, 2.0, 3.0, 4.0, 12.0])
@pytest.mark.parametrize("psi", [0.002, 0.1])
def test_the_sphere_is_reached_where_a_fine_grid_of_it_says_so(radius, psi):
    problem = small_problem(2, radius=radius, scale=2.0)
    target = GibbsTarget(problem, beta=1.0, psi=psi)
    turn = np.linspace(0, 2 * np.pi, 4000)
    edge = radius * np.stack([np.cos(turn), np.sin(turn)])
    reached = bool((problem.value(edge) <= problem.minimum.value + psi).any())
    draws = collect(HitAndRunSampler(), target, 64, np.random.default_rng(0)).coef
    assert reaches_sphere(target, draws) == reached


def test_a_direction_that_changes_no_score_reaches_the_sphere_unheard():
    rng = np.random.default_rng(0)
    column = rng.uniform(-0.5, 0.5, 300)
    twice, y = np.column_stack([column, column]), np.where(column > rng.normal(size=300), 1, -1)
    target = GibbsTarget(Problem(twice, y, radius=50.0), beta=1.0, psi=0.02)
    draws = collect(HitAndRunSampler(), target, 64, np.random.default_rng(0)).coef
    assert np.linalg.norm(draws, axis=1).max() > 40  # (1, −1) is free
    assert not reaches_sphere(target, draws)
    apart = np.column_stack([column, np.abs(column)])  # the control: nothing is free, and ψ is wide
    assert reaches_sphere(GibbsTarget(Problem(apart, y, radius=2.0), 1.0, 0.02), draws[:0])


def drawn(**settings):
    rng = np.random.default_rng(1)
    X = rng.uniform(-0.5, 0.5, (300, 3))
    y = X[:, 0] + 0.3 * rng.logistic(size=300) > 0
    asked = {"mechanism": "hit_and_run", "n_draws": 40, "random_state": 0, "psi": 0.02, **settings}
    return RashomonClassifier(**asked).fit(X, y).rashomon_set_


def test_a_fits_draws_depend_on_no_budget():
    first = drawn(epsilon=0.1, delta=0.0)
    for other in (drawn(epsilon=30.0, delta=1e-6), drawn(epsilon=1.0, delta=1e-3)):
        np.testing.assert_array_equal(first.coef, other.coef)
        assert first.plan.radius == other.plan.radius == 64.0
    more = drawn(n_draws=400)
    assert (more.least, more.plan.radius) == (first.least, 64.0)
    np.testing.assert_array_equal(more.coef[:32], first.coef[:32])


@pytest.mark.filterwarnings("always::rashomon_explorer.exceptions.RadiusBindsWarning")
def test_a_fit_says_when_its_radius_binds(tmp_path, recwarn):
    free = drawn()
    assert not recwarn and free.notes == () and not free.reaches_sphere
    with pytest.warns(RadiusBindsWarning, match=r"reaches the sphere ‖θ‖ = 1: .*ridge= > 0"):
        bound = drawn(radius=1.0)
    assert bound.notes[0].startswith("the radius binds") and bound.least > free.least
    bound.save(tmp_path / "set.npz")
    assert RashomonSet.load(tmp_path / "set.npz").notes == bound.notes
    drawn(radius=8.0, ridge=0.1)
    assert len(recwarn) == 0  # pytest.warns took the one that there was
