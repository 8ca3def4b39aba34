"""A ledger's one Rényi order: settled with the budget, summed exactly, never undercut."""

import json
import math
import re
from dataclasses import replace
from fractions import Fraction

import pytest

from rashomon_explorer import DPClassifier
from rashomon_explorer.estimators.feasibility import ledger_rule
from rashomon_explorer.mechanisms.langevin.batch_accounting import sampled_path_guarantee
from rashomon_explorer.mechanisms.langevin.sampled_plan import least_noise
from rashomon_explorer.mechanisms.request import ZCDP
from rashomon_explorer.plots import plot_budget
from rashomon_explorer.plots.budget import charges_table
from rashomon_explorer.privacy import BudgetExceededError, Guarantee, Ledger, LedgerError, compose
from rashomon_explorer.privacy.composition import adaptive_epsilon, rdp, repeated_bounded_range
from rashomon_explorer.privacy.conversions import conversion, filter_order, zcdp_epsilon, zcdp_rho
from rashomon_explorer.privacy.guarantee import Divergence, divergence
from rashomon_explorer.privacy.ledger.charge import remaining_divergence
from rashomon_explorer.privacy.ledger.totals import Totals, recorded_divergence
from rashomon_explorer.privacy.notions import approximate, bounded_range, gdp, pure, zcdp
from rashomon_explorer.privacy.tradeoff import GaussianObjectivePerturbation

CURVE = Guarantee(
    "tradeoff", "a curve", curve=GaussianObjectivePerturbation(0.2, 0.01, monotone=True)
)
ORDER = filter_order(4.0, 1e-6)
CHARGES = [bounded_range(0.3), CURVE, gdp(0.2), pure(0.1), zcdp(0.01), CURVE]


@pytest.fixture
def ledger(tmp_path):
    return Ledger.create(tmp_path / "a.ledger", epsilon=4.0, delta=1e-6)


def total_divergence(charges):
    return sum((Fraction(recorded_divergence(one, ORDER).value) for one in charges), Fraction(0))


def test_the_order_is_settled_with_the_budget(tmp_path):
    assert Ledger.create(tmp_path / "b", epsilon=4.0).order is None
    recording = Ledger.create(tmp_path / "c")
    for charge in CHARGES:
        recording.reserve(charge).start()
    assert recording.order is None
    assert recording.spent() == recording.totals.epsilon(1e-6) == math.inf


def test_every_number_of_a_ledger_is_of_the_same_sum(ledger):
    for place, charge in enumerate(CHARGES, 1):
        after = ledger.epsilon_after(charge)
        ledger.reserve(charge).start()
        assert after == ledger.spent()
        assert ledger.totals.epsilon(1e-6) == adaptive_epsilon(CHARGES[:place], 1e-6, order=ORDER)
        recorded, exact = recorded_divergence(charge, ORDER), divergence(charge, ORDER)
        assert recorded.value > exact.value  # each is entered rounded up
        assert recorded.value == pytest.approx(exact.value)
    total = total_divergence(CHARGES)
    assert ledger.totals.divergences.finite == total
    by_rule = zcdp_epsilon(float(total) / ORDER, 1e-6, least_order=ORDER)
    assert ledger.totals.epsilon(1e-6) == by_rule
    assert ledger.spent() == pytest.approx(by_rule, rel=0.1)
    assert ledger.remaining == 4.0 - ledger.spent()
    ledger.check()
    export = json.loads(ledger.export(), parse_constant=pytest.fail)
    assert (export["order"], export["spent"]) == (ORDER, ledger.spent())
    each = [entry["divergence"] for entry in export["entries"]]
    assert each == [recorded_divergence(one, ORDER).value for one in CHARGES]
    spent = [bar for bar in plot_budget(ledger).data if bar.name == "spent"]
    assert sum(bar.x[0] for bar in spent) == pytest.approx(ledger.spent())
    table = charges_table(ledger.entries(), 1e-6, rule=ledger.totals)
    assert table["ε in total"].iloc[-1] == ledger.spent()


