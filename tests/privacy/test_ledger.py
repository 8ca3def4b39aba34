"""The ledger refuses past its budget, whoever asks, and forgets nothing."""

import copy
import json
import math
import os
import pickle
import re
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

from rashomon_explorer import RashomonClassifier
from rashomon_explorer.mechanisms.planning.pricing import affordable_eta
from rashomon_explorer.privacy import (
    BudgetExceededError,
    Guarantee,
    Ledger,
    LedgerError,
    approximate,
    bounded_range,
    compose,
    pure,
    zcdp,
)
from rashomon_explorer.privacy.ledger import file as ledger_file
from rashomon_explorer.privacy.notions import no_guarantee
from tests.patience import LONG

PRELUDE = """
import os, sqlite3, sys, time
from rashomon_explorer.privacy import BudgetExceededError, Ledger, pure
path = sys.argv[1]
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "data.ledger"


def start(code: str, *arguments: object) -> subprocess.Popen[str]:
    words = [sys.executable, "-c", PRELUDE + code, *map(str, arguments)]
    return subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def race(code: str, *arguments: object) -> list[str]:
    """What processes say that run the code at once, one with each argument as `mine`."""
    together = """
for mine in sys.argv[2:]:  # forks of one process: it imports once and has no threads
    if not os.fork():
        break
else:
    for _ in sys.argv[2:]:
        assert os.wait()[1] == 0
    sys.exit()
def print(word):
    os.write(1, f"{word}\\n".encode())  # at once, or what others say could come between
