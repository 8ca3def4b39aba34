"""Guarantees as values, and conversions to (ε, δ): bounds that agree, labels that are true."""

import inspect
import json
import math
import re
from dataclasses import replace
from itertools import pairwise

import mpmath
import numpy as np
import pytest
from dp_accounting import dp_event, pld
from dp_accounting import rdp as dp_rdp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm

from rashomon_explorer.mechanisms.planner import plan
from rashomon_explorer.privacy import (
    affordable_repeated_eta,
    best_attack,
    compose,
    pure,
    rdp,
    repeated_bounded_range,
    zcdp,
)
from rashomon_explorer.privacy.conversions import (
    gdp_delta,
    gdp_epsilon,
    gdp_mu,
    zcdp_delta,
    zcdp_epsilon,
    zcdp_rho,
)
from rashomon_explorer.privacy.guarantee import Guarantee
from rashomon_explorer.privacy.notions import approximate, bounded_range, gdp, no_guarantee

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


@given(COMPOSED, DELTAS, st.floats(1, 50), st.floats(0, 20))
def test_epsilon_and_delta_fall_and_invert_each_other(total, delta, factor, other):
    epsilon = total.epsilon(delta)
    assert total.epsilon(delta / factor) >= epsilon
    assert 1 >= total.delta(other) >= total.delta(other * factor) >= 0
    if math.isfinite(epsilon):
        assert total.delta(epsilon * (1 + 1e-9)) <= delta * (1 + 1e-6)
    if epsilon > 1e-3:
        assert total.delta(min(epsilon, 1e3) * (1 - 1e-6)) > delta * (1 - 1e-6)


@given(st.lists(PARTS, min_size=2, max_size=6), DELTAS)
def test_one_more_part_never_costs_less(parts, delta):
    """The order and the grouping of the parts do not matter."""
    epsilon = compose(parts).epsilon(delta)
    assert epsilon >= compose(parts[:-1]).epsilon(delta)
    nested = compose([compose(parts[:2]), *parts[2:]])
    for same in (compose(parts[::-1]), nested):
        assert same.epsilon(delta) == pytest.approx(epsilon, rel=1e-9)


@pytest.mark.parametrize(
    "parts",
    [
        [approximate(1.0, 0.6)] * 2,
        [pure(0.1), no_guarantee("bounds were learnt"), zcdp(0.1)],
        [zcdp(0.1), Guarantee("pure", "pure alone", pure_epsilon=1.0)],  # no common notion
    ],
)
def test_compositions_without_a_guarantee(parts):
    total = compose(parts)
    assert not total.holds and total.notion == "none"
    assert total.epsilon(0.999) == math.inf and total.delta(100.0) == 1.0
    assert str(total).startswith("no guarantee") and parts[1].theorem in str(total)


def test_the_least_and_the_largest_cost():
    assert compose([]).epsilon(0.0) == compose([]).delta(0.0) == 0.0 and compose([]).holds
    assert compose([part := bounded_range(0.3)]) is part
    assert pure(1e200).epsilon(0.0) == 1e200 and pure(10**200).rho == math.inf
    for notion in (pure, bounded_range, gdp):  # no cost is rounded off to nothing
        assert notion(1e-200).rho > 0 == notion(0.0).rho
        assert compose([notion(1e-200)] * 3).epsilon(1e-9) > 0 or notion is gdp


def test_a_seed_is_named_and_inherited():
    seeded = compose([pure(1.0), pure(1.0).with_seed()])
    assert seeded.seeded and "reproducible, not private" in str(seeded)
    assert not pure(1.0).seeded and "not private" not in str(pure(1.0))
    assert seeded.epsilon(0.0) == 2.0


@given(COMPOSED)
def test_every_printed_number_is_true(total):
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


BEYOND = "got a whole number beyond the largest double"


