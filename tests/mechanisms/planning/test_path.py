"""Noisy paths: exact laws within their certificates, and plans that spend a budget nearly best."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rashomon_explorer.mechanisms.bounds import accelerated_path_excess
from rashomon_explorer.mechanisms.certificates.sensitivity import gradient_sensitivity
from rashomon_explorer.mechanisms.langevin import accounting
from rashomon_explorer.mechanisms.langevin.plan import plan_path
from rashomon_explorer.mechanisms.langevin.sampler import LangevinSampler
from rashomon_explorer.mechanisms.target import GibbsTarget
from rashomon_explorer.papers.batch_theorems import cyclic_strongly_convex
from rashomon_explorer.papers.drifts import BatchDrift
from rashomon_explorer.privacy.composition import adaptive_epsilon
from rashomon_explorer.privacy.conversions import gdp_delta, gdp_mu
from rashomon_explorer.problem.problem import Problem
from tests.mechanisms import chains
from tests.mechanisms.builders import constants_of

CHAIN = {"beta": 20.0, "sensitivity": 0.05, "step_size": 1e-2, "n_steps": 40}


def last(**changes):
    return accounting.last_iterate_guarantee(**{**CHAIN, "contraction": 0.9, **changes})


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
    assert last(**chain, contraction=contraction).mu == pytest.approx(exact, rel=1e-9)


@pytest.mark.parametrize("n_steps", [5, 40, 300])
def test_a_projected_chain_keeps_the_bound_of_a_bounded_domain(n_steps):
    """Linear losses of slope ±Δ/2 on an interval: nothing contracts but the ends."""
    radius, h, beta, sensitivity = 0.5, 1e-2, 10.0, 1.0
    shift, deviation = h * beta * sensitivity, math.sqrt(2 * h)
    places = np.linspace(-radius, radius, 603)
    laws = [chains.last_law(places, places + s * shift / 2, deviation, n_steps) for s in (1, -1)]
    chain = {"beta": beta, "step_size": h, "n_steps": n_steps, "contraction": 1.0}
    claimed = last(**chain, sensitivity=sensitivity, diameter=2 * radius)
    halved = last(**chain, sensitivity=sensitivity / 4, diameter=radius / 2)
    deltas = {e: chains.delta(*laws, e) for e in (0.0, 0.3, 1.0, 2.0)}
    assert all(exact <= claimed.delta(e) + 1e-9 for e, exact in deltas.items())
    assert any(exact > halved.delta(e) for e, exact in deltas.items())


def test_extremes_of_the_last_state():
    assert last(n_steps=0).mu == 0
    assert last(contraction=0.0).mu == pytest.approx(1e-2 * 20 * 0.05 / math.sqrt(2e-2))
    assert last(contraction=1 - 1e-15).mu == pytest.approx(last(contraction=1.0).mu)
    assert last(sensitivity=0.0, diameter=1.0).mu == 0


SHIFT = 2.0  # s = hβΔ with h = ½, and σ = 1
STEP = {"beta": 2.0, "sensitivity": SHIFT, "step_size": 0.5}


def batches(c, n_batches, steps, diameter=math.inf):
    """μ² of the last state over batches in turn."""
    found = accounting.last_batch_state_guarantee(
        **STEP, n_steps=steps, n_batches=n_batches, contraction=c, diameter=diameter
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


def test_it_is_theorem_4_5_where_that_applies():
    for c, n_batches, epochs in itertools.product([0.2, 0.9, 0.9999], [2, 40], [1, 2, 50]):
        printed = cyclic_strongly_convex(
            sensitivity=SHIFT, batch_size=1, sigma=1.0, batches_per_epoch=n_batches, epochs=epochs,
            contraction=c,
        )  # fmt: skip
        assert batches(c, n_batches, n_batches * epochs) == pytest.approx(printed.mu**2)
    assert accounting.earlier_epochs(1.0, 5, 11) == pytest.approx(2.0)


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


def test_one_batch_of_all_rows_is_never_cheaper_than_its_own_theorem():
    for c, steps in itertools.product([0.5, 0.99, 1.0], [1, 3, 100]):
        plain = last(**STEP, n_steps=steps, contraction=c)
        assert batches(c, 1, steps) >= plain.mu**2 * (1 - 1e-9)
    assert batches(0.9, 3, 0) == 0.0


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
            gradient = BatchDrift(target, 2).run(np.random.default_rng(seed))
            mean, spread = np.zeros((1, 1)), 0.0
            for _ in range(n_steps):
                stretched = gradient(np.hstack([mean, mean + 1]))
                slope = float(stretched[0, 1] - stretched[0, 0])
                mean = mean - 0.01 * stretched[:, :1]
                spread = spread * (1 - 0.01 * slope) ** 2 + 2 * 0.01
            ends.append((float(mean[0, 0]), spread))
        found = max(found, abs(ends[0][0] - ends[1][0]) / math.sqrt(ends[0][1]))
    # Two targets are 2 apart; Δ counts on any two in the whole ball, which are farther.
    reach = claimed.mu * 2 / (BatchDrift(targets[0], 2).sensitivity(1) * 2)
    assert found <= reach * (1 + 1e-9)
    assert found > (0.7 if n_steps < 10 else 0.3) * reach  # these contract, and c = 1 is claimed
    if n_steps < 10:  # the control: half of the price would be broken
        assert gdp_delta(found, 0.1) > gdp_delta(reach / 2, 0.1)


PLANS = {
    "n": st.sampled_from([100, 6_000, 50_000, 10**6]),
    "p": st.integers(1, 60),
    "psi": st.sampled_from([0.0, 0.005, 0.02, 0.3]),
    "radius": st.floats(0.1, 20.0),
    "row_norm": st.floats(0.2, 3.0),
    "epsilon": st.floats(0.05, 20.0),
    "delta": st.sampled_from([1e-9, 1e-6, 1e-3]),
    "n_draws": st.integers(1, 100),
    "max_steps": st.sampled_from([1, 50, 10_000]),
}


@given(**PLANS)
@settings(max_examples=80)
def test_the_budget_is_kept(n, p, psi, max_steps, **public):
    planned = plan_path(n, p, psi, max_steps=max_steps, **public)
    assert planned.guarantee.epsilon(public["delta"]) <= public["epsilon"]
    assert 1 <= planned.n_steps <= max_steps
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


@pytest.mark.parametrize(
    ("call", "change", "message"),
    [
        (last, {"contraction": 1.1}, "contraction must be at most 1"),
        (last, {"contraction": -0.1}, "contraction must be >= 0"),
        (last, {"diameter": float("nan")}, "diameter must be >= 0"),
        (last, {"sensitivity": -1.0}, "sensitivity must be >= 0"),
        (batches, {"c": 1.1, "n_batches": 2, "steps": 4}, "contraction must be at most 1"),
        (batches, {"c": 1.0, "n_batches": 0, "steps": 4}, "n_batches must be"),
        (plan_path, {"psi": -1.0}, "psi must be finite and >= 0"),
        (plan_path, {"width": 0.0}, "width must be finite, and > 0 exactly if psi is"),
        (plan_path, {"psi": 0.0, "width": 0.1}, "width must be finite, and > 0 exactly if psi is"),
        (plan_path, {"delta": 0.0}, r"delta must be in \(0, 1\)"),
        (plan_path, {"n_draws": 0}, "n_draws must be a whole number, at least 1"),
        (plan_path, {"max_steps": 1.5}, "max_steps must be a whole number, at least 1"),
        (plan_path, {"loss": "hinge"}, "hinge loss has kinks"),
    ],
)
def test_numbers_out_of_range_are_refused(call, change, message):
    public = {"n": 100, "p": 3, "psi": 0.02, **PUBLIC} if call is plan_path else {}
    with pytest.raises(ValueError, match=message):
        call(**{**public, **change})
