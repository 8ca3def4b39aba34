"""Independent draws as one guarantee: what it states, and what a budget allows."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rashomon_explorer.privacy import adaptive_epsilon, affordable_repeated_eta, bounded_range
from rashomon_explorer.privacy import composition as sums
from rashomon_explorer.privacy.conversions import zcdp_rho
from rashomon_explorer.privacy.notions import gdp, zcdp

DELTAS = st.floats(-12, -0.3).map(lambda power: 10.0**power)


@given(st.floats(1e-3, 4.0), st.integers(1, 100), DELTAS)
@settings(max_examples=50, deadline=None)
def test_its_sums_are_those_of_compose_and_its_epsilon_is_less(eta, k, delta):
    draws, plain = sums.repeated_bounded_range(eta, k), sums.compose([bounded_range(eta)] * k)
    assert draws.pure_epsilon == pytest.approx(plain.pure_epsilon)
    assert draws.rho == pytest.approx(plain.rho)
    assert draws.epsilon(delta) <= plain.epsilon(delta) * (1 + 1e-12)
    assert draws.delta(draws.epsilon(delta)) <= delta
    assert draws.epsilon(0.0) == draws.pure_epsilon


def test_a_ledger_and_other_mechanisms_count_its_sums_only():
    draws = sums.repeated_bounded_range(0.5, 20)
    plain = sums.compose([bounded_range(0.5)] * 20)
    assert plain.epsilon(1e-6) == pytest.approx(5.927, abs=1e-3)
    assert draws.epsilon(1e-6) == pytest.approx(5.393, abs=1e-3)
    assert adaptive_epsilon([draws], 1e-6) == pytest.approx(plain.epsilon(1e-6))
    twice = sums.compose([draws, draws])
    assert twice.curve is None
    assert twice.epsilon(1e-6) == pytest.approx(zcdp(2 * draws.rho).epsilon(1e-6))
    with_noise = sums.compose([draws, gdp(0.5)])
    assert with_noise.epsilon(1e-6) == pytest.approx(zcdp(draws.rho + 0.125).epsilon(1e-6))


def test_its_text_and_its_trade_off():
    draws = sums.repeated_bounded_range(0.3, 7)
    assert "with a sharper trade-off" in str(draws)
    assert "number was fixed beforehand" in str(draws)
    alpha = np.linspace(0, 1, 41)
    assert np.all(draws.tradeoff(alpha) >= zcdp(draws.rho).tradeoff(alpha) - 1e-12)
    nothing = sums.repeated_bounded_range(math.inf, 3)
    assert not nothing.holds and nothing.epsilon(0.5) == math.inf


@given(st.floats(0.01, 50.0), DELTAS, st.integers(1, 200))
@settings(max_examples=60, deadline=None)
def test_a_budget_is_used_up_and_never_passed(epsilon, delta, k):
    eta = affordable_repeated_eta(epsilon, delta, k)
    assert sums.repeated_bounded_range(eta, k).epsilon(delta) <= epsilon
    assert sums.repeated_bounded_range(eta * (1 + 1e-6), k).epsilon(delta) > epsilon
    by_plain_sums = max(epsilon / k, math.sqrt(8 * zcdp_rho(epsilon, delta) / k))
    assert eta >= by_plain_sums * (1 - 1e-9)


def test_without_delta_the_budget_is_shared_out_and_ten_thousand_draws_are_planned():
    for k in (1, 3, 7, 49):
        eta = affordable_repeated_eta(1.0, 0.0, k)
        assert eta == pytest.approx(1 / k, rel=1e-15)
        assert sums.repeated_bounded_range(eta, k).epsilon(0.0) <= 1.0
    eta = affordable_repeated_eta(4.0, 1e-6, 10_000)
    assert sums.repeated_bounded_range(eta, 10_000).epsilon(1e-6) <= 4.0
    assert eta > 1.06 * math.sqrt(8 * zcdp_rho(4.0, 1e-6) / 10_000)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: sums.repeated_bounded_range(-0.1, 3), r"eta must be >= 0, got -0\.1"),
        (lambda: sums.repeated_bounded_range(0.1, 2.5), "k must be a whole number, at least 1"),
        (lambda: affordable_repeated_eta(0.0, 1e-6, 3), "epsilon must be finite and > 0"),
        (lambda: affordable_repeated_eta(1.0, math.nan, 3), "delta must be in"),
        (lambda: affordable_repeated_eta(1.0, 1e-6, True), "k must be a whole number"),
    ],
)
def test_numbers_out_of_range_are_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()
