"""One model: noisy moments, minimisers, descents and sampled steps; laws, costs and bounds."""

import itertools
import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.stats import kstest, laplace, norm

from rashomon_explorer import DPClassifier, DPRegressor
from rashomon_explorer.mechanisms import (
    MECHANISMS,
    LangevinSampler,
    bounds,
    centres,
    moments,
    one_model,
    request,
)
from rashomon_explorer.mechanisms.certificates.sensitivity import data_slope
from rashomon_explorer.mechanisms.langevin import batches, sampled_plan
from rashomon_explorer.mechanisms.langevin.plan import last_state_excess
from rashomon_explorer.mechanisms.objective_perturbation.sampler import radial_noise
from rashomon_explorer.mechanisms.plans import Plan
from rashomon_explorer.mechanisms.select import expected_loss
from rashomon_explorer.mechanisms.target import GibbsTarget
from rashomon_explorer.papers import one_model as paper
from rashomon_explorer.privacy import Ledger, gdp
from rashomon_explorer.privacy.conversions import filter_order, gdp_delta, zcdp_rho
from rashomon_explorer.privacy.tradeoff import PoissonSampled
from rashomon_explorer.problem.domains import Ball
from rashomon_explorer.problem.losses import SmoothedHingeLoss, SoftmaxLoss
from rashomon_explorer.problem.minimisation import MinimisedObjective
from rashomon_explorer.problem.problem import Problem
from tests.crossing import crossed
from tests.mechanisms import chains
from tests.mechanisms.builders import Silent, constants_of, request_of

ROW_NORM, RADIUS, P = 1.2, 4.0, 5


def test_the_best_ridge_is_found_and_counted():
    known = request_of(ridge=0.1)

    def made(one):
        return 20 * (one.ridge - 0.35) ** 2 + bounds.own_cost(known, one.ridge), one

    ridge, best = bounds.best_ridged(known, made)
    assert best.ridge == ridge and 0.2 < ridge < 0.5
    assert bounds.own_cost(known, 0.35) == pytest.approx(0.25 / 2 * 4)
    assert bounds.own_cost(known, 0.1) == 0.0


def test_gaps_to_new_rows():
    known = request_of(loss="hinge", n=400)
    gap, stable = bounds.generalisation_gap(known), bounds.stable_gap(known, 5.0)
    assert gap == pytest.approx(2 * ROW_NORM * 2.0 / 20) == bounds.stable_gap(known, 0.0)
    assert stable == pytest.approx(2 * ROW_NORM**2 / (5 * 400))
    assert bounds.stable_gap(known, 5.0, 0.01) == pytest.approx(stable + 0.01 * ROW_NORM)
    two, three = (request_of(loss=SoftmaxLoss(k), p=3 * (k - 1)) for k in (2, 3))
    assert bounds.generalisation_gap(three) > 2 * bounds.generalisation_gap(two)


def test_the_gap_to_new_rows_holds_for_the_worst_model():
    """Linear losses y·θ of signs: sup over the ball of risk − mean is R|mean y|."""
    means = np.random.default_rng(0).choice([-1.0, 1.0], (4_000, 100)).mean(axis=1)
    gap = bounds.generalisation_gap(request_of(loss="hinge", n=100, p=1, radius=0.5, row_norm=1.0))
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

    monkeypatch.setattr(one_model.ellipsoid, "refined", refined)
    X = np.random.default_rng(0).uniform(-0.5, 0.5, (400, 2))
    one = DPClassifier(mechanism="output_perturbation", epsilon=4.0, radius=4.0, random_state=0)
    one.fit(X, (X[:, 0] > 0).astype(int))
    tolerance, m = gaps[-1]  # the first ones are of simulated tables
    assert tolerance == m * one.plan_.details.settings.solver**2 / 2


@crossed({"share": [0.5, 1 / 32], "bend": ["M", "m"]})
def test_the_promise_holds_of_quadratic_losses_exactly(share, bend):
    """E L(θ_j) − L*, L = ½·bend·‖θ − θ*‖², ‖θ*‖ = 1, far from the sphere, weighted over states."""
    known, noise = constants_of(p=P, radius=RADIUS, ridge=0.1), 0.3
    pace, bend = share / known.M, getattr(known, bend)
    for n_steps in (20, 300):
        path = centres.Centre("gradients", 1.0, noise, 0.0, step_size=pace, n_steps=n_steps)
        left = (1 - pace * bend) ** (2 * np.arange(n_steps + 1))
        square = left[1:] + P * (pace * noise) ** 2 * np.cumsum(left[:-1])
        found = float(centres.average_weights(path, known) @ square) * bend / 2
        total = ((1 - pace * known.m) ** -np.arange(1.0, n_steps + 1)).sum()
        added = pace * P * noise**2 / (2 * (1 - share))
        assert found <= 1 / (2 * pace * total) + added
        if bend == known.M and n_steps == 300:
            assert found > 0.3 * added  # and the noise's part is no fancy


