"""Guarantees as values: bounds that agree with each other, and labels that are true."""

import json
import math
import re
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rashomon_explorer.mechanisms.planning.planner import plan
from rashomon_explorer.privacy import (
    Guarantee,
    approximate,
    bounded_range,
    compose,
    gdp,
    pure,
    zcdp,
)
from rashomon_explorer.privacy.conversions import gdp_mu
from rashomon_explorer.privacy.notions import no_guarantee

SMALL = st.floats(1e-6, 3.0)
HAIR = 1e-11  # a double may lie a hair above the decimal it is printed as
DELTAS = st.floats(-12, -0.4).map(lambda power: 10.0**power)
PARTS = st.one_of(
    SMALL.map(pure),
    SMALL.map(bounded_range),
    SMALL.map(lambda x: zcdp(x / 10)),
    SMALL.map(gdp),
    st.builds(approximate, SMALL, st.floats(0, 1e-3)),
)
COMPOSED = st.lists(PARTS, max_size=6).map(compose)


@given(COMPOSED, DELTAS, st.floats(1, 50))
def test_a_larger_delta_needs_no_more_epsilon(
    total: Guarantee, delta: float, factor: float
) -> None:
    assert total.epsilon(delta / factor) >= total.epsilon(delta)


@given(COMPOSED, st.floats(0, 20), st.floats(0, 10))
def test_a_larger_epsilon_needs_no_more_delta(total: Guarantee, eps: float, more: float) -> None:
    assert 1 >= total.delta(eps) >= total.delta(eps + more) >= 0


@given(COMPOSED, DELTAS)
def test_epsilon_and_delta_invert_each_other(total: Guarantee, delta: float) -> None:
    epsilon = total.epsilon(delta)
    if math.isfinite(epsilon):
        assert total.delta(epsilon * (1 + 1e-9)) <= delta * (1 + 1e-6)
    if epsilon > 1e-3:
        assert total.delta(min(epsilon, 1e3) * (1 - 1e-6)) > delta * (1 - 1e-6)


@given(st.lists(PARTS, min_size=1, max_size=5), PARTS, DELTAS)
def test_one_more_part_never_costs_less(parts: list[Guarantee], new: Guarantee, d: float) -> None:
    assert compose([*parts, new]).epsilon(d) >= compose(parts).epsilon(d)


@given(st.lists(PARTS, min_size=2, max_size=6), DELTAS)
def test_order_and_grouping_do_not_matter(parts: list[Guarantee], d: float) -> None:
    nested = compose([compose(parts[:2]), *parts[2:]])
    expected = pytest.approx(compose(parts).epsilon(d), rel=1e-9)
    assert compose(parts[::-1]).epsilon(d) == expected
    assert nested.epsilon(d) == expected


def test_the_better_of_two_sums_counts() -> None:
    few, many = compose([bounded_range(0.5)] * 2), compose([bounded_range(0.5)] * 200)
    assert few.epsilon(1e-9) == few.epsilon(0.0) == 1.0
    assert many.epsilon(1e-9) < many.epsilon(0.0) == 100.0


def test_composition_with_approximate_parts_adds_both_numbers() -> None:
    total = compose([pure(1.0), approximate(0.5, 1e-6), approximate(0.25, 2e-6)])
    assert total.epsilon(3e-6) == 1.75
    assert total.epsilon(2.9e-6) == math.inf
    assert total.delta(1.75) == 3e-6
    assert total.delta(0.7) == 1.0
    with_zcdp = compose([zcdp(0.1), approximate(0.5, 1e-6)])
    assert with_zcdp.epsilon(2e-6) == pytest.approx(0.5 + zcdp(0.1).epsilon(1e-6))


def test_more_than_all_delta_is_nothing() -> None:
    total = compose([approximate(1.0, 0.6)] * 2)
    assert not total.holds
    assert total.epsilon(0.999) == math.inf
    assert total.delta(5.0) == 1.0


def test_no_guarantee_infects() -> None:
    total = compose([pure(0.1), no_guarantee("bounds were learnt"), zcdp(0.1)])
    assert not total.holds
    assert total.notion == "none"
    assert total.epsilon(0.5) == math.inf
    assert total.delta(100.0) == 1.0
    assert str(total).startswith("no guarantee")
    assert "bounds were learnt" in str(total)


def test_two_parts_without_a_common_notion_promise_nothing() -> None:
    total = compose([zcdp(0.1), Guarantee("pure", "pure alone", pure_epsilon=1.0)])
    assert not total.holds
    assert total.notion == "none"


def test_huge_epsilon_is_kept() -> None:
    assert pure(1e200).epsilon(0.0) == 1e200
    assert pure(1e200).holds


def test_nothing_spent() -> None:
    nothing = compose([])
    assert nothing.epsilon(0.0) == nothing.delta(0.0) == 0.0
    assert nothing.holds


def test_one_part_is_itself() -> None:
    part = bounded_range(0.3)
    assert compose([part]) is part


@given(COMPOSED, st.booleans())
def test_json_round_trip(total: Guarantee, seeded: bool) -> None:
    total = total.with_seed() if seeded else total
    assert Guarantee.from_dict(json.loads(json.dumps(total.to_dict(), allow_nan=False))) == total


def test_json_keeps_infinity() -> None:
    text = json.dumps(zcdp(0.5).to_dict(), allow_nan=False)
    assert Guarantee.from_dict(json.loads(text)).pure_epsilon == math.inf


def test_a_seed_is_said_and_inherited() -> None:
    seeded = compose([pure(1.0), pure(1.0).with_seed()])
    assert seeded.reproducible
    assert "reproducible, not private" in str(seeded)
    assert not pure(1.0).reproducible
    assert "not private" not in str(pure(1.0))
    assert seeded.epsilon(0.0) == 2.0


