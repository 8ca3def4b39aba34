"""Nobody who picks each price after seeing the earlier results gets past the stopping rule."""

import math
from collections.abc import Callable
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import ndtr, ndtri

from rashomon_explorer.privacy import (
    Guarantee,
    adaptive_epsilon,
    approximate,
    bounded_range,
    compose,
    pure,
    zcdp,
)
from rashomon_explorer.privacy.composition import ledger_order
from rashomon_explorer.privacy.conversions import filter_order, gdp_epsilon, zcdp_rho
from rashomon_explorer.privacy.tradeoff import BoundedRange
from tests.privacy.analysts import STEP, analyst, of_range

Rule = Callable[[list[Guarantee]], float]

ULP = 1 + 1e-9


def worst(rule: Rule, epsilon: float, delta: float, menu: tuple[int, ...], leak: float) -> float:
    """Share of δ that the analyst uses; above 1 the rule is unsound."""

    items = [bounded_range(size * STEP) for size in menu]

    @cache  # there are many ways to one purchase
    def admitted(bought: tuple[int, ...]) -> bool:
        parts = [one for one, k in zip(items, bought, strict=False) for _ in range(k)]
        if leak:
            # Bought first, if at all: the order that is best for the analyst under either rule.
            parts = [approximate(0.0, leak)] * bought[-1] + parts
        return rule(parts) <= epsilon * ULP

    return analyst(epsilon, admitted, [of_range(size) for size in menu], leak=leak) / delta


CASES = [(2.0, 1e-3, (2, 5)), (2.0, 1e-2, (2, 5)), (3.0, 1e-3, (5, 10)), (1.0, 5e-2, (2, 5))]


@pytest.mark.parametrize(("epsilon", "delta", "menu"), CASES)
def test_the_less_of_two_sums_is_a_sound_stopping_rule(
    epsilon: float, delta: float, menu: tuple[int, ...]
) -> None:
    used = worst(lambda parts: adaptive_epsilon(parts, delta), epsilon, delta, menu, 0.0)
    assert 0 < used <= 1


def test_a_rule_with_half_the_prices_is_caught() -> None:
    epsilon, delta, menu = 3.0, 1e-3, (5, 10)

    half = {bounded_range(s * STEP): bounded_range(s * STEP / 2) for s in menu}

    def halved(parts: list[Guarantee]) -> float:
        return adaptive_epsilon([half[part] for part in parts], delta)

    assert worst(halved, epsilon, delta, menu, 0.0) > 1


@pytest.mark.parametrize(("epsilon", "delta", "menu"), CASES)
def test_sharing_delta_between_leaks_and_zcdp_as_one_goes_is_caught(
    epsilon: float, delta: float, menu: tuple[int, ...]
) -> None:
    """Why (ε, δ) charges and zCDP share no δ: plain composition is no stopping rule for both."""
    used = worst(lambda parts: compose(parts).epsilon(delta), epsilon, delta, menu, delta / 2)
    assert used > 1


@pytest.mark.parametrize(("epsilon", "delta", "menu"), CASES)
def test_a_ledger_that_begins_with_a_leak_stays_sound(
    epsilon: float, delta: float, menu: tuple[int, ...]
) -> None:
    def rule(parts: list[Guarantee]) -> float:
        # One leak of probability 0 stands for the first charge, which settles what δ pays for.
        return adaptive_epsilon([approximate(0.0, 1e-300), *parts], delta)

    assert 0.97 < worst(rule, epsilon, delta, menu, delta / 2) <= 1


PARTS = st.one_of(
    st.floats(1e-3, 2).map(pure), st.floats(1e-3, 2).map(bounded_range), st.floats(0, 0.1).map(zcdp)
)


@given(st.lists(PARTS, max_size=5), st.floats(1e-9, 0.1))
def test_without_leaks_it_is_plain_composition(parts: list[Guarantee], delta: float) -> None:
    assert adaptive_epsilon(parts, delta) == compose(parts).epsilon(delta)


@pytest.mark.parametrize("eta", [1e-3, 0.1, 1.0, 5.0])
def test_exact_draws_are_cheaper_by_zcdp_than_by_gaussian_dp(eta: float) -> None:
    """Why a ledger counts ρ: the least μ whose Gaussian is below bounded range is above η/2."""
    alpha = ndtr(np.linspace(-6, 6, 20_001))
    curve = BoundedRange(eta)(alpha)
    least = float(np.max(ndtri(1 - alpha) - ndtri(curve)))
    assert least == pytest.approx(2 * ndtri(1 / (1 + math.exp(-eta / 2))), rel=1e-5)
    assert bounded_range(eta).rho == pytest.approx((eta / 2) ** 2 / 2)
    assert 1.14 < least / (eta / 2) < 1.26


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 8.0])
def test_what_a_ledger_of_gaussian_dp_would_gain_and_lose(epsilon: float) -> None:
    """The percentages of docs/ledger-proofs.md, for a hundred draws, and for paths."""
    rho = zcdp_rho(epsilon, 1e-6)
    mu = 10 * 2 * ndtri(1 / (1 + math.exp(-math.sqrt(8 * rho) / 10 / 2)))
    assert 1.17 < gdp_epsilon(mu, 1e-6) / epsilon < 1.23
    assert 0.92 < gdp_epsilon(math.sqrt(2 * rho), 1e-6) / epsilon < 0.94


def test_the_first_charge_settles_the_order():
    first, second = (replace(zcdp(0.01), requested=asked) for asked in ((1.0, 1e-6), (4.0, 1e-5)))
    assert ledger_order([first, second]) == filter_order(1.0, 1e-6) != filter_order(4.0, 1e-5)
    assert ledger_order([]) is None
