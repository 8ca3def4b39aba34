"""The ledger refuses past its budget, whoever charges it, and names what is left."""

import copy
import json
import math
import os
import pickle
import re
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

from rashomon_explorer import RashomonClassifier
from rashomon_explorer.mechanisms.costs import affordable_eta
from rashomon_explorer.privacy import BudgetExceededError, Ledger, LedgerError, compose
from rashomon_explorer.privacy.conversions import zcdp_epsilon, zcdp_rho
from rashomon_explorer.privacy.ledger.charge import LedgerEntry, incremental_charge
from rashomon_explorer.privacy.ledger.totals import ExactSum, Totals
from rashomon_explorer.privacy.notions import (
    approximate,
    bounded_range,
    gdp,
    no_guarantee,
    pure,
    zcdp,
)
from tests.exact.conftest import exactly


@pytest.fixture
def path(tmp_path):
    return tmp_path / "data.ledger"


class TestBudget:
    def test_it_is_spent_to_its_end_and_what_is_past_it_leaves_nothing_written(self, path):
        ledger = Ledger.create(path, epsilon=1.0)
        ledger.reserve(pure(0.75)).commit()
        assert (ledger.spent(), ledger.remaining) == (0.75, 0.25)
        before = path.read_bytes()
        for more, total in ((0.25 + 2e-9, ""), (0.35, r"1\.1 "), (1.0, r"1\.75 ")):
            with pytest.raises(BudgetExceededError, match=rf"ε={total}.* of ε=1: ε=0\.25 of pure"):
                ledger.reserve(pure(more))
            assert not ledger.can_afford(pure(more)) and path.read_bytes() == before
        ledger.reserve(pure(0.25 + 5e-10))  # a plan that spends all must not fail by an ulp

    @pytest.mark.parametrize(
        ("symbol", "name", "charge"),
        [
            ("ε", "of pure DP", pure),
            ("η", "of bounded range", bounded_range),
            ("ρ", "of zCDP", zcdp),
            ("μ", "of Gaussian DP", gdp),
            ("ε", "of pure DP", lambda e: replace(pure(e), requested=(e, 0.0))),
            ("ε", "at δ=1e-07", lambda e: replace(zcdp(zcdp_rho(e, 1e-7)), requested=(e, 1e-7))),
            ("ρ", "of zCDP", lambda r: compose([zcdp(r / 2)] * 2)),
        ],
    )
    def test_the_remainder_is_of_the_kind_of_cost_that_was_refused(
        self, path, symbol, name, charge
    ):
        """At ε = 8.8 of 20 spent, the difference of 11.15 is more than any pure cost that fits."""
        ledger = Ledger.create(path, epsilon=20.0, delta=1e-6)
        ledger.reserve(zcdp(1.25))
        assert ledger.remaining > 11.1 and not ledger.can_afford(pure(9.5))
        with pytest.raises(BudgetExceededError) as refusal:
            ledger.reserve(charge(100.0))
        (number,) = re.findall(rf"{symbol}=([\d.]+) {name}", str(refusal.value))
        assert not ledger.can_afford(charge(float(number) * 1.002))
        ledger.reserve(charge(float(number)))

    def test_the_remainder_of_a_delta(self, path):
        ledger = Ledger.create(path, epsilon=2.0, delta=1e-6)
        ledger.reserve(approximate(1.25, 6e-7))
        for lost, left in ((4e-7, "0.75"), (5e-7, "0")):
            with pytest.raises(BudgetExceededError, match=rf": ε={left} at δ={lost:g} is left"):
                ledger.reserve(approximate(1.0, lost))
        with pytest.raises(BudgetExceededError, match=r"ε=inf.*: ρ=0 of zCDP \(ε=0 at"):
            ledger.reserve(zcdp(1e-6))

    @pytest.mark.parametrize(("epsilon", "parts"), [(0.1, 3), (1.0, 10), (3.7, 7)])
    def test_the_whole_budget_can_be_spent_in_shares_or_by_one_plan(self, path, epsilon, parts):
        ledger = Ledger.create(path, epsilon=epsilon)
        for _ in range(parts):
            ledger.reserve(pure(epsilon / parts))
        assert ledger.remaining == pytest.approx(0.0, abs=1e-12)
        plans = Ledger.create(path.with_name("plans"), epsilon=epsilon, delta=1e-6)
        plans.reserve(compose([bounded_range(affordable_eta(epsilon, 1e-6, 50, ledger=True))] * 50))
        assert plans.spent() == pytest.approx(epsilon)

    def test_charges_that_no_budget_covers(self, path):
        for name, epsilon, delta, charge in (
            ("a", 1e9, 0.5, no_guarantee("chain")),
            ("b", 100.0, 0.0, zcdp(0.01)),  # which needs a δ
            ("c", 0.0, 0.0, pure(1e-9)),
        ):
            ledger = Ledger.create(path.with_name(name), epsilon=epsilon, delta=delta)
            with pytest.raises(BudgetExceededError):
                ledger.reserve(charge)
            assert not ledger.can_afford(charge) and ledger.entries() == []
            ledger.reserve(pure(0.0))

    def test_a_ledger_without_a_budget_records_and_refuses_nothing(self, path):
        ledger = Ledger.create(path)
        assert ledger.budget is None
        for guarantee in (pure(5.0), zcdp(9.0), no_guarantee("chain")):
            assert ledger.can_afford(guarantee)
            ledger.reserve(guarantee)
        assert ledger.spent() == ledger.remaining == math.inf
        assert json.loads(ledger.export())["remaining"] == "inf"


