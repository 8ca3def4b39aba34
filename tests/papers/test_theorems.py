"""Theorems of papers: formulas, published figures, chains of known laws, bounds and rates."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks import instances
from benchmarks.instances import rough_last_state_mu
from benchmarks.rates import slope_of
from rashomon_explorer.mechanisms import MECHANISMS
from rashomon_explorer.mechanisms.langevin import batch_accounting as b
from rashomon_explorer.mechanisms.noisy_descent import last_iterate_guarantee, path_guarantee
from rashomon_explorer.papers.theorems import RATES, bilevel_instance_excess
from rashomon_explorer.privacy import Guarantee, gdp
from rashomon_explorer.privacy.conversions import gdp_delta
from rashomon_explorer.privacy.tradeoff import Gaussian, Subsampled, compose_tradeoffs
from tests.exact.conftest import exactly
from tests.mechanisms import chains
from tests.mechanisms.builders import request_of


@pytest.mark.parametrize(
    ("epochs", "ours", "composed", "renyi"),
    [(50, 4.34, 30.51, 5.82), (100, 5.60, 49.88, 7.61), (200, 7.58, 83.83, 9.88)],
)
def test_table_1(epochs, ours, composed, renyi):
    chain = {"shift": 2 / 3, "n_batches": 40, "contraction": 0.9999}
    last = b.last_batch_state_guarantee(**chain, n_steps=40 * epochs)
    assert round(last.epsilon(1e-5), 2) == ours
    # "GDP Composition" is Theorem 4.4, μ = (L/(bσ))√E, converted exactly.
    assert round(gdp(mu=2 / 3 * math.sqrt(epochs)).epsilon(1e-5), 2) == composed
    assert round(b.last_batch_state_renyi(**chain, epochs=epochs).epsilon(1e-5), 2) == renyi


def test_a_convex_body_tells_less_than_its_range_from_ld_677_on():
    """§5: (2LD, 0)-DP is the weaker by total variation where LD > .677."""

    def apart(product):
        return gdp(mu=2 * math.sqrt(product)).delta(0.0) - math.tanh(product)

    assert apart(0.676) > 0 > apart(0.677)


def steps(s, n_steps, contraction, diameter=math.inf):
    """μ of the last of steps that a record moves by s standard deviations of the noise."""
    return last_iterate_guarantee(
        beta=1.0, sensitivity=2 * s, step_size=0.5, n_steps=n_steps, contraction=contraction,
        diameter=diameter,
    ).mu  # fmt: skip


def test_theorems_on_all_rows_and_on_batches_in_turn_as_printed():
    """L/(nσ) or L/(bσ) is s, D/(ησ) is D, t steps or E passes over l batches."""
    s, c, t, l, E = 0.4, 0.9, 9, 4, 3  # noqa: E741
    path = path_guarantee(beta=1.0, sensitivity=2 * s, step_size=0.5, n_steps=t)
    assert path.mu == exactly(s * math.sqrt(t))  # 4.1
    assert steps(s, t, c) == exactly(s * math.sqrt((1 - c**t) / (1 + c**t) * (1 + c) / (1 - c)))
    known = {"shift": s, "n_batches": l, "n_steps": l * E}
    weight, faded = c ** (2 * l - 2) * (1 - c**2) / (1 - c**l) ** 2, c ** (l * (E - 1))
    found = b.last_batch_state_guarantee(**known, contraction=c).mu
    assert found == exactly(s * math.sqrt(1 + weight * (1 - faded) / (1 + faded)))  # 4.5
    # 5.1 and 5.2 are 4.2 of one row in the limit of t, and of small steps.
    S, m, M, eta = 0.3, 0.25, 4.0, 0.4
    limit = math.sqrt((2 - eta * m) / 2) * S / math.sqrt(m)
    assert eta <= 2 / (M + m)
    assert steps(eta * S / math.sqrt(2 * eta), math.inf, 1 - eta * m) == exactly(limit)
    tiny = 1e-9
    mu = steps(tiny * S / math.sqrt(2 * tiny), math.inf, 1 - tiny * m)
    assert mu == pytest.approx(S / math.sqrt(m))


@given(st.floats(0.01, 5.0), st.floats(0.05, 50.0), st.integers(1, 9))
def test_theorems_on_bounded_domains_are_what_is_proved_but_rounded(s, diameter, l):  # noqa: E741
    """4.3 and 4.6, with as many steps as they ask for and more."""
    needed = math.ceil(diameter / s)
    printed = 3 * s * diameter + s**2 * needed
    sharp = steps(s, 10 * needed + 10, 1.0, diameter) ** 2
    assert sharp <= printed * (1 + 1e-9) <= sharp + s**2 + 1e-9 * printed
    passes = {"n_batches": l, "n_steps": l * (10 * needed + 10)}
    last = b.last_batch_state_guarantee(shift=s, diameter=diameter, **passes).mu ** 2
    assert last <= s**2 + printed / l * (1 + 1e-9) + 1e-9


def printed_sampled_states(s, rate, n_steps, tau, contraction, diameter):
    """Theorems 4.9, if steps contract, and 4.10."""
    wide, last, c = 2 * math.sqrt(2) * s, n_steps - tau, contraction
    start = math.sqrt(2 / last) * diameter
    yield [Gaussian(start), (Subsampled(Gaussian(wide), rate), last)]
    if c < 1:
        start = wide * (c ** (last + 1) - c**n_steps) / (1 - c)
        one, rest = (Subsampled(Gaussian(mu), rate) for mu in (wide, 2 * s))
        yield [Gaussian(start), one, (rest, last)]


def test_batches_drawn_anew():
    paid = b.sampled_path_guarantee(shift=0.4, rate=0.1, n_steps=1)
    assert paid.epsilon(1e-5) == pytest.approx(Subsampled(Gaussian(0.4), 0.1).epsilon(1e-5))
    assert b.sampled_path_guarantee(shift=0.4, rate=0.1, n_steps=9).mu == exactly(1.2)
    last = b.last_sampled_state_guarantee(shift=1.0, rate=0.1, n_steps=20, contraction=0.9)
    for one in (paid, last):
        assert Guarantee.from_dict(one.to_dict()) == one
        assert one.delta(one.epsilon(1e-5)) <= 1e-5 * (1 + 1e-9)
        assert any("without replacement" in condition for condition in one.assumptions)
    assert any("last state" in condition for condition in last.assumptions)
    for change, message in (
        ({"contraction": 1.1}, r"contraction must be in \[0, 1\]"),
        ({"rate": 0.0}, "rate must be finite and > 0"),
        ({"shift": -1.0}, "shift must be finite and >= 0"),
        ({"n_steps": 0}, "n_steps must be a whole number"),
    ):
        with pytest.raises(ValueError, match=message):
            b.last_sampled_state_guarantee(**{"shift": 1.0, "rate": 0.1, "n_steps": 5, **change})


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
    assert least < b.sampled_path_guarantee(shift=s, rate=0.1, n_steps=steps).epsilon(1e-5)


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
    known = {"n_batches": batches, "n_steps": batches * epochs}
    shift, far = sensitivity / sigma, 2 * radius / (eta * sigma)
    claimed = b.last_batch_state_guarantee(shift=shift, diameter=far, **known)
    assert worst(*pair, claimed) <= 1e-9
    if place == 2:
        half = b.last_batch_state_guarantee(shift=shift / 2, diameter=far / 8, **known)
        assert worst(*pair, half) > 0


@pytest.mark.parametrize("steps", [2, pytest.param(8, marks=pytest.mark.law), 60])
@pytest.mark.law
def test_sampled_chains_keep_theorems_4_8_to_4_10(steps):
    """Batches of one row out of four, drawn anew: the record's slope is ±L/2, the others' 0."""
    radius, eta, sensitivity, sigma, c = 1.0, 0.2, 1.0, 0.7, 0.8
    rates = (0.25, 0.75)
    known = {"rate": 0.25, "n_steps": steps}
    shift, far = sensitivity / sigma, 2 * radius / (eta * sigma)
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
        path = b.sampled_path_guarantee(shift=shift, **known)
        last = {**known, "contraction": factor, "diameter": far}
        ours = b.last_sampled_state_guarantee(shift=shift, **last)
        printed = printed_sampled_states(shift, tau=max(1, steps - 10), **last)
        claims = [path, *map(compose_tradeoffs, printed)]
        assert all(ours.epsilon(1e-4) <= claimed.epsilon(1e-4) + 1e-3 for claimed in claims)
        for claimed in (*claims, ours):
            assert worst(*pair, claimed) <= 1e-9
        if steps == 2 and factor == 1.0:
            assert worst(*pair, b.sampled_path_guarantee(shift=shift / 2, **known)) > 0


@pytest.mark.parametrize("slope", [0.3, 1.0, 4.0])
def test_exponential_mechanisms_on_an_interval_keep_corollary_5_4(slope):
    """e^(∓Lx) on [−1, 1]: F is L-Lipschitz and convex, and D = 2."""
    grid = np.linspace(-1, 1, 4001)
    pair = [np.exp(s * slope * grid) for s in (1, -1)]
    pair = [law / law.sum() for law in pair]
    assert worst(*pair, gdp(mu=2 * math.sqrt(slope * 2.0))) <= 1e-9
    assert worst(*pair, gdp(mu=2 * math.sqrt(slope / 20 * 2.0))) > 0


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
        plan = MECHANISMS[name].plan(asked)
        if name == "langevin":
            return plan.details.step_size * plan.details.n_steps
        path = plan.details.settings  # η = hβ and σ² = 2/(ηβ)
        return path.n_steps * (path.step_size * path.noise) ** 2 / 2

    def slopes(name, ridge):
        n, p, epsilon = ([k * 2**j for j in range(4)] for k in (100_000, 4, 0.25))
        return [
            slope_of(n, [time(name, one, 8, 1.0, ridge) for one in n]),
            slope_of(p, [time(name, 200_000, one, 1.0, ridge) for one in p]),
            slope_of(epsilon, [time(name, 200_000, 8, one, ridge) for one in epsilon]),
        ]

    convex, strong = (RATES[kind, "(ε, δ)", "rows"].times for kind in ("convex", "strongly convex"))
    assert slopes("langevin", 0.0) == pytest.approx(convex[0], abs=0.05)
    found = slopes("noisy_descent", 4.0)
    assert found == pytest.approx(strong[0], abs=0.4) and found[0] > -2  # logarithms slow it
    assert all(not rate.times for key, rate in RATES.items() if "pure" in key)
