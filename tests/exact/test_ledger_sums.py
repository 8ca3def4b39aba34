"""What a ledger adds up, what a rest costs, and which states of a charge are spent."""

import math

import pytest

from rashomon_explorer.exceptions import BudgetExceededError, LedgerError
from rashomon_explorer.privacy import Ledger, approximate, bounded_range, gdp, pure, zcdp
from rashomon_explorer.privacy.conversions import zcdp_epsilon
from rashomon_explorer.privacy.ledger.charge import LedgerEntry, incremental_charge
from rashomon_explorer.privacy.ledger.totals import ExactSum, Totals
from tests.exact.conftest import exactly

RHO = {"bounded_range": 0.25 / 8, "gdp": 0.16 / 2, "zcdp": 0.1}


def book(tmp_path, epsilon=9.0, delta=1e-6):
    return Ledger.create(tmp_path / "sums.ledger", epsilon=epsilon, delta=delta)


def test_totals():
    total = Totals.from_charges([bounded_range(0.5), gdp(0.4), zcdp(0.1)])
    assert total.live == 3 and total.leaks is False
    assert float(total.sums["rho"]) == exactly(sum(RHO.values()))
    assert total.epsilon(1e-6) == exactly(zcdp_epsilon(sum(RHO.values()), 1e-6))
    assert Totals.from_charges([bounded_range(0.5), pure(0.25)]).epsilon(0.0) == 0.75
    assert total.minus(gdp(0.4)).epsilon(1e-6) == exactly(zcdp_epsilon(RHO["zcdp"] + 0.03125, 1e-6))
    assert Totals.from_charges([gdp(0.4)]).minus(gdp(0.4)).epsilon(0.0) == 0.0


def test_totals_that_delta_pays_for():
    total = Totals.from_charges([approximate(0.5, 1e-6), approximate(0.25, 2e-6)])
    assert total.leaks and total.epsilon(3e-6) == 0.75
    assert total.epsilon(2.9e-6) == math.inf
    assert total.plus(pure(0.5)).epsilon(3e-6) == 1.25
    assert total.plus(gdp(0.5)).epsilon(3e-6) == math.inf  # its own δ is spent
    late = Totals.from_charges([gdp(0.5), approximate(0.5, 1e-6)])
    assert late.leaks is False and late.epsilon(0.1) == math.inf


def test_exact_sums():
    total = ExactSum().plus(0.1).plus(math.inf).plus(0.2)
    assert float(total) == math.inf and float(total.plus(math.inf, -1)) == 0.1 + 0.2
    assert float(total.plus(math.inf, -1).plus(0.1, -1)) == 0.2


def entry(guarantee, state="started"):
    return LedgerEntry(1, "", "", "", {}, guarantee, state)


def test_rests():
    assert incremental_charge(gdp(1.0), entry(gdp(0.6))).mu == exactly(0.8)
    assert incremental_charge(gdp(1.0), entry(gdp(0.6))).rho == exactly(0.5 - 0.18)
    assert incremental_charge(pure(1.0), entry(pure(0.25))).pure_epsilon == 0.75
    assert incremental_charge(gdp(0.5), entry(gdp(0.6))).mu == 0.0
    for whole, part in ((1.0, 0.1), (0.3, 0.1), (0.7, 0.2)):
        rest = incremental_charge(pure(whole), entry(pure(part)))
        assert math.fsum([part, rest.pure_epsilon]) >= whole
        both = incremental_charge(gdp(whole), entry(gdp(part)))
        assert part**2 + both.mu**2 >= whole**2 * (1 - 1e-15)
    for state in ("reserved", "committed", "voided"):
        with pytest.raises(LedgerError):
            incremental_charge(gdp(1.0), entry(gdp(0.6), state))


def test_a_budget_is_spent_to_its_end_and_not_past_it(tmp_path):
    ledger = book(tmp_path, 1.0, 0.0)
    ledger.reserve(pure(0.75)).commit()
    assert (ledger.spent(), ledger.remaining) == (0.75, 0.25)
    for more in (0.25 + 2e-9, 0.251, 0.5, 1.0):
        with pytest.raises(BudgetExceededError):
            ledger.reserve(pure(more))
        assert not ledger.can_afford(pure(more))
    assert ledger.epsilon_after(pure(0.25)) == 1.0
    ledger.reserve(pure(0.25 + 5e-10))  # a plan that spends all must not fail by an ulp
    assert ledger.remaining == pytest.approx(0.0, abs=1e-9)


def test_reserved_started_and_committed_charges_are_spent_and_voided_ones_are_not(tmp_path):
    ledger = book(tmp_path, 2.0, 0.0)
    reserved, started, committed, voided = (ledger.reserve(pure(0.25)) for _ in range(4))
    started.start()
    committed.start()
    committed.commit()
    assert ledger.spent() == 1.0
    voided.void()
    assert ledger.spent() == 0.75
    assert [e.state for e in ledger.entries()] == ["reserved", "started", "committed", "voided"]
    for charge, state in ((started, "started"), (committed, "committed"), (voided, "voided")):
        with pytest.raises(LedgerError, match=f"was {state} and cannot become voided"):
            charge.void()
    with pytest.raises(LedgerError):
        voided.start()
    reserved.void()
    assert ledger.spent() == 0.5
    ledger.check()


def test_an_extension_brings_the_sum_to_the_whole_once(tmp_path):
    ledger = book(tmp_path, 9.0)
    part = ledger.reserve(gdp(0.6))
    part.start()
    ledger.reserve(gdp(1.0), extends=part)
    assert float(ledger.totals.sums["rho"]) == pytest.approx(0.5, rel=1e-12)
    with pytest.raises(LedgerError, match="was extended by charge 2"):
        ledger.reserve(gdp(2.0), extends=part)
