"""Theorems of papers: formulas, published figures, chains of known laws, bounds and rates."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.rates import slope_of
from rashomon_explorer.mechanisms import MECHANISMS
from rashomon_explorer.mechanisms.langevin.accounting import last_iterate_guarantee
from rashomon_explorer.papers import batch_theorems, instances, theorems
from rashomon_explorer.papers import batch_theorems as b
from rashomon_explorer.papers import theorems as t
from rashomon_explorer.papers.instances import rough_last_state_mu
from rashomon_explorer.papers.theorems import (
    RATES,
    bilevel_instance_excess,
    exponential_mechanism_convex,
)
from rashomon_explorer.privacy import Guarantee
from rashomon_explorer.privacy.conversions import gdp_delta
from rashomon_explorer.privacy.tradeoff import Gaussian, Subsampled, compose_tradeoffs
from tests.exact.conftest import exactly
from tests.mechanisms import chains
from tests.mechanisms.builders import request_of

MNIST = {"sensitivity": 2 / 3, "batch_size": 1, "sigma": 1.0}
STEP = {"sensitivity": 2.0, "sigma": 0.5}
DOMAIN = {"diameter": 1.0, "step_size": 0.5, "smoothness": 4.0}
SMOOTH = {"ridge": 0.5, "smoothness": 4.0, "step_size": 0.25}


@pytest.mark.parametrize(
    ("epochs", "ours", "composed", "renyi"),
    [(50, 4.34, 30.51, 5.82), (100, 5.60, 49.88, 7.61), (200, 7.58, 83.83, 9.88)],
)
def test_table_1(epochs, ours, composed, renyi):
    last = batch_theorems.cyclic_strongly_convex(
        **MNIST, contraction=0.9999, batches_per_epoch=40, epochs=epochs
    )
    assert round(last.epsilon(1e-5), 2) == ours
    # "GDP Composition" is Theorem 4.4, μ = (L/(bσ))√E, converted exactly.
    path = batch_theorems.cyclic_composition(**MNIST, epochs=epochs)
    assert round(path.epsilon(1e-5), 2) == composed
    older = batch_theorems.cyclic_strongly_convex_renyi(
        **MNIST, contraction=0.9999, batches_per_epoch=40, epochs=epochs
    )
    assert round(older.epsilon(1e-5), 2) == renyi


def test_a_convex_body_tells_less_than_its_range_from_ld_677_on():
    """§5: (2LD, 0)-DP is the weaker by total variation where LD > .677."""

    def apart(product):
        known = theorems.exponential_mechanism_convex(lipschitz=product, diameter=1.0)
        return known.delta(0.0) - math.tanh(product)

    assert apart(0.676) > 0 > apart(0.677)


def theorem(name):
    return getattr(theorems, name, None) or getattr(batch_theorems, name)


GD = {**STEP, "n": 50, "n_steps": 30}
CYCLIC = {**STEP, "batch_size": 5, "epochs": 30}
SGD = {**STEP, "n": 200, "batch_size": 5, "n_steps": 30}
CALLS = {
    "gd_composition": (GD, "4.1"),
    "gd_strongly_convex": ({**GD, "contraction": 0.9}, "4.2"),
    "gd_convex": ({**GD, **DOMAIN, "n_steps": 300}, "4.3"),
    "cyclic_composition": (CYCLIC, "4.4"),
    "cyclic_strongly_convex": ({**CYCLIC, "batches_per_epoch": 10, "contraction": 0.9}, "4.5"),
    "cyclic_convex": ({**CYCLIC, **DOMAIN, "batches_per_epoch": 10}, "4.6"),
    "sgd_composition": (SGD, "4.8"),
    "sgd_strongly_convex": ({**SGD, "contraction": 0.5, "tau": 20}, "4.9"),
    "sgd_convex": ({**SGD, **DOMAIN, "n_steps": 300, "tau": 250}, "4.10"),
    "last_sampled_state_guarantee": ({"shift": 1.0, "rate": 0.1, "n_steps": 50}, "own"),
    "lmc": ({"sensitivity": 0.5, "ridge": 1.0, "smoothness": 3.0, "step_size": 0.5}, "5.1"),
    "exponential_mechanism_strongly_convex": ({"sensitivity": 0.5, "ridge": 4.0}, "5.2"),
    "exponential_mechanism_convex": ({"lipschitz": 0.5, "diameter": 2.0}, "5.4"),
}


@pytest.mark.parametrize("name", CALLS)
def test_every_theorem_gives_a_whole_guarantee(name):
    settings, number = CALLS[name]
    paid = theorem(name)(**settings)
    assert number in paid.theorem and ("Bok, Su and Altschuler" in paid.theorem or number == "own")
    assert len(paid.assumptions) > 1
    assert math.isfinite(paid.mu) and paid.holds
    epsilon = paid.epsilon(1e-5)
    assert paid.delta(epsilon) <= 1e-5 * (1 + 1e-9)
    assert 0 < paid.tradeoff(0.1) <= 0.9
    assert Guarantee.from_dict(paid.to_dict()) == paid


@given(st.floats(0.05, 5.0), st.integers(1, 200), st.floats(0.05, 5.0))
def test_theorem_4_3_is_what_the_path_certificate_proves_but_rounded(sensitivity, n, diameter):
    steps = 10 * math.ceil(diameter * n / (0.5 * sensitivity)) + 10  # so that 4.1 is no match
    domain = {"diameter": diameter, "step_size": 0.5, "smoothness": 4.0}
    printed = theorems.gd_convex(sensitivity=sensitivity, n=n, sigma=0.5, n_steps=steps, **domain)
    shift = sensitivity / (n * 0.5)
    sharp = last_iterate_guarantee(
        beta=1.0,
        sensitivity=2 * shift,
        step_size=0.5,
        n_steps=steps,
        contraction=1.0,
        diameter=diameter / (0.5 * 0.5),
    )
    assert sharp.mu <= printed.mu * (1 + 1e-9)
    assert printed.mu**2 <= sharp.mu**2 + shift**2 * (1 + 1e-9) + 1e-12


def test_langevin_is_gradient_descent_with_one_row():
    energy = {"ridge": 1.0, "smoothness": 3.0, "step_size": 0.5}
    limit = theorems.lmc(sensitivity=0.5, **energy)
    sigma, contraction = math.sqrt(2 / 0.5), theorems.contraction_factor(**energy)
    for steps in (1, 10, 10_000):
        finite = theorems.gd_strongly_convex(
            sensitivity=0.5, n=1, sigma=sigma, n_steps=steps, contraction=contraction
        )
        assert finite.mu <= limit.mu * (1 + 1e-12)
    assert finite.mu == pytest.approx(limit.mu)
    tiny = theorems.lmc(sensitivity=0.5, ridge=4.0, smoothness=9.0, step_size=1e-9)
    exact = theorems.exponential_mechanism_strongly_convex(sensitivity=0.5, ridge=4.0)
    assert tiny.mu == pytest.approx(exact.mu) == 0.25  # the limit of small steps


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("gd_composition", {"n": 0}, "n must be a whole number"),
        ("gd_strongly_convex", {"contraction": 1.0}, r"contraction must be in \[0, 1\)"),
        ("contraction_factor", {"step_size": 0.5}, r"step_size must be below 2/smoothness = 0\.5"),
        ("contraction_factor", {"ridge": 5.0}, "ridge must be at most smoothness"),
        ("gd_convex", {"step_size": 0.6}, r"step_size must be at most 2/smoothness = 0\.5"),
        ("gd_convex", {"n_steps": 49}, r"diameter·n/\(step_size·sensitivity\) = 50, got 49"),
        ("cyclic_convex", {"epochs": 4}, "epochs must be at least"),
        ("sgd_composition", {"batch_size": 201}, "batch_size must be at most n = 200"),
        ("last_sampled_state_guarantee", {"contraction": 1.1}, r"contraction must be in \[0, 1\]"),
        ("last_sampled_state_guarantee", {"rate": 0.0}, "rate must be finite and > 0"),
        ("sgd_strongly_convex", {"tau": 0}, "tau must be from 1 to n_steps - 1"),
        ("sgd_convex", {"tau": 300}, "tau must be from 0 to n_steps - 1"),
        ("lmc", {"step_size": 0.6}, r"2/\(smoothness \+ ridge\) = 0\.5"),
        ("exponential_mechanism_convex", {"step_size": 0.1}, "smoothness must be given"),
        ("exponential_mechanism_convex", {"lipschitz": -1.0}, "lipschitz must be finite"),
    ],
)
def test_the_precondition_that_fails_is_named(name, change, message):
    with pytest.raises(ValueError, match=message):
        theorem(name)(**{**CALLS.get(name, [SMOOTH])[0], **change})


FULL = {"sensitivity": 2.0, "n": 100, "sigma": 0.1}  # s = 0.2
BATCH = {"sensitivity": 2.0, "batch_size": 10, "sigma": 0.5}  # s = 0.4


def test_gradient_descent():
    assert t.gd_composition(**FULL, n_steps=9).mu == exactly(0.6)
    steps = (1 - 0.9**9) / (1 + 0.9**9) * 1.9 / 0.1
    found = t.gd_strongly_convex(**FULL, contraction=0.9, n_steps=9)
    assert found.mu == exactly(0.2 * math.sqrt(steps))
    # c = max(1 − ηm, ηM − 1)
    assert t.contraction_factor(ridge=0.4, smoothness=4.0, step_size=0.25) == exactly(0.9)
    assert t.contraction_factor(ridge=1.0, smoothness=4.0, step_size=0.45) == exactly(0.8)
    needed = 1.0 * 100 / (0.5 * 2.0)
    mu = math.sqrt(3 * 0.2 * 1.0 / (0.5 * 0.1) + 0.04 * math.ceil(needed))
    assert t.gd_convex(**FULL, **DOMAIN, n_steps=1000).mu == exactly(mu)


def test_batches_in_turn():
    assert b.cyclic_composition(**BATCH, epochs=9).mu == exactly(1.2)
    c, batches, epochs = 0.9, 4, 3
    found = b.cyclic_strongly_convex(
        **BATCH, contraction=c, batches_per_epoch=batches, epochs=epochs
    )
    weight = c ** (2 * batches - 2) * (1 - c**2) / (1 - c**batches) ** 2
    faded = c ** (batches * (epochs - 1))
    assert found.mu == exactly(0.4 * math.sqrt(1 + weight * (1 - faded) / (1 + faded)))
    needed = 1.0 * 10 / (0.5 * 2.0)
    far = 1.0 / (0.5 * 0.5)
    square = 0.16 + (3 * 0.4 * far + 0.16 * math.ceil(needed)) / 4
    found = b.cyclic_convex(**BATCH, **DOMAIN, batches_per_epoch=4, epochs=100)
    assert found.mu == exactly(math.sqrt(square))


def test_batches_drawn_anew():
    sampled = {**BATCH, "n": 100}
    paid = b.sgd_composition(**sampled, n_steps=1)
    assert paid.epsilon(1e-5) == pytest.approx(Subsampled(Gaussian(0.4), 0.1).epsilon(1e-5))
    assert b.sgd_composition(**sampled, n_steps=9).mu == exactly(1.2)
    found = b.sgd_strongly_convex(**sampled, contraction=0.5, n_steps=6, tau=3)
    wide = 2 * math.sqrt(2) * 0.4
    start = wide * (0.5**4 - 0.5**6) / 0.5
    assert found.mu == exactly(math.sqrt(start**2 + wide**2 + 3 * 0.8**2))
    parts = [Gaussian(start), Subsampled(Gaussian(wide), 0.1), (Subsampled(Gaussian(0.8), 0.1), 3)]
    assert found.epsilon(1e-5) == pytest.approx(compose_tradeoffs(parts).epsilon(1e-5), rel=1e-6)
    convex = b.sgd_convex(**sampled, **DOMAIN, n_steps=6, tau=3)
    start = math.sqrt(2 / 3) * 1.0 / (0.5 * 0.5)
    assert convex.mu == exactly(math.sqrt(start**2 + 3 * wide**2))


@pytest.mark.parametrize(("c", "diameter"), [(1.0, 0.5), (0.9, math.inf), (0.4, 3.0), (0.0, 1.0)])
def test_every_split_of_sampled_steps_brings_the_two_runs_together(c, diameter):
    """The moves of the proof: the same share of the noise in each, never past the other run."""
    s, steps = 0.7, 60
    composed, *splits = b._split_steps(s, 0.1, steps, c, diameter)
    for _, ((wide, moving), (narrow, rest)), start in splits:
        apart, share = 0.0, 1 - (s / wide) ** 2
        for _ in range(steps - moving - rest):
            apart = min(diameter, c * apart + s)
        apart *= c**rest
        weights = c ** np.arange(moving - 1.0, -1, -1)
        moves = weights * apart * c**moving / (weights**2).sum()
        for move in moves:
            apart = c * apart - move
            assert apart >= -1e-9
        assert apart == pytest.approx(0, abs=1e-9) and narrow == s
        assert (moves**2).sum() == pytest.approx(share * start**2, abs=1e-9)
    known = {"shift": s, "rate": 0.1, "n_steps": steps, "contraction": c, "diameter": diameter}
    least = b.last_sampled_state_guarantee(**known).epsilon(1e-5)
    assert min(splits)[0] < composed[0] and composed[1] == ((s, steps),)
    assert least < b.sampled_state(list(composed[1]), 0.0, 0.1, "Theorem 4.8").epsilon(1e-5)


def test_laws_and_their_chains():
    convex = t.exponential_mechanism_convex
    assert convex(lipschitz=0.5, diameter=2.0).mu == exactly(2.0)
    chain = convex(lipschitz=0.5, diameter=2.0, step_size=0.1, smoothness=4.0)
    assert chain.mu == exactly(math.sqrt(4.0 + 0.05))
    strong = t.exponential_mechanism_strongly_convex
    assert strong(sensitivity=0.3, ridge=0.25).mu == exactly(0.6)
    found = t.lmc(sensitivity=0.3, ridge=0.25, smoothness=4.0, step_size=0.4)
    assert found.mu == exactly(math.sqrt((2 - 0.4 * 0.25) / 2) * 0.6)


EPSILONS = (0.0, 0.1, 0.3, 1.0, 2.0)


def law_of(step, deviation, radius, steps, rates=(1.0,)):
    """Exact law of X ← clip(Σ rates_j N(step_j(X), deviation²)) from 0, with atoms at the ends."""
    places = np.linspace(-radius, radius, 403)
    law, moves = (places == 0).astype(float), {}
    for turn in range(steps):
        kinds = tuple(step(turn))
        if kinds not in moves:
            kernels = [chains.kernel(places, c * places + m, deviation) for c, m in kinds]
            moves[kinds] = np.tensordot(rates, kernels, 1)
        law = law @ moves[kinds]
    return law


def worst(one, other, claimed):
    """Largest excess of the exact δ over the claimed one, both ways."""
    return max(chains.delta(one, other, e) - claimed.delta(e) for e in EPSILONS)


@pytest.mark.parametrize("place", [0, 2])
def test_projected_chains_on_batches_in_turn_keep_theorem_4_6(place):
    """The record is in one of three batches; the other two have slope 0."""
    radius, eta, sensitivity, sigma, batches, epochs = 0.3, 0.1, 1.0, 0.7, 3, 30

    def step(turn, sign):
        return [(1.0, sign * eta * sensitivity / 2 if turn % batches == place else 0.0)]

    pair = [
        law_of(lambda turn, s=s: step(turn, s), eta * sigma, radius, batches * epochs)
        for s in (1, -1)
    ]
    settings = {"batch_size": 1, "batches_per_epoch": batches, "epochs": epochs, "sigma": sigma}
    domain = {"step_size": eta, "smoothness": 1.0}
    claimed = b.cyclic_convex(**settings, **domain, sensitivity=sensitivity, diameter=2 * radius)
    assert worst(*pair, claimed) <= 1e-9
    if place == 2:
        half = b.cyclic_convex(**settings, **domain, sensitivity=0.5, diameter=radius / 4)
        assert worst(*pair, half) > 0


@pytest.mark.parametrize("steps", [2, pytest.param(8, marks=pytest.mark.law), 60])
@pytest.mark.law
def test_sampled_chains_keep_theorems_4_8_to_4_10(steps):
    """Batches of one row out of four, drawn anew: the record's slope is ±L/2, the others' 0."""
    radius, eta, sensitivity, sigma, c = 1.0, 0.2, 1.0, 0.7, 0.8
    rates = (0.25, 0.75)
    settings = {"n": 4, "batch_size": 1, "n_steps": steps, "sensitivity": sensitivity}
    for factor in (c, 1.0):
        pair = [
            law_of(
                lambda _, s=s, f=factor: [(f, s * eta * sensitivity / 2), (f, 0.0)],
                eta * sigma,
                radius,
                steps,
                rates=rates,
            )
            for s in (1, -1)
        ]
        claims = [b.sgd_composition(**settings, sigma=sigma)]
        tau = max(1, steps - 10)
        if factor < 1:
            claims.append(b.sgd_strongly_convex(**settings, sigma=sigma, contraction=c, tau=tau))
        domain = {"diameter": 2 * radius, "step_size": eta, "smoothness": 1.0}
        claims.append(b.sgd_convex(**settings, **domain, sigma=sigma, tau=tau))
        known = {"rate": 0.25, "n_steps": steps, "contraction": factor}
        unit = 1 / (eta * sigma)  # of the noise
        ours = b.last_sampled_state_guarantee(
            shift=eta * sensitivity * unit, diameter=2 * radius * unit, **known
        )
        assert all(ours.epsilon(1e-4) <= claimed.epsilon(1e-4) + 1e-3 for claimed in claims)
        claims.append(ours)
        for claimed in claims:
            assert worst(*pair, claimed) <= 1e-9
        if steps == 2 and factor == 1.0:
            assert worst(*pair, b.sgd_composition(**settings, sigma=2 * sigma)) > 0


@pytest.mark.parametrize("slope", [0.3, 1.0, 4.0])
def test_exponential_mechanisms_on_an_interval_keep_corollary_5_4(slope):
    """e^(∓Lx) on [−1, 1]: F is L-Lipschitz and convex, and D = 2."""
    grid = np.linspace(-1, 1, 4001)
    pair = [np.exp(s * slope * grid) for s in (1, -1)]
    pair = [law / law.sum() for law in pair]
    claimed = exponential_mechanism_convex(lipschitz=slope, diameter=2.0)
    assert worst(*pair, claimed) <= 1e-9
    assert worst(*pair, exponential_mechanism_convex(lipschitz=slope / 20, diameter=2.0)) > 0


ROUGH_EPSILONS = (0.0, 0.5, 1.0, 2.0)


def laws(step, shift, noise, n_steps):
    """Laws of the last states on [−½, ½] of noisy projected steps from 0, a shift apart."""
    places = np.linspace(-0.5, 0.5, 401)
    ends = step(places) + shift / 2, step(places) - shift / 2
    return [chains.last_law(places, one, noise, n_steps) for one in ends]


CASES = {
    "expands": (lambda x: 1.05 * x, {"expansion": 1.05}),
    "jumps": (lambda x: x + 0.02 * np.sign(x), {"expansion": 1.0, "jump": 0.04}),
    "waves": (lambda x: x + 0.02 * np.sin(5 * x), {"expansion": 1.1}),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("n_steps", [1, 10, 200])
def test_exact_laws_of_neighbours_are_within_the_price(case, n_steps):
    step, how = CASES[case]
    shift, noise = 0.04, 0.2
    pair = laws(step, shift, noise, n_steps)
    mu = rough_last_state_mu(**how, shift=shift, noise=noise, diameter=1.0, n_steps=n_steps)
    for epsilon in ROUGH_EPSILONS:
        most = gdp_delta(mu, epsilon) if mu else 0.0
        assert chains.delta(*pair, epsilon) <= most + 1e-6


def test_less_is_caught():
    """Negative control: one step as if its shift were a tenth less."""
    shift, noise = 0.04, 0.05
    found = chains.delta(*laws(lambda x: x, shift, noise, 1), 0.5)
    mu = rough_last_state_mu(expansion=1.0, shift=shift, noise=noise, diameter=1.0, n_steps=1)
    assert gdp_delta(0.9 * mu, 0.5) < found <= gdp_delta(mu, 0.5) + 1e-4


def test_it_stops_growing_and_a_network_or_a_hinge_never_gets_there():
    """Why no method is offered by it: the path is cheaper for as many steps as one takes."""
    slope, smooth, pace, n, diameter = 1.0, 10.0, 0.1, 1000, 10.0
    shift = 2 * pace * slope / n

    def mu(steps, **how):
        return rough_last_state_mu(**how, shift=shift, noise=1.0, diameter=diameter, n_steps=steps)

    smooth_steps = {"expansion": 1 + pace * smooth}
    limit = mu(10**12, **smooth_steps)
    assert limit == mu(10**14, **smooth_steps)
    assert (limit / shift) ** 2 > 10**8  # steps after which hiding the path wins
    hinge = {"expansion": 1.0, "jump": pace * slope}
    assert (mu(10**14, **hinge) / shift) ** 2 > 10**5
    with pytest.raises(ValueError, match="expansion must be >= 1"):
        mu(1, expansion=0.9)


def test_wells_are_disjoint_steep_and_found_by_their_votes():
    centres = 0.4 * np.array(list(itertools.product([-1, 1], repeat=2))).T
    loss = instances.PackingLoss(centres, 0.4)
    rng = np.random.default_rng(0)
    theta, votes = rng.uniform(-1, 1, (2, 500)), np.array([[1, 0, 0, 0], [1, 0, 0, 1]])
    values = loss.value(theta, votes)
    assert loss.value(centres, votes).tolist() == [-1.0, 0.0, 0.0, -0.5]
    near = theta + 1e-6 * rng.standard_normal(theta.shape)
    moved = np.abs(loss.value(near, votes) - values)
    assert (moved <= np.linalg.norm(near - theta, axis=0) / 0.4 * (1 + 1e-9)).all()
    with pytest.raises(ValueError, match="wells of width"):
        instances.PackingLoss(centres, 0.5)


@pytest.mark.parametrize("k", [2, 5, 40])
def test_no_mechanism_finds_more_and_randomised_response_finds_all_of_it(k):
    epsilon = 0.7
    told = np.ones((k, k)) + np.eye(k) * (math.exp(epsilon) - 1)
    told /= told.sum(axis=1, keepdims=True)
    assert np.mean(np.diag(told)) == pytest.approx(instances.most_found(k, 1, epsilon))
    for votes in [1, 3, 10]:  # the exponential mechanism on counts
        right = 1 / (1 + (k - 1) * math.exp(-epsilon * votes / 2))
        assert right <= instances.most_found(k, votes, epsilon)
    # Negative control: half of the exponent would be beaten by randomised response.
    assert np.mean(np.diag(told)) > instances.most_found(k, 1, epsilon / 2)


def test_the_packing_bound_has_the_rate_of_the_mechanism_and_stays_below_it():
    p = 16 * 2 ** np.arange(4)
    by_p = [instances.least_excess(instances.many_wells(int(k), 1.0, 0.05), 10**5, 1.0) for k in p]
    n = 1000 * 4 ** np.arange(4)
    by_n = [instances.least_excess(instances.many_wells(10, 1.0, 0.05), int(k), 1.0) for k in n]
    assert slope_of(p, by_p) == pytest.approx(1, abs=0.1)
    assert slope_of(n, by_n) == pytest.approx(-1, abs=0.1)
    for k, low in zip(p, by_p, strict=True):
        slope_of_a_well = 1 / 0.05
        assert low <= instances.nonconvex_excess(
            int(k), 10**5, 1.0, slope=slope_of_a_well, diameter=2.0
        )


@pytest.mark.parametrize("p", [2, 8, 32])
def test_without_convexity_the_mechanism_keeps_its_bound(p):
    """β = εn/2 is what a loss of range 1 allows; the bound has the slope's β, which is less."""
    for n in [200, 1000, 10_000]:
        beta = n / (2 * 20.0 * 2.0)  # of slope 1/α = 20 and diameter 2
        bound = instances.nonconvex_excess(p, n, 1.0, slope=20.0, diameter=2.0)
        assert instances.well_excess(p, beta) <= bound
    deep = [instances.well_excess(int(k), 4000.0) for k in 8 * 2 ** np.arange(4)]
    assert slope_of(8 * 2 ** np.arange(4), deep) == pytest.approx(1, abs=0.1)