CHARGES = st.one_of(
    st.floats(0, 1.5).map(pure),
    st.floats(0, 1.5).map(bounded_range),
    st.floats(0, 0.05).map(zcdp),
    st.builds(approximate, st.floats(0, 1), st.floats(0, 1e-3)),
    st.just(no_guarantee("chain")),
)


BUDGETS = st.just(0.0) | st.floats(1e-12, 3)


@settings(max_examples=15)
@given(st.lists(CHARGES, max_size=6), BUDGETS, st.sampled_from([0.0, 1e-6, 1e-3]))
def test_forecast_and_refusal_agree(tmp_path_factory, charges, eps, delta):
    ledger = Ledger.create(tmp_path_factory.mktemp("law") / "l", epsilon=eps, delta=delta)
    for charge in charges:
        affordable, after = ledger.can_afford(charge), ledger.epsilon_after(charge)
        try:
            ledger.reserve(charge)
        except LedgerError:
            assert not affordable
            assert after > eps
        else:
            assert affordable
            assert ledger.spent() == after <= eps * (1 + 1e-9)
            assert ledger.remaining == max(0.0, eps - after)


def test_a_charge_is_written_before_and_closed_after(path):
    ledger = Ledger.create(path)
    charge = ledger.reserve(pure(0.5), note="naïve Σ ψ ≤ β 🜚 'quote\"; --", parameters={"n": 7})
    (entry,) = Ledger(path).entries()
    assert entry.note == "naïve Σ ψ ≤ β 🜚 'quote\"; --" and entry.parameters == {"n": 7}
    assert entry.guarantee == pure(0.5) and entry.mechanism == "pure"
    assert str(os.getpid()) in entry.who and entry.when.endswith("+00:00")
    states = [entry.state]
    for step in (charge.start, charge.start, charge.commit, charge.start, charge.commit):
        step()
        states.append(ledger.entries()[0].state)
    assert states == ["reserved", "started", "started", *["committed"] * 3]
    started = ledger.reserve(pure(0.5))
    started.start()
    voided = ledger.reserve(pure(0.5))
    voided.void()
    for over, state in ((started, "started"), (charge, "committed"), (voided, "voided")):
        with pytest.raises(LedgerError, match=f"was {state} and cannot become voided"):
            over.void()
    with pytest.raises(LedgerError):
        voided.start()
    assert ledger.spent() == 1.0
    with pytest.raises(ValueError, match="must be JSON values"):
        ledger.reserve(pure(0.1), parameters={"rows": object()})
    with pytest.raises(TypeError, match="expected a Guarantee"):
        ledger.reserve(0.3)
    assert len(ledger.entries()) == 3


