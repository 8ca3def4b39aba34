"""Localised, iterated and regularised mechanisms: plans, promises, minima nearby, and batches."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import logsumexp
from scipy.stats import gamma

from rashomon_explorer.exceptions import SamplerError
from rashomon_explorer.mechanisms import MECHANISMS, ExactSampler, bounds
from rashomon_explorer.mechanisms.certificates import sensitivity
from rashomon_explorer.mechanisms.rejection import envelope
from rashomon_explorer.mechanisms.target import GibbsTarget
from rashomon_explorer.papers import localisation
from rashomon_explorer.problem.constants import Constants
from rashomon_explorer.problem.domains import Ball, Intersection
from rashomon_explorer.problem.losses import SmoothedHingeLoss
from rashomon_explorer.problem.problem import Problem
from tests.crossing import crossed
from tests.mechanisms import chains
from tests.mechanisms.builders import request_of
from tests.mechanisms.samplers.laws import small_problem
from tests.papers.by_hand import iterated, localised, regularised

LENS = Intersection(envelope.Shifted(Ball(1.0), (0.5, 0.0)), Ball(0.8))


def posed(p=2, n=1000, ridge=0.5, domain=None, loss="logistic"):
    return small_problem(p, loss, n=n, ridge=ridge, domain=domain or Ball(2.0), truth=np.ones(p))


def public(n=10**5, p=5, ridge=0.1, loss="logistic", radius=4.0):
    domain = Ball(radius)
    return Constants.from_loss(loss, n=n, p=p, domain=domain, row_bound=1.0, ridge=ridge), domain


@given(
    n=st.integers(100, 10**8),
    p=st.integers(1, 200),
    ridge=st.floats(1e-3, 2.0),
    epsilon=st.floats(0.01, 20.0),
    stages=st.integers(1, 12),
)
@settings(max_examples=60)
def test_prices_add_up_and_sets_shrink(n, p, ridge, epsilon, stages):
    constants, domain = public(n, p, ridge)
    plan = localisation.plan_iterated(constants, domain, epsilon=epsilon, n_stages=stages)
    prices = math.fsum(stage.epsilon for stage in plan.stages)
    assert epsilon * (1 - 1e-12) <= prices <= epsilon and plan.epsilon == prices
    assert plan.guarantee.epsilon(0.0) <= epsilon
    for before, stage in zip(plan.stages, plan.stages[1:], strict=False):
        assert stage.epsilon == pytest.approx(2 * before.epsilon)
        gap = sensitivity.local_constants(
            constants, domain, min(8.0, 2 * before.distance)
        ).gap_tolerance
        quantile = gamma.isf(plan.failure, p)
        radius = math.sqrt(2 * (quantile / before.beta + gap) / constants.m)
        assert stage.distance == pytest.approx(radius if 2 * radius < 8 else math.inf)
    for stage in plan.stages:
        local = sensitivity.local_constants(constants, domain, min(8.0, 2 * stage.distance))
        assert stage.beta * local.charged_oscillation == pytest.approx(stage.epsilon, rel=1e-12)
        assert local.osc <= constants.osc
    lost = (stages - 1) * plan.failure * constants.L * 8.0
    bound = p / plan.stages[-1].beta + local.gap_tolerance + lost
    assert plan.excess_bound == pytest.approx(bound, rel=1e-9)


@pytest.mark.parametrize(("n", "p", "ridge"), [(10**2, 2, 2.0), (10**4, 30, 0.01), (10**7, 5, 0.3)])
def test_the_best_of_all_stages_and_failures_is_found_without_trying_all(n, p, ridge):
    known = public(n, p, ridge)
    tried = [
        localisation.plan_iterated(*known, epsilon=2.0, n_stages=count, failure=10.0**-k)
        for count in range(1, 13)
        for k in range(2, 16)
    ]
    best = min(tried, key=lambda plan: plan.excess_bound)
    assert localisation.plan_iterated(*known, epsilon=2.0) == best


@pytest.mark.parametrize("n", [10**4, 10**5])
@pytest.mark.parametrize("p", [2, 20, 100])
def test_output_perturbation_has_its_bound_and_beats_the_iterated_mechanism(n, p):
    constants, domain = public(n, p, ridge=0.5)
    plan = localisation.plan_perturbed(constants, domain, epsilon=1.0)
    quantile, slope = gamma.isf(plan.failure, p), constants.L - 0.5 * 4.0
    printed = 32 * slope**2 * p * quantile / (0.5 * n**2)
    # The solver's error and the minimum's tolerance add a few per cent, more for a million rows.
    assert printed <= plan.excess_bound - plan.failure * constants.L * 8.0 <= 1.2 * printed
    assert (
        plan.excess_bound <= localisation.plan_iterated(constants, domain, epsilon=1.0).excess_bound
    )
    assert plan.guarantee.epsilon(0.0) == 1.0


@pytest.mark.parametrize("n", [100, 10_000])
def test_the_ridge_has_the_least_bound(n):
    constants, ball = public(n, 4, 0.0, "smoothed_hinge", radius=2.0)
    plan = localisation.plan_regularised(constants, ball, epsilon=1.0)
    for factor in (0.5, 0.9, 1.1, 2.0):
        other = localisation.plan_regularised(
            constants, ball, epsilon=1.0, ridge=factor * plan.ridge
        )
        assert other.population_bound > plan.population_bound and other.beta == plan.beta
    far = localisation.plan_regularised(constants, ball, epsilon=1e9)  # without privacy
    assert far.population_bound == pytest.approx(plan.statistical_bound, rel=1e-4)


def test_with_delta_the_ridge_has_the_least_bound_and_the_draw_its_cost():
    """R√(2pΔ²/μ² + 4L²/n), the rate of §E.4; neighbours on one column, by quadrature."""
    numbers = {"n": 400, "radius": 2.0, "row_norm": 1.0, "epsilon": 0.5, "delta": 1e-4}
    request = request_of(**numbers, loss=SmoothedHingeLoss(0.5), p=200)
    planned = localisation.regularised_with_delta(request)
    slope, mu = 2 / 400, request.gaussian_mu
    least = 2.0 * math.sqrt(2 * 200 * (slope / mu) ** 2 + 4 / 400)
    assert planned.population_bound == pytest.approx(least, rel=1e-4)
    assert planned.ridge * 4 == pytest.approx(least, rel=1e-4)
    assert planned.guarantee.epsilon(1e-4) <= 0.5
    assert MECHANISMS["regularised"].plan(request).beta == planned.beta
    few = replace(request, p=1, delta=1e-14)
    pure = localisation.plan_regularised(few.constants, few.domain, epsilon=0.5)
    assert MECHANISMS["regularised"].plan(few).beta == pure.beta
    theta = np.linspace(-2, 2, 10_001)

    def spent(beta):
        laws = []
        for sign in (1.0, -1.0):
            rows = np.r_[sign, np.resize([1.0, -1.0], 399)]
            problem = Problem(
                np.ones((400, 1)), rows, loss=SmoothedHingeLoss(0.5), radius=2.0, intercept=False,
                ridge=planned.ridge, row_norm=1.0,
            )  # fmt: skip
            log = -beta * problem.value(theta[None])
            laws.append(np.exp(log - logsumexp(log)))
        return chains.delta(*laws, 0.5)

    assert 1e-7 < spent(planned.beta) <= 1e-4 < spent(4 * planned.beta)


REFUSED = [
    *((kind, {"epsilon": 1.0}, 0.0, "problem a ridge > 0") for kind in (iterated, localised)),
    *((kind, {"epsilon": 0.0}, 0.5, "epsilon must be finite and > 0, got 0")
      for kind in (iterated, localised)),
    *((kind, {"epsilon": 1.0, "failure": 1.0}, 0.5, r"failure must be in \(0, 1\), got 1.0")
      for kind in (iterated, localised)),
    (iterated, {"epsilon": 1.0, "n_stages": 13}, 0.5, "n_stages must be from 1 to 12, got 13"),
    (regularised, {"epsilon": -1}, 0.0, "epsilon must be finite and > 0, got -1"),
    (regularised, {"epsilon": 1.0, "ridge": 0.0}, 0.0, "ridge must be finite and > 0, got 0"),
    (regularised, {"epsilon": 1.0}, 0.1, r"pose the problem with ridge=0, got 0\.1"),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "settings", "ridge", "message"), REFUSED)
def test_what_cannot_be_planned_is_refused_in_words(kind, settings, ridge, message):
    problem = posed(ridge=ridge)
    with pytest.raises(ValueError, match=message):
        kind(**settings).plan(problem)
    assert "minimum" not in vars(problem)


def test_a_hit_rate_allows_for_a_lost_minimiser():
    planned = localisation.plan_perturbed(*public(n=10**6), epsilon=1.0, failure=0.1)
    psi = planned.tolerance + planned.p / planned.beta
    alone = bounds.unthresholded_hit_rate(planned.p, planned.beta, psi - planned.tolerance)
    assert planned.hit_rate(psi) == pytest.approx(alone - 0.1) and 0.2 < alone < 0.9


@pytest.mark.parametrize("kind", [iterated, localised, regularised])
def test_that_there_is_a_draw_at_all_is_said_not_to_be_covered(kind):
    problem = posed(ridge=0.0 if kind is regularised else 0.5)
    stated = kind(epsilon=8.0).certificate(problem).assumptions
    assert any("whether a model was drawn is not covered" in line for line in stated)
    assert "minimum" not in vars(problem)  # plans read no row


def ordinary(kind, n, rng):
    X = np.round(rng.normal(size=(n, 2)), 1) + 0.0
    y = np.where(rng.random(n) < 0.7, np.sign(X[:, 0]), -1.0)
    return Problem(X, np.where(y == 0, 1.0, y), loss=kind, ridge=0.5, radius=2.0)


def reached(problem):
    """Distance that the solver must reach, and the gap that proves it."""
    near = sensitivity.solver_distance(problem.constants, problem.domain)
    return near, problem.m * near**2 / 2


@crossed({"loss": ["hinge", "absolute"], "n": [1, 60]})
def test_no_table_is_refused_for_a_kink(loss, n):
    """A solver for smooth losses once refused 24 tables of 25, and one neighbour of two."""
    sampler, rng = localised(epsilon=8.0), np.random.default_rng(n)
    problems = [ordinary(loss, n, rng) for _ in range(4)]
    (plan,) = {sampler.plan(problem) for problem in problems}
    near, tolerance = reached(problems[0])
    moved = 2 * sensitivity.data_lipschitz(problems[0].constants, problems[0].domain) / (0.5 * n)
    assert plan.noise_scale == pytest.approx((moved + 2 * near) / 4.0)  # the accuracy is paid for
    for problem in problems:
        assert np.isfinite(sampler.noisy_minimiser(problem, rng)).all()
        known = localisation.refined(problem, problem.minimum, tolerance)
        assert math.sqrt(2 * known.gap / problem.m) <= near * (1 + 1e-12)
    middle = envelope.round_into_domain(problem.domain, np.full(3, 0.4))
    local = localisation.LocalProblem(
        problem, envelope.Neighbourhood.of(problem.domain, middle, 0.3)
    )
    assert local.minimum.gap <= local.constants.gap_tolerance


def test_no_smooth_table_is_refused():
    """Collinear, empty, huge and subnormal rows: the minimum is certified for all of them."""
    rng = np.random.default_rng(0)
    for loss in ("logistic", "squared", "smoothed_hinge"):
        for row in (0.0, 5e-324, 1e-8, 1.0, 1e160, 1e308):
            X, y = np.full((4, 3), row), np.array([1.0, 1.0, -1.0, 1.0])
            X[:2, 0] *= -1
            for ridge, radius in ((1e-4, 50.0), (0.5, 2.0), (50.0, 0.1)):
                problem = Problem(X, y, loss=loss, ridge=ridge, radius=radius)
                mechanism = localised(epsilon=8.0)
                assert np.isfinite(mechanism.noisy_minimiser(problem, rng)).all()


def test_a_stage_rarely_loses_sight_of_the_minimiser():
    problem, failure = posed(n=2000, ridge=1.0), 0.3
    first, second = iterated(epsilon=6.0, failure=failure, n_stages=2).plan(problem).stages
    assert np.isfinite(second.distance)
    target = GibbsTarget(problem, first.beta, 0.0)
    batch = next(iter(ExactSampler().batches(target, np.random.default_rng(0))))
    strays = np.linalg.norm(batch.theta - problem.minimum.theta[:, None], axis=0)
    assert (strays <= second.distance).mean() >= 1 - failure


@given(
    seed=st.integers(0, 2**32 - 1),
    loss=st.sampled_from(["logistic", "squared", "smoothed_hinge"]),
    distance=st.floats(1e-3, 3.0),
)
def test_two_records_losses_vary_by_at_most_the_oscillation_nearby(seed, loss, distance):
    rng = np.random.default_rng(seed)
    rows, labels = rng.standard_normal((2, 1, 3)) * 5, rng.choice([-1.0, 1.0], (2, 1))
    one, other = (
        Problem(x, y, loss=loss, radius=2.0, ridge=0.3, intercept=False)
        for x, y in zip(rows, labels, strict=True)
    )
    middle = one.domain.project(rng.standard_normal((3, 1)) * 2)[:, 0] * (1 - 1e-12)
    near = envelope.Neighbourhood.of(one.domain, middle, distance)
    theta = near.project(middle[:, None] + rng.standard_normal((3, 300)) * distance)
    change = one.value(theta) - other.value(theta)
    assert np.ptp(change) <= localisation.LocalProblem(one, near).constants.osc * (1 + 1e-9)


def test_the_minimum_of_a_part_without_the_minimiser_is_found():
    problem = posed(ridge=0.05)
    away = -problem.minimum.theta
    near = envelope.Neighbourhood.of(problem.domain, away, 0.3)
    local = localisation.LocalProblem(problem, near)
    assert local.minimum.gap <= local.constants.gap_tolerance
    theta = near.project(away[:, None] + np.random.default_rng(0).standard_normal((2, 2000)))
    assert problem.value(theta).min() >= local.minimum.value - local.minimum.gap
    assert np.linalg.norm(local.minimum.theta - away) == pytest.approx(0.3)


def test_a_minimum_that_is_not_close_enough_is_refused():
    problem = posed()
    with pytest.raises(SamplerError, match=r"certified to a duality gap of 1\.00e-30") as error:
        localisation.refined(problem, problem.minimum, 1e-30)
    assert f"{problem.minimum.gap:.2e}" not in str(error.value)


LOSS, RADIUS, RIDGE, ROWS, EPSILON = SmoothedHingeLoss(smoothing=0.5), 0.5, 1.0, 4_000, 2.0
KNOWN = Constants.from_loss(LOSS, n=ROWS, p=1, domain=Ball(RADIUS), row_bound=1.0, ridge=RIDGE)
PLANNED = localisation.plan_disjoint(KNOWN, Ball(RADIUS), epsilon=EPSILON, n_stages=2)
GRID = np.linspace(-RADIUS, RADIUS, 401)


def drawn_from(pull, size, stage, middle=0.0):
    """Log law of a stage on the grid: −pull·θ/size + ½mθ², on the part near the middle."""
    logs = stage.beta * (pull * GRID / size - RIDGE / 2 * GRID**2)
    logs = np.where(np.abs(GRID - middle) <= stage.distance, logs, -np.inf)
    return logs - logsumexp(logs)


def joint(pulls):
    """Log probability of every pair of draws, by what all rows of a batch pull together."""
    (one, other), (first, second) = PLANNED.sizes, PLANNED.stages
    later = [drawn_from(pulls[1], other, second, middle) for middle in GRID]
    return drawn_from(pulls[0], one, first)[:, None] + np.array(later)


def apart(one, other):
    """Largest log ratio of two laws; neither can what the other cannot."""
    assert (np.isfinite(one) == np.isfinite(other)).all()
    inside = np.isfinite(one)
    return float(np.abs(one[inside] - other[inside]).max())


@pytest.mark.parametrize("batch", [0, 1])
def test_a_record_costs_one_stage_whichever_batch_it_is_in(batch):
    assert math.isinf(PLANNED.stages[0].distance) and PLANNED.stages[1].distance < RADIUS / 2
    pulls = [2_000, 2_000]
    pulls[batch] -= 2  # one record pulls the other way
    assert 0.7 * EPSILON < apart(joint([2_000, 2_000]), joint(pulls)) <= EPSILON


def test_a_record_in_both_batches_costs_both_stages():
    """The control: parallel composition needs that batches share no row."""
    assert apart(joint([2_000, 2_000]), joint([1_998, 1_998])) > 1.2 * EPSILON


def test_every_row_is_in_one_batch_and_no_row_decides_which(monkeypatch):
    taken, problem = [], table()

    def seen(posed, middle, stage, sampler, rng):
        taken.append(posed.rows[:, 0])
        assert posed.constants == localisation.of_fewer(problem.constants, len(posed.rows))
        return middle + 0.1

    monkeypatch.setattr(localisation, "draw_near", seen)
    found = localisation.draw_by_batches(problem, PLANNED, np.random.default_rng(0))
    assert [len(part) for part in taken] == list(PLANNED.sizes)
    assert sorted(np.concatenate(taken)) == sorted(problem.rows[:, 0])
    assert found == pytest.approx([0.2]) and (np.diff(np.concatenate(taken)) < 0).any()


def table():
    rows = np.linspace(-0.9, 0.9, ROWS)[:, None]
    return Problem(
        rows, np.ones(ROWS), loss=LOSS, radius=RADIUS, ridge=RIDGE, row_norm=1.0, intercept=False
    )


@pytest.mark.parametrize("n", [2, 17, 1_000])
def test_sizes_add_up_and_double(n):
    for k in range(1, int(math.log2(n)) + 1):
        sizes = localisation.batch_sizes(n, k)
        assert sum(sizes) == n and len(sizes) == k and min(sizes) >= 1
        assert all(later == n // 2 ** (k - i) for i, later in enumerate(sizes) if i)


def test_the_minimiser_of_the_law_is_rarely_lost():
    """θ* of the risk lies within the radius of the first draw, as often as is said and more."""
    n, rng = 4_000, np.random.default_rng(0)
    known = Constants.from_loss(LOSS, n=n, p=1, domain=Ball(RADIUS), row_bound=1.0, ridge=RIDGE)
    planned = localisation.plan_disjoint(known, Ball(RADIUS), epsilon=8.0, n_stages=2)
    near = planned.stages[1].distance
    assert near < RADIUS
    strays = []
    for _ in range(300):  # rows ±1 with mean .2: θ* = .2
        pull = rng.choice([1.0, -1.0], planned.sizes[0], p=[0.6, 0.4]).sum()
        law = np.exp(drawn_from(pull, planned.sizes[0], planned.stages[0]))
        strays.append(abs(rng.choice(GRID, p=law) - 0.2))
    assert max(strays) < near < 12 * np.mean(strays)


def test_new_rows_are_promised_more_than_by_draws_from_all_rows():
    numbers = {"n": 100_000, "p": 5, "radius": 4.0, "row_norm": 1.0, "epsilon": 1.0, "delta": 0.0}
    request, kind = request_of(**numbers, ridge=1.0), MECHANISMS["iterated_batches"]
    offer = kind.plan(request)
    assert offer.guarantee.pure_epsilon == 1.0 and kind.traits.may_give_up
    bound = offer.population_bound
    for other in ("unthresholded", "iterated", "localised"):
        assert bound < MECHANISMS[other].plan(request).population_bound / 5
    assert offer.excess_bound > bound  # of the rows less is known than of new ones
    assert "see unthresholded" in kind.plan(request_of(**{**numbers, "n": 2_000})).reason
    assert bounds.batch_gap(request, 100_000, 4.0) == bounds.generalisation_gap(request)


@pytest.mark.parametrize(("epsilon", "by_n", "by_p"), [(1e-3, -1.9, 1.5), (1.0, -1.5, 1.0)])
def test_what_it_promises_falls_as_is_printed(epsilon, by_n, by_p):
    """p²log/(εn)² where noise decides; p/(εn^1.5), less than 1/n, where the law's scatter does."""
    fits = [
        localisation.plan_disjoint(
            Constants.from_loss("logistic", n=n, p=p, domain=Ball(4.0), row_bound=1.0, ridge=1.0),
            Ball(4.0),
            epsilon=epsilon,
        ).fitted
        for n, p in ((10**7, 8), (4 * 10**7, 8), (4 * 10**7, 32))
    ]
    assert math.log(fits[1] / fits[0]) / math.log(4) == pytest.approx(by_n, abs=0.1)
    assert math.log(fits[2] / fits[1]) / math.log(4) == pytest.approx(by_p, abs=0.1)