@pytest.mark.parametrize(
    ("call", "message"),
    [
        *((lambda n=n, v=v: n(v), "must be >= 0") for n in (pure, bounded_range, zcdp)
          for v in (-1e-9, math.nan)),
        (lambda: pure(10**400), BEYOND),
        (lambda: pure(1.0).delta(10**400), BEYOND),
        (lambda: plan(100, 3, 10**400, epsilon=1.0, radius=1.0, row_norm=1.0), BEYOND),
        (lambda: gdp_mu(10**400, 1e-6), BEYOND),
        (lambda: zcdp_epsilon(-1.0, 0.1), "rho"),
        (lambda: zcdp_epsilon(1.0, math.nan), "delta"),
        (lambda: zcdp_delta(math.nan, 1.0), "rho"),
        (lambda: zcdp_delta(1.0, math.nan), "epsilon"),
        (lambda: gdp_mu(math.inf, 1e-6), "epsilon must be finite and > 0"),
        (lambda: gdp_mu(1.0, 0.0), r"delta must be in \(0, 1\)"),
        *((lambda d=d: pure(1.0).epsilon(d), "delta must be in") for d in (-1e-9, 1.0, math.nan)),
        (lambda: approximate(1.0, math.inf), "delta must be in"),
        (lambda: zcdp(rho="a"), "rho must be"),  # type: ignore[arg-type]
        (lambda: gdp(mu=None), "mu must be"),  # type: ignore[arg-type]
        (lambda: gdp(mu=1.0).delta([0.0, 1.0]), "epsilon must be"),  # type: ignore[arg-type]
        (lambda: gdp(mu=1.0).epsilon("1e-6"), "delta must be"),  # type: ignore[arg-type]
        # A guarantee that would give budget back.
        *((lambda n=n, v=v: Guarantee("pure", "", **{n: v}), n) for n, v in (
            ("pure_epsilon", -1.0), ("pure_epsilon", math.nan), ("rho", -0.1), ("rho", math.nan),
            ("approximate_epsilon", -1.0), ("approximate_delta", 1.5),
            ("approximate_delta", math.nan))),
    ],
)  # fmt: skip
def test_numbers_out_of_range_are_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()


LEAST = math.exp(-2.0)


@pytest.mark.parametrize(
    ("guarantee", "power"),
    [
        (pure(0.0), 0.05),
        (pure(1.0), math.e * 0.05),  # false alarms multiply until misses bind
        (pure(math.log(9)), 0.45),
        (pure(math.log(99)), 1 - 0.95 / 99),
        (gdp(1.3), norm.cdf(norm.ppf(0.05) + 1.3)),
        (bounded_range(2.0), 1 - LEAST * 0.95 / (LEAST + 0.05 * (1 - LEAST))),
        (approximate(1.0, 0.01), pytest.approx(math.e * 0.05 + 0.01, abs=1e-3)),
        (no_guarantee("seen"), 1.0),
    ],
)
def test_closed_forms(guarantee, power):
    expected = pytest.approx(power, abs=1e-9) if isinstance(power, float) else power
    assert best_attack(guarantee, 0.05) == expected
    with pytest.raises(ValueError, match="false_alarms"):
        best_attack(guarantee, 1.5)


def test_the_best_notion_of_a_sum_counts():
    """Pure ε alone lets an attacker of 20 charges win for sure; their zCDP does not."""
    twenty, levels = compose([bounded_range(0.4)] * 20), [0.01, 0.05, 0.2]
    assert np.all(twenty.tradeoff(levels) >= zcdp(0.4).tradeoff(levels) - 1e-12)
    assert best_attack(twenty, 0.05) < 0.4
    assert best_attack(pure(twenty.pure_epsilon), 0.05) > 0.99  # the control: ε alone
    cost = twenty.epsilon(1e-6)
    assert best_attack(twenty, 0.05) <= best_attack(approximate(cost, 1e-6), 0.05) + 5e-3


EPSILONS = st.floats(0, 50)
# ε of a number and δ, δ of a number and ε, the largest number for a budget, its range, and that
# of δ, and the relative error of an inverse.
NOTIONS = {
    "zcdp": (zcdp_epsilon, zcdp_delta, zcdp_rho, (-8, 3), (-300, -0.3), 1e-6),
    "gdp": (gdp_epsilon, gdp_delta, gdp_mu, (-3, 1.3), (-14, -0.4), 1e-9),
}
each_notion = pytest.mark.parametrize("notion", NOTIONS)