def test_the_plan_is_the_promise_of_its_path():
    known, mu = constants_of(p=P, radius=RADIUS, ridge=0.1), 0.3
    path = centres.plan_weighted_path(known, RADIUS, mu, 0.7)
    total = ((1 - path.step_size * known.m) ** -np.arange(1.0, path.n_steps + 1)).sum()
    share = path.step_size * known.M
    by_hand = min(RADIUS**2, 2 * 0.7 / 0.1) / (2 * path.step_size * total)
    by_hand += path.step_size * P * path.noise**2 / (2 * (1 - share))
    assert path.excess == pytest.approx(by_hand)
    moved = data_slope(known, Ball(RADIUS))
    assert math.sqrt(path.n_steps) * moved / path.noise == pytest.approx(mu)  # Gaussian DP
    assert path.excess < 0.6 * centres.by_gradients(known, RADIUS, mu, 0.7).excess
    under = request_of(p=P, radius=RADIUS, row_norm=1.0, ridge=0.1)
    offer = MECHANISMS["noisy_descent"].plan(under)
    paid = one_model.affordable_mu(under)
    assert offer.excess_bound < centres.by_gradients(known, RADIUS, paid, math.log(2)).excess
    assert offer.guarantee.mu == offer.details.settings.mu and offer.ridge >= 0.1


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
    offer = MECHANISMS["moments"].plan(known)
    mechanism, rng = MECHANISMS["moments"], np.random.default_rng(0)
    for rows in (np.eye(3)[np.arange(400) % 3], np.tile([1.0, 0.0, 0.0], (400, 1))):
        posed = Problem(rows, np.full(400, 0.3), loss="squared", radius=radius, intercept=False)
        drawn = np.column_stack([mechanism.model(posed, offer, rng) for _ in range(40)])
        assert posed.value(drawn).mean() - posed.minimum.value <= offer.excess_bound


def test_a_regression_is_made_so_where_delta_allows():
    planned = DPRegressor(radius=1.0, epsilon=4.0).plan(60_000, 2)
    plans = {one.mechanism: one for one in planned.candidates if isinstance(one, Plan)}
    costs = {name: expected_loss(one) for name, one in plans.items()}
    excess = plans["moments"].excess_bound
    assert planned.mechanism == "moments"
    assert costs["moments"] == pytest.approx(excess / 3 + 0.05 * 0.5) == min(costs.values())
    gap = expected_loss(planned, "population") - costs["moments"]
    assert gap == pytest.approx(planned.generalisation_gap / 3)
    assert DPRegressor(radius=1.0, epsilon=4.0, delta=0.0).plan(60_000, 2).mechanism != "moments"


@pytest.mark.parametrize("ridge", [0.5, 1.0])
@pytest.mark.parametrize("name", ["noisy_descent", "last_iterate", "localised_gaussian"])
def test_a_replaced_row_moves_a_path_by_what_its_gap_says(name, ridge):
    """Theorem F.5, coupled by the noise: the steepest row of a loss that is linear in the ball."""
    request = request_of(n=200, loss=LOSS, p=1, radius=SMALL, row_norm=1.0, ridge=ridge)
    plan = MECHANISMS[name].plan(request)
    mechanism, ends = MECHANISMS[name], []
    for pull in (1.0, -1.0):
        posed = replace_loss(table(pull), LOSS, ridge=plan.ridge, radius=50.0)
        ends.append([mechanism.model(posed, plan, np.random.default_rng(k))[0] for k in range(3)])
    moved = np.abs(np.subtract(*ends))
    gap = plan.generalisation_gap
    assert gap == pytest.approx(plan.population_bound - plan.excess_bound)
    assert gap <= 2 / (200 * ridge) * 1.1
    assert (moved <= gap * (1 + 1e-6)).all()
    assert (moved > gap * (0.9 if name == "last_iterate" else 0.3)).all()  # control
    kinked = MECHANISMS["localised_gaussian"].plan(replace(request, loss="hinge"))
    assert kinked.generalisation_gap == pytest.approx(2 * SMALL / math.sqrt(200))


