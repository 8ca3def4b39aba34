"""The regularised exponential mechanism: its ridge, its law, and the risk it promises."""

import math

import numpy as np
import pytest

from rashomon_explorer.mechanisms.rejection.envelope import Shifted
from rashomon_explorer.papers.localisation import RidgedProblem, plan_regularised
from rashomon_explorer.problem.constants import Constants
from rashomon_explorer.problem.domains import Ball, Intersection
from rashomon_explorer.problem.losses.kinked import SmoothedHingeLoss
from rashomon_explorer.problem.problem import Problem
from tests.papers.by_hand import regularised

HINGE = SmoothedHingeLoss(smoothing=0.5)  # linear up to a margin of ½, where the ball below ends


def public(n, p=4, radius=2.0):
    ball = Ball(radius)
    return Constants.of("smoothed_hinge", n=n, p=p, domain=ball, row_bound=1.0), ball


@pytest.mark.parametrize("n", [100, 10_000])
def test_the_ridge_has_the_least_bound_and_its_closed_form(n):
    constants, ball = public(n)
    plan = plan_regularised(constants, ball, epsilon=1.0)
    assert plan.ridge == pytest.approx(2 / (2 * math.sqrt(n)))
    assert plan.statistical_bound == pytest.approx(2 * 2 / math.sqrt(n))
    for factor in (0.5, 0.9, 1.1, 2.0):
        other = plan_regularised(constants, ball, epsilon=1.0, ridge=factor * plan.ridge)
        assert other.population_bound > plan.population_bound
        assert other.beta == plan.beta
    assert plan.beta * constants.charged_oscillation == pytest.approx(1.0)
    assert plan.guarantee.epsilon(0.0) == 1.0


def test_without_privacy_only_the_statistical_term_is_left():
    bounds = []
    for n in (100, 1000, 10_000):
        constants, ball = public(n)
        far = plan_regularised(constants, ball, epsilon=1e9)
        assert far.population_bound == pytest.approx(far.statistical_bound, rel=1e-4)
        bounds.append(far.statistical_bound)
    np.testing.assert_allclose(np.diff(np.log(bounds)) / math.log(10), -0.5)


@pytest.mark.parametrize(
    "domain", [Ball(1.5), Intersection(Shifted(Ball(1.0), (0.5, 0.0)), Ball(0.8))]
)
def test_draws_are_those_of_the_problem_with_that_ridge(domain):
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((300, 2)), rng.choice([-1.0, 1.0], 300)
    plain = Problem(X, y, domain=domain, intercept=False)
    ridged = Problem(X, y, domain=domain, intercept=False, ridge=0.4)
    seen = RidgedProblem(plain, 0.4)
    theta = domain.project(rng.standard_normal((2, 50)))
    np.testing.assert_allclose(seen.value(theta), ridged.value(theta))
    np.testing.assert_allclose(seen.minimum.theta, ridged.minimum.theta, atol=1e-7)
    assert seen.constants == ridged.constants and seen.ridge == 0.4
    assert plain.ridge == 0.0 and plain.constants.m == 0.0
    one = regularised(epsilon=5.0)
    drawn = one.draw(plain, np.random.default_rng(1))
    assert (drawn == one.draw(plain, np.random.default_rng(1))).all()
    assert one.plan(plain) == one.plan(Problem(-X, y, domain=domain, intercept=False))


def test_a_ridge_on_a_ridge_is_their_sum_in_objective_and_constants():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((300, 2)), rng.choice([-1.0, 1.0], 300)
    ridged, whole = (Problem(X, y, radius=2.0, ridge=ridge) for ridge in (0.25, 0.75))
    seen = RidgedProblem(ridged, 0.5)
    theta = rng.standard_normal((3, 20))
    np.testing.assert_allclose(seen.value(theta), whole.value(theta))
    assert seen.ridge == whole.ridge and seen.constants == whole.constants
    assert not np.allclose(RidgedProblem(ridged, 0.25).value(theta), whole.value(theta))
    with pytest.raises(ValueError, match=r"ridge=0, got 0\.25"):
        regularised(epsilon=1.0).plan(ridged)  # which wants to choose it


@pytest.mark.law
def test_the_population_risk_keeps_its_bound():
    """Rows ±1 with a slight majority: a linear loss, so that the population risk is known."""
    n, mean, rng = 400, 0.05, np.random.default_rng(0)
    risks = []
    for _ in range(30):
        y = np.where(rng.random(n) < (1 + mean) / 2, 1.0, -1.0)
        problem = Problem(np.ones((n, 1)), y, loss=HINGE, radius=0.5, intercept=False)
        one = regularised(epsilon=20.0)
        theta = one.draw(problem, rng)[0]
        risks.append(mean * (0.5 - theta))
    assert 0 < np.mean(risks) <= one.plan(problem).population_bound


def test_what_cannot_be_planned_is_refused_in_words():
    constants, ball = public(100)
    with pytest.raises(ValueError, match="epsilon must be finite and > 0, got -1"):
        plan_regularised(constants, ball, epsilon=-1)
    with pytest.raises(ValueError, match="ridge must be finite and > 0, got 0"):
        plan_regularised(constants, ball, epsilon=1.0, ridge=0.0)
    problem = Problem([[0.5], [-0.5]], [1, -1], ridge=0.1)
    with pytest.raises(ValueError, match=r"pose the problem with ridge=0, got 0\.1"):
        regularised(epsilon=1.0).plan(problem)