"""
    (said,) = finish(start(together + code, *arguments))
    return said.split()


def finish(*processes: subprocess.Popen[str]) -> list[str]:
    outputs = [process.communicate(timeout=LONG) for process in processes]
    for process, (_, errors) in zip(processes, outputs, strict=True):
        assert process.returncode == 0, errors
    return [output for output, _ in outputs]


def tamper(path: Path, statement: str, *values: object) -> None:
    """Change the file as only someone can who takes its triggers away first."""
    connection = sqlite3.connect(path)
    triggers = connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'")
    for (name,) in triggers.fetchall():
        connection.execute(f"DROP TRIGGER {name}")
    connection.execute(statement, values)
    connection.commit()
    connection.close()


class TestBudget:
    def test_a_charge_past_the_budget_leaves_nothing_written(self, path: Path) -> None:
        ledger = Ledger.create(path, epsilon=1.0, delta=0.0)
        ledger.reserve(pure(0.7)).commit()
        before = path.read_bytes()
        with pytest.raises(BudgetExceededError, match=r"ε=1\.1 .* budget of ε=1: ε=0\.3 is left"):
            ledger.reserve(pure(0.4))
        assert path.read_bytes() == before
        assert [entry.guarantee.pure_epsilon for entry in ledger.entries()] == [0.7]
        assert ledger.remaining == pytest.approx(0.3)

    def test_what_it_says_is_left_can_be_spent(self, path: Path) -> None:
        ledger = Ledger.create(path, epsilon=1.0)
        ledger.reserve(pure(0.60004))
        with pytest.raises(BudgetExceededError) as refusal:
            ledger.reserve(pure(0.5))
        left = str(refusal.value).split("ε=")[-1].split(" is left")[0]
        ledger.reserve(pure(float(left)))

    @pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.7])
    @pytest.mark.parametrize("parts", [3, 7, 10])
    def test_the_whole_budget_can_be_spent_in_shares(
        self, path: Path, epsilon: float, parts: int
    ) -> None:
        ledger = Ledger.create(path, epsilon=epsilon)
        for _ in range(parts):
            ledger.reserve(pure(epsilon / parts))
        assert ledger.remaining == pytest.approx(0.0, abs=1e-12)
        with pytest.raises(BudgetExceededError):
            ledger.reserve(pure(epsilon * 1e-6))

    def test_a_plan_spends_the_whole_budget(self, path: Path) -> None:
        ledger = Ledger.create(path, epsilon=2.0, delta=1e-6)
        ledger.reserve(compose([bounded_range(affordable_eta(2.0, 1e-6, 50, ledger=True))] * 50))
        assert ledger.spent() == pytest.approx(2.0)

    def test_composition_is_cheaper_than_the_sum(self, path: Path) -> None:
        ledger = Ledger.create(path, epsilon=3.0, delta=1e-6)
        for _ in range(100):
            ledger.reserve(bounded_range(0.1))
        assert ledger.spent() < 3.0 < ledger.spent(0.0) == pytest.approx(10.0)

    def test_no_guarantee_cannot_be_bought(self, path: Path) -> None:
        ledger = Ledger.create(path, epsilon=1e9, delta=0.5)
        assert not ledger.can_afford(no_guarantee("chain"))
        with pytest.raises(BudgetExceededError, match="ε=inf"):
            ledger.reserve(no_guarantee("chain"))
        assert ledger.entries() == []

    def test_zcdp_needs_delta(self, path: Path) -> None:
        with pytest.raises(BudgetExceededError):
            Ledger.create(path, epsilon=100.0).reserve(zcdp(0.01))

    def test_a_ledger_without_a_budget_records_and_refuses_nothing(self, path: Path) -> None:
        ledger = Ledger.create(path)
        assert ledger.budget is None
        for guarantee in (pure(50.0), zcdp(9.0), no_guarantee("chain")):
            assert ledger.can_afford(guarantee)
            ledger.reserve(guarantee)
        assert len(ledger.entries()) == 3
        assert ledger.spent() == math.inf
        assert ledger.remaining == math.inf

    def test_a_budget_below_what_was_spent_refuses_everything(self, path: Path) -> None:
        ledger = Ledger.create(path)
        ledger.reserve(pure(5.0))
        ledger.set_budget(epsilon=1.0)
        assert ledger.remaining == 0.0
        assert not ledger.can_afford(pure(0.0))

    def test_a_budget_of_zero_buys_what_is_free(self, path: Path) -> None:
        ledger = Ledger.create(path, epsilon=0.0)
        ledger.reserve(pure(0.0))
        with pytest.raises(BudgetExceededError):
            ledger.reserve(pure(1e-9))

    @pytest.mark.parametrize(
        ("budget", "message"),
        [
            ({"delta": 1e-6}, "both epsilon and delta"),
            ({"epsilon": -1.0}, "epsilon must be"),
            ({"epsilon": math.nan}, "epsilon must be"),
            ({"epsilon": math.inf}, "epsilon must be finite"),
            ({"epsilon": 1.0, "delta": 1.0}, "delta must be"),
            ({"epsilon": 1.0, "delta": math.nan}, "delta must be"),
        ],
    )
    def test_a_bad_budget_creates_no_file(
        self, path: Path, budget: dict[str, float], message: str
    ) -> None:
        with pytest.raises(ValueError, match=message):
            Ledger.create(path, **budget)
        assert not path.exists()

    def test_a_budget_is_set_once(self, path: Path) -> None:
        assert Ledger.create(path.with_name("pure"), epsilon=1.0).budget == (1.0, 0.0)
        ledger = Ledger.create(path, epsilon=1.0, delta=1e-6)
        for other in ({"epsilon": 2.0, "delta": 1e-6}, {"epsilon": 1.0}):
            with pytest.raises(LedgerError, match="a budget is set once"):
                ledger.set_budget(**other)
        ledger.set_budget(epsilon=1.0, delta=1e-6)
        assert Ledger.open(path).budget == (1.0, 1e-6)

    def test_the_old_call_that_opened_or_created_says_what_to_call(self, path: Path) -> None:
        for old in ({"epsilon": 1.0, "delta": 1e-6}, {"create": True}):
            with pytest.raises(TypeError, match=r"create a new one with Ledger\.create\(path"):
                Ledger.open(path, **old)
            assert not path.exists()


class TestDelta:
    def test_a_delta_is_spent_once(self, path: Path) -> None:
        ledger = Ledger.create(path, epsilon=100.0, delta=1e-6)
        for _ in range(3):
            ledger.reserve(approximate(1.0, 1e-6 / 3))
        assert ledger.spent() == 3.0
        with pytest.raises(BudgetExceededError, match="ε=inf"):
            ledger.reserve(approximate(1.0, 1e-8))
        ledger.reserve(pure(1.0))

    def test_leaks_leave_no_delta_for_zcdp(self, path: Path) -> None:
        ledger = Ledger.create(path, epsilon=3.0, delta=1e-6)
        ledger.reserve(approximate(0.5, 1e-8))
        ledger.reserve(bounded_range(2.0))
        with pytest.raises(BudgetExceededError):
            ledger.reserve(zcdp(1e-6))
        with pytest.raises(BudgetExceededError):
            ledger.reserve(compose([bounded_range(0.1)] * 6))

    def test_leaks_cannot_come_after_charges_that_use_delta(self, path: Path) -> None:
        ledger = Ledger.create(path, epsilon=3.0, delta=1e-6)
        ledger.reserve(bounded_range(0.1))
        assert not ledger.can_afford(approximate(0.1, 1e-8))
        with pytest.raises(LedgerError, match="begins with one"):
            ledger.reserve(approximate(0.1, 1e-8))
        assert len(ledger.entries()) == 1


CHARGES = st.one_of(
    st.floats(0, 1.5).map(pure),
    st.floats(0, 1.5).map(bounded_range),
    st.floats(0, 0.05).map(zcdp),
    st.builds(approximate, st.floats(0, 1), st.floats(0, 1e-3)),
    st.just(no_guarantee("chain")),
)


BUDGETS = st.just(0.0) | st.floats(1e-12, 3)


@settings(max_examples=25)
@given(st.lists(CHARGES, max_size=6), BUDGETS, st.sampled_from([0.0, 1e-6, 1e-3]))
def test_forecast_and_refusal_agree(
    tmp_path_factory: pytest.TempPathFactory, charges: list[Guarantee], eps: float, delta: float
) -> None:
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


class TestEntries:
    def test_a_charge_is_written_before_and_closed_after(self, path: Path) -> None:
        ledger = Ledger.create(path)
        charge = ledger.reserve(pure(0.5), note="naïve Σ ψ ≤ β 🜚 'quote\"; --", parameters={"n": 7})
        (entry,) = Ledger(path).entries()
        assert entry.state == "reserved"
        assert entry.note == "naïve Σ ψ ≤ β 🜚 'quote\"; --"
        assert entry.parameters == {"n": 7}
        assert entry.guarantee == pure(0.5)
        assert entry.mechanism == "pure"
        assert str(os.getpid()) in entry.who
        assert entry.when.endswith("+00:00")
        charge.commit()
        charge.commit()
        (entry,) = ledger.entries()
        assert entry.state == "committed"

    def test_parameters_that_cannot_be_written_leave_nothing(self, path: Path) -> None:
        ledger = Ledger.create(path)
        with pytest.raises(TypeError):
            ledger.reserve(pure(0.1), parameters={"rows": object()})
        with pytest.raises(TypeError, match=r"such as pure\(epsilon=0\.5\), got 0\.3"):
            ledger.reserve(0.3)  # type: ignore[arg-type]
        assert ledger.entries() == []
        ledger.reserve(pure(0.1))

    def test_a_charge_is_spent_in_every_state_and_marks_no_other(self, path: Path) -> None:
        with Ledger.create(path, epsilon=1.0) as ledger:
            charge, states = ledger.reserve(pure(0.5)), []
            ledger.reserve(pure(0.25))
        for step in (lambda: None, charge.start, charge.start, charge.commit, charge.start):
            step()
            states.append(ledger.entries()[0].state)
            assert ledger.spent() == 0.75 and ledger.entries()[1].state == "reserved"
        assert states == ["reserved", "started", "started", "committed", "committed"]


class TestCopies:
    @pytest.mark.parametrize(
        "duplicate", [copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))]
    )
    def test_a_copy_shares_the_budget(
        self, path: Path, duplicate: Callable[[Ledger], Ledger]
    ) -> None:
        ledger = Ledger.create(path, epsilon=1.0)
        duplicate(ledger).reserve(pure(0.8))
        assert ledger.remaining == pytest.approx(0.2)

    def test_a_cloned_estimator_shares_the_budget(self, path: Path) -> None:
        ledger = Ledger.create(path, epsilon=1.0)
        clone(RashomonClassifier(ledger=ledger)).get_params()["ledger"].reserve(pure(0.8))
        assert ledger.remaining == pytest.approx(0.2)

    def test_a_relative_path_survives_a_change_of_folder(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (tmp_path / "other").mkdir()
        monkeypatch.chdir(tmp_path)
        ledger = Ledger.create("data.ledger", epsilon=1.0)
        monkeypatch.chdir(tmp_path / "other")
        ledger.reserve(pure(0.5))
        assert ledger.spent() == 0.5

    def test_odd_file_names(self, tmp_path: Path) -> None:
        path = tmp_path / "données 50%?mode=memory#1.ledger"
        Ledger.create(path, epsilon=1.0).reserve(pure(0.5))
        assert path.is_file()
        assert Ledger(str(path)).spent() == 0.5


class TestFiles:
    @pytest.mark.parametrize(
        ("content", "message"),
        [
            ("text", "file is not a database"),
            ("database", "not a privacy ledger"),
            ("folder", "cannot open"),
            ("", r"create the ledger with Ledger\.create"),
        ],
    )
    def test_what_is_no_ledger_stays_as_it_is(self, path: Path, content: str, message: str) -> None:
        if content == "text":
            path.write_text("epsilon,delta\n1,2\n" * 100)
        elif content == "database":
            with sqlite3.connect(path) as connection:
                connection.execute("CREATE TABLE entries (id)")
            connection.close()
        elif content == "folder":
            path.mkdir()
        before = path.read_bytes() if path.is_file() else b""
        for door in (Ledger, Ledger.open):
            with pytest.raises(LedgerError, match=message):
                door(path)
        assert path.is_dir() or (path.read_bytes() if content else b"") == before
        assert path.exists() == bool(content)

    def test_an_empty_file_is_a_lost_ledger_and_gets_no_budget(self, path: Path) -> None:
        ledger = Ledger.create(path, epsilon=1.0)
        ledger.reserve(pure(1.0))
        path.write_bytes(b"")
        for call in (
            *(partial(door, path) for door in (Ledger, Ledger.open)),
            *(partial(ledger.reserve, pure(0.1)), ledger.spent, ledger.entries, ledger.export),
            lambda: pickle.loads(pickle.dumps(ledger)).reserve(pure(0.1)),
        ):
            with pytest.raises(LedgerError, match=r"is empty: a ledger was lost.*restore a copy"):
                call()
        with pytest.raises(LedgerError, match=r"a file at .* already"):
            Ledger.create(path, epsilon=1.0)
        assert path.read_bytes() == b""

    def test_creating_overwrites_nothing(self, path: Path, tmp_path: Path) -> None:
        ledger = Ledger.create(path, epsilon=1.0)
        ledger.reserve(pure(0.7))
        before = path.read_bytes()
        with pytest.raises(LedgerError, match=r"does not overwrite it: open it with Ledger\.open"):
            Ledger.create(path, epsilon=1.0)
        assert path.read_bytes() == before
        (tmp_path / "dangling").symlink_to(tmp_path / "gone")
        with pytest.raises(LedgerError, match="a file at"):
            Ledger.create(tmp_path / "dangling", epsilon=1.0)
        assert not (tmp_path / "gone").exists()
        with pytest.raises(LedgerError, match=r"folder .* does not exist"):
            Ledger.create(tmp_path / "no" / "data.ledger")
        path.unlink()
        with pytest.raises(LedgerError, match="there is no ledger"):
            ledger.reserve(pure(0.1))
        assert not path.exists()

    def test_a_new_ledger_does_not_inherit_a_lost_ones_journal(self, path: Path) -> None:
        path.with_name(path.name + "-journal").write_bytes(b"pages")
        with pytest.raises(LedgerError, match="belongs to a ledger that is no longer here"):
            Ledger.create(path, epsilon=1.0)
        assert not path.exists()

    def test_a_creation_that_fails_leaves_no_file(
        self, path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def full(*_: object) -> None:
            raise sqlite3.OperationalError("database or disk is full")

        monkeypatch.setattr(ledger_file, "create", full)
        with pytest.raises(LedgerError, match="disk is full"):
            Ledger.create(path, epsilon=1.0)
        assert not path.exists()

    def test_a_newer_schema_is_refused(self, path: Path) -> None:
        Ledger.create(path)
        connection = sqlite3.connect(path)
        connection.execute("PRAGMA user_version = 99")
        connection.close()
        with pytest.raises(LedgerError, match="schema 99"):
            Ledger.open(path)

    @pytest.mark.parametrize(
        "guarantee",
        [
            "{",
            "[]",
            '{"notion": "pure", "theorem": "", "pure_epsilon": -5.0, "assumptions": []}',
            '{"notion": "pure", "theorem": "", "pure_epsilon": NaN, "assumptions": []}',
            '{"notion": "pure", "theorem": "", "colour": "red", "assumptions": []}',
        ],
    )
    def test_a_charge_that_cannot_be_read_is_said(self, path: Path, guarantee: str) -> None:
        ledger = Ledger.create(path, epsilon=1.0)
        ledger.reserve(pure(0.5))
        tamper(path, "UPDATE charges SET guarantee = ?", guarantee)
        for look in (ledger.entries, ledger.check, ledger.export):
            with pytest.raises(LedgerError, match="charge 1 of the ledger cannot be read"):
                look()

    @pytest.mark.parametrize("value", ["NULL", "'much'", "-1.0", "1e400 - 1e400"])
    def test_a_budget_that_is_none_is_refused(self, path: Path, value: str) -> None:
        ledger = Ledger.create(path, epsilon=1.0, delta=1e-6)
        tamper(path, f"UPDATE budget SET epsilon = {value}")
        with pytest.raises(LedgerError, match="another program changed the file"):
            ledger.reserve(pure(0.1))

    @pytest.mark.parametrize("change", ["DELETE FROM charges", "UPDATE charges SET id = id + 1"])
    def test_a_charge_neither_disappears_nor_changes(self, path: Path, change: str) -> None:
        Ledger.create(path, epsilon=1.0).reserve(pure(0.5))
        connection = sqlite3.connect(path)
        with pytest.raises(sqlite3.IntegrityError, match="a charge never"):
            connection.execute(change)
        connection.close()

    def test_a_charge_that_was_taken_away_is_noticed(self, path: Path) -> None:
        ledger = Ledger.create(path, epsilon=1.0)
        ledger.reserve(pure(0.25)), ledger.reserve(pure(0.5))
        tamper(path, "DELETE FROM charges WHERE id = 2")
        assert ledger.spent() == 0.75
        for step in (ledger.check, ledger.export, partial(ledger.reserve, pure(0.1))):
            with pytest.raises(LedgerError, match="not the sum of its charges"):
                step()

    @pytest.mark.parametrize("budget", [{}, {"epsilon": 1.0}])
    def test_edited_totals_buy_nothing(self, path: Path, budget: dict[str, float]) -> None:
        ledger = Ledger.create(path, **budget)
        ledger.reserve(pure(0.9))
        spent = ledger.totals.to_dict()
        for name, value in (("pure_epsilon", ["0", 0]), ("rho", ["1/3", 0]), ("rho", ["0", 1])):
            forged = json.loads(json.dumps(spent))
            forged["sums"][name] = value
            tamper(path, "UPDATE totals SET value = ?", json.dumps(forged))
            with pytest.raises(LedgerError, match="restore a trusted copy"):
                ledger.reserve(pure(0.01))
        tamper(path, "UPDATE totals SET value = ?", json.dumps({**spent, "live": 0}))
        with pytest.raises(LedgerError, match="restore a trusted copy"):
            ledger.reserve(pure(0.01))
        tamper(path, "UPDATE totals SET value = ?", json.dumps(spent))
        ledger.reserve(pure(0.01))

    def test_a_charge_and_a_budget_cannot_be_replaced(self, path: Path) -> None:
        ledger = Ledger.create(path, epsilon=1.0)
        ledger.reserve(pure(0.5))
        connection = sqlite3.connect(path, isolation_level=None)
        (row,) = connection.execute("SELECT * FROM charges").fetchall()
        into = f"INTO charges VALUES ({', '.join('?' * len(row))})"
        for change, values in (
            (f"INSERT OR REPLACE {into}", row),
            (f"REPLACE {into}", row),
            ("UPDATE OR REPLACE charges SET state = 'reserved' WHERE state = 'started'", ()),
            ("INSERT OR REPLACE INTO budget VALUES (1, 9.0, 0.0)", ()),
            ("UPDATE budget SET epsilon = 9.0", ()),
            ("DELETE FROM budget", ()),
        ):
            if "UPDATE OR" in change:
                connection.execute("UPDATE charges SET state = 'started'")
            with pytest.raises(sqlite3.IntegrityError, match=r"never|stays so|set once"):
                connection.execute(change, values)
        connection.close()
        ledger.check()
        assert ledger.budget == (1.0, 0.0)

    def test_a_hard_link_is_refused_a_symbolic_one_is_not(self, path: Path) -> None:
        ledger = Ledger.create(path, epsilon=1.0)
        other = path.with_name("other")
        other.symlink_to(path)
        Ledger(other).reserve(pure(0.25))
        other.unlink()
        other.hardlink_to(path)
        for call in (partial(Ledger, path), partial(Ledger, other), ledger.spent):
            with pytest.raises(LedgerError, match=r"has another hard link.*Remove the other name"):
                call()
        with pytest.raises(LedgerError, match="has another hard link"):
            ledger.reserve(pure(0.25))
        other.unlink()
        assert ledger.spent() == 0.25

    def test_an_export_tells_nothing_that_rows_decide(self, path: Path) -> None:
        ledger = Ledger.create(path, epsilon=2.0)
        charges = [ledger.reserve(pure(0.5), note="fit") for _ in range(3)]
        charges[0].start()
        charges[0].commit()
        charges[1].start()  # it failed on its rows, or was killed because it took too long
        charges[2].void()
        told = json.loads(ledger.export())["entries"]
        assert {**told[0], "id": 2} == told[1]
        assert [entry["state"] for entry in told] == ["spent", "spent", "voided"]
        assert all(re.fullmatch(r"\d{4}-\d\d-\d\d", entry["when"]) for entry in told)
        assert [entry["voided_when"] for entry in told] == [None, None, told[2]["when"]]

    def test_the_file_holds_what_was_declared_and_no_row(self, path: Path) -> None:
        rows = [[0.123456789, -0.3], [-0.1, 0.987654321], [0.1, 0.2], [-0.1, 0.1]] * 5
        Ledger.create(path)
        labels = ["secret-a", "secret-b"]
        asked = {"n_draws": 2, "ledger": path, "classes": labels, "mechanism": "exact"}
        model = RashomonClassifier(**asked, random_state=0)
        model.fit(rows, labels * 10)
        ledger = Ledger(path)
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
            *("renyi_order", "divergences"),
        }
        connection.close()


class TestRaces:
    def test_processes_cannot_spend_the_same_budget(self, path: Path) -> None:
        Ledger.create(path, epsilon=1.0)
        code = """