def test_the_budget_is_spent_to_its_end_and_not_past_it(ledger):
    most = 4.0 - conversion(ORDER, 1e-6)
    half = rdp([ORDER], [most / 2])
    ledger.reserve(half).start()
    assert not ledger.can_afford(rdp([ORDER], [most * (0.5 + 1e-6)]))
    ledger.reserve(half).start()
    assert ledger.spent() == pytest.approx(4.0, rel=1e-12)
    assert not ledger.can_afford(zcdp(1e-6)) and not ledger.can_afford(pure(0.01))


def test_a_voided_charge_gives_back_what_it_was_entered_at(ledger):
    before = ledger.totals
    charge = ledger.reserve(CURVE)
    ledger.reserve(rdp([ORDER], [0.1])).start()
    assert ledger.totals.n_not_sublinear == 1
    charge.void()
    assert ledger.totals == before.plus(rdp([ORDER], [0.1]))
    ledger.check()


def test_a_charge_without_a_divergence_there_is_refused(tmp_path, ledger):
    zcdp_only = Ledger.create(tmp_path / "b.ledger", epsilon=4.0)
    # The second is known at a smaller order alone.
    for closed, charge in ((zcdp_only, CURVE), (ledger, rdp([2.0], [0.1]))):
        assert not closed.can_afford(charge)
        with pytest.raises(BudgetExceededError, match="ε=inf"):
            closed.reserve(charge)
        assert closed.entries() == []


def test_an_extension_brings_the_sum_to_the_whole(ledger):
    """Of an exact draw less is entered than αρ: the rest by ρ alone would be too little."""
    part, whole = bounded_range(1.0), gdp(0.7)
    charge = ledger.reserve(part)
    charge.start()
    ledger.reserve(whole, extends=charge).start()
    assert ledger.totals.divergences.finite >= Fraction(recorded_divergence(whole, ORDER).value)
    assert float(ledger.totals.sums["rho"]) == pytest.approx(whole.rho, rel=1e-12)
    with pytest.raises(LedgerError, match="was extended by charge 2"):
        ledger.reserve(gdp(2.0), extends=charge)
    by_rho = recorded_divergence(part, ORDER).value + ORDER * (whole.rho - part.rho)
    assert by_rho < 0.99 * recorded_divergence(whole, ORDER).value
    ledger.check()
    assert remaining_divergence(None, None) is None
    for charged, due in ((0.1, 0.3), (0.2, 0.7), (0.1, 1.0)):
        rest = remaining_divergence(Divergence(due, sublinear=False), Divergence(charged))
        assert Fraction(charged) + Fraction(rest.value) >= Fraction(due)
        assert not rest.sublinear
    assert remaining_divergence(Divergence(math.inf), Divergence(1.0)).value == math.inf


def test_a_fit_is_planned_by_the_order_unless_a_charge_has_taken_delta(ledger):
    assert ledger_rule(ledger, 1e-6) is True
    ledger.reserve(approximate(0.1, 1e-7)).start()
    assert ledger_rule(ledger, 1e-6) == ZCDP
    assert (ledger_rule(ledger, 0.0), ledger_rule(None, 1e-6)) == (True, False)


@pytest.fixture(scope="module")
def sampled():
    """ε = 1 at δ = 10⁻⁶ by its curve, ρ = 50 without sampling."""
    pytest.importorskip("dp_accounting")
    return sampled_path_guarantee(shift=1.0, rate=0.01, n_steps=100)


@pytest.fixture(scope="module")
def beside(sampled):
    return compose([sampled, gdp(0.1)])


@pytest.mark.parametrize(
    "budget", [{"epsilon": 500.0}, {}, {"epsilon": 2.0, "delta": 1e-6}], ids=str
)
def test_only_the_rule_by_name_charges_much_more_than_the_curve(sampled, beside, budget, tmp_path):
    """At the order of ε = 2 sampled batches tell nearly as much as all rows would."""
    ledger = Ledger.create(tmp_path / "a.ledger", **budget)
    for charge in (sampled, beside):
        with pytest.raises(
            LedgerError, match=r"charge ε=[\d.]+, while .* own curve gives ε="
        ) as refusal:
            ledger.reserve(charge)
        assert not isinstance(refusal.value, BudgetExceededError)
        charged, own = map(float, re.findall(r"ε=([\d.]+)", str(refusal.value)))
        assert own == pytest.approx(charge.epsilon(1e-6), rel=1e-3)
        assert charged > 5 * own and not ledger.can_afford(charge)
    assert ledger.entries() == []
    with pytest.raises(ValueError, match="rule must be one of"):
        ledger.reserve(pure(0.1), rule="renyi")
    if "delta" in budget:
        assert sampled.renyi(ledger.order) > 10 * zcdp_rho(1.0, 1e-6) * ledger.order
        assert not ledger.can_afford(sampled, "zcdp")
        with pytest.raises(BudgetExceededError):
            ledger.reserve(sampled, rule="zcdp")
    elif not budget:
        ledger.reserve(sampled, rule="zcdp").start()
        counted = ledger.totals.epsilon(1e-6)
        assert counted == pytest.approx(zcdp(sampled.rho).epsilon(1e-6))
        assert ledger.spent(1e-6) < 0.1 * counted  # at the best order


