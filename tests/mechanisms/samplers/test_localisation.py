"""Mechanisms that narrow the domain: public plans, exact one-dimensional privacy, and promises."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import gamma, kstest

from rashomon_explorer.exceptions import SamplerError
from rashomon_explorer.mechanisms.certificates.sensitivity import data_lipschitz, local_constants
from rashomon_explorer.mechanisms.rejection.envelope import (
    Neighbourhood,
    Shifted,
    round_into_domain,
)
from rashomon_explorer.mechanisms.samplers.exponential import ExactSampler
from rashomon_explorer.mechanisms.target import GibbsTarget
from rashomon_explorer.papers.localisation import (
    LocalProblem,
    plan_iterated,
    plan_perturbed,
    refined,
    solver_distance,
)
from rashomon_explorer.problem.constants import Constants
from rashomon_explorer.problem.domains import Ball, Intersection
from rashomon_explorer.problem.minimisation import minimise_on
from rashomon_explorer.problem.problem import Problem
from tests.crossing import crossed
from tests.papers.by_hand import iterated, localised, regularised

BY_HAND = [iterated, localised]


def posed(p=2, n=1000, domain=None, ridge=0.5, seed=0, loss="logistic"):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p))
    y = np.where(rng.random(n) < 1 / (1 + np.exp(-X @ np.ones(p))), 1.0, -1.0)
    domain = Ball(2.0) if domain is None else domain
    return Problem(X, y, loss=loss, domain=domain, ridge=ridge, intercept=False)


def public(n=10**5, p=5, ridge=0.1):
    domain = Ball(4.0)
    return Constants.of("logistic", n=n, p=p, domain=domain, row_bound=1.0, ridge=ridge), domain


@given(
    n=st.integers(100, 10**8),
    p=st.integers(1, 200),
    ridge=st.floats(1e-3, 2.0),
    epsilon=st.floats(0.01, 20.0),
    stages=st.integers(1, 12),
)
@settings(max_examples=60, deadline=None)
def test_prices_add_up_and_sets_shrink(n, p, ridge, epsilon, stages):
    constants, domain = public(n, p, ridge)
    plan = plan_iterated(constants, domain, epsilon=epsilon, n_stages=stages)
    prices = [stage.epsilon for stage in plan.stages]
    assert epsilon * (1 - 1e-12) <= math.fsum(prices) <= epsilon
    assert plan.guarantee.epsilon(0.0) <= epsilon and plan.epsilon == math.fsum(prices)
    for before, stage in zip(plan.stages, plan.stages[1:], strict=False):
        assert stage.epsilon == pytest.approx(2 * before.epsilon)
        gap = local_constants(constants, domain, min(8.0, 2 * before.distance)).gap_tolerance
        quantile = gamma.isf(plan.failure, p)
        radius = math.sqrt(2 * (quantile / before.beta + gap) / constants.m)
        assert stage.distance == pytest.approx(radius if 2 * radius < 8 else math.inf)
    for stage in plan.stages:
        local = local_constants(constants, domain, min(8.0, 2 * stage.distance))
        assert stage.beta * local.charged_oscillation <= stage.epsilon * (1 + 1e-12)
        assert local.osc <= constants.osc
    best = plan_iterated(constants, domain, epsilon=epsilon)
    assert best.excess_bound <= plan.excess_bound * (1 + 1e-12)


def test_the_number_of_stages_grows_with_the_rows_and_one_is_the_plain_mechanism():
    counts = []
    for n in (10**2, 10**4, 10**6):
        constants, domain = public(n, ridge=1.0)
        plan = plan_iterated(constants, domain, epsilon=1.0)
        counts.append(len(plan.stages))
    assert counts[0] == 1 < counts[1] < counts[2]
    constants, domain = public(10**2)
    (stage,) = plan_iterated(constants, domain, epsilon=1.0).stages
    assert stage.distance == math.inf and stage.beta == 1.0 / constants.charged_oscillation


@pytest.mark.parametrize("n, p, ridge", [(10**2, 2, 2.0), (10**4, 30, 0.01), (10**7, 5, 0.3)])
def test_the_best_of_all_stages_and_failures_is_found_without_trying_all(n, p, ridge):
    constants, domain = public(n, p, ridge)
    tried = [
        plan_iterated(constants, domain, epsilon=2.0, n_stages=count, failure=10.0**-k)
        for count in range(1, 13)
        for k in range(2, 16)
    ]
    best = min(tried, key=lambda plan: plan.excess_bound)
    assert plan_iterated(constants, domain, epsilon=2.0) == best


@pytest.mark.parametrize("n", [10**4, 10**5])
@pytest.mark.parametrize("p", [2, 20, 100])
def test_output_perturbation_has_its_bound_and_beats_the_iterated_mechanism(n, p):
    constants, domain = public(n, p, ridge=0.5)
    plan = plan_perturbed(constants, domain, epsilon=1.0)
    quantile, slope = gamma.isf(plan.failure, p), constants.L - 0.5 * 4.0
    printed = 32 * slope**2 * p * quantile / (0.5 * n**2)
    loss = plan.failure * constants.L * 8.0
    # The solver's error and the minimum's tolerance add a few per cent, more for a million rows.
    assert printed <= plan.excess_bound - loss <= 1.2 * printed
    assert plan.excess_bound <= plan_iterated(constants, domain, epsilon=1.0).excess_bound
    assert plan.guarantee.epsilon(0.0) == 1.0


@pytest.mark.parametrize("sampler", BY_HAND)
def test_plans_do_not_read_the_rows(sampler):
    one, other = posed(seed=0), posed(seed=1)
    assert sampler(epsilon=2.0).plan(one) == sampler(epsilon=2.0).plan(other)
    for problem in (one, other):
        assert "minimum" not in vars(problem)


@pytest.mark.parametrize("sampler", BY_HAND)
def test_what_cannot_be_planned_is_refused_in_words(sampler):
    with pytest.raises(ValueError, match="give the problem a ridge > 0"):
        sampler(epsilon=1.0).plan(posed(ridge=0.0))
    with pytest.raises(ValueError, match="epsilon must be finite and > 0, got 0"):
        sampler(epsilon=0.0).plan(posed())
    with pytest.raises(ValueError, match=r"failure must be in \(0, 1\), got 1.0"):
        sampler(epsilon=1.0, failure=1.0).plan(posed())
    with pytest.raises(ValueError, match="n_stages must be from 1 to 12, got 13"):
        iterated(epsilon=1.0, n_stages=13).plan(posed())


def ordinary(kind, n, rng):
    X = np.round(rng.normal(size=(n, 2)), 1) + 0.0
    y = np.where(rng.random(n) < 0.7, np.sign(X[:, 0]), -1.0)
    return Problem(X, np.where(y == 0, 1.0, y), loss=kind, ridge=0.5, radius=2.0)


@crossed(
    {
        "loss": ["hinge", "absolute"],
        "n": [1, 2, 3, 60],
    }
)
def test_no_table_is_refused_for_a_kink(loss, n):
    """A solver for smooth losses once refused 24 tables of 25, and one neighbour of two."""
    sampler, rng = localised(epsilon=8.0), np.random.default_rng(n)
    problems = [ordinary(loss, n, rng) for _ in range(12)]
    plans = {sampler.plan(problem) for problem in problems}
    assert len(plans) == 1
    near = solver_distance(problems[0].constants, problems[0].domain)
    (plan,) = plans
    moved = 2 * data_lipschitz(problems[0].constants, problems[0].domain) / (0.5 * n)
    assert plan.noise_scale == pytest.approx((moved + 2 * near) / 4.0)  # the accuracy is paid for
    for problem in problems:
        assert np.isfinite(sampler.mechanism(problem).noisy_minimiser(problem, rng)).all()
        known = refined(problem, problem.minimum, problem.m * near**2 / 2)
        assert math.sqrt(2 * known.gap / problem.m) <= near * (1 + 1e-12)
    near = Neighbourhood.of(problem.domain, round_into_domain(problem.domain, np.full(3, 0.4)), 0.3)
    local = LocalProblem(problem, near)
    assert local.minimum.gap <= local.constants.gap_tolerance


def test_newton_steps_alone_would_be_caught():
    """What refused before: minimise_on stops at a kink with a gap that depends on the rows."""
    rng = np.random.default_rng(0)
    gaps = []
    for _ in range(8):
        problem = ordinary("hinge", 60, rng)
        near = solver_distance(problem.constants, problem.domain)
        tolerance = problem.m * near**2 / 2
        found = minimise_on(problem, problem.domain, tolerance, problem.minimum.theta)
        gaps.append(found.gap / tolerance)
    assert max(gaps) > 1


@pytest.mark.parametrize("one", [localised(8.0), iterated(8.0)])
@pytest.mark.law
def test_losses_with_kinks_are_drawn_from_nearby(one):
    problem, rng = posed(n=2000, loss="hinge"), np.random.default_rng(0)
    plan = one.plan(problem)
    theta = np.column_stack([one.draw(problem, rng) for _ in range(6)])
    excess = problem.value(theta) - problem.minimum.value
    assert (excess <= plan.excess_quantile + problem.minimum.gap).all()


def test_no_smooth_table_is_refused():
    """Collinear, empty, huge and subnormal rows: the minimum is certified for all of them."""
    rng = np.random.default_rng(0)
    for loss in ("logistic", "squared", "smoothed_hinge"):
        for row in (0.0, 5e-324, 1e-8, 1.0, 1e160, 1e308):
            X, y = np.full((4, 3), row), np.array([1.0, 1.0, -1.0, 1.0])
            X[:2, 0] *= -1
            for ridge, radius in ((1e-4, 50.0), (0.5, 2.0), (50.0, 0.1)):
                problem = Problem(X, y, loss=loss, ridge=ridge, radius=radius)
                sampler = localised(epsilon=8.0)
                theta = sampler.mechanism(problem).noisy_minimiser(problem, rng)
                assert np.isfinite(theta).all()


@pytest.mark.parametrize("sampler", [*BY_HAND, regularised])
def test_that_there_is_a_draw_at_all_is_said_not_to_be_covered(sampler):
    problem = posed(ridge=0.0 if sampler is regularised else 0.5)
    stated = sampler(epsilon=8.0).certificate(problem).assumptions
    assert any("whether a model was drawn is not covered" in line for line in stated)


DOMAINS = [Ball(2.0), Intersection(Shifted(Ball(1.0), (0.5, 0.0)), Ball(0.8))]


NARROWING = [
    iterated(epsilon=30.0, failure=1e-3, n_stages=3),
    localised(epsilon=8.0, failure=1e-4),
]


# A draw is three searches for a proposal; what two models keep, sixty keep more sharply.
@pytest.mark.parametrize("n_draws", [2, pytest.param(60, marks=pytest.mark.law)])
@pytest.mark.parametrize("one", NARROWING, ids=lambda one: one.name)
@pytest.mark.parametrize("domain", DOMAINS, ids=lambda domain: type(domain).__name__)
@pytest.mark.law
def test_draws_keep_their_promises(one, domain, n_draws):
    problem = posed(n=2000, domain=domain)
    plan, rng = one.plan(problem), np.random.default_rng(0)
    assert np.isfinite(plan.stages[-1].distance)
    theta = np.column_stack([one.draw(problem, rng) for _ in range(n_draws)])
    excess = problem.value(theta) - problem.minimum.value
    assert excess.mean() <= plan.excess_bound
    assert (excess <= plan.excess_quantile).all()
    assert domain.contains(theta * (1 - 1e-5)).all()
    assert (theta * 2**20 == np.round(theta * 2**20)).all()
    again = one.draw(problem, np.random.default_rng(0))
    assert (again == theta[:, 0]).all()


def test_a_stage_rarely_loses_sight_of_the_minimiser():
    problem = posed(n=2000, ridge=1.0)
    failure = 0.3
    one = iterated(epsilon=6.0, failure=failure, n_stages=2)
    distance = one.plan(problem).stages[1].distance
    assert np.isfinite(distance)
    first = GibbsTarget(problem, one.plan(problem).stages[0].beta, 0.0)
    batch = next(iter(ExactSampler().batches(first, np.random.default_rng(0))))
    near = np.linalg.norm(batch.theta - problem.minimum.theta[:, None], axis=0) <= distance
    assert near.mean() >= 1 - failure


def test_noise_has_gamma_lengths_and_uniform_directions():
    problem = posed(p=3, domain=Ball(50.0), n=100)
    one = localised(epsilon=8.0)
    plan, rng = one.plan(problem), np.random.default_rng(0)
    noise = np.array([one.mechanism(problem).noisy_minimiser(problem, rng) for _ in range(2000)])
    noise -= problem.minimum.theta
    length = np.linalg.norm(noise, axis=1)
    assert kstest(length / plan.noise_scale, gamma(3).cdf).pvalue > 1e-3
    assert kstest(noise[:, 0] / length, "uniform", args=(-1, 2)).pvalue > 1e-3


def neighbours(n=40, ridge=0.5, radius=2.0):
    """Two problems of one parameter that differ in one extreme record."""
    rng = np.random.default_rng(0)
    X, y = np.ones((n, 1)), np.where(rng.random(n) < 0.6, 1.0, -1.0)
    other = y.copy()
    y[0], other[0] = 1.0, -1.0
    setting = {"ridge": ridge, "radius": radius, "intercept": False}
    return Problem(X, y, **setting), Problem(X, other, **setting)


def log_densities(problem, middle, distance, beta):
    """Log density of a stage on a grid of its part of the domain, normalised."""
    near = Neighbourhood.of(problem.domain, middle, distance)
    half = (near.support(np.array([[1.0]]))[0] + near.support(np.array([[-1.0]]))[0]) / 2
    centre = near.support(np.array([[1.0]]))[0] - half
    grid = centre + np.linspace(-half, half, 4001)[None, :] * (1 - 1e-9)
    target = GibbsTarget(LocalProblem(problem, near), beta, 0.0)
    log_density = target.log_density(grid)
    peak = log_density.max()
    return log_density - peak - np.log(np.trapezoid(np.exp(log_density - peak), grid[0]))


def worst_log_ratio(middle, distance, beta):
    one, other = (log_densities(problem, middle, distance, beta) for problem in neighbours())
    return np.abs(one - other).max()


def test_each_step_is_as_private_as_it_says_on_the_worst_neighbours():
    one, other = neighbours()
    plan = localised(epsilon=4.0).plan(one)
    moved = abs(float(one.minimum.theta[0] - other.minimum.theta[0]))
    # Laplace noise in one dimension: the log ratio is the shift over the scale.
    assert moved / plan.noise_scale <= 2.0
    assert 3 * moved / plan.noise_scale > 2.0
    (stage,) = plan.stages
    for middle in (-2.0, -0.5, 0.0, 0.3, 1.9):
        ratio = worst_log_ratio(np.array([middle]), stage.distance, stage.beta)
        assert ratio <= stage.epsilon
    for stage in iterated(epsilon=40.0, n_stages=3).plan(one).stages[1:]:
        distance = min(stage.distance, 2.0)
        ratio = worst_log_ratio(np.array([-1.0]), distance, stage.beta)
        assert ratio <= stage.epsilon


def test_three_times_the_temperature_would_be_caught():
    plan = localised(epsilon=4.0).plan(neighbours()[0])
    (stage,) = plan.stages
    ratios = [
        worst_log_ratio(np.array([middle]), stage.distance, 3 * stage.beta)
        for middle in (-2.0, -0.5, 0.0, 0.3, 1.9)
    ]
    assert max(ratios) > stage.epsilon


@given(
    seed=st.integers(0, 2**32 - 1),
    loss=st.sampled_from(["logistic", "squared", "smoothed_hinge"]),
    distance=st.floats(1e-3, 3.0),
)
@settings(max_examples=60, deadline=None)
def test_two_records_losses_vary_by_at_most_the_oscillation_nearby(seed, loss, distance):
    rng = np.random.default_rng(seed)
    rows, labels = rng.standard_normal((2, 1, 3)) * 5, rng.choice([-1.0, 1.0], (2, 1))
    one, other = (
        Problem(x, y, loss=loss, radius=2.0, ridge=0.3, intercept=False)
        for x, y in zip(rows, labels, strict=True)
    )
    middle = one.domain.project(rng.standard_normal((3, 1)) * 2)[:, 0] * (1 - 1e-12)
    near = Neighbourhood.of(one.domain, middle, distance)
    theta = near.project(middle[:, None] + rng.standard_normal((3, 300)) * distance)
    change = one.value(theta) - other.value(theta)
    assert np.ptp(change) <= LocalProblem(one, near).constants.osc * (1 + 1e-9)


def test_the_minimum_of_a_part_without_the_minimiser_is_found():
    problem = posed(domain=Ball(2.0), ridge=0.05)
    away = -problem.minimum.theta
    near = Neighbourhood.of(problem.domain, away, 0.3)
    local = LocalProblem(problem, near)
    assert local.minimum.gap <= local.constants.gap_tolerance
    theta = near.project(away[:, None] + np.random.default_rng(0).standard_normal((2, 2000)))
    assert problem.value(theta).min() >= local.minimum.value - local.minimum.gap
    assert np.linalg.norm(local.minimum.theta - away) == pytest.approx(0.3)


def test_a_minimum_that_is_not_close_enough_is_refused():
    problem = posed()
    with pytest.raises(SamplerError, match=r"certified to a duality gap of 1\.00e-30") as error:
        refined(problem, problem.minimum, 1e-30)
    assert f"{problem.minimum.gap:.2e}" not in str(error.value)
    close = solver_distance(problem.constants, problem.domain)
    known = refined(problem, problem.minimum, problem.m * close**2 / 2)
    assert math.sqrt(2 * known.gap / problem.m) <= close


@pytest.mark.parametrize(
    "domain", [Ball(0.1), Intersection(Shifted(Ball(0.4), (0.2, 0.1, 0.0)), Ball(0.3))]
)
def test_points_settle_inside(domain):
    theta = np.random.default_rng(0).standard_normal((3, 200)) * 9
    for column in theta.T:
        point = round_into_domain(domain, column)
        assert domain.contains(point[:, None])[0]
        assert np.abs(point - domain.project(column[:, None])[:, 0]).max() <= 1e-14
