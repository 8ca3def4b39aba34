"""A ledger of an older version, made by the code of that time, goes on where it was."""

import json
import shutil
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from rashomon_explorer.privacy import BudgetExceededError, Guarantee, Ledger, LedgerError, gdp, pure
from rashomon_explorer.privacy.conversions import filter_order
from rashomon_explorer.privacy.ledger.totals import Totals
from rashomon_explorer.privacy.tradeoff import GaussianObjectivePerturbation

VERSION_1 = Path(__file__).with_name("ledger-version-1.sqlite")
VERSION_2 = Path(__file__).with_name("ledger-version-2.sqlite")
VERSION_3 = Path(__file__).with_name("ledger-version-3.sqlite")
VERSION_4 = Path(__file__).with_name("ledger-version-4.sqlite")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return Path(shutil.copy(VERSION_1, tmp_path / "old.ledger"))


@pytest.fixture
def old(tmp_path: Path) -> Path:
    return Path(shutil.copy(VERSION_2, tmp_path / "old.ledger"))


def test_a_migrated_ledger_says_what_it_said(path: Path) -> None:
    ledger = Ledger(path)
    assert ledger.budget == (3.0, 1e-6)
    assert ledger.spent() == 1.9293186462065097  # as version 1 printed it
    assert ledger.spent(1e-3) == 1.2116747397725578
    entries = ledger.entries()
    assert [entry.id for entry in entries] == list(range(1, 9))
    assert entries[0].note == "first look, ψ ≤ 0.02"
    assert entries[0].parameters == {"n": 50000, "sampler": "exact"}
    assert entries[0].when == "2026-11-20T14:43:58+00:00"
    assert entries[0].who == "root (process 1827)"
    assert entries[2].guarantee == gdp(0.05).with_seed()
    ledger.check()


def test_an_open_reservation_of_version_1_stays_spent(path: Path) -> None:
    ledger = Ledger(path)
    states = [entry.state for entry in ledger.entries()]
    assert states == ["committed", "started"] + ["committed"] * 6
    ledger.reserve(pure(0.1)).commit()
    assert ledger.entries()[-1].id == 9


def test_several_may_migrate_at_once(path: Path) -> None:
    with ThreadPoolExecutor(4) as pool:
        spent = list(pool.map(lambda _: Ledger.open(path).spent(), range(8)))
    assert set(spent) == {1.9293186462065097}


def test_what_runs_version_1_cannot_write_into_version_2(path: Path) -> None:
    Ledger(path)
    connection = sqlite3.connect(path)
    with pytest.raises(sqlite3.OperationalError, match="no such table"):
        connection.execute(
            "INSERT INTO entries (reserved_at, who, note, parameters, guarantee) "
            "VALUES ('', '', '', '{}', '{}')"
        )
    connection.close()


def test_a_migration_that_fails_changes_nothing(path: Path) -> None:
    connection = sqlite3.connect(path)
    connection.execute("UPDATE entries SET guarantee = '{' WHERE id = 5")
    connection.commit()
    connection.close()
    before = path.read_bytes()
    with pytest.raises(LedgerError, match="charge 5 of the ledger cannot be read"):
        Ledger(path)
    assert path.read_bytes() == before


def test_version_2_goes_on_without_the_times_at_which_rows_were_read(old: Path) -> None:
    assert b"2031-01-02" in old.read_bytes() and b"2031-06-07" in old.read_bytes()
    ledger = Ledger(old)
    assert b"2031" not in old.read_bytes()
    assert ledger.budget == (3.0, 1e-6)
    assert ledger.spent() == 1.2784475711860754  # as version 2 printed it
    assert ledger.spent(1e-3) == 0.7768169639565292
    ledger.check()
    entries = ledger.entries()
    assert [entry.id for entry in entries] == [1, 2, 3, 4, 5, 6]
    assert [entry.state for entry in entries] == [
        *("committed", "started", "reserved", "voided", "reserved", "committed")
    ]
    assert entries[0].note == "first look, ψ ≤ 0.02"
    assert entries[0].parameters == {"n": 50000, "sampler": "exact"}
    assert entries[0].when == "2026-11-22T01:40:32+00:00"
    assert entries[1].guarantee == gdp(0.05).with_seed()
    assert entries[2].extends == 2
    assert entries[3].voided_why == "wrong table" and entries[3].voided_when is not None
    charge = ledger.reserve(pure(0.1))
    assert charge.id == 7
    charge.start()
    with pytest.raises(LedgerError, match="cannot become voided"):
        charge.void()