def test_a_short_path_moves_less_than_its_minimiser():
    """Lemma F.3 at m = 0; a ridge in place of the sum of what steps add and contract."""
    sums = sum(0.1 * 0.95**j for j in range(30))
    assert one_model.path_pull(0.1, 30, 0.5) == pytest.approx(1 / sums)
    assert one_model.path_pull(0.1, 30, 0.0) == pytest.approx(1 / 3)
    assert one_model.path_pull(2.0, 30, 0.5) == one_model.path_pull(0.1, 9_999, 0.5) == 0.5


MANY, RIDGE, LOSS, SMALL = 200, 1.0, SmoothedHingeLoss(smoothing=0.5), 0.5
KNOWN = constants_of(LOSS, n=MANY, p=1, radius=SMALL, ridge=RIDGE)
EPSILON, MU = 2.0, 1.0
NOISES = {
    "pure": centres.plan_noisy_minimiser(KNOWN, SMALL, 1.0, epsilon=EPSILON),
    "Gaussian": centres.plan_noisy_minimiser(KNOWN, SMALL, 1.0, epsilon=EPSILON, mu=MU),
}
PATH = centres.plan_weighted_path(KNOWN, SMALL, MU, 1.0)
SHORT = replace(PATH, n_steps=20)
BOTH = sampled_plan.plan_localised_descent(KNOWN, SMALL, MU, 1.0)
KINDS = pytest.mark.parametrize("kind", NOISES)


def table(pull):
    """One record has the steepest slope; in the ball all losses are linear."""
    rows = np.zeros((MANY, 1))
    rows[0] = pull
    return Problem(
        rows, np.ones(MANY), loss=LOSS, radius=SMALL, ridge=RIDGE, row_norm=1.0, intercept=False
    )


def replace_loss(problem, loss, **changed):
    known = {"radius": SMALL, "ridge": RIDGE, "row_norm": 1.0, "intercept": False, **changed}
    return Problem(problem.rows, problem.targets, loss=loss, **known)


def noise_law(planned, pull, off=0.0):
    """Law of the minimiser of a table, with an error of the solver, plus noise."""
    return (norm if planned.gaussian else laplace)(pull * (1 / (MANY * RIDGE) + off), planned.scale)


def descent_law(path, pull, start_noise=None):
    """Law of the weighted mean of the states, which are linear in start, pull and noise."""
    weights, forget = centres.average_weights(path, KNOWN), 1 - path.step_size * RIDGE
    after = [path.step_size * forget ** np.arange(path.n_steps - k) for k in range(path.n_steps)]
    steps = np.array([weights[k:] @ part for k, part in enumerate(after)])
    start = 0.0 if start_noise is None else weights @ forget ** np.arange(1, path.n_steps + 1)
    spread = float(np.linalg.norm(steps)) * path.noise, start * (start_noise or 0.0)
    return norm(start * pull / (MANY * RIDGE) + steps.sum() * pull / MANY, math.hypot(*spread))


LAWS = {
    "pure": lambda pull: noise_law(NOISES["pure"], pull),
    "Gaussian": lambda pull: noise_law(NOISES["Gaussian"], pull),
    "descent": lambda pull: descent_law(SHORT, pull),
    "localised": lambda pull: descent_law(BOTH.then, pull, BOTH.scale),
}
MODELS = {
    "pure": (one_model.OutputPerturbation(), NOISES["pure"]),
    "Gaussian": (one_model.OutputPerturbation(), NOISES["Gaussian"]),
    "descent": (one_model.NoisyDescent(), SHORT),
    "localised": (one_model.LocalisedGaussian(), BOTH),
}


def plan_of(settings):
    return SimpleNamespace(details=one_model.OneModelDetails(settings))


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("pull", [1.0, -1.0])
def test_a_model_has_its_law(name, pull):
    problem, rng, law = table(pull), np.random.default_rng(0), LAWS[name](pull)
    mechanism, settings = MODELS[name]
    drawn = [mechanism.model(problem, plan_of(settings), rng)[0] for _ in range(150)]
    assert kstest(drawn, law.cdf).pvalue > 1e-3
    doubled = law.mean() + (np.array(drawn) - law.mean()) * 2
    assert kstest(doubled, law.cdf).pvalue < 1e-3  # control: at half of the noise it is caught


