"""Noisy paths: gradients and what a record moves of them, exact laws, chains, and plans."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rashomon_explorer.mechanisms import (
    MECHANISMS,
    LangevinSampler,
    explain,
    noisy_descent,
    plan_path,
)
from rashomon_explorer.mechanisms.base import collect
from rashomon_explorer.mechanisms.bounds import accelerated_path_excess
from rashomon_explorer.mechanisms.certificates.sensitivity import (
    data_lipschitz,
    data_slope,
    gradient_sensitivity,
)
from rashomon_explorer.mechanisms.langevin import batch_accounting, gradients
from rashomon_explorer.mechanisms.langevin import plan as plans
from rashomon_explorer.mechanisms.langevin.mechanism import Langevin, LangevinClipped, path_schedule
from rashomon_explorer.mechanisms.request import Request
from rashomon_explorer.mechanisms.target import GibbsTarget
from rashomon_explorer.privacy.composition import adaptive_epsilon
from rashomon_explorer.privacy.conversions import gdp_delta, gdp_mu
from rashomon_explorer.privacy.tradeoff import Gaussian, Subsampled
from rashomon_explorer.problem.losses import SoftmaxLoss, clipped
from rashomon_explorer.problem.problem import Problem
from rashomon_explorer.problem.thresholds import GaussianThreshold, SmoothThreshold
from tests.mechanisms import chains
from tests.mechanisms.builders import by_settings, constants_of
from tests.mechanisms.samplers.laws import line_law, small_problem

CHAIN = {"beta": 20.0, "sensitivity": 0.05, "step_size": 1e-2, "n_steps": 40}


def last_guarantee(**changes):
    return noisy_descent.last_iterate_guarantee(**{**CHAIN, "contraction": 0.9, **changes})


@given(
    contraction=st.floats(0.01, 1.0),
    n_steps=st.integers(1, 2000),
    shift=st.floats(1e-3, 1.0),
    h=st.floats(1e-4, 1.0),
)
def test_a_linear_chain_attains_the_contracted_bound(contraction, n_steps, shift, h):
    """θ ← cθ ± s/2 + √(2h)ξ: both last states are normal, s·Σcʲ apart."""
    powers = contraction ** np.arange(n_steps)
    exact = shift * powers.sum() / np.sqrt(2 * h * (powers**2).sum())
    chain = {"beta": 1.0, "sensitivity": shift / h, "step_size": h, "n_steps": n_steps}
    assert last_guarantee(**chain, contraction=contraction).mu == pytest.approx(exact, rel=1e-9)


@pytest.mark.parametrize("n_steps", [5, 40, 300])
def test_a_projected_chain_keeps_the_bound_of_a_bounded_domain(n_steps):
    """Linear losses of slope ±Δ/2 on an interval: nothing contracts but the ends."""
    radius, h, beta, sensitivity = 0.5, 1e-2, 10.0, 1.0
    shift, deviation = h * beta * sensitivity, math.sqrt(2 * h)
    places = np.linspace(-radius, radius, 603)
    laws = [chains.last_law(places, places + s * shift / 2, deviation, n_steps) for s in (1, -1)]
    chain = {"beta": beta, "step_size": h, "n_steps": n_steps, "contraction": 1.0}
    claimed = last_guarantee(**chain, sensitivity=sensitivity, diameter=2 * radius)
    halved = last_guarantee(**chain, sensitivity=sensitivity / 4, diameter=radius / 2)
    deltas = {e: chains.delta(*laws, e) for e in (0.0, 0.3, 1.0, 2.0)}
    assert all(exact <= claimed.delta(e) + 1e-9 for e, exact in deltas.items())
    assert any(exact > halved.delta(e) for e, exact in deltas.items())


def test_extremes_of_the_last_state():
    assert last_guarantee(n_steps=0).mu == 0
    assert last_guarantee(contraction=0.0).mu == pytest.approx(1e-2 * 20 * 0.05 / math.sqrt(2e-2))
    near, flat = (last_guarantee(contraction=one).mu for one in (1 - 1e-15, 1.0))
    assert near == pytest.approx(flat)
    assert last_guarantee(sensitivity=0.0, diameter=1.0).mu == 0


SHIFT = 2.0  # of a step, in deviations of its noise


def batches(c, n_batches, steps, diameter=math.inf):
    """μ² of the last state over batches in turn."""
    found = batch_accounting.last_batch_state_guarantee(
        shift=SHIFT, n_steps=steps, n_batches=n_batches, contraction=c, diameter=diameter
    )
    return found.mu**2


def schedule_cost(c, visits, steps):
    """Squares of the proof's schedule, which must make up for everything and for nothing more."""
    *before, latest = visits
    moves = np.zeros(steps + 1)
    if before:
        span = np.arange(before[0], latest)
        due = sum(SHIFT * c ** (latest - 1 - t) for t in before)
        weights = c ** (latest - 1.0 - span)
        moves[span] = due * weights / (weights**2).sum()
    moves[latest] = SHIFT
    apart = 0.0
    for t in range(1, steps + 1):
        apart = c * apart + SHIFT * (t in visits) - moves[t]
        assert apart >= -1e-9
    assert apart == pytest.approx(0, abs=1e-9)
    return float((moves**2).sum())