@pytest.mark.parametrize("version", [VERSION_1, VERSION_2, VERSION_3, VERSION_4])
def test_no_time_after_the_reservation_is_kept(version: Path, tmp_path: Path) -> None:
    path = Path(shutil.copy(version, tmp_path / "old.ledger"))
    ledger = Ledger(path)
    for step in ("start", "commit"):
        charge = ledger.reserve(pure(0.01))
        before = _tables(path)
        getattr(charge, step)()
        changed = [pair for pair in zip(before, _tables(path), strict=True) if len(set(pair)) > 1]
        assert len(changed) == 1
        assert {*changed[0][1]} - {*changed[0][0]} <= {"started", "committed"}


def test_several_may_migrate_version_2_at_once(old: Path) -> None:
    with ThreadPoolExecutor(4) as pool:
        spent = list(pool.map(lambda _: Ledger.open(old).spent(), range(8)))
    assert set(spent) == {1.2784475711860754}


def test_what_runs_version_2_starts_nothing_in_later_ones(old: Path) -> None:
    Ledger(old)
    connection = sqlite3.connect(old)
    with pytest.raises(sqlite3.OperationalError, match="no such column"):
        connection.execute("UPDATE charges SET started_at = coalesce(started_at, '') WHERE id = 3")
    connection.close()


def test_version_3_goes_on_with_a_name(tmp_path: Path) -> None:
    path = Path(shutil.copy(VERSION_3, tmp_path / "old.ledger"))
    before = _tables(path)
    ledger = Ledger(path)
    assert _tables(path) == before
    assert ledger.budget == (3.0, 1e-6)
    assert ledger.spent() == 1.1429257232122103  # as version 3 printed it
    states = [entry.state for entry in ledger.entries()]
    assert states == ["committed", "started", "reserved", "voided"]
    ledger.check()
    ledger.reserve(pure(0.1)).commit()
    assert Ledger(path).spent() == ledger.spent()


@pytest.mark.parametrize("version", [VERSION_1, VERSION_2, VERSION_3, VERSION_4])
def test_a_migrated_ledger_has_one_name_and_keeps_it(version: Path, tmp_path: Path) -> None:
    path = Path(shutil.copy(version, tmp_path / "old.ledger"))
    with ThreadPoolExecutor(4) as pool:
        charges = list(pool.map(lambda _: Ledger.open(path).reserve(pure(0.001)), range(4)))
    assert len({charge.identity for charge in charges}) == 1
    for charge in charges:
        charge.commit()


def test_version_4_keeps_its_rule(tmp_path: Path) -> None:
    path = Path(shutil.copy(VERSION_4, tmp_path / "old.ledger"))
    before = _tables(path)
    ledger = Ledger(path)
    assert _tables(path) == before
    assert ledger.budget == (3.0, 1e-6) and ledger.order is None
    assert ledger.spent() == 1.4913190776513905  # as version 4 printed it
    assert ledger.spent(1e-3) == 0.9176358719954067
    ledger.check()
    assert json.loads(ledger.export())["order"] is None
    assert all("divergence" not in entry.to_dict() for entry in ledger.entries())
    tilt = Guarantee(
        "tradeoff", "a tilt", curve=GaussianObjectivePerturbation(0.1, 0.01, monotone=True)
    )
    assert not ledger.can_afford(tilt)
    with pytest.raises(BudgetExceededError, match="ε=inf"):
        ledger.reserve(tilt)
    ledger.reserve(gdp(0.1)).commit()
    assert ledger.totals == Totals.of(e.guarantee for e in ledger.entries() if e.counts)
    new = Ledger.create(tmp_path / "new.ledger", epsilon=3.0, delta=1e-6)
    assert new.can_afford(tilt) and new.order == filter_order(3.0, 1e-6)


def _tables(path: Path) -> list[tuple[object, ...]]:
    connection = sqlite3.connect(path)
    rows = [
        row
        for table in ("budget", "charges", "totals")
        for row in connection.execute(f"SELECT * FROM {table} ORDER BY id")
    ]
    connection.close()
    return rows


def test_an_export_is_plain_json(path: Path) -> None:
    ledger = Ledger(path)
    told = json.loads(ledger.export(), parse_constant=pytest.fail)
    assert told["version"] == 5
    assert told["budget"] == {"epsilon": 3.0, "delta": 1e-6}
    assert (told["spent"], told["remaining"]) == (ledger.spent(), ledger.remaining)
    assert told["entries"] == [entry.to_dict() for entry in ledger.entries()]
    ledger = Ledger.create(path.with_name("new.ledger"))
    assert json.loads(ledger.export())["remaining"] == "inf"