def test_each_table_costs_what_the_proof_says():
    """Without noise: n·h/9 on the first, about (1 − ε/4)/16h on the second."""
    n, epsilon, delta = 90_000, 0.1, 1 - 1e-12
    wide, narrow = 0.05, 0.0005
    assert instances.huber_barrier(n, wide, epsilon, delta) == pytest.approx(n * wide / 9, rel=0.01)
    told = (1 - epsilon / 4) / (16 * narrow)
    assert instances.huber_barrier(n, narrow, epsilon, delta) == pytest.approx(told, rel=0.01)
    assert sum(many for *_, many in instances.hard_tables(n, wide)[1]) == n


@pytest.mark.law
def test_smoothing_a_kink_costs_root_n():
    n = 1000 * 4 ** np.arange(4)
    costs = [instances.least_huber_barrier(int(k), 1.0, 1e-6) for k in n]
    assert slope_of(n, costs) == pytest.approx(0.5, abs=0.1)
    assert all(cost > math.sqrt(k) / 16 for k, cost in zip(n, costs, strict=True))


def test_the_tables_of_the_bilevel_lower_bound_have_their_closed_form():
    k, slopes = 7.0, np.array([0.5, 2.0, 11.0])
    told = 0.0
    x = np.linspace(-1, 1, 200_001)
    for s in slopes:
        law = np.exp(k * s * (x - 1))
        told += np.trapezoid(s * (1 - x) * law, x) / np.trapezoid(law, x)
    assert bilevel_instance_excess(k, slopes, 2.0) == pytest.approx(told, rel=1e-6)
    assert bilevel_instance_excess(k, slopes, 2.0) <= 3 / k
    n, d = 1000 * 2 ** np.arange(5), 2 * 2 ** np.arange(5)
    by_n = [bilevel_instance_excess(int(m) / 8, np.ones(2)) for m in n]
    by_d = [bilevel_instance_excess(1000.0, np.ones(int(m))) for m in d]
    assert slope_of(n, by_n) == pytest.approx(-1, abs=0.01)
    assert slope_of(d, by_d) == pytest.approx(1, abs=0.01)