@given(COMPOSED)
def test_every_printed_number_is_true(total: Guarantee) -> None:
    text = str(total)
    pair = re.match(r"\((\S+), (\S+)\)-DP(?: with (\S+)-zCDP)?", text)
    if pair:
        rest = 0.0 if pair[3] else total.pure_epsilon
        assert total.approximate_epsilon + rest <= float(pair[1]) * (1 + HAIR)
        assert total.approximate_delta <= float(pair[2]) * (1 + HAIR)
        assert not pair[3] or total.rho <= float(pair[3]) * (1 + HAIR)
        return
    single = re.match(r"(?:(\S+)-DP)?(?: and )?(?:(\S+)-zCDP|(\S+)-GDP)?, ", text)
    assert single
    assert any(single.groups())
    assert not single[1] or total.epsilon(0.0) <= float(single[1]) * (1 + HAIR)
    assert not single[2] or total.rho <= float(single[2]) * (1 + HAIR)
    assert not single[3] or total.mu <= float(single[3]) * (1 + HAIR)


@pytest.mark.parametrize(
    ("guarantee", "label"),
    [
        (pure(1.0), "1-DP and 0.5-zCDP, "),
        (zcdp(0.123456), "0.1235-zCDP, "),
        (approximate(1.0, 0.0), "1-DP and 0.5-zCDP, "),
        (approximate(1.0, 1e-6), "(1, 1e-06)-DP, "),
        (compose([pure(1.0), approximate(0.5, 1e-6)]), "(1.5, 1e-06)-DP, "),
        (compose([zcdp(0.2), approximate(0.5, 1e-6)]), "(0.5, 1e-06)-DP with 0.2-zCDP, "),
        (compose([zcdp(0.2), pure(1.0)]), "0.7-zCDP, "),
        (pure(6.46142), "6.462-DP and "),
    ],
)
def test_labels(guarantee: Guarantee, label: str) -> None:
    assert str(guarantee).startswith(label)
    assert "replace one record" in str(guarantee)


@pytest.mark.parametrize("make", [pure, bounded_range, zcdp])
@pytest.mark.parametrize("value", [-1e-9, math.nan, 10**400])
def test_numbers_out_of_range_are_refused(make: Callable[[float], Guarantee], value: float) -> None:
    with pytest.raises(ValueError, match="must be >= 0"):
        make(value)


def test_a_number_beyond_doubles_is_refused_in_words() -> None:
    """One that a double holds, and its square does not, is a price like any other."""
    beyond = "got a whole number beyond the largest double"
    calls: list[Callable[[], object]] = [
        lambda: pure(10**400),
        lambda: pure(-(10**5000)),
        lambda: pure(1.0).delta(10**400),
        lambda: plan(100, 3, 10**400, epsilon=1.0, radius=1.0, row_norm=1.0),
        lambda: plan(100, 3, 0.1, epsilon=10**5000, radius=1.0, row_norm=1.0),
        lambda: gdp_mu(10**400, 1e-6),
    ]
    for call in calls:
        with pytest.raises(ValueError, match=beyond):
            call()
    assert pure(10**200).rho == math.inf


@pytest.mark.parametrize("delta", [-1e-9, 1.0, math.nan, math.inf])
def test_delta_out_of_range_is_refused(delta: float) -> None:
    with pytest.raises(ValueError, match="delta must be in"):
        pure(1.0).epsilon(delta)
    with pytest.raises(ValueError, match="delta must be in"):
        approximate(1.0, delta)


@pytest.mark.parametrize(
    "bad",
    [
        {"pure_epsilon": -1.0},
        {"pure_epsilon": math.nan},
        {"rho": -0.1},
        {"rho": math.nan},
        {"approximate_epsilon": -1.0},
        {"approximate_delta": 1.5},
        {"approximate_delta": math.nan},
    ],
)
def test_a_guarantee_that_would_give_budget_back_cannot_be_made(bad: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=next(iter(bad))):
        Guarantee("pure", "made up", **bad)  # type: ignore[arg-type]


@pytest.mark.parametrize("make", [pure, bounded_range, gdp])
def test_no_price_is_rounded_off_to_nothing(make: Callable[[float], Guarantee]) -> None:
    assert make(1e-200).rho > 0
    assert make(0.0).rho == 0
    assert compose([make(1e-200)] * 3).epsilon(1e-9) > 0 or make is gdp


@pytest.mark.parametrize(
    "ask",
    [
        lambda: zcdp(rho="a"),  # type: ignore[arg-type]
        lambda: gdp(mu=None),  # type: ignore[arg-type]
        lambda: gdp(mu=1.0).delta([0.0, 1.0]),  # type: ignore[arg-type]
        lambda: gdp(mu=1.0).epsilon("1e-6"),  # type: ignore[arg-type]
    ],
)
def test_what_is_no_number_is_refused_by_name(ask: Callable[[], object]) -> None:
    with pytest.raises(ValueError, match=r"(rho|mu|epsilon|delta) must be"):
        ask()


def test_many_pure_charges_are_told_by_their_zcdp_too():
    """Pure ε alone lets an attacker of 20 charges win for sure; their zCDP does not."""
    many = Guarantee("composition", "twenty draws", pure_epsilon=8.0, rho=0.4)
    levels = [0.01, 0.05, 0.2]
    proved, zcdp_alone = many.tradeoff(levels), zcdp(0.4).tradeoff(levels)
    assert all(proved >= zcdp_alone - 1e-12) and proved[1] > 0.6
    assert pure(8.0).tradeoff(0.05) < 0.01  # the control: ε alone
    assert pure(1.0).tradeoff(0.05) == pytest.approx(1 - math.e * 0.05, abs=1e-6)