@KINDS
@pytest.mark.parametrize("epsilon", [0.0, 0.5, 1.5, EPSILON])
def test_a_noisy_minimiser_has_the_divergence_that_is_charged(kind, epsilon):
    """δ of the two tables, with the solver's errors apart, by a sum over a fine grid."""
    pure = max(0.0, -math.expm1((epsilon - EPSILON) / 2))  # of Laplace noise
    most = gdp_delta(MU, epsilon) if kind == "Gaussian" else pure

    def divergence(planned):
        grid = np.linspace(-30 * planned.scale, 30 * planned.scale, 200_001)
        one, other = (noise_law(planned, pull, planned.solver).pdf(grid) for pull in (1.0, -1.0))
        return np.maximum(one - math.exp(epsilon) * other, 0).sum() * (grid[1] - grid[0])

    planned = NOISES[kind]
    assert 0.99 * most - 1e-9 <= divergence(planned) <= most + 1e-6
    assert divergence(replace(planned, scale=planned.scale / 2)) > most + 0.01  # control


def two_states(path, noise, epsilon, start_noise=0.0):
    """δ of start (or first state) and next state on a grid, each law depending on the last."""
    deviation = path.step_size * noise
    first = start_noise or deviation
    grid, after = np.linspace(-9 * first, 9 * first, 901), 9 * (deviation + first)
    after = np.linspace(-after, after, 1201)

    def density(pull):
        start = pull / (MANY * RIDGE) if start_noise else path.step_size * pull / MANY
        mean = grid - path.step_size * (RIDGE * grid - pull / MANY)
        place = norm.pdf(grid, start, first)
        return place[:, None] * norm.pdf(after[None], mean[:, None], deviation)

    one, other = density(1.0), density(-1.0)
    cell = (grid[1] - grid[0]) * (after[1] - after[0])
    assert one.sum() * cell == pytest.approx(1.0, abs=1e-6)
    return float(np.maximum(one - math.exp(epsilon) * other, 0).sum() * cell)


@pytest.mark.parametrize("epsilon", [0.2, 1.0])
@pytest.mark.parametrize("path", [PATH, BOTH.then], ids=["descent", "both phases"])
def test_both_phases_together_by_brute_force(path, epsilon):
    """Two states, or start and next state, with the noise of a path of as many at this cost."""
    start, plan = (0.0, PATH) if path is PATH else (BOTH.scale, BOTH)
    noise = path.noise * math.sqrt((1 if start else 2) / path.n_steps)
    found, most = two_states(path, noise, epsilon, start), gdp_delta(plan.mu, epsilon)
    assert 0.95 * most < found <= most * (1 + 1e-5)
    assert found > gdp_delta(0.9 * plan.mu, epsilon)  # control
    assert two_states(path, noise / 2, epsilon, start) > most + 0.001  # control


def test_start_and_steps_cost_what_is_charged_and_less_noise_costs_more():
    def price(plan):
        steps = math.sqrt(plan.then.n_steps) * 2 / MANY / plan.then.noise
        return math.hypot(2 / (MANY * RIDGE) / plan.scale, steps)

    assert math.sqrt(PATH.n_steps) * 2 / MANY / PATH.noise == pytest.approx(PATH.mu)
    assert 0.98 * BOTH.mu < price(BOTH) <= BOTH.mu <= MU
    assert price(replace(BOTH, scale=BOTH.scale / 2)) > MU
    assert price(replace(BOTH, then=replace(BOTH.then, noise=BOTH.then.noise / 2))) > MU
    assert math.hypot(2 / (MANY * RIDGE) / BOTH.scale, BOTH.then.mu) == pytest.approx(MU, rel=0.02)
    assert BOTH.start**2 == pytest.approx(BOTH.scale**2 + BOTH.solver**2)
    forget, pace = 1 - BOTH.then.step_size * RIDGE, BOTH.then.step_size
    weights = (forget ** -np.arange(1.0, BOTH.then.n_steps + 1)).sum()
    bound = BOTH.start**2 / (2 * pace * weights) + pace * BOTH.then.noise**2
    assert BOTH.excess == pytest.approx(bound)


def test_with_kinks_a_localised_descent_promises_much_more():
    request = request_of(n=20_000, loss="hinge", ridge=0.1, epsilon=1.0, ledger=True)
    names = ("localised_gaussian", "noisy_sgd", "output_perturbation")
    offer, *others = (MECHANISMS[name].plan(request) for name in names)
    assert offer.details.settings.then.rate == 1.0
    assert offer.guarantee.mu == pytest.approx(offer.details.settings.mu)
    assert (
        offer.excess_bound < others[0].excess_bound / 2
        and offer.excess_bound < others[1].excess_bound / 5
    )
    assert any("certified" in one for one in offer.guarantee.assumptions)