def test_a_small_divergence_is_what_is_charged(sampled, beside, tmp_path):
    ledger = Ledger.create(tmp_path / "a.ledger", epsilon=4.0, delta=1e-6)
    entered = sampled.renyi(ledger.order)
    assert entered < 0.1 * (4.0 - conversion(ledger.order, 1e-6))
    for _ in range(3):
        ledger.reserve(sampled).start()
    assert ledger.totals.n_not_sublinear == 3
    counted = ledger.totals.epsilon(1e-6)
    assert counted == pytest.approx(3 * entered + conversion(ledger.order, 1e-6))
    assert ledger.spent() < 0.95 * counted
    assert beside.renyi(ledger.order) == pytest.approx(entered + ledger.order * 0.005)
    ledger.reserve(beside).start()
    ledger.check()


def test_guarantees_that_the_rule_covers_pass(tmp_path):
    """The control: the rule is within a tenth or so of the exact cost of what it counts."""
    ledger = Ledger.create(tmp_path / "a.ledger", epsilon=1e6, delta=1e-6)
    for scale in (1e-4, 0.05, 1.0, 5.0):
        for covered in (
            *(pure(scale), bounded_range(scale), gdp(scale), zcdp(scale)),
            *(repeated_bounded_range(scale, 20), compose([bounded_range(scale)] * 20)),
        ):
            assert ledger.can_afford(covered)


def test_a_fit_is_charged_its_request_in_any_ledger(tmp_path):
    """Its own curve says much less at the ledger's δ; without a request it is still refused."""
    ledger, epsilon = Ledger.create(tmp_path / "a.ledger", epsilon=100.0, delta=1e-3), 4.0
    request = {"epsilon": epsilon, "delta": 1e-6, "row_norm": 2.0, "ledger": ledger}
    model = DPClassifier(classes=[0, 1], mechanism="objective_perturbation", **request)
    planned = model.plan(31_500, 110)
    for share, allowed in ((1.0, True), (None, False), (0.5, False)):
        requested = share and (share * epsilon, 1e-6)
        assert ledger.can_afford(replace(planned.guarantee, requested=requested)) == allowed


def test_the_numbers_of_the_documentation_on_sampled_steps(sampled, tmp_path):
    """docs/ledger-proofs.md, docs/composition.md and docs/one-model.md."""
    order = filter_order(4.0, 1e-6)
    assert round(sampled.renyi(order), 2) == 0.11 and round(order * zcdp_rho(4.0, 1e-6), 1) == 2.2
    ledger = Ledger.create(tmp_path / "four.ledger", epsilon=4.0, delta=1e-6)
    noise, cost = least_noise(1.0, 1e-6, orders=((order, order * zcdp_rho(1.0, 1e-6)),))
    assert least_noise(1.0, 1e-6, orders=((22.014, 0.53616),))[0] == pytest.approx(50.7, rel=1e-3)
    assert noise < 50.8 and 0.99 < ledger.epsilon_after(cost) <= 1.0


def test_delta_pays_for_one_rule_alone(ledger):
    with pytest.raises(LedgerError, match="begins with one"):
        ledger.reserve(CURVE).start()
        ledger.reserve(approximate(0.1, 1e-7))
    assert divergence(approximate(0.1, 1e-7), ORDER).value == math.inf
    leaks = Totals.from_charges([approximate(0.1, 1e-7)], ORDER)
    assert leaks.plus(CURVE).epsilon(1e-6) == math.inf
    assert leaks.plus(pure(0.5)).epsilon(1e-6) == 0.6