@pytest.mark.parametrize("c", [1.0, 0.999, 0.9, 0.4])
@pytest.mark.parametrize("n_batches", [1, 2, 7])
def test_no_place_of_a_record_costs_more_and_the_last_costs_all_of_it(c, n_batches):
    for steps in [1, n_batches, n_batches + 1, 5 * n_batches, 6 * n_batches - 1]:
        places = [[*range(place, steps + 1, n_batches)] for place in range(1, n_batches + 1)]
        worst = max(schedule_cost(c, visits, steps) for visits in places if visits)
        assert worst == pytest.approx(batches(c, n_batches, steps))


def test_early_epochs_in_the_limit_of_no_contraction():
    assert batch_accounting._earlier_epochs(1.0, 5, 11) == pytest.approx(2.0)
    assert batches(1 - 1e-13, 5, 55) == pytest.approx(batches(1.0, 5, 55))


def test_a_bounded_domain_ends_what_a_path_costs():
    found = [batches(1.0, 10, 10 * epochs, diameter=6.0) for epochs in (1, 5, 50, 5000)]
    assert found[0] == pytest.approx(SHIFT**2) and found[1] < found[2]
    assert found[3] == pytest.approx(SHIFT**2 + (6.0 + 3 * SHIFT) ** 2 / (3 * 10))
    assert found[3] == pytest.approx(found[2]) and found[3] < batches(1.0, 10, 50_000)
    # The schedule of the proof: D apart at the start, k visits, equal moves, never below nothing.
    apart, k, n_batches = 6.0, 3, 10
    move = (6.0 + k * SHIFT) / (k * n_batches)
    for t in range(k * n_batches):
        apart += SHIFT * (t % n_batches == 0) - move
        assert apart >= -1e-9
    assert apart == pytest.approx(0, abs=1e-9)


def rows(first):
    """Squared loss on one column, far inside its ball: every step is linear."""
    targets = np.array([first, 0.2, -0.1, 0.3, 0.0, -0.3])
    return Problem(np.ones((6, 1)), targets, loss="squared", radius=50.0, intercept=False)


@pytest.mark.parametrize("n_steps", [1, 3, 6, 7, 60])
def test_linear_chains_keep_their_certificate_and_half_of_it_is_caught(n_steps):
    """Mean and variance of the last state by recursion, for every order of the batches."""
    sampler = LangevinSampler(0.01, n_steps, n_chains=1, batch_size=2, shown="last")
    targets = [GibbsTarget(rows(y), 40.0, 0.0) for y in (1.0, -1.0)]
    claimed = sampler.certificate(targets[0])
    found = 0.0
    for seed in range(12):
        ends = []
        for target in targets:
            gradient = gradients.BatchDrift(target, 2).run(np.random.default_rng(seed))
            mean, spread = np.zeros((1, 1)), 0.0
            for _ in range(n_steps):
                stretched = gradient(np.hstack([mean, mean + 1]))
                slope = float(stretched[0, 1] - stretched[0, 0])
                mean = mean - 0.01 * stretched[:, :1]
                spread = spread * (1 - 0.01 * slope) ** 2 + 2 * 0.01
            ends.append((float(mean[0, 0]), spread))
        found = max(found, abs(ends[0][0] - ends[1][0]) / math.sqrt(ends[0][1]))
    # Two targets are 2 apart; Δ counts on any two in the whole ball, which are farther.
    reach = claimed.mu * 2 / (gradients.BatchDrift(targets[0], 2).sensitivity(1) * 2)
    assert found <= reach * (1 + 1e-9)
    assert found > (0.7 if n_steps < 10 else 0.3) * reach  # these contract, and c = 1 is claimed
    if n_steps < 10:  # the control: half of the price would be broken
        assert gdp_delta(found, 0.1) > gdp_delta(reach / 2, 0.1)


class Batch:
    """A generator whose only batch is given."""

    def __init__(self, rows):
        self.rows = np.array(rows)

    def choice(self, n, size, *, replace, shuffle):
        assert len(self.rows) == size <= n and not replace
        return self.rows


