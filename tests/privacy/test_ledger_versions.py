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

# What each version printed, at the budget's δ and at 10⁻³, and the states of its charges.
PRINTED = {
    1: (1.9293186462065097, 1.2116747397725578, ["committed", "started", *["committed"] * 6]),
    2: (
        1.2784475711860754,
        0.7768169639565292,
        ["committed", "started", "reserved", "voided", "reserved", "committed"],
    ),
    3: (1.1429257232122103, None, ["committed", "started", "reserved", "voided"]),
    4: (1.4913190776513905, 0.9176358719954067, None),
}
every_version = pytest.mark.parametrize("version", PRINTED)


@pytest.fixture
def path(tmp_path: Path, version: int) -> Path:
    source = Path(__file__).with_name(f"ledger-version-{version}.sqlite")
    return Path(shutil.copy(source, tmp_path / "old.ledger"))


def _tables(path: Path) -> list[tuple[object, ...]]:
    connection = sqlite3.connect(path)
    rows = [
        row
        for table in ("budget", "charges", "totals")
        for row in connection.execute(f"SELECT * FROM {table} ORDER BY id")
    ]
    connection.close()
    return rows


@every_version
def test_a_migrated_ledger_says_what_it_said(path: Path, version: int) -> None:
    before = _tables(path) if version > 2 else None
    ledger = Ledger(path)
    assert before is None or _tables(path) == before
    spent, loose, states = PRINTED[version]
    assert ledger.budget == (3.0, 1e-6) and ledger.order is None
    assert ledger.spent() == spent
    assert loose is None or ledger.spent(1e-3) == loose
    entries = ledger.entries()
    assert [entry.id for entry in entries] == list(range(1, len(entries) + 1))
    assert states is None or [entry.state for entry in entries] == states
    if version < 3:
        assert entries[0].note == "first look, ψ ≤ 0.02"
        assert entries[0].parameters == {"n": 50000, "sampler": "exact"}
        assert entries[0].when[:10] == {1: "2026-11-20", 2: "2026-11-22"}[version]
        assert entries[3 - version].guarantee == gdp(0.05).with_seed()
        assert version == 2 or entries[0].who == "root (process 1827)"
    exported = json.loads(ledger.export(), parse_constant=pytest.fail)
    assert exported["version"] == 5 and exported["order"] is None
    assert exported["budget"] == {"epsilon": 3.0, "delta": 1e-6}
    assert (exported["spent"], exported["remaining"]) == (ledger.spent(), ledger.remaining)
    assert exported["entries"] == [entry.to_dict() for entry in entries]
    ledger.reserve(pure(0.1)).commit()
    assert ledger.entries()[-1].id == len(entries) + 1
    assert Ledger(path).spent() == ledger.spent() > spent


@every_version
def test_several_may_migrate_at_once_to_one_name(path: Path, version: int) -> None:
    with ThreadPoolExecutor(4) as pool:
        spent = list(pool.map(lambda _: Ledger.open(path).spent(), range(8)))
        charges = list(pool.map(lambda _: Ledger.open(path).reserve(pure(0.001)), range(4)))
    assert set(spent) == {PRINTED[version][0]}
    assert len({charge.identity for charge in charges}) == 1


@pytest.mark.parametrize(
    ("version", "statement", "message"),
    [
        (1, "INSERT INTO entries (reserved_at) VALUES ('')", "no such table"),
        (2, "UPDATE charges SET started_at = '' WHERE id = 3", "no such column"),
    ],
)
def test_older_code_cannot_write_into_it(path: Path, statement: str, message: str) -> None:
    Ledger(path)
    connection = sqlite3.connect(path)
    with pytest.raises(sqlite3.OperationalError, match=message):
        connection.execute(statement)
    connection.close()


@pytest.mark.parametrize("version", [1])
def test_a_migration_that_fails_changes_nothing(path: Path) -> None:
    connection = sqlite3.connect(path)
    connection.execute("UPDATE entries SET guarantee = '{' WHERE id = 5")
    connection.commit()
    connection.close()
    before = path.read_bytes()
    with pytest.raises(LedgerError, match="charge 5 of the ledger cannot be read"):
        Ledger(path)
    assert path.read_bytes() == before


@pytest.mark.parametrize("version", [2])
def test_version_2_goes_on_without_the_times_at_which_rows_were_read(path: Path) -> None:
    assert b"2031-01-02" in path.read_bytes() and b"2031-06-07" in path.read_bytes()
    entries = Ledger(path).entries()
    assert b"2031" not in path.read_bytes()
    assert entries[2].extends == 2
    assert entries[3].voided_why == "wrong table" and entries[3].voided_when is not None


@every_version
def test_no_time_after_the_reservation_is_stored(path: Path) -> None:
    ledger = Ledger(path)
    for step in ("start", "commit"):
        charge = ledger.reserve(pure(0.01))
        before = _tables(path)
        getattr(charge, step)()
        changed = [pair for pair in zip(before, _tables(path), strict=True) if len(set(pair)) > 1]
        assert len(changed) == 1
        assert {*changed[0][1]} - {*changed[0][0]} <= {"started", "committed"}


@pytest.mark.parametrize("version", [4])
def test_version_4_keeps_its_rule(path: Path, tmp_path: Path) -> None:
    ledger = Ledger(path)
    assert all("divergence" not in entry.to_dict() for entry in ledger.entries())
    charge = Guarantee(
        "tradeoff", "a curve", curve=GaussianObjectivePerturbation(0.1, 0.01, monotone=True)
    )
    assert not ledger.can_afford(charge)
    with pytest.raises(BudgetExceededError, match="ε=inf"):
        ledger.reserve(charge)
    ledger.reserve(gdp(0.1)).commit()
    assert ledger.totals == Totals.from_charges(e.guarantee for e in ledger.entries() if e.counts)
    new = Ledger.create(tmp_path / "new.ledger", epsilon=3.0, delta=1e-6)
    assert new.can_afford(charge) and new.order == filter_order(3.0, 1e-6)