def test_upper_and_lower_rates_agree_where_the_papers_say_so():
    for (problem, _, goal), rate in RATES.items():
        assert rate.lower == (None if problem == "Rashomon set" else rate.upper)
        assert (rate.sampling < 0) == (goal == "population" or rate.sampling == -math.inf)
        assert not rate.mechanism or rate.mechanism in MECHANISMS
        if rate.lower:
            assert rate.guide(10**9, 1, 1.0) <= 1e-4 and rate.guide(1, 1000, 0.1) == 1.0
    strong = RATES["strongly convex", "pure", "population"]
    assert strong.guide(100, 10, 1.0) == pytest.approx(0.01 + 0.01)
    assert RATES["Rashomon set", "pure", "rows"].guide(100, 10, 1.0) == 0.0


def test_planned_paths_take_the_times_of_table_1():
    """T of the finite-time analysis: 1/p, and 1/(εn)² under a ridge, up to logarithms."""

    def time(name, n, p, epsilon, ridge):
        asked = request_of(n=n, p=p, epsilon=epsilon, ridge=ridge, delta=1e-6)
        plan = MECHANISMS[name].plan_for(asked)
        if name == "langevin_average":
            return plan.step_size * plan.n_steps
        path = plan.settings  # η = hβ and σ² = 2/(ηβ)
        return path.n_steps * (path.step_size * path.noise) ** 2 / 2

    def slopes(name, ridge):
        n, p, epsilon = ([k * 2**j for j in range(4)] for k in (100_000, 4, 0.25))
        return [
            slope_of(n, [time(name, one, 8, 1.0, ridge) for one in n]),
            slope_of(p, [time(name, 200_000, one, 1.0, ridge) for one in p]),
            slope_of(epsilon, [time(name, 200_000, 8, one, ridge) for one in epsilon]),
        ]

    convex, strong = (RATES[kind, "(ε, δ)", "rows"].times for kind in ("convex", "strongly convex"))
    assert slopes("langevin_average", 0.0) == pytest.approx(convex[0], abs=0.05)
    found = slopes("noisy_descent", 4.0)
    assert found == pytest.approx(strong[0], abs=0.4) and found[0] > -2  # logarithms slow it
    assert all(not rate.times for key, rate in RATES.items() if "pure" in key)