def sampled_law(problem, beta, sampler):
    """Law of the last state on an interval: a step is the mean of those of all batches."""
    end, deviation = problem.domain.radius, math.sqrt(2 * sampler.step_size)
    places, size = np.linspace(-end, end, 301), sampler.batch_size
    drift = gradients.SampledDrift(GibbsTarget(problem, beta, 0.0), size)
    kernels = []
    for rows in itertools.combinations(range(problem.n), size):
        means = places - sampler.step_size * drift.run(Batch(rows))(places[None])[0]
        kernels.append(chains.kernel(places, means, deviation))
    return np.linalg.matrix_power(np.mean(kernels, axis=0), sampler.n_steps)[len(places) // 2]


@pytest.mark.parametrize(
    ("n_steps", "ridge", "radius", "size"),
    [(1, 0.0, 1.0, 1), (2, 0.0, 1.0, 2), (40, 0.0, 0.4, 1), (40, 4.0, 1.0, 1)],
)
def test_sampled_chains_keep_their_certificate_and_half_of_the_noise_is_caught(
    n_steps, ridge, radius, size
):
    """Five rows, the label of one changes; every batch of the code that runs."""
    step_size, beta = 0.01, 6.0 * size
    sampler = LangevinSampler(
        step_size, n_steps, n_chains=1, batch_size=size, batch_order="sampled", shown="last"
    )
    posed = {"radius": radius, "ridge": ridge, "intercept": False, "row_norm": 1.0}
    problems = [Problem(np.ones((5, 1)), [y, -1, 1, -1, 1], **posed) for y in (1, -1)]
    laws = [sampled_law(problem, beta, sampler) for problem in problems]
    target = GibbsTarget(problems[0], beta, 0.0)
    claimed = sampler.certificate(target)
    epsilons = (0.0, 0.2, 0.5, 1.0)
    assert all(chains.delta(*laws, e) <= claimed.delta(e) + 1e-9 for e in epsilons)
    known = gradients.SampledDrift(target, size)._in_noise(step_size, 1)
    # At 0 the two gradients are L₀ apart, and 2L₀ is claimed: a quarter is half of what is true.
    half = {**known, "shift": known["shift"] / 4, "diameter": known["diameter"] / 4}
    less = batch_accounting.last_sampled_state_guarantee(rate=size / 5, n_steps=n_steps, **half)
    assert any(chains.delta(*laws, e) > less.delta(e) for e in epsilons)


def test_batches_are_drawn_anew_without_replacement_and_all_chains_share_them():
    target = GibbsTarget(rows(1.0), 40.0, 0.0)
    gradient = gradients.SampledDrift(target, 2).run(np.random.default_rng(0))
    seen = np.array([gradient(np.zeros((1, 3)))[0] for _ in range(3_000)])
    assert (seen == seen[:, :1]).all()
    pairs = [-40.0 * np.mean(pair) for pair in itertools.combinations(rows(1.0).targets, 2)]
    found, expected = (
        np.unique(np.round(one, 9), return_counts=True) for one in (seen[:, 0], pairs)
    )
    assert found[0] == pytest.approx(expected[0])
    assert found[1] / 3_000 == pytest.approx(expected[1] / 15, abs=0.03)
    sampler = LangevinSampler(0.01, 9, n_chains=4, batch_size=2, batch_order="sampled")
    one = replace(sampler, n_chains=1).certificate(target)
    many = sampler.certificate(target)
    assert many.mu == pytest.approx(2 * one.mu)
    assert many.curve.parts == ((Subsampled(Gaussian(many.mu / 3), 1 / 3), 9),)
    step = replace(sampler, n_steps=1)  # its last state is its path, and is held to exact laws
    last = replace(step, shown="last").certificate(target).mu
    assert step.certificate(target).mu == pytest.approx(last)
    in_turn = replace(sampler, batch_order="in_turn", shown="last")
    one, many = (replace(in_turn, n_chains=k).certificate(target).mu for k in (1, 4))
    assert many == pytest.approx(2 * one)


ANY_PLAN = {
    "n": st.sampled_from([100, 6_000, 50_000, 10**6]), "p": st.integers(1, 60),
    "psi": st.sampled_from([0.0, 0.005, 0.02, 0.3]), "radius": st.floats(0.1, 20.0),
    "row_norm": st.floats(0.2, 3.0), "epsilon": st.floats(0.05, 20.0),
    "delta": st.sampled_from([1e-9, 1e-6, 1e-3]), "n_draws": st.integers(1, 100),
    "max_steps": st.sampled_from([1, 50, 10_000]),
}  # fmt: skip


@given(**ANY_PLAN)
@settings(max_examples=80)
def test_the_budget_is_kept(n, p, psi, max_steps, **public):
    planned = plan_path(n, p, psi, max_steps=max_steps, **public)
    assert planned.guarantee.epsilon(public["delta"]) <= public["epsilon"]
    assert 1 <= planned.details.n_steps <= max_steps
    assert planned.eta == math.inf and planned.hit_rate_bound == 0.0


@pytest.mark.parametrize("psi", [0.0, 0.02])
@pytest.mark.parametrize("max_steps", [100, 10_000])
def test_no_other_temperature_time_and_width_promise_much_more(psi, max_steps):
    n, p, radius, budget = 50_000, 11, 4.0, {"epsilon": 1.0, "delta": 1e-6}
    planned = plan_path(n, p, psi, radius=radius, row_norm=1.5, max_steps=max_steps, **budget)
    constants = constants_of(n=n, p=p, radius=radius, row_norm=1.5)
    best, mu = math.inf, gdp_mu(1.0, 1e-6)
    for width in [0.0] if psi == 0 else np.geomspace(1e-3, 10, 60):
        delta = gradient_sensitivity(constants, psi, width=width)
        bend = constants.M + (constants.L**2 / width if width else 0)
        for beta in np.geomspace(1, 1e6, 120):
            time = 2 * mu**2 / (beta * delta) ** 2
            if 4 * bend * beta * time >= (max_steps + 1) ** 2:
                continue  # not stable
            law = {"p": p, "beta": beta, "distance": radius, "psi": psi, "width": width}
            path = {"M": bend, "step_size": time / max_steps, "n_steps": max_steps}
            best = min(best, accelerated_path_excess(**law, **path))
    assert planned.excess_bound <= 1.12 * best


PUBLIC = {"radius": 4.0, "row_norm": 1.5, "epsilon": 1.0, "delta": 1e-6}


@pytest.mark.parametrize("ledger", [False, True])
def test_a_ledger_takes_what_was_planned_for_it(ledger):
    planned = plan_path(50_000, 11, 0.02, ledger=ledger, **PUBLIC)
    assert (adaptive_epsilon([planned.guarantee], 1e-6) <= 1.0) == ledger


def last(sampler, target, seed=0):
    return list(sampler.batches(target, np.random.default_rng(seed)))[-1]


def test_quadratic_loss_gives_the_euler_chain_of_an_ornstein_uhlenbeck_process():
    problem = small_problem(2, "squared", radius=50.0, n=300)
    beta, h, steps = 200.0, 0.01, 40
    target = GibbsTarget(problem, beta, psi=0.0)
    sampler = LangevinSampler(step_size=h, n_steps=steps, n_chains=40_000, thin=steps)
    eigenvalues, vectors = np.linalg.eigh(problem.hessian(problem.minimum.theta))
    states = vectors.T @ (last(sampler, target).theta - problem.minimum.theta[:, None])
    contraction = 1 - h * beta * eigenvalues
    mean = -vectors.T @ problem.minimum.theta * contraction**steps
    variance = 2 * h * (1 - contraction ** (2 * steps)) / (1 - contraction**2)
    assert (np.abs(states.mean(axis=1) - mean) < 5 * np.sqrt(variance / 40_000)).all()
    np.testing.assert_allclose(states.var(axis=1), variance, rtol=0.04)


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
    problem = small_problem(1, radius=radius, scale=scale)
    start = tuple(problem.minimum.theta)  # nothing is promised here, and it saves a burn-in
    sampler = LangevinSampler(step_size, n_steps, n_chains=1000, thin=n_steps, start=start)
    draws = np.sort(last(sampler, GibbsTarget(problem, 60.0, 0.02, "smooth")).theta[0])

    def distance(beta):
        places, probabilities = line_law(GibbsTarget(problem, beta, 0.02, "smooth"))
        exact = np.interp(draws, places, np.cumsum(probabilities))
        return np.abs(exact - (np.arange(1000) + 0.5) / 1000).max()

    # Kolmogorov at 0.1 %, and the step's own; a law at another temperature is told apart.
    assert distance(60.0) < 1.95 / np.sqrt(1000) + bias < distance(15.0)


def test_the_certificate_is_that_of_the_steps_that_run():
    problem = small_problem(2, radius=2.0, n=500, ridge=0.6)
    target = GibbsTarget(problem, 100.0, 0.02, "smooth")
    sampler = LangevinSampler(step_size=1e-4, n_steps=200, n_chains=3)
    slope = data_slope(problem.constants, problem.domain)
    delta = gradient_sensitivity(
        problem.constants, 0.02, width=0.01, interior=True, data_slope=slope
    )
    assert sampler.certificate(target).rho == pytest.approx(3 * (100 * delta) ** 2 * 0.02 / 4)
    assert not np.isfinite(sampler.certificate(target).epsilon(0.0))
    for steps in (0, 7):
        stopped = sampler.certificate(target, n_steps=steps)
        assert stopped.mu == pytest.approx(sampler.certificate(target).mu * (steps / 200) ** 0.5)
    with pytest.raises(ValueError, match="n_steps must be from 0 to 200"):
        sampler.certificate(target, n_steps=201)


SMOOTH = GibbsTarget(small_problem(2, radius=1.0), 20.0, 0.02, "smooth")
BUDGET = {"epsilon": 1.0, "delta": 1e-6}
CHAINS = LangevinSampler(1e-3, 10, n_chains=4)


def started(**settings):
    return next(LangevinSampler(**settings).batches(SMOOTH, np.random.default_rng(0)))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: last_guarantee(contraction=1.1), "contraction must be at most 1"),
        (lambda: last_guarantee(contraction=-0.1), "contraction must be >= 0"),
        (lambda: last_guarantee(diameter=math.nan), "diameter must be >= 0"),
        (lambda: last_guarantee(sensitivity=-1.0), "sensitivity must be >= 0"),
        (lambda: batches(1.1, 2, 4), r"contraction must be in \[0, 1\]"),
        (lambda: batches(1.0, 0, 4), "n_batches must be"),
        (lambda: LangevinSampler(1e-3, 1, batch_order="all"), "batch_order must be one of"),
        (lambda: plan_path(100, 3, -1.0, **PUBLIC), "psi must be finite and >= 0"),
        (lambda: plan_path(100, 3, 0.02, **PUBLIC, width=0.0), "and > 0 exactly if psi is"),
        (lambda: plan_path(100, 3, 0.0, **PUBLIC, width=0.1), "and > 0 exactly if psi is"),
        (lambda: plan_path(100, 3, 0.02, **PUBLIC, max_steps=1.5), "max_steps must be a whole"),
        (lambda: plan_path(100, 3, 0.02, **PUBLIC, loss="hinge"), "hinge loss has kinks"),
        (lambda: LangevinSampler(0.0, 1), "step_size must be finite and > 0"),
        (lambda: LangevinSampler(1e-3, 0), "n_steps must be a whole number, at least 1"),
        (lambda: LangevinSampler(1e-3, 5, burn_in=5), "burn_in must be from 0 to n_steps"),
        (lambda: LangevinSampler(1e-3, 1, shown="all"), "shown must be one of"),
        (lambda: LangevinSampler(1e-3, 1, start=[np.nan]), "start must hold finite numbers"),
        (lambda: started(step_size=1e-3, n_steps=1, start=[0.0]), "2 parameters, got 1"),
        (lambda: started(step_size=10.0, n_steps=1), r"step_size 10 is too large .* use at most"),
        (lambda: CHAINS.average(SMOOTH, np.random.default_rng(0), m=-1), "m must be finite and"),
        (lambda: CHAINS.states(SMOOTH, None, np.zeros((2, 2))), r"per chain, shape \(2, 4\)"),
    ],
)
def test_settings_that_make_no_chain_are_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_a_path_can_go_on_where_it_was_left():
    rng = np.random.default_rng(0)
    first = list(CHAINS.states(SMOOTH, rng))[-1]
    whole = replace(CHAINS, n_steps=20).states(SMOOTH, np.random.default_rng(0))
    np.testing.assert_array_equal(list(CHAINS.states(SMOOTH, rng, first))[-1], list(whole)[-1])