BOUND, RATE, NOISE, ROWS = 1.3, 0.3, 0.8, 4
STEP = sampled_plan.SampledDescent(RATE, 10, 0.1, BOUND, NOISE, 1.0, gdp(1.0))


def offer_of(**changed):
    return MECHANISMS["noisy_sgd"].plan(request_of(loss="hinge", row_norm=BOUND, **changed))


def step_law(first, rate=RATE):
    """Distribution function of a step's sum over BOUND, at 0: a mixture of two normals."""
    return lambda x: (1 - rate) * norm.cdf(x, 0, NOISE) + rate * norm.cdf(x, -first, NOISE)


@pytest.mark.parametrize("rate", [RATE, 1.0])
@pytest.mark.parametrize("first", [1.0, -1.0])
def test_a_step_has_its_law(first, rate):
    """One record pulls with all its might, the others not at all."""
    X, y = np.array([[BOUND], [0.0], [0.0], [0.0]]), np.array([first, 1.0, 1.0, 1.0])
    problem = Problem(X, y, loss="hinge", radius=2.0, row_norm=BOUND, intercept=False)
    step, rng = replace(STEP, rate=rate), np.random.default_rng(0)
    steps = (one_model.sampled_steps(problem, step, np.zeros(1), rng) for _ in range(2_000))
    sums = [next(each).gradient[0, 0] for each in steps]
    scaled = np.array(sums) * rate * ROWS / BOUND
    assert kstest(scaled, step_law(first, rate)).pvalue > 1e-3
    assert kstest(scaled, step_law(-first, rate)).pvalue < 1e-3  # control: the record is in it


@pytest.mark.parametrize("epsilon", [0.1, 0.5, 1.0])
def test_these_two_are_the_pair_that_is_paid_for_and_the_usual_relation_is_passed(epsilon):
    """δ of both tables' laws, by their masses on small cells."""
    pair = [np.diff(step_law(first)(np.linspace(-12, 12, 4001))) for first in (1.0, -1.0)]
    found = chains.delta(*pair, epsilon)
    paid = PoissonSampled(NOISE, RATE).delta(epsilon)
    assert 0.99 * paid < found <= paid + 1e-12
    assert found > PoissonSampled(NOISE, RATE, relation="add_or_remove").delta(epsilon)


@pytest.mark.parametrize("ledger", [False, True, 5.0, "zcdp"])
def test_what_is_charged_is_of_the_steps_that_run(ledger):
    offer = offer_of(ledger=ledger)
    planned, paid = offer.details.settings, offer.guarantee
    assert paid.epsilon(1e-5) <= 2.0 and planned.slope == pytest.approx(BOUND)
    assert paid.mu == pytest.approx(2 * math.sqrt(planned.n_steps) / planned.noise)
    if ledger == "zcdp":
        assert planned.rate == 1.0 and "ledger without a Rényi order" in offer.certificate
        return
    assert planned.rate < 1 and paid.epsilon(1e-5) > (1.75 if ledger else 1.98)
    curve = paid.curve
    assert (curve.sigma, curve.rate) == (planned.noise, planned.rate)
    assert (curve.steps, curve.relation) == (planned.n_steps, "replace")


def exact_divergence(sigma, order):
    """D_a of the two laws of a step of the plan, by quadrature of their densities."""
    x = np.linspace(-15, 25, 200_001)
    one, other = ((1 - 1 / 16) * norm.pdf(x) + norm.pdf(x, s / sigma) / 16 for s in (1, -1))
    more = other * ((one / other) ** order - 1 - order * (one / other - 1))
    return math.log1p(np.trapezoid(more, x)) / (order - 1)


