"""Nobody who picks each cost after seeing the earlier results gets past the stopping rule."""

import math
from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial
from itertools import combinations_with_replacement, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import ndtri

from rashomon_explorer.privacy import adaptive_epsilon, compose, conversions, rdp
from rashomon_explorer.privacy.composition import ledger_order
from rashomon_explorer.privacy.conversions import conversion, filter_order, zcdp_epsilon
from rashomon_explorer.privacy.guarantee import Guarantee, divergence
from rashomon_explorer.privacy.notions import approximate, bounded_range, gdp, pure, zcdp
from rashomon_explorer.privacy.tradeoff import GaussianObjectivePerturbation
from tests.privacy.analysts import STEP, analyst, of_range, two_points

Rule = Callable[[list[Guarantee], float], float]

ULP = 1 + 1e-9


def used_share(rule, epsilon, delta, menu, costs, leak=0.0):
    """Share of δ that an analyst of a menu uses; above 1 the rule is unsound."""

    @cache  # there are many ways to one purchase
    def admitted(bought):
        parts = [one for one, k in zip(costs, bought, strict=False) for _ in range(k)]
        if leak:
            # Bought first, if at all: the order that is best for the analyst under either rule.
            parts = [approximate(0.0, leak)] * bought[-1] + parts
        return rule(parts, delta) <= epsilon * ULP

    return analyst(epsilon, admitted, menu, leak=leak) / delta


def at_order(order):
    return partial(adaptive_epsilon, order=order)


def plain_composition(parts, delta):
    return compose(parts).epsilon(delta)


def after_a_leak(parts, delta):
    # One leak of probability 0 stands for the first charge, which settles what δ covers.
    return adaptive_epsilon([approximate(0.0, 1e-300), *parts], delta)


@pytest.mark.parametrize(("epsilon", "delta", "menu"), [(2.0, 1e-3, (2, 5)), (3.0, 1e-3, (5, 10))])
@pytest.mark.parametrize(
    ("rule", "leaks", "least", "most"),
    [
        (adaptive_epsilon, False, 0.0, 1.0),
        (after_a_leak, True, 0.97, 1.0),
        # Why (ε, δ) charges and zCDP share no δ: plain composition is no stopping rule for both.
        (plain_composition, True, 1.0, math.inf),
    ],
)
def test_what_an_analyst_uses_of_delta(rule, leaks, least, most, epsilon, delta, menu):
    items, costs = [of_range(size) for size in menu], [bounded_range(s * STEP) for s in menu]
    used = used_share(rule, epsilon, delta, items, costs, delta / 2 if leaks else 0.0)
    assert least < used <= most


def test_a_rule_with_half_the_costs_is_caught():
    menu, half = [of_range(5), of_range(10)], [bounded_range(s * STEP / 2) for s in (5, 10)]
    assert used_share(adaptive_epsilon, 3.0, 1e-3, menu, half) > 1


PARTS = st.one_of(
    st.floats(1e-3, 2).map(pure), st.floats(1e-3, 2).map(bounded_range), st.floats(0, 0.1).map(zcdp)
)


@settings(max_examples=12)
@given(st.lists(PARTS, max_size=5), st.floats(1e-9, 0.1))
def test_without_leaks_it_is_plain_composition(parts, delta):
    assert adaptive_epsilon(parts, delta) == compose(parts).epsilon(delta)


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 8.0])
def test_what_a_ledger_of_gaussian_dp_would_gain_and_lose(epsilon):
    """The percentages of docs/ledger-proofs.md, for a hundred draws, and for paths."""
    rho = conversions.zcdp_rho(epsilon, 1e-6)
    mu = 10 * 2 * ndtri(1 / (1 + math.exp(-math.sqrt(8 * rho) / 10 / 2)))
    assert 1.17 < conversions.gdp_epsilon(mu, 1e-6) / epsilon < 1.23
    assert 0.92 < conversions.gdp_epsilon(math.sqrt(2 * rho), 1e-6) / epsilon < 0.94


def test_the_first_charge_settles_the_order():
    first, second = (replace(zcdp(0.01), requested=pair) for pair in ((1.0, 1e-6), (4.0, 1e-5)))
    assert ledger_order([first, second]) == filter_order(1.0, 1e-6) != filter_order(4.0, 1e-5)
    assert ledger_order([]) is None