def test_burn_in_and_thinning_choose_what_is_shown_and_all_is_paid():
    plain = LangevinSampler(step_size=1e-3, n_steps=20, n_chains=3)
    states = list(plain.states(SMOOTH, np.random.default_rng(0)))
    shown = replace(plain, burn_in=7, thin=5)
    batches = list(shown.batches(SMOOTH, np.random.default_rng(0)))
    for batch, step in zip(batches, (12, 17, 20), strict=True):
        np.testing.assert_array_equal(batch.theta, states[step - 1])
    assert [batch.evaluated for batch in batches] == [3 * 13, 3 * 6, 3 * 4]
    assert shown.certificate(SMOOTH) == plain.certificate(SMOOTH)
    averaged = shown.average(SMOOTH, np.random.default_rng(0))
    np.testing.assert_allclose(averaged, np.mean(states[6:-1], axis=0))


def test_chains_begin_where_no_row_has_been():
    sampler = LangevinSampler(1e-12, 1, n_chains=2, start=(3.0, 0.0))
    (state,) = sampler.states(SMOOTH, np.random.default_rng(0))
    np.testing.assert_allclose(state, [[1.0, 1.0], [0.0, 0.0]], atol=1e-4)  # projected
    stated = sampler.certificate(SMOOTH).assumptions
    assert "the chains start is public" in stated[-1]
    assert stated[:-1] == replace(sampler, start=None).certificate(SMOOTH).assumptions