@pytest.mark.parametrize(("share", "caught"), [(1.0, False), (0.9, True)])
def test_the_gaussian_mechanism_leaks_no_more_than_its_rho_and_more_than_less(share, caught):
    grid = [(mu, eps) for mu in np.geomspace(0.01, 8, 25) for eps in np.linspace(0, 30, 61)]
    claims = [(gdp_delta(mu, eps), zcdp_delta(share * mu**2 / 2, eps)) for mu, eps in grid]
    violations = sum(true > claimed * (1 + 1e-9) + 1e-300 for true, claimed in claims)
    assert violations > 20 if caught else violations == 0


@each_notion
@given(st.data())
def test_epsilon_and_delta_invert_each_other_never_end_below_and_are_monotone(notion, data):
    epsilon_at, delta_at, _, numbers, deltas, error = NOTIONS[notion]
    number, delta = (10.0 ** data.draw(st.floats(*powers)) for powers in (numbers, deltas))
    epsilon = epsilon_at(number, delta)
    assert delta_at(number, epsilon) <= delta * (1 + error)
    if epsilon > 1e-6:
        assert delta_at(number, epsilon * (1 - 1e-6)) > delta * (1 - error)
    factor, other = data.draw(st.floats(1, 100)), data.draw(EPSILONS)
    back = delta_at(number, other)
    if 1e-300 < back < 0.999:
        assert epsilon_at(number, back) == pytest.approx(other, rel=1e-6, abs=1e-6)
    assert epsilon_at(number * factor, delta) >= epsilon
    assert epsilon_at(number, delta / factor) >= epsilon
    assert delta_at(number * factor, other) >= back * (1 - 1e-12)
    assert delta_at(number, other * factor) <= back


@each_notion
@given(st.floats(0.01, 30.0), st.floats(-14, -0.4))
def test_the_largest_number_fits_the_budget(notion, epsilon, power):
    epsilon_at, _, largest, *_ = NOTIONS[notion]
    number = largest(epsilon, 10.0**power)
    assert epsilon_at(number, 10.0**power) <= epsilon
    assert epsilon_at(number * (1 + 1e-6), 10.0**power) > epsilon * (1 - 1e-9)


@pytest.mark.parametrize("rho", [1e-8, 1.0, 1e300])
@pytest.mark.parametrize("delta", [5e-324, 1e-6, 1 - 1e-12])
def test_extremes_are_finite(rho, delta):
    assert 0 <= zcdp_epsilon(rho, delta) < math.inf
    assert 0 <= zcdp_delta(rho, 1 / rho) <= 1


@pytest.mark.parametrize(
    ("found", "value"),
    [
        (zcdp_epsilon(0.0, 0.0), 0.0),
        (zcdp_delta(0.0, 0.0), 0.0),
        (zcdp_epsilon(0.1, 0.0), math.inf),
        (zcdp_epsilon(math.inf, 0.1), math.inf),
        (zcdp_delta(math.inf, 5.0), 1.0),
        (zcdp_delta(0.5, math.inf), 0.0),
        (zcdp_epsilon(1e-8, 0.5), 0.0),
        (gdp_delta(1e-200, 1.0), math.ulp(0.0)),  # not 0, which would be pure DP
        (gdp_delta(200.0, 0.0), pytest.approx(1.0)),
        (gdp_delta(math.inf, 1.0), 1.0),
        (gdp_delta(0.0, 0.0), 0.0),
        (gdp_epsilon(1.0, 0.0), math.inf),
        (gdp_epsilon(0.0, 0.0), 0.0),
        # The exact (1, 1e-5) of the notes on Langevin diffusion: δ(1; μ = .2681) = 1e-5.
        (gdp_delta(0.2681, 1.0), pytest.approx(1e-5, rel=5e-3)),
    ],
)
def test_edges(found, value):
    assert found == value


def test_delta_of_a_large_mu_falls():
    deltas = [gdp_delta(80.0, epsilon) for epsilon in np.linspace(0, 6000, 400)]
    assert all(later <= earlier for earlier, later in pairwise(deltas))


ORDERS = st.dictionaries(st.floats(1.001, 500), st.floats(0, 50), min_size=1, max_size=9)
CURVES = ORDERS.map(lambda known: rdp([*known], [*known.values()]))
DRAWN = st.just(compose([bounded_range(0.1)] * 9))