def swapped(shape):
    return tuple((p * math.exp(-loss * STEP), -loss) for p, loss in shape)


def largest_divergence(shapes, order):
    """Largest D_a of some pairs, by its definition."""
    weight = (order - 1) * STEP
    moments = (sum(p * math.exp(weight * loss) for p, loss in shape) for shape in shapes)
    return math.log(max(moments)) / (order - 1)


RARE = two_points(12, 1)
BOTH_WAYS = [RARE, swapped(RARE)]


@pytest.mark.parametrize(
    ("epsilon", "delta"),
    [
        (2.0, 1e-3),
        *(pytest.param(*rest, marks=pytest.mark.law) for rest in ((2.0, 1e-2), (1.0, 5e-2))),
    ],
)
def test_divergences_at_the_budgets_order_are_a_sound_stopping_rule(epsilon, delta):
    order = filter_order(epsilon, delta)
    menu = [of_range(3), BOTH_WAYS]
    cost = largest_divergence(BOTH_WAYS, order)
    costs = [bounded_range(3 * STEP), rdp([order], [cost])]
    assert largest_divergence(of_range(3), order) <= costs[0].renyi(order)
    assert 0.3 < used_share(at_order(order), epsilon, delta, menu, costs) <= 1
    halved = [bounded_range(1.5 * STEP), rdp([order], [cost / 2])]
    assert used_share(at_order(order), epsilon, delta, menu, halved) > 3


@pytest.mark.parametrize(("epsilon", "delta"), [(2.0, 1e-2), (1.0, 5e-2)])
def test_a_composed_loss_distribution_is_no_stopping_rule(epsilon, delta):
    """Why a curve is not counted by itself: whoever looks passes a sum that is exact for others."""
    order = filter_order(epsilon, delta)
    menu = [BOTH_WAYS, [two_points(4, 4)]]

    @cache
    def fixed(bought):
        """δ of so many, chosen beforehand, in the worst of all ways."""
        ways = (combinations_with_replacement(*part) for part in zip(menu, bought, strict=True))
        return max(_delta(epsilon, [one for part in way for one in part]) for way in product(*ways))

    looked = analyst(epsilon, lambda bought: fixed(bought) <= delta, menu) / delta
    assert 1.02 < looked < 1.3
    costs = [rdp([order], [largest_divergence(item, order)]) for item in menu]
    assert 0.5 < used_share(at_order(order), epsilon, delta, menu, costs) <= 1


def _delta(epsilon, shapes):
    law = {0: 1.0}
    for shape in shapes:
        after: dict[int, float] = {}
        for loss, q in law.items():
            for p, by in shape:
                after[loss + by] = after.get(loss + by, 0.0) + p * q
        law = after
    return sum(-q * math.expm1(min(0.0, epsilon - loss * STEP)) for loss, q in law.items())


BUDGETS = st.tuples(st.floats(0.05, 20.0), st.floats(1e-9, 1e-2))
ZCDP = st.one_of(
    st.floats(0.0, 0.1).map(zcdp),
    st.floats(1e-3, 0.5).map(gdp),
    st.floats(1e-3, 1.0).map(bounded_range),
    st.floats(1e-3, 1.0).map(pure),
)


@given(BUDGETS, st.lists(ZCDP, max_size=6), st.floats(0.01, 0.999))
def test_the_order_admits_what_zcdp_admits_and_of_zcdp_alone_the_same(budget, charges, share):
    epsilon, delta = budget
    order, rho = filter_order(epsilon, delta), conversions.zcdp_rho(epsilon, delta)
    if adaptive_epsilon(charges, delta) <= epsilon:
        assert adaptive_epsilon(charges, delta, order=order) <= epsilon * ULP
    assert order * rho + conversion(order, delta) == pytest.approx(epsilon, rel=1e-9)
    within = [zcdp(share * rho)]
    both = [adaptive_epsilon(within, delta, order=one) for one in (order, None)]
    assert both[0] == pytest.approx(both[1], rel=1e-12)
    over = [zcdp(rho * (1 + 1e-6))]
    assert adaptive_epsilon(over, delta, order=order) > epsilon