def test_a_ledger_is_charged_the_divergence_of_the_steps_that_run(tmp_path):
    """At its one order, which is not that of the fit's own (ε, δ)."""
    ledger = Ledger.create(tmp_path / "l", epsilon=8.0, delta=1e-5)
    offer = offer_of(ledger=ledger.order)
    planned = offer.details.settings
    ledger.reserve(offer.guarantee, note="steps").start()
    (entry,) = ledger.entries()
    true = planned.n_steps * exact_divergence(planned.noise, ledger.order)
    assert 0.999 * entry.divergence.value < true <= entry.divergence.value
    assert entry.divergence.value <= ledger.order * zcdp_rho(2.0, 1e-5)
    own = filter_order(2.0, 1e-5)
    assert own > ledger.order
    assert planned.n_steps * exact_divergence(planned.noise, own) <= own * zcdp_rho(2.0, 1e-5)
    half = PoissonSampled(2 * planned.noise, planned.rate, planned.n_steps)
    assert half.renyi(ledger.order) < 0.3 * true  # the control: half a record's norm


@pytest.mark.parametrize("orders", [((8.0, 0.1), (22.0, 0.536)), ((8.0, 0.195), (22.0, 0.2))])
def test_sampled_steps_cost_no_more_than_asked_at_any_order(orders):
    noise, paid = sampled_plan.least_noise(1.0, 1e-6, orders=orders)
    costs = [paid.curve.renyi(order) / most for order, most in orders]
    assert 0.99 < max(costs) <= 1 and min(costs) < 0.6 and paid.curve.sigma == noise


@pytest.mark.parametrize("sampled", [False, True])
def test_a_ledger_admits_as_many_fits_on_sampled_rows_as_on_all(sampled, tmp_path):
    """One that came before is no reason to refuse a path of the same (ε, δ) that fitted without."""
    ledger = Ledger.create(tmp_path / "l", epsilon=6.0, delta=1e-5)
    path = gdp(math.sqrt(2 * zcdp_rho(2.0, 1e-5)) * (1 - 1e-9))
    ledger.reserve(offer_of(ledger=ledger.order).guarantee if sampled else path).start()
    count = 1
    while ledger.can_afford(path):
        ledger.reserve(path).start()
        count += 1
    assert count == 6 and ledger.spent() <= 6.0 * (1 + 1e-9)


def test_the_promise_by_hand():
    planned = offer_of().details.settings
    size = planned.rate * 2_000
    variance = 3 * (BOUND * planned.noise / size) ** 2 + (1 - planned.rate) * BOUND**2 / size
    square = BOUND**2 + variance
    assert planned.excess == pytest.approx(2.0 * math.sqrt(square / planned.n_steps))
    assert planned.pace == pytest.approx(2.0 / math.sqrt(planned.n_steps * square))


def exact_excess(bend, m, pace, variance, far, n_steps, after):
    """E ½·bend·‖θ̄‖² of the weighted mean, from a distance, of steps whose law is normal."""
    rise = 1 / pace + m * np.arange(n_steps) / 2
    weights, left = rise - m / 2, 1 - bend / rise
    kept = np.triu(np.ones((n_steps, n_steps)))  # of noise s in the state after step t
    for s in range(n_steps):
        kept[s, s + 1 :] = np.cumprod(left[s + 1 :])
    of_noise, of_start = kept / rise[:, None], np.cumprod(left)
    if not after:
        of_noise = np.column_stack([np.zeros(n_steps), of_noise[:, :-1]])
        of_start = np.append(1.0, of_start[:-1])
    weights /= weights.sum()
    spread = variance * np.sum((of_noise @ weights) ** 2)
    return bend / 2 * ((far * of_start @ weights) ** 2 + spread)


@crossed({"loss": ["hinge", "smoothed_hinge"], "ridge": [0.0, 0.1, 3.0], "variance": [0.01, 3e3]})
def test_the_bound_of_steps_covers_quadratic_losses_and_is_no_fancy(loss, ridge, variance):
    """Lemmas 2.5 and 2.6 of Bassily and others, with and without a smallest step."""
    known, smooth = constants_of(loss, ridge=ridge, radius=3.0), loss == "smoothed_hinge"
    for n_steps, far in itertools.product((5, 80, 400), (0.1, 2.0)):
        pace, bound = sampled_plan.best_steps(known, variance, far, n_steps)
        bends = {ridge, known.M if smooth else known.L / far} - {0.0}
        found = [
            exact_excess(one, ridge, pace, variance, far, n_steps, smooth) for one in sorted(bends)
        ]
        assert max(found) <= bound
        if variance > 1 and n_steps == 400 and ridge == 3 and far == 2:  # control
            less = sampled_plan.best_steps(known, variance / 10, far, n_steps)[1]
            assert max(found) > less
    assert sampled_plan.best_steps(known, variance, 2.0, 4_000)[1] < bound


