"""Compositions, Rényi curves, and independent draws as one guarantee."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rashomon_explorer.privacy import adaptive_epsilon, affordable_repeated_eta, conversions
from rashomon_explorer.privacy.composition import compose, rdp, repeated_bounded_range
from rashomon_explorer.privacy.guarantee import Guarantee
from rashomon_explorer.privacy.notions import (
    approximate,
    bounded_range,
    gdp,
    no_guarantee,
    pure,
    zcdp,
)
from rashomon_explorer.privacy.tradeoff import Approximate, BoundedRange, Gaussian
from tests.crossing import crossed
from tests.privacy.analysts import any_pair, product_delta

DELTA = 1e-6
PARTS = st.one_of(
    st.floats(0.01, 2).map(pure),
    st.floats(0.01, 2).map(bounded_range),
    st.floats(0.001, 0.3).map(zcdp),
    st.floats(0.01, 2).map(gdp),
    st.builds(approximate, st.floats(0.01, 1), st.floats(1e-9, 1e-8)),
)


@pytest.mark.parametrize(
    ("etas", "share", "delta"),
    [
        *((etas, 1.0, 0.02) for etas in ((0.3, 0.3, 1.0, 1.0), (0.2, 0.4, 0.8, 1.6), (1.0,) * 4)),
        ((1.0,) * 5, 0.5, 1e-3),  # the control: half the costs
    ],
)
def test_no_composition_is_below_the_truth_and_half_the_costs_are_caught(etas, share, delta):
    rng = np.random.default_rng(0)
    parts = [bounded_range(share * eta) for eta in etas]
    epsilon = compose(parts).epsilon(delta)
    tries = ([any_pair(rng, eta, 2) for eta in etas] for _ in range(200))
    reached = [product_delta(pairs, epsilon) for pairs in tries]
    assert (max(reached) <= delta * (1 + 1e-9)) == (share == 1)


@given(st.lists(PARTS, min_size=1, max_size=4), PARTS, st.randoms())
@settings(max_examples=25)
def test_a_composition_grows_with_every_part_and_has_no_order(parts, new, shuffled):
    more = [new, *parts]
    shuffled.shuffle(more)
    epsilon = compose([*parts, new]).epsilon(DELTA)
    assert compose(more).epsilon(DELTA) == pytest.approx(epsilon, rel=1e-12)
    assert epsilon >= compose(parts).epsilon(DELTA) * (1 - 1e-12)


ALPHAS = np.concatenate([np.logspace(-14, -0.3, 300), 1 - np.logspace(-14, -0.3, 300)])


@pytest.mark.parametrize(
    ("mu", "curve"),
    [(conversions.pure_mu, Approximate), (conversions.bounded_range_mu, BoundedRange)],
)
@given(size=st.floats(1e-6, 30.0))
def test_the_gaussian_that_pure_dp_and_bounded_range_imply_is_the_highest_below(mu, curve, size):
    assert np.all(Gaussian(mu(size))(ALPHAS) <= curve(size)(ALPHAS) + 1e-14)
    middle = 1 / (1 + math.exp(size if curve is Approximate else size / 2))  # both curves equal α
    assert curve(size)(middle) == pytest.approx(middle)
    assert Gaussian(0.999 * mu(size))(middle) > curve(size)(middle)
    assert mu(0.0) == 0 and mu(math.inf) == math.inf
    below, at = (conversions.pure_mu(size) for size in (1e-4 * (1 - 1e-9), 1e-4))
    assert below == pytest.approx(at, rel=1e-7)


ORDERS = np.concatenate([1 + np.geomspace(1e-3, 1, 12), np.geomspace(2.5, 300, 20)])
WIDTHS = [1e-6, 0.05, 0.5, 2.0, 9.0, 60.0]


def two_valued(eta, t, order):
    """D_a of the pair with log ratios t and t − η."""
    high = math.expm1(t - eta) / math.expm1(-eta)
    with np.errstate(divide="ignore"):
        logs = np.log([high, 1 - high]) + (order - 1) * np.array([t, t - eta])
    return float(np.logaddexp(*logs)) / (order - 1)


@crossed({"width": WIDTHS, "order": ORDERS[::4]})
def test_bounded_range_is_the_worst_of_two_valued_pairs(width, order):
    claimed = conversions.bounded_range_renyi(width, order)
    inner = np.concatenate([np.linspace(1e-9, 1 - 1e-9, 4001), 1 - np.geomspace(1e-9, 0.1, 400)])
    worst = max(two_valued(width, share * width, order) for share in inner)
    assert claimed >= worst - 1e-14 * max(1, 1 / (order - 1))
    if width >= 0.05:
        assert claimed == pytest.approx(worst, rel=1e-4)
    assert claimed <= min(order * width**2 / 8, width)
    assert conversions.bounded_range_renyi(width / 2, order) < 0.6 * worst


def test_a_random_pair_of_bounded_range_has_less():
    rng = np.random.default_rng(1)
    for _ in range(200):
        second, eta = rng.dirichlet(np.ones(5)), 4 * rng.random()
        ratio = eta * rng.random(5)
        ratio -= math.log((second * np.exp(ratio)).sum())
        for order in (1.2, 3.0, 20.0):
            found = math.log((second * np.exp(order * ratio)).sum()) / (order - 1)
            assert found <= conversions.bounded_range_renyi(eta, order)


@pytest.mark.parametrize("order", [1.5, 4.0, 30.0])
def test_every_notion_has_a_curve(order):
    assert gdp(0.7).renyi(order) == pytest.approx(order * 0.245)
    assert zcdp(0.2).renyi(order) == pytest.approx(order * 0.2)
    assert pure(1.0).renyi(order) == conversions.pure_renyi(1.0, order)
    assert bounded_range(1.0).renyi(order) == conversions.bounded_range_renyi(1.0, order)
    draws = repeated_bounded_range(1.0, 5)
    assert draws.renyi(order) == pytest.approx(5 * conversions.bounded_range_renyi(1.0, order))
    assert bounded_range(1.0).renyi(order) < pure(1.0).renyi(order)
    assert approximate(1.0, 1e-6).renyi(order) == no_guarantee("chain").renyi(order) == math.inf


def test_between_known_orders_a_chord_is_a_bound():
    truth, known = Approximate(1.3), np.array([1.5, 2.0, 4.0, 16.0])
    part = rdp(known, [truth.renyi(a) for a in known])
    for order in (1.01, 1.2, 1.5, 1.8, 3.0, 10.0, 16.0):
        assert part.renyi(order) >= truth.renyi(order) * (1 - 1e-12)
    assert part.renyi(2.0) == pytest.approx(truth.renyi(2.0))
    assert part.renyi(16.1) == math.inf


def test_a_dense_curve_of_a_gaussian_is_its_zcdp():
    orders = 1 + np.geomspace(1e-1, 1e3, 400)
    part = rdp(orders, orders * 0.5)
    for delta in (1e-3, 1e-6, 1e-9):
        assert part.epsilon(delta) == pytest.approx(zcdp(0.5).epsilon(delta), rel=1e-3)
        assert part.epsilon(delta) > gdp(1.0).epsilon(delta)
        assert part.delta(part.epsilon(delta)) == pytest.approx(delta, rel=1e-9)
    assert rdp(orders, orders * 0.25).epsilon(1e-6) < gdp(1.0).epsilon(1e-6)
    assert part.tradeoff(0.05) > 0.6


def test_curves_add_up_at_the_orders_that_are_known():
    one = rdp([2, 8, 32], [0.2, 0.8, 3.2])
    total = compose([one, gdp(0.5), one])
    assert total.orders == ((2.0, 0.65), (8.0, 2.6), (32.0, pytest.approx(10.4)))
    assert total.rho == math.inf and total.holds
    assert total.epsilon(1e-6) > one.epsilon(1e-6)
    beside = compose([one, approximate(0.5, 1e-7)])
    assert beside.epsilon(1e-6) == pytest.approx(0.5 + one.epsilon(9e-7))
    shorter = compose([one, rdp([4], [1.0])])
    assert [order for order, _ in shorter.orders] == [2.0, 4.0]
    assert not compose([one, no_guarantee("chain")]).holds


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: rdp([1.0, 2.0], [0.1, 0.2]), r"orders must be > 1 and finite, got \[1\.0, 2\.0\]"),
        (lambda: rdp([2.0, math.inf], [0.1, 0.2]), "orders must be > 1 and finite"),
        (lambda: rdp([2.0], [math.nan]), "divergences must be >= 0"),
        (lambda: rdp([2.0, 3.0], [0.1]), "the same length"),
        (lambda: rdp([2.0, 2.0], [0.1, 0.2]), "all be different"),
        (lambda: rdp([2.0], [math.inf]), "finite at one or more orders"),
        (lambda: rdp([], []), "finite at one or more orders"),
        (lambda: pure(1.0).renyi(math.nan), "order must be > 1"),
        (lambda: Guarantee("rdp", "made up", orders=((3.0, 1.0), (2.0, 1.0))), "must increase"),
        (lambda: repeated_bounded_range(-0.1, 3), r"eta must be >= 0, got -0\.1"),
        (lambda: repeated_bounded_range(0.1, 2.5), "k must be a whole number, at least 1"),
        (lambda: affordable_repeated_eta(0.0, 1e-6, 3), "epsilon must be finite and > 0"),
        (lambda: affordable_repeated_eta(1.0, math.nan, 3), "delta must be in"),
        (lambda: affordable_repeated_eta(1.0, 1e-6, True), "k must be a whole number"),
    ],
)
def test_what_is_no_curve_and_no_budget_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()


DELTAS = st.floats(-12, -0.3).map(lambda power: 10.0**power)


@given(st.floats(1e-3, 4.0), st.integers(1, 100), DELTAS)
def test_its_sums_are_those_of_compose_and_its_epsilon_is_less(eta, k, delta):
    draws, plain = repeated_bounded_range(eta, k), compose([bounded_range(eta)] * k)
    assert draws.pure_epsilon == pytest.approx(plain.pure_epsilon)
    assert draws.rho == pytest.approx(plain.rho)
    assert draws.epsilon(delta) <= plain.epsilon(delta) * (1 + 1e-12)
    assert draws.delta(draws.epsilon(delta)) <= delta
    if draws.epsilon(delta) > 1e-6:
        assert draws.curve.delta(draws.epsilon(delta) * (1 - 1e-6)) > delta * (1 - 1e-6)
    assert draws.epsilon(0.0) == draws.pure_epsilon


def test_a_ledger_and_other_mechanisms_count_its_sums_only():
    draws = repeated_bounded_range(0.5, 20)
    plain = compose([bounded_range(0.5)] * 20)
    assert plain.epsilon(1e-6) == pytest.approx(5.927, abs=1e-3)
    assert draws.epsilon(1e-6) == pytest.approx(5.393, abs=1e-3)
    assert adaptive_epsilon([draws], 1e-6) == pytest.approx(plain.epsilon(1e-6))
    alpha = np.linspace(0, 1, 41)
    assert np.all(draws.tradeoff(alpha) >= zcdp(draws.rho).tradeoff(alpha) - 1e-12)
    assert not repeated_bounded_range(math.inf, 3).holds
    twice = compose([draws, draws])
    assert twice.curve is None
    assert twice.epsilon(1e-6) == pytest.approx(zcdp(2 * draws.rho).epsilon(1e-6))
    with_noise = compose([draws, gdp(0.5)])
    assert with_noise.epsilon(1e-6) == pytest.approx(zcdp(draws.rho + 0.125).epsilon(1e-6))


@given(st.floats(0.01, 50.0), DELTAS, st.integers(1, 200))
def test_a_budget_is_used_up_and_never_passed(epsilon, delta, k):
    eta = affordable_repeated_eta(epsilon, delta, k)
    assert repeated_bounded_range(eta, k).epsilon(delta) <= epsilon
    assert repeated_bounded_range(eta * (1 + 1e-6), k).epsilon(delta) > epsilon
    by_plain_sums = max(epsilon / k, math.sqrt(8 * conversions.zcdp_rho(epsilon, delta) / k))
    assert eta >= by_plain_sums * (1 - 1e-9)


def test_without_delta_the_budget_is_shared_out_and_ten_thousand_draws_are_planned():
    for k in (1, 3, 7, 49):
        eta = affordable_repeated_eta(1.0, 0.0, k)
        assert eta == pytest.approx(1 / k, rel=1e-15)
        assert repeated_bounded_range(eta, k).epsilon(0.0) <= 1.0
    eta = affordable_repeated_eta(4.0, 1e-6, 10_000)
    assert repeated_bounded_range(eta, 10_000).epsilon(1e-6) <= 4.0
    assert eta > 1.06 * math.sqrt(8 * conversions.zcdp_rho(4.0, 1e-6) / 10_000)