def test_one_order_admits_what_zcdp_does_not():
    order = filter_order(1.0, 1e-6)
    most = 1.0 - conversion(order, 1e-6)
    for charge in (rdp([order], [most]), Guarantee("tradeoff", "", curve=curve_of(most, order))):
        assert adaptive_epsilon([charge], 1e-6) == math.inf
        assert adaptive_epsilon([charge], 1e-6, order=order) == pytest.approx(1.0)
        more = [charge, zcdp(1e-4)]
        assert adaptive_epsilon(more, 1e-6, order=order) > 1.001


def curve_of(most, order):
    low, high = 0.0, 1.0
    for _ in range(60):
        ratio = (low + high) / 2
        small = GaussianObjectivePerturbation(ratio, 0.01, monotone=True).renyi(order) <= most
        low, high = (ratio, high) if small else (low, ratio)
    return GaussianObjectivePerturbation(low, 0.01, monotone=True)


def test_sublinear_divergences_divided_by_their_order_decrease():
    """D_b ≤ (b/a)·D_a at larger orders, by which a total stays a guarantee away from its order."""
    kinds = [
        GaussianObjectivePerturbation(ratio, jump, monotone, outputs, draws, mu).renyi
        for ratio in (0.01, 0.3, 3.0)
        for jump, draws, mu in ((0.0, 1, 0.0), (0.2, 3, 0.1))
        for monotone, outputs in ((True, 1), (False, 1), (False, 4))
    ]
    kinds += [lambda a, e=e: conversions.pure_renyi(e, a) for e in (0.01, 0.5, 3.0, 20.0)]
    kinds += [lambda a, e=e: conversions.bounded_range_renyi(e, a) for e in (0.01, 0.5, 3.0, 20.0)]
    orders = 1 + np.geomspace(1e-3, 1e4, 200)
    for kind in kinds:
        each = np.array([kind(float(order)) for order in orders]) / orders
        assert np.all(np.diff(each) <= 1e-12 * each[1:])
    for charge in (pure(0.5), bounded_range(0.5), gdp(0.5), zcdp(0.1)):
        assert divergence(charge, 5.0).sublinear


def test_divergences_known_at_some_orders_are_not_sublinear():
    """The control: the rare pair's D_a/a rises, and the total of a smaller ρ would be too low."""
    rises = [largest_divergence(BOTH_WAYS, order) / order for order in (2.0, 6.0)]
    assert rises[1] > 1.3 * rises[0]
    charge = rdp([2.0], [largest_divergence(BOTH_WAYS, 2.0)])
    assert not divergence(charge, 2.0).sublinear
    order, delta = 2.0, 1e-4
    total = adaptive_epsilon([charge] * 3, delta, order=order)
    assert total == pytest.approx(3 * largest_divergence(BOTH_WAYS, 2.0) + conversion(order, delta))
    assert _delta(total, [RARE] * 3) <= delta
    sublinear = zcdp(largest_divergence(BOTH_WAYS, 2.0) / 2)
    too_low = adaptive_epsilon([sublinear] * 3, delta, order=order)
    assert _delta(too_low, [RARE] * 3) > 5 * delta


def test_totals_use_no_smaller_order():
    """Of a charge that is sublinear from its order on, nothing is known below."""
    far = zcdp_epsilon(0.5, 1e-3, least_order=50.0)
    assert far == pytest.approx(50 * 0.5 + conversion(50.0, 1e-3))
    assert far > 4 * zcdp_epsilon(0.5, 1e-3)
    near = zcdp_epsilon(0.5, 1e-3, least_order=2.0)
    assert near == pytest.approx(zcdp_epsilon(0.5, 1e-3))
    charge = rdp([50.0], [25.0])
    assert adaptive_epsilon([charge], 1e-3, order=50.0) == pytest.approx(far)


@pytest.mark.parametrize("epsilon", [0.5, 2.0, 8.0])
def test_curves_of_a_budgets_shares_fit_into_it(epsilon):
    for count in (1, 2, 4):
        share, order = filter_order(epsilon / count, 1e-6), filter_order(epsilon, 1e-6)
        most = epsilon / count - conversion(share, 1e-6)
        part = Guarantee("tradeoff", "", curve=curve_of(most, share))
        assert adaptive_epsilon([part] * count, 1e-6, order=order) <= epsilon