def test_without_the_extra_all_rows_are_taken_and_it_says_so(monkeypatch):
    sampled = offer_of()
    monkeypatch.setattr(batches, "find_spec", lambda name: None)
    offer = offer_of()
    assert offer.details.settings.rate == 1.0 and ".[accounting]" in offer.certificate
    assert offer.excess_bound > sampled.excess_bound


def last_iterate_offer(n, radius, ridge, epsilon):
    numbers = {"n": n, "radius": radius, "ridge": ridge, "epsilon": epsilon}
    return MECHANISMS["last_iterate"].plan(request_of(**numbers, p=1, row_norm=1.0, delta=1e-3))


def alternating(first, n, radius, ridge):
    """Rows of 1 with labels in turn, of which the first pulls the one way or the other."""
    y = np.where(np.arange(n) % 2 == 0, 1.0, -1.0)
    y[0] = first
    return Problem(np.ones((n, 1)), y, radius=radius, ridge=ridge, intercept=False)


def last_law(problem, last):
    """Places on the interval, and masses of the last state."""
    places = np.linspace(-problem.domain.radius, problem.domain.radius, 401)
    means = places - last.pace * problem.value_and_gradient(places[None])[1][0]
    return places, chains.last_law(places, means, last.pace * last.noise, last.n_steps)


@pytest.mark.parametrize(
    ("n", "radius", "ridge", "epsilon"),
    [(10, 1.0, 0.0, 2.0), (30, 0.5, 1.0, 4.0), (30, 1.0, 0.1, 4.0)],
)
def test_the_law_of_the_last_state_keeps_its_price(n, radius, ridge, epsilon):
    offer = last_iterate_offer(n, radius, ridge, epsilon)
    tables = [alternating(y, n, radius, offer.ridge) for y in (1.0, -1.0)]
    mu, laws = offer.guarantee.mu, [last_law(one, offer.details.settings)[1] for one in tables]
    assert all(
        chains.delta(*laws, e) <= gdp_delta(mu, e) + 1e-9 for e in np.linspace(0.0, epsilon, 9)
    )
    if (n, ridge) != (30, 0.1):  # the control: at half of the price it is caught
        assert chains.delta(*laws, 0.5) > gdp_delta(mu / 2, 0.5)


@pytest.mark.parametrize("ridge", [0.0, 0.1])
def test_what_is_charged_is_the_certificate_of_the_chain_that_runs(ridge):
    offer = last_iterate_offer(50, 1.0, ridge, 2.0)
    last = offer.details.settings
    sampler = LangevinSampler(last.step_size, last.n_steps, n_chains=1, shown="last")
    target = GibbsTarget(alternating(1.0, 50, 1.0, offer.ridge), last.beta, psi=0.0)
    assert sampler.certificate(target).mu == pytest.approx(offer.guarantee.mu, rel=1e-9)
    assert math.sqrt(2 * last.step_size) == pytest.approx(last.pace * last.noise)
    assert last.step_size * last.beta == pytest.approx(last.pace)


def test_a_plan_draws_from_that_law():
    offer = last_iterate_offer(10, 1.0, 0.0, 2.0)
    problem, rng = alternating(1.0, 10, 1.0, offer.ridge), np.random.default_rng(0)
    mechanism = MECHANISMS["last_iterate"]
    draws = [mechanism.model(problem, offer, rng)[0] for _ in range(600)]
    places, law = last_law(problem, offer.details.settings)
    mean = float(law @ places)
    spread = math.sqrt(float(law @ (places - mean) ** 2))
    assert abs(np.mean(draws) - mean) < 4 * spread / math.sqrt(600)
    assert np.std(draws) == pytest.approx(spread, rel=0.1)


SAMPLED = {"n": 96, "radius": 1.0, "row_norm": 1.0, "delta": 1e-4}


@pytest.mark.parametrize(("ridge", "ledger"), [(0.0, False), (1.0, True)])
def test_a_last_state_on_sampled_rows_is_charged_as_the_chain_that_runs(ridge, ledger):
    asked = request_of(**SAMPLED, p=1, ridge=ridge, epsilon=2.0, ledger=ledger)
    offer = MECHANISMS["last_sampled_state"].plan(asked)
    planned, paid = offer.details.settings, offer.guarantee
    posed = alternating(1.0, 96, 1.0, offer.ridge)
    known = paper.chain(planned).certificate(GibbsTarget(posed, planned.beta, psi=0.0))
    assert planned.batch_size == 6 and paid.epsilon(1e-4) <= 2.0
    assert known.epsilon(1e-4) == pytest.approx(paid.epsilon(1e-4), rel=1e-4)
    assert known.epsilon(1e-4) <= paid.epsilon(1e-4)
    order, most = request.cost_at_order(2.0, 1e-4, True)
    spent = paid.curve.renyi(order) / most if ledger else paid.epsilon(1e-4) / 2.0
    assert 0.95 < spent <= 1  # the noise is hardly more than is needed
    assert planned.excess <= offer.excess_bound


