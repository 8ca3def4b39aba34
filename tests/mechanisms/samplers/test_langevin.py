"""Langevin chains: closed forms, quadrature, and a path certificate that covers neighbours."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm

from rashomon_explorer.mechanisms.certificates.sensitivity import data_slope, gradient_sensitivity
from rashomon_explorer.mechanisms.langevin.accounting import path_guarantee
from rashomon_explorer.mechanisms.langevin.sampler import LangevinSampler
from rashomon_explorer.mechanisms.target import GibbsTarget
from rashomon_explorer.problem.problem import Problem
from rashomon_explorer.problem.thresholds import SmoothThreshold
from tests.mechanisms.samplers.laws import line_law, small_problem


def last(sampler, target, seed=0):
    return list(sampler.batches(target, np.random.default_rng(seed)))[-1]


def test_quadratic_loss_gives_the_euler_chain_of_an_ornstein_uhlenbeck_process():
    problem = small_problem(2, "squared", radius=50.0, n=300)
    beta, h, steps = 200.0, 0.01, 40
    target = GibbsTarget(problem, beta, psi=0.0)
    sampler = LangevinSampler(step_size=h, n_steps=steps, n_chains=40_000, thin=steps)
    eigenvalues, vectors = np.linalg.eigh(problem.hessian(problem.minimum.theta))
    states = vectors.T @ (last(sampler, target).theta - problem.minimum.theta[:, None])
    start = -vectors.T @ problem.minimum.theta
    contraction = 1 - h * beta * eigenvalues
    mean = start * contraction**steps
    variance = 2 * h * (1 - contraction ** (2 * steps)) / (1 - contraction**2)
    error = np.sqrt(variance / 40_000)
    assert (np.abs(states.mean(axis=1) - mean) < 5 * error).all()
    np.testing.assert_allclose(states.var(axis=1), variance, rtol=0.04)
    stationary = 1 / (beta * eigenvalues * (1 - h * beta * eigenvalues / 2))
    np.testing.assert_allclose(variance, stationary, rtol=0.2)


@pytest.mark.parametrize(
    ("radius", "scale", "step_size", "n_steps", "bias"),
    [
        pytest.param(4.0, 1.0, 3e-4, 2000, 0.02, id="inside", marks=pytest.mark.law),
        # Projection leaves a mass of order √h on the sphere.
        pytest.param(0.7, 4.0, 1e-4, 800, 0.05, id="sphere"),
    ],
)
def test_one_parameter_chains_approach_the_smooth_threshold_law(
    radius, scale, step_size, n_steps, bias
):
    target = GibbsTarget(small_problem(1, radius=radius, scale=scale), 60.0, 0.02, "smooth")
    start = tuple(target.problem.minimum.theta)  # nothing is promised here, and it saves a burn-in
    sampler = LangevinSampler(
        step_size=step_size, n_steps=n_steps, n_chains=2000, thin=n_steps, start=start
    )
    draws = np.sort(last(sampler, target).theta[0])
    places, probabilities = line_law(target)
    exact = np.interp(draws, places, np.cumsum(probabilities))
    distance = np.abs(exact - (np.arange(2000) + 0.5) / 2000).max()
    assert distance < 1.95 / np.sqrt(2000) + bias  # Kolmogorov at 0.1 %, and the step's own


def test_a_chain_at_the_wrong_temperature_is_told_apart():
    problem = small_problem(1, radius=4.0)
    sampler = LangevinSampler(step_size=1.5e-3, n_steps=500, n_chains=2000, thin=500)
    draws = np.sort(last(sampler, GibbsTarget(problem, 10.0, 0.02, "smooth")).theta[0])
    places, probabilities = line_law(GibbsTarget(problem, 60.0, 0.02, "smooth"))
    exact = np.interp(draws, places, np.cumsum(probabilities))
    assert np.abs(exact - (np.arange(2000) + 0.5) / 2000).max() > 0.08


def neighbours(seed, loss, ridge, radius):
    """Two problems that differ in one extreme record."""
    rng = np.random.default_rng(seed)
    n, p = int(rng.integers(2, 30)), int(rng.integers(1, 4))
    X = rng.standard_normal((n, p))
    y = rng.choice([-1.0, 1.0], n)
    other_X, other_y = X.copy(), y.copy()
    X[0] *= 100
    other_X[0], other_y[0] = rng.choice([-1.0, 1.0]) * X[0], -y[0]
    setting = {"loss": loss, "radius": radius, "ridge": ridge, "intercept": False}
    return Problem(X, y, **setting), Problem(other_X, other_y, **setting), rng


@given(
    seed=st.integers(0, 2**32 - 1),
    loss=st.sampled_from(["logistic", "squared"]),
    setting=st.sampled_from([(0.0, 1.0), (0.0, 4.0), (1.5, 2.0), (4.0, 3.0)]),
    psi=st.sampled_from([0.0, 0.01, 0.1]),
    width=st.sampled_from([0.0, 0.005, 0.05, 1.0]),
)
@settings(max_examples=150)
def test_the_gradient_never_moves_more_than_its_sensitivity(seed, loss, setting, psi, width):
    ridge, radius = setting
    one, other, rng = neighbours(seed, loss, ridge, radius)
    shape = SmoothThreshold(width) if width else "hard"
    theta = one.domain.project(rng.standard_normal((one.p, 300)) * radius * rng.random(300))
    gradients = [GibbsTarget(q, 1.0, psi, shape).gradient(theta) for q in (one, other)]
    moved = np.linalg.norm(gradients[0] - gradients[1], axis=0).max()
    pull, slope = ridge * radius, data_slope(one.constants, one.domain)
    for interior in {False, pull > 0 and pull >= one.L - pull}:
        bound = gradient_sensitivity(
            one.constants, psi, width=width, interior=interior, data_slope=slope
        )
        assert moved <= bound * (1 + 1e-9)


def test_a_quarter_of_the_sensitivity_would_be_caught():
    worst = 0.0
    for seed in range(200):
        one, other, rng = neighbours(seed, "logistic", 0.0, 4.0)
        theta = one.domain.project(rng.standard_normal((one.p, 300)) * 4)
        shape = SmoothThreshold(0.05)
        moved = GibbsTarget(one, 1.0, 0.01, shape).gradient(theta)
        moved = np.linalg.norm(moved - GibbsTarget(other, 1.0, 0.01, shape).gradient(theta), axis=0)
        worst = max(worst, moved.max() / gradient_sensitivity(one.constants, 0.01, width=0.05))
    assert 0.25 < worst <= 1


def gaussian_delta(mu, epsilon):
    return norm.cdf(-epsilon / mu + mu / 2) - np.exp(epsilon) * norm.cdf(-epsilon / mu - mu / 2)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
def test_the_path_guarantee_covers_the_exact_privacy_of_its_gaussian_steps(epsilon):
    settings = {"beta": 50.0, "sensitivity": 0.02, "step_size": 1e-2, "n_steps": 300}
    mu = 50.0 * 0.02 * np.sqrt(300 * 1e-2 / 2)
    claimed = path_guarantee(**settings).delta(epsilon)
    assert gaussian_delta(mu, epsilon) <= claimed
    # Lemma 3.1 as printed would halve the noise that this δ needs.
    halved = path_guarantee(**{**settings, "sensitivity": 0.01}).delta(epsilon)
    assert halved < gaussian_delta(mu, epsilon)


def test_longer_paths_and_more_chains_cost_more_and_prefixes_less():
    common = {"beta": 10.0, "sensitivity": 0.01, "step_size": 1e-3}
    rhos = [path_guarantee(**common, n_steps=steps).rho for steps in (1, 10, 100)]
    assert rhos[0] < rhos[1] < rhos[2]
    many = path_guarantee(**common, n_steps=100, n_chains=64)
    assert many.rho == pytest.approx(64 * rhos[2])
    assert not np.isfinite(many.epsilon(0.0))


def test_the_certificate_is_that_of_the_steps_that_run():
    problem = small_problem(2, radius=2.0, n=500, ridge=0.6)
    target = GibbsTarget(problem, 100.0, 0.02, "smooth")
    sampler = LangevinSampler(step_size=1e-4, n_steps=200, n_chains=3)
    delta = gradient_sensitivity(
        problem.constants,
        0.02,
        width=0.01,
        interior=True,
        data_slope=data_slope(problem.constants, problem.domain),
    )
    assert sampler.certificate(target).rho == pytest.approx(3 * (100 * delta) ** 2 * 0.02 / 4)
    assert "path of 200" in str(sampler.certificate(target))


def test_states_stay_in_the_ball_and_repeat_with_the_seed():
    target = GibbsTarget(small_problem(3, radius=0.3), 5.0, 0.02, "smooth")
    sampler = LangevinSampler(step_size=1e-2, n_steps=30, n_chains=50, thin=10)
    batches = list(sampler.batches(target, np.random.default_rng(1)))
    assert len(batches) == 3
    assert all(np.linalg.norm(b.theta, axis=0).max() <= 0.3 + 1e-12 for b in batches)
    np.testing.assert_array_equal(batches[-1].theta, last(sampler, target, seed=1).theta)
    np.testing.assert_allclose(batches[0].losses, target.problem.value(batches[0].theta))


def test_steps_that_would_not_be_stable_are_refused():
    target = GibbsTarget(small_problem(2), 1000.0, 0.02, "smooth")
    with pytest.raises(ValueError, match=r"step_size 0\.1 is too large .* use at most"):
        next(LangevinSampler(0.1, 10).batches(target, np.random.default_rng(0)))


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"step_size": 0.0, "n_steps": 1}, "step_size must be finite and > 0"),
        ({"step_size": 1e-3, "n_steps": 0}, "n_steps must be a whole number, at least 1"),
        (
            {"step_size": 1e-3, "n_steps": 1, "n_chains": 0},
            "n_chains must be a whole number, at least 1",
        ),
        ({"step_size": 1e-3, "n_steps": 1, "thin": 0}, "thin must be a whole number, at least 1"),
        ({"step_size": 1e-3, "n_steps": 5, "burn_in": 5}, "burn_in must be from 0 to n_steps"),
        ({"step_size": 1e-3, "n_steps": 1, "precision": "half"}, "precision must be one of"),
        ({"step_size": 1e-3, "n_steps": 1, "shown": "all"}, "shown must be one of"),
    ],
)
def test_settings_that_make_no_chain_are_refused(setting, message):
    with pytest.raises(ValueError, match=message):
        LangevinSampler(**setting)


@given(
    epsilon=st.floats(0.05, 20.0),
    delta=st.sampled_from([1e-9, 1e-6, 1e-3]),
    beta=st.floats(1.0, 500.0),
    chains=st.integers(1, 8),
)
@settings(max_examples=40)
def test_a_budget_is_spent_almost_whole_and_never_passed(epsilon, delta, beta, chains):
    problem = small_problem(2, radius=2.0, n=2000, ridge=0.6)
    target = GibbsTarget(problem, beta, 0.02, "smooth")
    try:
        sampler = LangevinSampler.for_budget(target, epsilon=epsilon, delta=delta, n_chains=chains)
    except ValueError as error:
        assert "less than one step" in str(error)
        one = LangevinSampler(0.5 * 2 / (beta * (problem.M + problem.L**2 / 0.01)), 1, chains)
        assert one.certificate(target).epsilon(delta) > epsilon * (1 - 1e-9)
    else:
        spent = sampler.certificate(target).epsilon(delta)
        assert spent <= epsilon
        assert replace(sampler, n_steps=sampler.n_steps + 1).certificate(target).epsilon(
            delta
        ) > epsilon * (1 - 1e-9)


def test_budgets_that_make_no_path_are_refused():
    target = GibbsTarget(small_problem(2), 10.0, 0.02, "smooth")
    with pytest.raises(ValueError, match=r"delta must be in \(0, 1\)"):
        LangevinSampler.for_budget(target, epsilon=1.0, delta=0.0)
    with pytest.raises(ValueError, match="pace must be in"):
        LangevinSampler.for_budget(target, epsilon=1.0, delta=1e-6, pace=2.0)
    with pytest.raises(ValueError, match="less than one step"):
        LangevinSampler.for_budget(
            GibbsTarget(small_problem(2, n=10), 1e4, 0.02), epsilon=1e-3, delta=1e-9
        )


@pytest.mark.parametrize("m", [0.0, 0.5, 40.0])
def test_averages_are_the_weighted_mean_of_the_states(m):
    target = GibbsTarget(small_problem(2), 20.0, 0.02, "smooth")
    sampler = LangevinSampler(step_size=1e-3, n_steps=60, n_chains=4)
    states = np.array(list(sampler.states(target, np.random.default_rng(3))))
    weighed = np.concatenate([np.zeros_like(states[:1]), states[:-1]])  # from the start on
    times = 1e-3 * np.arange(60)
    expected = np.average(weighed, axis=0, weights=np.exp(m * 20.0 * times))
    averaged = sampler.average(target, np.random.default_rng(3), m=m)
    np.testing.assert_allclose(averaged, expected, rtol=1e-10, atol=1e-12)


@pytest.mark.law
def test_the_average_of_a_convex_path_keeps_its_excess_bound():
    problem = small_problem(5, radius=1.0, n=200, scale=2.0)
    beta, h, steps = 40.0, 2e-3, 400
    target = GibbsTarget(problem, beta, psi=0.0)
    sampler = LangevinSampler(step_size=h, n_steps=steps, n_chains=200)
    averaged = sampler.average(target, np.random.default_rng(0))
    excess = problem.value(averaged) - problem.minimum.value
    start = float(problem.minimum.theta @ problem.minimum.theta)
    bound = 5 / beta + start / (2 * beta * steps * h) + h * beta * problem.L**2 / 2
    assert excess.mean() <= bound
    last_excess = target.excess(last(sampler, target).theta)
    assert excess.mean() < last_excess.mean()


def test_averages_refuse_negative_convexity():
    sampler = LangevinSampler(1e-3, 2)
    with pytest.raises(ValueError, match="m must be finite and >= 0"):
        sampler.average(GibbsTarget(small_problem(1), 1.0, 0.0), np.random.default_rng(0), m=-1)


def test_a_path_can_go_on_where_it_was_left():
    target = GibbsTarget(small_problem(2), 20.0, 0.02, "smooth")
    sampler = LangevinSampler(step_size=1e-3, n_steps=10, n_chains=4)
    rng = np.random.default_rng(0)
    first = list(sampler.states(target, rng))[-1]
    whole = replace(sampler, n_steps=20).states(target, np.random.default_rng(0))
    np.testing.assert_array_equal(list(sampler.states(target, rng, first))[-1], list(whole)[-1])
    with pytest.raises(ValueError, match=r"first must hold a state per chain, shape \(2, 4\)"):
        sampler.states(target, rng, first[:, :2])


def test_burn_in_and_thinning_choose_what_is_shown_and_all_is_paid():
    target = GibbsTarget(small_problem(2), 20.0, 0.02, "smooth")
    plain = LangevinSampler(step_size=1e-3, n_steps=20, n_chains=3)
    states = list(plain.states(target, np.random.default_rng(0)))
    shown = replace(plain, burn_in=7, thin=5)
    batches = list(shown.batches(target, np.random.default_rng(0)))
    for batch, step in zip(batches, (12, 17, 20), strict=True):
        np.testing.assert_array_equal(batch.theta, states[step - 1])
    assert [batch.evaluated for batch in batches] == [3 * 13, 3 * 6, 3 * 4]
    assert shown.certificate(target) == plain.certificate(target)
    averaged = shown.average(target, np.random.default_rng(0))
    np.testing.assert_allclose(averaged, np.mean(states[6:-1], axis=0))


def test_chains_begin_where_no_row_has_been():
    target = GibbsTarget(small_problem(2, radius=1.0), 20.0, 0.02, "smooth")
    sampler = LangevinSampler(1e-12, 1, n_chains=2, start=(3.0, 0.0))
    (state,) = sampler.states(target, np.random.default_rng(0))
    np.testing.assert_allclose(state, [[1.0, 1.0], [0.0, 0.0]], atol=1e-4)  # projected
    assert "the chains start is public" in sampler.certificate(target).assumptions[-1]
    at_zero = LangevinSampler(1e-12, 1, n_chains=2).certificate(target).assumptions
    assert len(sampler.certificate(target).assumptions) == len(at_zero) + 1
    with pytest.raises(ValueError, match="start must hold 2 parameters, got 1"):
        next(LangevinSampler(1e-3, 1, start=[0.0]).batches(target, np.random.default_rng(0)))
    with pytest.raises(ValueError, match="start must hold finite numbers"):
        LangevinSampler(1e-3, 1, start=[np.nan])


class TestLastState:
    target = GibbsTarget(small_problem(2, radius=2.0, n=500), 100.0, 0.02, "smooth")

    def test_it_alone_is_shown_and_costs_less_than_a_long_path(self):
        sampler = LangevinSampler(1e-4, 50, n_chains=4, shown="last")
        path = replace(sampler, shown="path")
        (batch,) = sampler.batches(self.target, np.random.default_rng(0))
        whole = list(path.states(self.target, np.random.default_rng(0)))
        np.testing.assert_array_equal(batch.theta, whole[-1])
        assert sampler.certificate(self.target).mu <= path.certificate(self.target).mu
        longer = [replace(s, n_steps=10**9).certificate(self.target) for s in (sampler, path)]
        assert longer[0].mu < 0.01 * longer[1].mu

    def test_nothing_else_of_the_path_is(self):
        sampler = LangevinSampler(1e-4, 5, shown="last")
        for ask in (sampler.states, sampler.average):
            with pytest.raises(ValueError, match="only its last state is accounted for"):
                ask(self.target, np.random.default_rng(0))
        with pytest.raises(ValueError, match="fixed in advance"):
            sampler.certificate(self.target, n_steps=3)

    def test_a_strongly_convex_energy_forgets_by_its_contraction(self):
        problem = small_problem(1, "squared", radius=50.0, n=300, ridge=0.5)
        target = GibbsTarget(problem, 10.0, 0.0)
        h = 0.5 / (10.0 * problem.M)
        found = LangevinSampler(h, 500, n_chains=1, shown="last").certificate(target)
        c = 1 - h * 10.0 * 0.5
        shift = h * 10.0 * data_slope(problem.constants, problem.domain)
        assert found.mu == pytest.approx(shift * np.sqrt((1 + c) / (1 - c) / (2 * h)), rel=1e-3)

    @pytest.mark.parametrize(
        ("threshold", "step_size", "message"),
        [
            ("hard", 1e-4, "a hard threshold or a loss with kinks"),
            ("smooth", 10.0, "step_size must be at most"),
        ],
    )
    def test_steps_that_do_not_contract_have_no_certificate(self, threshold, step_size, message):
        target = GibbsTarget(self.target.problem, 100.0, 0.02, threshold)
        sampler = LangevinSampler(step_size, 5, shown="last")
        with pytest.raises(ValueError, match=message):
            sampler.certificate(target)
        with pytest.raises(ValueError, match=message):
            next(sampler.batches(target, np.random.default_rng(0)))


@given(n_steps=st.integers(0, 20))
def test_a_path_that_was_stopped_costs_the_steps_that_ran(n_steps):
    target = GibbsTarget(small_problem(2), 20.0, 0.02, "smooth")
    sampler = LangevinSampler(1e-3, 20, n_chains=2)
    found = sampler.certificate(target, n_steps=n_steps).mu
    assert found == pytest.approx(sampler.certificate(target).mu * np.sqrt(n_steps / 20))
    with pytest.raises(ValueError, match="n_steps must be from 0 to 20"):
        sampler.certificate(target, n_steps=21)