ledger, won = Ledger(path), 0
for _ in range(10):
    try:
        ledger.reserve(pure(0.1)).commit()
        won += 1
    except BudgetExceededError:
        pass
print(won)
"""
        won = [int(text) for text in race(code, path, *range(4))]
        assert len(won) == 4
        assert sum(won) == 10
        entries = Ledger(path).entries()
        assert len(entries) == 10
        assert {entry.state for entry in entries} == {"committed"}

    def test_threads_cannot_spend_the_same_budget(self, path: Path) -> None:
        ledger = Ledger.create(path, epsilon=1.0)

        def spend(_: int) -> bool:
            try:
                ledger.reserve(pure(0.1)).commit()
            except BudgetExceededError:
                return False
            return True

        with ThreadPoolExecutor(8) as pool:
            assert sum(pool.map(spend, range(40))) == 10
        assert len(ledger.entries()) == 10

    def test_a_reservation_survives_kill_9(self, path: Path) -> None:
        Ledger.create(path, epsilon=1.0)
        victim = start(
            "Ledger(path).reserve(pure(0.75)); "
            "print([m for m in ('sklearn', 'pandas', 'scipy.stats') if m in sys.modules], "
            "flush=True); time.sleep(60)",
            path,
        )
        assert victim.stdout is not None
        assert victim.stdout.readline() == "[]\n"  # a process that only charges starts fast
        victim.send_signal(signal.SIGKILL)
        victim.communicate()
        ledger = Ledger(path)
        assert [entry.state for entry in ledger.entries()] == ["reserved"]
        assert ledger.remaining == 0.25
        with pytest.raises(BudgetExceededError):
            ledger.reserve(pure(0.5))

    def test_a_crash_before_commit_leaves_no_charge_and_no_lock(self, path: Path) -> None:
        Ledger.create(path, epsilon=1.0)
        victim = start(
            """
class Dying(sqlite3.Connection):
    def execute(self, sql, *rest):
        if sql == "COMMIT":
            os.kill(os.getpid(), 9)
        return super().execute(sql, *rest)

connect = sqlite3.connect
sqlite3.connect = lambda *args, **options: connect(*args, factory=Dying, **options)
Ledger(path).reserve(pure(0.75))
""",
            path,
        )
        victim.communicate(timeout=LONG)
        assert victim.returncode == -signal.SIGKILL
        ledger = Ledger(path)
        assert ledger.entries() == []
        ledger.reserve(pure(1.0))

    def test_of_processes_that_create_the_file_at_once_one_does(self, path: Path) -> None:
        code = """
try:
    print(Ledger.create(path, epsilon=float(mine)).budget[0])
except RuntimeError:
    print(Ledger.open(path) and "refused")
"""
        said = race(code, path, 1, 2, 3)
        assert sorted(said)[1:] == ["refused"] * 2
        budget = Ledger(path).budget
        assert budget is not None
        assert str(budget[0]) == sorted(said)[0]