def test_a_batch_larger_than_a_simulated_table_is_all_of_it():
    """At 1,600 rows a batch has 100, and the table on which a plan is tried may have fewer."""
    mechanism = MECHANISMS["last_sampled_state"]
    planned = mechanism.plan(request_of(**{**SAMPLED, "n": 1_600}, p=1, ledger=True))
    assert planned.details.settings.batch_size == 100 and planned.details.settings.rate == 1 / 16
    posed = alternating(1.0, 96, 1.0, planned.ridge)
    assert np.isfinite(mechanism.model(posed, planned, np.random.default_rng(0))).all()


def test_a_batch_errs_by_no_more_than_the_bound_counts_on():
    """The mean over all batches of the square distance of gradients, at the worst model."""
    asked = request_of(**{**SAMPLED, "n": 7}, p=1)
    posed = alternating(1.0, 7, 1.0, 0.0)
    theta = np.linspace(-1, 1, 21)[None]
    whole = posed.value_and_gradient(theta)[1]
    batches = [
        MinimisedObjective(posed.data.objective(posed.loss, np.array(rows)), 0.0)
        for rows in itertools.combinations(range(7), 3)
    ]
    square = np.mean([(one.value_and_gradient(theta)[1] - whole) ** 2 for one in batches], axis=0)
    bound = paper.sampling_error(asked.constants, asked.domain, 3)
    assert 0.25 * bound < square.max() <= bound


@pytest.mark.parametrize("ledger", [True, pytest.param(False, marks=pytest.mark.law)])
def test_sampled_rows_never_have_the_smaller_bound(ledger):
    """Why "auto" never selects them: all rows cost no more, and have no sampling error."""
    for n, epsilon, ridge in ((1_000, 0.5, 0.0), (100_000, 4.0, 0.1)):
        known = {"ridge": ridge, "epsilon": epsilon, "ledger": ledger}
        asked = request_of(**{**SAMPLED, "n": n}, p=8, **known)
        sampled, whole = (
            MECHANISMS[name].plan(asked) for name in ("last_sampled_state", "last_iterate")
        )
        assert sampled.excess_bound > 1.2 * whole.excess_bound
    assert not MECHANISMS["last_sampled_state"].traits.compared
    for change, why in (
        ({"delta": 0.0}, "delta"),
        ({"loss": "hinge"}, "kinks"),
        ({"in_chunks": True}, "chunked rows are summed, not sampled"),
        ({"ledger": "zcdp"}, "in a ledger without a Rényi order"),
    ):
        assert why in MECHANISMS["last_sampled_state"].plan(replace(asked, **change)).reason


def test_the_bound_of_the_last_state_by_hand():
    pace, m, square, start = 0.5, 0.4, 0.02, 3.0
    shrink = (1 - 0.2) / (1 + 0.2)
    by_hand = []
    for n_last in (1, 2, 3):
        far = start**2
        for _ in range(3 - n_last):
            far = shrink * far + 2 * pace**2 * square / 1.2
        sums = sum(1 / k for k in range(1, n_last + 1))
        by_hand.append(min(far, 25.0) / (2 * pace * n_last) + pace * square * sums)
    found = last_state_excess(pace, m, square, 3, start=start, diameter=5.0)
    assert found == pytest.approx(min(by_hand), rel=1e-12)


@pytest.mark.parametrize("bend", [0.1, 0.5, 2.0])
def test_quadratic_losses_keep_the_promise(bend):
    """½λθ² from a start D away, without an edge: mean and variance of every state are known."""
    pace, m, square, start = 0.5, 0.1, 0.02, 3.0
    mean, spread, shrink = start, 0.0, 1 - pace * bend
    for n_steps in range(1, 30):
        mean, spread = shrink * mean, shrink**2 * spread + pace**2 * square
        bound = last_state_excess(pace, m, square, n_steps, start=start, diameter=100.0)
        assert bend / 2 * (mean**2 + spread) <= bound
