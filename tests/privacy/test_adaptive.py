"""Nobody who picks each cost after seeing the earlier results gets past the stopping rule."""

import math
from collections.abc import Callable
from dataclasses import replace
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import ndtri

from rashomon_explorer.privacy import adaptive_epsilon, approximate, bounded_range, compose, pure
from rashomon_explorer.privacy.composition import ledger_order
from rashomon_explorer.privacy.conversions import filter_order, gdp_epsilon, zcdp_rho
from rashomon_explorer.privacy.guarantee import Guarantee
from rashomon_explorer.privacy.notions import zcdp
from tests.privacy.analysts import STEP, analyst, of_range

Rule = Callable[[list[Guarantee], float], float]

ULP = 1 + 1e-9


def used_share(rule: Rule, epsilon: float, delta: float, menu: tuple[int, ...], leak: float):
    """Share of δ that the analyst uses; above 1 the rule is unsound."""
    items = [bounded_range(size * STEP) for size in menu]

    @cache  # there are many ways to one purchase
    def admitted(bought: tuple[int, ...]) -> bool:
        parts = [one for one, k in zip(items, bought, strict=False) for _ in range(k)]
        if leak:
            # Bought first, if at all: the order that is best for the analyst under either rule.
            parts = [approximate(0.0, leak)] * bought[-1] + parts
        return rule(parts, delta) <= epsilon * ULP

    return analyst(epsilon, admitted, [of_range(size) for size in menu], leak=leak) / delta


def plain_composition(parts: list[Guarantee], delta: float) -> float:
    return compose(parts).epsilon(delta)


def after_a_leak(parts: list[Guarantee], delta: float) -> float:
    # One leak of probability 0 stands for the first charge, which settles what δ covers.
    return adaptive_epsilon([approximate(0.0, 1e-300), *parts], delta)


@pytest.mark.parametrize(
    ("epsilon", "delta", "menu"),
    [(2.0, 1e-3, (2, 5)), (2.0, 1e-2, (2, 5)), (3.0, 1e-3, (5, 10)), (1.0, 5e-2, (2, 5))],
)
@pytest.mark.parametrize(
    ("rule", "leaks", "least", "most"),
    [
        (adaptive_epsilon, False, 0.0, 1.0),
        (after_a_leak, True, 0.97, 1.0),
        # Why (ε, δ) charges and zCDP share no δ: plain composition is no stopping rule for both.
        (plain_composition, True, 1.0, math.inf),
    ],
)
def test_what_an_analyst_uses_of_delta(rule, leaks, least, most, epsilon, delta, menu) -> None:
    used = used_share(rule, epsilon, delta, menu, delta / 2 if leaks else 0.0)
    assert least < used <= most


def test_a_rule_with_half_the_costs_is_caught() -> None:
    half = {bounded_range(s * STEP): bounded_range(s * STEP / 2) for s in (5, 10)}

    def halved(parts: list[Guarantee], delta: float) -> float:
        return adaptive_epsilon([half[part] for part in parts], delta)

    assert used_share(halved, 3.0, 1e-3, (5, 10), 0.0) > 1


PARTS = st.one_of(
    st.floats(1e-3, 2).map(pure), st.floats(1e-3, 2).map(bounded_range), st.floats(0, 0.1).map(zcdp)
)


@given(st.lists(PARTS, max_size=5), st.floats(1e-9, 0.1))
def test_without_leaks_it_is_plain_composition(parts: list[Guarantee], delta: float) -> None:
    assert adaptive_epsilon(parts, delta) == compose(parts).epsilon(delta)


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 8.0])
def test_what_a_ledger_of_gaussian_dp_would_gain_and_lose(epsilon: float) -> None:
    """The percentages of docs/ledger-proofs.md, for a hundred draws, and for paths."""
    rho = zcdp_rho(epsilon, 1e-6)
    mu = 10 * 2 * ndtri(1 / (1 + math.exp(-math.sqrt(8 * rho) / 10 / 2)))
    assert 1.17 < gdp_epsilon(mu, 1e-6) / epsilon < 1.23
    assert 0.92 < gdp_epsilon(math.sqrt(2 * rho), 1e-6) / epsilon < 0.94


def test_the_first_charge_settles_the_order():
    first, second = (replace(zcdp(0.01), requested=pair) for pair in ((1.0, 1e-6), (4.0, 1e-5)))
    assert ledger_order([first, second]) == filter_order(1.0, 1e-6) != filter_order(4.0, 1e-5)
    assert ledger_order([]) is None
