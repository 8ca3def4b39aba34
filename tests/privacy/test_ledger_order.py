"""A ledger's one Rényi order: settled with the budget, summed exactly, never undercut."""

import json
import math
import sqlite3
from fractions import Fraction
from pathlib import Path

import pytest

from rashomon_explorer.estimators.feasibility import ledger_rule
from rashomon_explorer.mechanisms.request import ZCDP
from rashomon_explorer.plots import plot_budget
from rashomon_explorer.plots.budget import charges_table
from rashomon_explorer.privacy import (
    BudgetExceededError,
    Guarantee,
    Ledger,
    LedgerError,
    adaptive_epsilon,
    approximate,
    bounded_range,
    gdp,
    pure,
    rdp,
    zcdp,
)
from rashomon_explorer.privacy.conversions import conversion, filter_order, zcdp_epsilon
from rashomon_explorer.privacy.guarantee import Divergence, divergence
from rashomon_explorer.privacy.ledger.charge import remaining_divergence
from rashomon_explorer.privacy.ledger.totals import Totals, entered_at
from rashomon_explorer.privacy.tradeoff import GaussianObjectivePerturbation

TILT = Guarantee(
    "tradeoff", "a tilt", curve=GaussianObjectivePerturbation(0.2, 0.01, monotone=True)
)
ORDER = filter_order(4.0, 1e-6)
CHARGES = [bounded_range(0.3), TILT, gdp(0.2), pure(0.1), zcdp(0.01), TILT]


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger.create(tmp_path / "a.ledger", epsilon=4.0, delta=1e-6)


def summed(charges: list[Guarantee], order: float) -> Fraction:
    return sum((Fraction(entered_at(one, order).value) for one in charges), Fraction(0))


def test_the_order_is_settled_with_the_budget(tmp_path: Path) -> None:
    assert Ledger.create(tmp_path / "a", epsilon=4.0, delta=1e-6).order == ORDER
    assert Ledger.create(tmp_path / "b", epsilon=4.0).order is None
    later = Ledger.create(tmp_path / "c")
    assert later.order is None
    later.reserve(gdp(0.3)).void()
    for charge in CHARGES:
        later.reserve(charge).start()
    assert later.spent(1e-6) == math.inf
    later.set_budget(4.0, 1e-6)
    assert later.order == ORDER
    assert later.totals.divergences.finite == summed(CHARGES, ORDER)
    later.check()


def test_every_number_of_a_ledger_is_of_the_same_sum(ledger: Ledger) -> None:
    for place, charge in enumerate(CHARGES, 1):
        assert ledger.epsilon_after(charge) == adaptive_epsilon(CHARGES[:place], 1e-6, order=ORDER)
        assert ledger.can_afford(charge)
        ledger.reserve(charge).start()
    total = float(summed(CHARGES, ORDER))
    assert ledger.totals.divergences.finite == summed(CHARGES, ORDER)
    assert ledger.spent() == zcdp_epsilon(total / ORDER, 1e-6, least=ORDER)
    assert ledger.remaining == 4.0 - ledger.spent()
    ledger.check()
    told = json.loads(ledger.export(), parse_constant=pytest.fail)
    assert (told["order"], told["spent"]) == (ORDER, ledger.spent())
    each = [entry["divergence"] for entry in told["entries"]]
    assert each == [entered_at(one, ORDER).value for one in CHARGES]
    spent = [bar for bar in plot_budget(ledger).data if bar.name == "spent"]
    assert sum(bar.x[0] for bar in spent) == pytest.approx(ledger.spent())
    table = charges_table(ledger.entries(), 1e-6, order=ledger.order)
    assert table["ε in total"].iloc[-1] == ledger.spent()


def test_what_is_entered_is_rounded_up() -> None:
    for charge in CHARGES:
        assert entered_at(charge, ORDER).value > divergence(charge, ORDER).value
        assert entered_at(charge, ORDER).value == pytest.approx(divergence(charge, ORDER).value)


def test_the_budget_is_spent_to_its_end_and_not_past_it(ledger: Ledger) -> None:
    most = 4.0 - conversion(ORDER, 1e-6)
    half = rdp([ORDER], [most / 2])
    ledger.reserve(half).start()
    assert not ledger.can_afford(rdp([ORDER], [most * (0.5 + 1e-6)]))
    with pytest.raises(BudgetExceededError):
        ledger.reserve(rdp([ORDER], [most * (0.5 + 1e-6)]))
    ledger.reserve(half).start()
    assert ledger.spent() == pytest.approx(4.0, rel=1e-12)
    assert not ledger.can_afford(zcdp(1e-6))
    assert not ledger.can_afford(pure(0.01))


def test_a_voided_charge_gives_back_what_it_was_entered_at(ledger: Ledger) -> None:
    before = ledger.totals
    charge = ledger.reserve(TILT)
    ledger.reserve(rdp([ORDER], [0.1])).start()
    assert ledger.totals.unsteady == 1
    charge.void()
    assert ledger.totals == before.plus(rdp([ORDER], [0.1]))
    ledger.check()


def test_what_has_no_divergence_there_is_refused(tmp_path: Path, ledger: Ledger) -> None:
    assert not ledger.can_afford(rdp([2.0], [0.1]))  # known at a smaller order alone
    zcdp_only = Ledger.create(tmp_path / "b.ledger", epsilon=4.0)
    for closed in (ledger, zcdp_only):
        charge = TILT if closed is zcdp_only else rdp([2.0], [0.1])
        with pytest.raises(BudgetExceededError, match="ε=inf"):
            closed.reserve(charge)
        assert closed.entries() == []