def test_the_last_state_alone_is_shown_and_costs_less_than_a_long_path():
    target = GibbsTarget(small_problem(2, radius=2.0, n=500), 100.0, 0.02, "smooth")
    sampler = LangevinSampler(1e-4, 50, n_chains=4, shown="last")
    path = replace(sampler, shown="path")
    (batch,) = sampler.batches(target, np.random.default_rng(0))
    whole = list(path.states(target, np.random.default_rng(0)))
    np.testing.assert_array_equal(batch.theta, whole[-1])
    assert sampler.certificate(target).mu <= path.certificate(target).mu
    longer = [replace(s, n_steps=10**9).certificate(target) for s in (sampler, path)]
    assert longer[0].mu < 0.01 * longer[1].mu
    for show in (sampler.states, sampler.average):
        with pytest.raises(ValueError, match="only its last state is accounted for"):
            show(target, np.random.default_rng(0))
    with pytest.raises(ValueError, match="fixed in advance"):
        sampler.certificate(target, n_steps=3)


ROWS = {"n": 2_000, "p": 4, "psi": 0.02, "radius": 2.0, "row_norm": 1.0}


def planned(psi=0.0, loss="logistic", make=plans.plan_path, seed=0, **settings):
    """A plan for a simulated table, and its target."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((2_000, 4))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    score = X @ rng.standard_normal(4) + 0.3 * rng.standard_normal(2_000)
    y = np.sign(score) if loss == "logistic" else np.clip(score, -1, 1)
    known = {**ROWS, "psi": psi, "epsilon": 4.0, "delta": 1e-6, "n_draws": 60, "loss": loss}
    plan = make(**{**known, **settings})
    problem = Problem(X, y, loss=loss, radius=2.0, intercept=False, ridge=plan.ridge)
    return plan, GibbsTarget(problem, plan.beta, plan.law_threshold, plan.details.threshold(plan))


def clipped_plan(loss="logistic", **settings):
    return planned(0.02, loss, by_settings(plans.plan_clipped_path), **settings)


PLANS = {
    "plain": (Langevin, lambda **few: planned(**few, max_steps=30)),
    "smooth": (Langevin, lambda **few: planned(0.05, **few, max_steps=30)),
    "clipped": (LangevinClipped, lambda **few: clipped_plan(**few)),
}


@pytest.mark.parametrize("name", PLANS)
def test_a_plan_is_charged_for_the_schedule_that_runs(name):
    kind, make = PLANS[name]
    plan, target = make(n_draws=3)
    moved = kind()._drift(target, plan).sensitivity(plan.details.n_steps)
    assert moved == pytest.approx(plan.details.sensitivity, rel=1e-9)
    charged = noisy_descent.guarantee(path_schedule(plan), plan.beta * moved, n_chains=3)
    assert plan.guarantee.mu == pytest.approx(charged.mu)
    batch = last(kind().sampler(plan), target)
    np.testing.assert_allclose(batch.losses, target.problem.value(batch.theta))


def test_a_plan_for_another_problem_is_refused_where_its_chains_would_not_be_stable():
    plan, target = planned(n_draws=40, max_steps=30)
    details = replace(plan.details, step_size=plan.details.step_size * 1e4)
    far = replace(plan, details=details)
    with pytest.raises(ValueError, match="too few for the chains to be stable"):
        list(Langevin().batches(target, far, np.random.default_rng(0)))


@pytest.mark.parametrize(
    ("psi", "epsilon", "n_draws"), [(0.0, 8.0, 40), (0.0, 50.0, 10), (0.05, 50.0, 10)]
)
@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.law)])
def test_the_mean_excess_of_the_draws_is_below_the_bound(psi, epsilon, n_draws, seed):
    plan, target = planned(psi, seed=seed, epsilon=epsilon, n_draws=n_draws, max_steps=300)
    rng, sampler = np.random.default_rng(seed), Langevin().sampler(plan)
    losses = np.ravel([collect(sampler, target, n_draws, rng).losses for _ in range(3)])
    excess = losses - target.problem.minimum.value
    assert excess.mean() + 4 * excess.std() / np.sqrt(len(excess)) < plan.excess_bound


@pytest.mark.parametrize("loss", ["logistic", "squared"])
def test_the_gradient_is_that_of_the_loss_with_each_rows_own_clipped(loss):
    """Row by row, from the loss itself: what is longer than ½ is cut to ½."""
    plan, target = clipped_plan(loss, ridge=0.1)
    theta = np.random.default_rng(1).normal(size=(4, 5))
    rows, y = target.problem.rows, target.problem.targets[:, None]
    scores = rows @ theta
    pull = -y / (1 + np.exp(y * scores)) if loss == "logistic" else scores - y
    assert (np.abs(pull) > 0.5).any()
    by_hand = rows.T @ np.clip(pull, -0.5, 0.5) / 2_000 + 0.1 * theta
    found = gradients.ClippedDrift(target, plan.details.slope_bound).run(np.random.default_rng(0))(
        theta
    )
    np.testing.assert_allclose(found, plan.beta * by_hand, rtol=1e-10)
    assert plan.details.sensitivity == pytest.approx(2 * 0.5 / 2_000, rel=1e-6)


@pytest.mark.parametrize("loss", ["logistic", "squared"])
def test_the_clipped_loss_is_within_what_is_promised(loss):
    plan, target = clipped_plan(loss)
    batch, problem = last(LangevinClipped().sampler(plan), target, seed=2), target.problem
    followed = Problem(
        problem.rows, problem.targets, loss=clipped(problem.loss), radius=2.0, intercept=False
    )
    values = followed.value(batch.theta)
    assert values.mean() - followed.minimum.value <= plan.comparison_excess
    assert (values <= problem.value(batch.theta) + 1e-12).all()
    assert followed.minimum.value <= problem.minimum.value + 1e-9


def test_nothing_is_promised_of_the_loss_that_is_clipped():
    plan, _ = clipped_plan()
    assert plan.hit_rate_bound == 0 and math.isinf(plan.excess_bound)
    assert plan.stated_excess == plan.comparison_excess < planned()[0].excess_bound
    assert "no bound is guaranteed for the loss itself" in explain(plan)
    assert "clipped loss" in str(plan) and "excess loss" not in str(plan)
    weak, _ = clipped_plan(epsilon=0.1, n_draws=2_000)
    assert "with clipped slopes" in weak.weakness and "rows" in explain(weak)
    request = Request(**ROWS, **BUDGET, loss="smoothed_hinge", ridge=0.0, n_draws=1)
    assert "needs logistic or squared loss" in MECHANISMS["langevin_clipped"].plan(request).reason


def lending_like(loss="logistic", n=700, p=4, seed=0, **settings):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, p)) / np.sqrt(p)
    score = X @ np.ones(p) + 0.5 * rng.standard_normal(n)
    if isinstance(loss, SoftmaxLoss):
        return Problem(X, np.digitize(score, [-0.5, 0.5]).astype(float), loss=loss, **settings)
    y = np.sign(score) if loss != "squared" else np.clip(score, -1, 1)
    return Problem(X, y, loss=loss, **settings)


def path(target, *, seed=3, **settings):
    sampler = LangevinSampler(**{"n_steps": 60, "n_chains": 90, **settings})
    return np.array(list(sampler.states(target, np.random.default_rng(seed))))


RIDGED = {"radius": 0.3, "ridge": 20.0}
KINDS = {
    "full": gradients.FullDrift,
    "batches": lambda target: gradients.BatchDrift(target, max(1, target.problem.n // 3)),
    "sampled": lambda target: gradients.SampledDrift(target, max(1, target.problem.n // 3)),
    "gaussian": gradients.GaussianDrift,
    "clipped": lambda target: gradients.ClippedDrift(target, 0.5),
}


def neighbours(seed, n, loss="logistic", **settings):
    """Two problems that differ in one extreme record."""
    rng = np.random.default_rng(seed)
    X, y = rng.standard_normal((n, 3)), rng.choice([-1.0, 1.0], n)
    other_X, other_y = X.copy(), y.copy()
    place = int(rng.integers(n))
    X[place] *= 100
    other_X[place], other_y[place] = X[place] * rng.choice([-1.0, 1.0]), -y[place]
    common = {"loss": loss, "intercept": False, **settings}
    return Problem(X, y, **common), Problem(other_X, other_y, **common), rng


def moved(kind, pair, psi, width, rng, models=200):
    """Root mean square distance of two runs' gradients, at the worst model, and what is charged."""
    smooth = SmoothThreshold(width) if width else "hard"
    shape = GaussianThreshold(scale=2.0, n_samples=3) if kind == "gaussian" else smooth
    drifts = [KINDS[kind](GibbsTarget(one, 1.0, psi, shape)) for one in pair]
    runs = [drift.run(np.random.default_rng(0)) for drift in drifts]
    steps = int(rng.integers(1, 8)) if kind == "batches" else 1
    total = np.zeros(models)
    for _ in range(steps):
        theta = rng.standard_normal((3, models)) * rng.random(models) * 4
        theta = pair[0].domain.project(theta)
        total += ((runs[0](theta) - runs[1](theta)) ** 2).sum(axis=0)
    return np.sqrt(total.max() / steps), drifts[0].sensitivity(steps)