@settings(max_examples=25)
@given(COMPOSED | CURVES | DRAWN, st.booleans())
def test_plain_values_read_back(guarantee, seeded):
    guarantee = guarantee.with_seed() if seeded else guarantee
    content = json.loads(json.dumps(guarantee.to_dict(), allow_nan=False))
    assert ("orders" in content) == bool(guarantee.orders) and "curve" not in content
    assert Guarantee.from_dict(content) == guarantee


@pytest.mark.parametrize(("one", "slack"), [(gdp(0.7), 1e-4), (zcdp(0.25), 1e-3), (pure(0.5), 4)])
def test_an_event_costs_other_accountants_no_less(one, slack):
    """And no more than their own rounding; pure DP, which counts as zCDP there, several times."""
    accountant = (pld.PLDAccountant if one.mu < math.inf else dp_rdp.RdpAccountant)()
    accountant.compose(one.to_dp_event(), 3)
    theirs, ours = accountant.get_epsilon(1e-6), compose([one] * 3).epsilon(1e-6)
    assert ours * (1 - 1e-4) <= theirs <= ours * (1 + slack)
    composed = compose([one] * 3).to_dp_event()
    assert type(composed) is type(one.to_dp_event())


def test_no_event_claims_more_than_is_proved():
    for guarantee in (approximate(0.5, 1e-7), rdp([2, 4], [0.1, 0.2]), no_guarantee("seen")):
        with pytest.raises(ValueError, match="an event needs"):
            guarantee.to_dp_event()
    assert 1 / gdp(0.3).to_dp_event().noise_multiplier >= 0.3
    assert gdp(0.0).to_dp_event() == dp_event.NoOpDpEvent()


def test_every_attribute_of_a_guarantee_can_be_read():
    """Tools that list attributes read all of them, also those that are absent here."""
    for guarantee in (pure(1.0), zcdp(0.1), rdp([2.0], [0.1]), no_guarantee("none")):
        assert dict(inspect.getmembers(guarantee))["notion"] == guarantee.notion


@pytest.mark.parametrize("delta", [1e-3, 1e-9, 1e-30, 1e-100, 1e-300])
@pytest.mark.parametrize("epsilon", [1e-3, 0.1, 1.0, 30.0])
def test_what_a_budget_allows_costs_the_budget_at_any_delta(epsilon, delta):
    """Conversions and their inverses, against 60 digits for Gaussian DP."""
    mu, rho = gdp_mu(epsilon, delta), zcdp_rho(epsilon, delta)
    for proved in (
        gdp(mu),
        zcdp(rho),
        repeated_bounded_range(affordable_repeated_eta(epsilon, delta, 5), 5),
    ):
        assert 0.99 * epsilon <= proved.epsilon(delta) <= epsilon * (1 + 1e-9)
        assert 0 <= proved.delta(epsilon) <= delta * (1 + 1e-6)
    with mpmath.workdps(60):
        low, half = -epsilon / mpmath.mpf(mu), mpmath.mpf(mu) / 2
        exact = mpmath.ncdf(low + half) - mpmath.exp(epsilon) * mpmath.ncdf(low - half)
        assert exact <= delta * (1 + 1e-9) and gdp(mu / 2).delta(epsilon) < exact


def test_a_printed_guarantee_wraps_and_says_what_holds_at_the_stated_epsilon():
    """Of weak notions beside a curve it says which ε they prove without it."""
    loose = repeated_bounded_range(1.0, 30)
    loose = replace(loose, requested=(math.nextafter(loose.epsilon(1e-6), 99), 1e-6))
    assert loose.epsilon(1e-6) < replace(loose, curve=None).epsilon(1e-6)
    lines = str(loose).splitlines()
    assert len(lines) > 1 and max(map(len, lines)) <= 88
    text = " ".join(str(loose).split())
    assert re.match("ε = .* at δ = 1e-6 \\(by a trade-off curve; 30-DP and .*-zCDP", text)
    assert "alone: ε = " in text and "alone: ε = " in repr(loose)
    enough = replace(pure(0.5), requested=(0.5, 1e-6))
    assert str(enough).startswith("ε = 0.5 at δ = 1e-6 (0.5-DP")