def test_delta_pays_for_one_rule_alone(ledger: Ledger) -> None:
    with pytest.raises(LedgerError, match="begins with one"):
        ledger.reserve(TILT).start()
        ledger.reserve(approximate(0.1, 1e-7))
    assert divergence(approximate(0.1, 1e-7), ORDER).value == math.inf
    leaks = Totals.from_charges([approximate(0.1, 1e-7)], ORDER)
    assert leaks.plus(TILT).epsilon(1e-6) == math.inf
    assert leaks.plus(pure(0.5)).epsilon(1e-6) == 0.6


def test_an_extension_brings_the_sum_to_the_whole(ledger: Ledger) -> None:
    """Of an exact draw less is entered than αρ: the rest by ρ alone would be too little."""
    part, whole = bounded_range(1.0), gdp(0.7)
    charge = ledger.reserve(part)
    charge.start()
    ledger.reserve(whole, extends=charge).start()
    assert ledger.totals.divergences.finite >= Fraction(entered_at(whole, ORDER).value)
    by_rho = entered_at(part, ORDER).value + ORDER * (whole.rho - part.rho)
    assert by_rho < 0.99 * entered_at(whole, ORDER).value
    ledger.check()
    assert remaining_divergence(None, None) is None
    for paid, due in ((0.1, 0.3), (0.2, 0.7), (0.1, 1.0)):
        rest = remaining_divergence(Divergence(due, steady=False), Divergence(paid))
        assert Fraction(paid) + Fraction(rest.value) >= Fraction(due)
        assert not rest.steady
    assert remaining_divergence(Divergence(math.inf), Divergence(1.0)).value == math.inf


def test_so_does_one_from_before_the_order_was_settled(tmp_path: Path) -> None:
    """Two pure halves are not a whole at any order: ε²/4 and ε²/4 make half of ε²."""
    part, whole = pure(0.3), pure(0.6)
    ledger = Ledger.create(tmp_path / "b.ledger")
    charge = ledger.reserve(part)
    charge.start()
    ledger.reserve(whole, extends=charge).start()
    ledger.set_budget(4.0, 1e-6)
    due = Fraction(divergence(whole, ORDER).value)
    halves = sum(entered_at(entry.guarantee, ORDER).value for entry in ledger.entries())
    assert halves < 0.95 * float(due)
    assert ledger.totals.divergences.finite >= due
    ledger.check()


def test_nothing_of_it_can_be_changed_in_the_file(ledger: Ledger) -> None:
    ledger.reserve(TILT).start()
    connection = sqlite3.connect(ledger.path)
    for statement in (
        "UPDATE divergences SET value = 0.0",
        "DELETE FROM divergences",
        "INSERT OR REPLACE INTO divergences VALUES (1, 0.0, 1)",
        "UPDATE renyi_order SET value = 2.0",
        "DELETE FROM renyi_order",
        "INSERT OR REPLACE INTO renyi_order VALUES (1, 2.0)",
    ):
        with pytest.raises(sqlite3.IntegrityError):
            connection.execute(statement)
    for trigger in ("divergences_keep", "divergences_stay"):
        connection.execute(f"DROP TRIGGER {trigger}")
    connection.execute("UPDATE divergences SET value = value / 2")
    connection.commit()
    with pytest.raises(LedgerError, match="are not the sum of its charges"):
        ledger.check()
    connection.execute("DELETE FROM divergences")
    nothing = json.loads(connection.execute("SELECT value FROM totals").fetchone()[0])
    nothing.update(divergences=["0", 0], unsteady=1)  # as of a row that says nothing
    connection.execute("UPDATE totals SET value = ?", (json.dumps(nothing),))
    connection.commit()
    connection.close()
    with pytest.raises(LedgerError, match="are not the sum of its charges"):
        ledger.reserve(zcdp(1e-3))


def test_totals_are_the_same_however_they_are_added() -> None:
    charges = [*CHARGES, rdp([ORDER], [0.1])]
    one_by_one = Totals.from_charges(charges, ORDER)
    counted = [(one, entered_at(one, ORDER), charges.count(one)) for one in dict.fromkeys(charges)]
    assert Totals.from_counts(counted, leaks=False, order=ORDER) == one_by_one
    assert Totals.from_dict(json.loads(json.dumps(one_by_one.to_dict()))) == one_by_one
    left = one_by_one
    for charge in charges[1:]:
        left = left.minus(charge)
    assert left == Totals.from_charges(charges[:1], ORDER)
    assert one_by_one.epsilon(1e-6) == float(one_by_one.divergences) + conversion(ORDER, 1e-6)
    assert one_by_one.epsilon(0.0) == math.inf


def test_a_fit_is_planned_by_the_order_unless_a_charge_has_taken_delta(ledger: Ledger) -> None:
    assert ledger_rule(ledger, 1e-6) == ORDER
    ledger.reserve(approximate(0.1, 1e-7)).start()
    assert ledger_rule(ledger, 1e-6) == ZCDP
    assert (ledger_rule(ledger, 0.0), ledger_rule(None, 1e-6)) == (True, False)