@pytest.mark.parametrize("kind", KINDS)
@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.sampled_from([1, 2, 12, 40, 900, 2500]),
    loss=st.sampled_from(["logistic", "squared"]),
    posed=st.sampled_from([{}, {"radius": 1.0}, {"ridge": 4.0, "radius": 3.0}, RIDGED]),
    psi=st.sampled_from([0.0, 0.01, 0.1]),
    width=st.sampled_from([0.0, 0.005, 0.05, 1.0]),
)
@settings(max_examples=60)
def test_no_record_moves_a_run_by_more_than_its_sensitivity(kind, seed, n, loss, posed, psi, width):
    if kind == "gaussian":  # needs a loss that is Lipschitz everywhere
        loss, posed = "logistic", {"radius": 0.5}
    if kind == "sampled":  # accounted for at ψ = 0 only
        psi = width = 0.0
    one, other, rng = neighbours(seed, n, loss, **posed)
    found, charged = moved(kind, (one, other), psi, width, rng)
    assert found <= charged * (1 + 1e-9)


@pytest.mark.parametrize(
    ("kind", "psi", "width", "posed", "share"),
    [
        ("full", 0.01, 0.05, {"n": 2}, 0.25),
        ("batches", 0.0, 0.0, {}, 0.5),
        ("sampled", 0.0, 0.0, {}, 0.5),
        ("clipped", 0.0, 0.0, {}, 0.5),
        # A ridge pulls neighbours the same way: its slope is three times the loss's here.
        ("full", 0.0, 0.0, RIDGED, 0.5),
        ("batches", 0.0, 0.0, RIDGED, 0.5),
        ("full", 0.0, 0.0, {**RIDGED, "loss": "squared"}, 0.5),
    ],
)
def test_a_part_of_the_sensitivity_would_be_caught(kind, psi, width, posed, share):
    def part(seed):
        one, other, rng = neighbours(seed, **{"n": 12, **posed})
        found, charged = moved(kind, (one, other), psi, width, rng, models=400)
        return found / charged

    assert share < max(map(part, range(40))) <= 1 + 1e-9