@pytest.mark.parametrize(
    "duplicate",
    [
        copy.copy,
        copy.deepcopy,
        lambda ledger: pickle.loads(pickle.dumps(ledger)),
        lambda ledger: clone(RashomonClassifier(ledger=ledger)).get_params()["ledger"],
    ],
)
def test_copies_share_the_budget(tmp_path, monkeypatch, duplicate):
    """A relative path survives a change of folder, and an odd name is a name."""
    (tmp_path / "other").mkdir()
    monkeypatch.chdir(tmp_path)
    ledger = Ledger.create("données 50%?mode=memory#1.ledger", epsilon=1.0)
    monkeypatch.chdir(tmp_path / "other")
    duplicate(ledger).reserve(pure(0.75))
    assert ledger.remaining == 0.25 and ledger.path.parent == tmp_path
    assert Ledger(str(ledger.path)).spent() == 0.75


def test_threads_cannot_spend_the_same_budget(path):
    ledger = Ledger.create(path, epsilon=1.0)

    def spend(_):
        try:
            ledger.reserve(pure(0.1)).commit()
        except BudgetExceededError:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(spend, range(20))) == 10
    assert {entry.state for entry in ledger.entries()} == {"committed"}


def test_an_export_has_nothing_that_rows_decide(path):
    ledger = Ledger.create(path, epsilon=2.0)
    charges = [ledger.reserve(pure(0.5), note="fit") for _ in range(3)]
    charges[0].start()
    charges[0].commit()
    charges[1].start()  # it failed on its rows, or was killed because it took too long
    charges[2].void()
    entries = json.loads(ledger.export())["entries"]
    assert {**entries[0], "id": 2} == entries[1]
    assert [entry["state"] for entry in entries] == ["spent", "spent", "voided"]
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\d", entry["when"]) for entry in entries)
    assert [entry["voided_when"] for entry in entries] == [None, None, entries[2]["when"]]


def test_the_file_has_what_was_declared_and_no_row(path):
    rows = [[0.123456789, -0.3], [-0.1, 0.987654321], [0.1, 0.2], [-0.1, 0.1]] * 5
    ledger, labels = Ledger.create(path), ["secret-a", "secret-b"]
    model = RashomonClassifier(
        n_draws=2, ledger=path, classes=labels, mechanism="exact", random_state=0
    )
    model.fit(rows, labels * 10)
    (entry,) = ledger.entries()
    assert set(entry.parameters) == {
        *("n", "p", "beta", "eta", "psi", "epsilon", "delta", "n_draws", "sampler"),
        *("radius", "row_norm", "ridge", "loss", "patience"),
    }
    assert entry.note == "RashomonClassifier, 2 draws, ψ=0.02"
    text = path.read_bytes()
    assert json.dumps(entry.parameters).encode() in text
    coef = repr(model.encoded_coef_[0, 0]).encode()
    for private in (b"12345678", b"98765432", b"secret", coef):
        assert private not in text
    connection = sqlite3.connect(path)
    tables = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
    assert {name for (name,) in tables} == {
        *("budget", "charges", "totals", "identity", "sqlite_sequence"),
        *("renyi_order", "divergences", "accounting"),
    }
    connection.close()


def test_totals():
    total = Totals.from_charges([bounded_range(0.5), gdp(0.4), zcdp(0.1)])
    assert total.live == 3 and total.leaks is False
    assert float(total.sums["rho"]) == exactly(0.03125 + 0.08 + 0.1)
    assert total.epsilon(1e-6) == exactly(zcdp_epsilon(0.03125 + 0.08 + 0.1, 1e-6))
    assert Totals.from_charges([bounded_range(0.5), pure(0.25)]).epsilon(0.0) == 0.75
    assert total.minus(gdp(0.4)).epsilon(1e-6) == exactly(zcdp_epsilon(0.1 + 0.03125, 1e-6))
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
