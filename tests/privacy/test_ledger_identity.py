"""Another ledger's file at a ledger's path is noticed before anything is written to it or read."""

import pickle
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest

from rashomon_explorer.privacy import Charge, Ledger, LedgerError, pure
from rashomon_explorer.privacy.ledger import file

ANOTHER = r"is not the ledger that was opened there.*Restore that file; or.*open it"


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger.create(tmp_path / "mine.ledger", epsilon=1.0)


@pytest.fixture
def other(tmp_path: Path) -> Ledger:
    return Ledger.create(tmp_path / "other.ledger", epsilon=9.0)


@pytest.mark.parametrize(
    "call",
    [
        lambda ledger: ledger.reserve(pure(0.1)),
        lambda ledger: ledger.set_budget(epsilon=1.0),
        lambda ledger: ledger.can_afford(pure(0.1)),
        lambda ledger: pickle.loads(pickle.dumps(ledger)).reserve(pure(0.1)),
        Ledger.spent,
        Ledger.entries,
        Ledger.check,
        Ledger.export,
    ],
)
def test_an_open_ledger_notices_another_file(
    ledger: Ledger, other: Ledger, call: Callable[[Ledger], object]
) -> None:
    other.path.replace(ledger.path)
    before = ledger.path.read_bytes()
    with pytest.raises(LedgerError, match=ANOTHER):
        call(ledger)
    assert ledger.path.read_bytes() == before


@pytest.mark.parametrize("step", [Charge.start, Charge.commit, Charge.void])
def test_a_charge_under_way_marks_no_other_ledger_s(
    ledger: Ledger, other: Ledger, step: Callable[[Charge], None]
) -> None:
    charge = ledger.reserve(pure(0.1))
    other.reserve(pure(0.7))  # of the same number
    kept = ledger.path.rename(ledger.path.with_name("kept.ledger"))
    other.path.replace(ledger.path)
    with pytest.raises(LedgerError, match=ANOTHER):
        step(charge)
    assert Ledger(ledger.path).entries()[0].state == "reserved"
    kept.replace(ledger.path)
    step(charge)
    assert ledger.entries()[0].state != "reserved"


def test_nothing_runs_once_the_file_is_another(ledger: Ledger, other: Ledger) -> None:
    charge = ledger.reserve(pure(0.1))
    other.reserve(pure(0.7))
    other.path.replace(ledger.path)
    with pytest.raises(LedgerError, match=ANOTHER):
        charge.run(lambda: pytest.fail("rows were read"))


def test_a_charge_extends_none_of_another_file(ledger: Ledger, other: Ledger) -> None:
    charge = ledger.reserve(pure(0.5))
    charge.start()
    other.reserve(pure(0.5)).start()
    other.path.replace(ledger.path)
    anew = Ledger(ledger.path)
    with pytest.raises(LedgerError, match=r"charge 1 belongs to a ledger that was at .* before"):
        anew.reserve(pure(0.8), extends=charge)
    assert anew.spent() == 0.5


def test_a_file_of_an_older_version_is_another_too(ledger: Ledger) -> None:
    shutil.copy(Path(__file__).with_name("ledger-version-3.sqlite"), ledger.path)
    with pytest.raises(LedgerError, match=ANOTHER):
        ledger.reserve(pure(0.1))
    Ledger(ledger.path).reserve(pure(0.1))  # which brings it up to date, and is no harm to another
    with pytest.raises(LedgerError, match=ANOTHER):
        ledger.reserve(pure(0.1))


def test_a_moved_ledger_is_the_same(ledger: Ledger, tmp_path: Path) -> None:
    """Only the path is another: who opens it there goes on, and so does a copy that is restored."""
    ledger.reserve(pure(0.25)).commit()
    backup = shutil.copy(ledger.path, tmp_path / "backup")
    moved = Ledger(ledger.path.rename(tmp_path / "moved.ledger"))
    assert moved.spent() == 0.25
    shutil.copy(backup, ledger.path)
    ledger.reserve(pure(0.25))


def test_names_are_random_and_stay(ledger: Ledger, other: Ledger) -> None:
    assert ledger.reserve(pure(0.1)).identity != other.reserve(pure(0.1)).identity
    connection = sqlite3.connect(ledger.path)
    for change in ("UPDATE identity SET name = 'x'", "INSERT INTO identity VALUES (2, 'x')"):
        with pytest.raises(sqlite3.IntegrityError):
            connection.execute(change)
    connection.execute("DELETE FROM identity")
    connection.commit()
    connection.close()
    for call in (partial(Ledger, ledger.path), ledger.spent):
        with pytest.raises(
            LedgerError, match=r"lost its identifier|is not the ledger that was opened"
        ):
            call()


@pytest.mark.parametrize("call", [Ledger.spent, Ledger.entries, lambda one: one.reserve(pure(0.1))])
def test_a_ledger_that_is_moved_while_it_is_opened_is_missing(
    ledger: Ledger, call: Callable[[Ledger], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    connect = file._connect

    @contextmanager
    def moved(path: Path) -> Iterator[sqlite3.Connection]:
        with connect(path) as connection:
            path.rename(path.with_name("moved.ledger"))
            yield connection

    monkeypatch.setattr(file, "_connect", moved)
    with pytest.raises(LedgerError, match=r"there is no ledger at .*mine\.ledger"):
        call(ledger)