def test_a_threshold_priced_without_the_ridge_is_caught():
    """The control: two neighbours at the edge, one beyond it, differ by the ridge's pull."""
    one, other, _ = neighbours(0, 12, **RIDGED)
    drifts = [gradients.FullDrift(GibbsTarget(q, 1.0, 0.05, "hard")) for q in (one, other)]
    line = np.linspace(0, 1, 20_001)
    theta = one.minimum.theta[:, None] * (1 - line) + np.array([[0.3], [0.0], [0.0]]) * line
    apart = np.subtract(*(drift.run(np.random.default_rng(0))(theta) for drift in drifts))
    largest = np.linalg.norm(apart, axis=0).max()
    assert data_lipschitz(one.constants, one.domain) < largest <= drifts[0].sensitivity(1)


@pytest.mark.parametrize(
    ("size", "psi", "threshold"), [(60, 0.02, "smooth"), (60, 0.0, "hard"), (10, 0.0, "hard")]
)
def test_a_pass_of_batches_has_the_mean_of_the_full_gradient(size, psi, threshold):
    target = GibbsTarget(lending_like(n=60), 1.0, psi, threshold)
    theta = np.random.default_rng(0).standard_normal((5, 7))
    run = gradients.BatchDrift(target, size).run(np.random.default_rng(0))
    mean = np.mean([run(theta) for _ in range(60 // size)], axis=0)
    np.testing.assert_allclose(mean, target.gradient(theta), rtol=1e-9)
    assert gradients.BatchDrift(target, 13).n_batches == 4  # of at least so many rows


def smoothed_energy(problem, psi, scale, places):
    """E max{L(θ + λξ), min L + ψ} − (min L + ψ) on a grid of one parameter, by quadrature."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(101)
    points = (places[:, None] + scale * nodes).ravel()[None, :]
    excess = problem.value(points).reshape(len(places), -1) - problem.minimum.value
    return np.maximum(excess - psi, 0) @ weights / weights.sum()


def test_its_gradient_is_that_of_the_smoothed_threshold():
    problem = small_problem(1, radius=4.0)
    target = GibbsTarget(problem, 1.0, 0.05, GaussianThreshold(scale=0.3, n_samples=20_000))
    places = np.linspace(-3, 3, 7)
    gradient = gradients.GaussianDrift(target).run(np.random.default_rng(0))(places[None, :])[0]
    low, high = (smoothed_energy(problem, 0.05, 0.3, places + h) for h in (-1e-3, 1e-3))
    np.testing.assert_allclose(gradient, (high - low) / 2e-3, atol=0.01)
    scale = gradients.GaussianDrift(GibbsTarget(problem, 1.0, 0.05, "gaussian")).scale
    assert scale == pytest.approx(np.sqrt(0.05 / problem.M))
    places = np.linspace(-4, 4, 200)
    hard = np.maximum(problem.value(places[None, :]) - problem.minimum.value - 0.05, 0)
    gap = np.abs(smoothed_energy(problem, 0.05, scale, places) - hard)
    assert gap.max() <= 0.05 + problem.M * scale**2 / 2  # near the threshold that it smooths


LAST = {"shown": "last"}
REFUSED = [  # the sampler, the problem, ψ and threshold, and the message
    ({"batch_size": 0}, {}, 0.0, "hard", "batch_size must be from 1 to the number of rows"),
    ({"batch_size": 21}, {}, 0.0, "hard", "batch_size must be from 1 to the number of rows"),
    ({"batch_size": 6, **LAST}, {}, 0.02, "smooth", "has a certificate at ψ = 0 only"),
    ({}, {"loss": "squared"}, 0.02, "gaussian", "Lipschitz everywhere"),
    ({}, {"ridge": 0.1}, 0.02, "gaussian", "without a ridge"),
    ({}, {}, 0.0, "gaussian", "scale must be given"),
    ({}, {"loss": "hinge"}, 0.02, "gaussian", "scale must be given"),
    ({"batch_size": 2}, {}, 0.02, "gaussian", "leave batch_size out"),
    ({"batch_size": 2, "batch_order": "sampled"}, {}, 0.02, "smooth", "at ψ = 0 only"),
    ({"batch_size": 21, "batch_order": "sampled"}, {}, 0.0, "hard", "from 1 to the number of rows"),
    (
        {"batch_size": 2, "batch_order": "sampled", **LAST},
        {"loss": "hinge"},
        0.0,
        "hard",
        "a loss with kinks",
    ),
    (LAST, {}, 0.02, "gaussian", "steps do not contract"),
    (LAST, {}, 0.02, "hard", "a hard threshold or a loss with kinks"),
    ({**LAST, "step_size": 10.0}, {}, 0.02, "smooth", "step_size must be at most"),
]


@pytest.mark.parametrize(("sampler", "posed", "psi", "threshold", "message"), REFUSED)
def test_only_the_path_is_certified(sampler, posed, psi, threshold, message):
    """Of gradients that jump and batches with a threshold; some have no certificate."""
    target = GibbsTarget(lending_like(n=20, **posed), 1.0, psi, threshold)
    chains = LangevinSampler(**{"step_size": 1e-4, "n_steps": 5, **sampler})
    for run in (
        chains.certificate,
        lambda one: next(chains.batches(one, np.random.default_rng(0))),
    ):
        with pytest.raises(ValueError, match=message):
            run(target)
