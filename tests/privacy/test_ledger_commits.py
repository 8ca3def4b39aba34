"""A charge is on the disk before rows are read; what was paid for returns if the end is not."""

import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from rashomon_explorer import DPClassifier, RashomonClassifier
from rashomon_explorer.exceptions import FitError, LedgerWarning
from rashomon_explorer.mechanisms.langevin.sampler import LangevinSampler
from rashomon_explorer.mechanisms.target import GibbsTarget
from rashomon_explorer.papers.metered import MeteredLangevin
from rashomon_explorer.privacy import Ledger, LedgerError, pure
from rashomon_explorer.privacy.ledger import file as ledger_file
from rashomon_explorer.privacy.ledger.file import create_file, reading, writing
from rashomon_explorer.problem.problem import Problem
from rashomon_explorer.release import release

X, Y = [[0.4], [0.3], [-0.4], [-0.2]] * 50, [1, 1, 0, 0] * 50


@pytest.fixture
def ledger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Ledger:
    monkeypatch.setattr(ledger_file, "_LOCK_SECONDS", 0.05)
    return Ledger.create(tmp_path / "data.ledger", epsilon=50.0, delta=1e-6)


class Held:
    """Another program holds the ledger's lock from some moment on."""

    def __init__(self, path: Path) -> None:
        self._connection = sqlite3.connect(path, isolation_level=None)

    def begin(self) -> None:
        self._connection.execute("BEGIN EXCLUSIVE")

    def end(self) -> None:
        self._connection.close()


@contextmanager
def _held(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Hold the ledger from the moment at which the work on rows has ended."""
    held, work = (
        Held(ledger.path),
        "rashomon_explorer.privacy.ledger.charge.run_with_constant_error",
    )
    with monkeypatch.context() as patch:

        def ended(do: Callable[[], object]) -> object:
            result = do()
            held.begin()
            return result

        patch.setattr(work, ended)
        yield
    held.end()


def test_every_connection_flushes_to_the_disk(tmp_path: Path, monkeypatch) -> None:
    wanted = {"synchronous": 3, "fullfsync": 1, "secure_delete": 1, "journal_mode": "delete"}
    path = tmp_path / "data.ledger"
    making: list[dict[str, object]] = []

    def pragmas(connection: sqlite3.Connection) -> dict[str, object]:
        return {name: connection.execute(f"PRAGMA {name}").fetchone()[0] for name in wanted}

    create = ledger_file.create

    def watched(connection: sqlite3.Connection, budget: tuple[float, float] | None) -> None:
        making.append(pragmas(connection))
        create(connection, budget)

    monkeypatch.setattr(ledger_file, "create", watched)
    create_file(path, None)
    with reading(path) as connection:
        making.append(pragmas(connection))
    with writing(path) as connection:
        making.append(pragmas(connection))
    assert making == [wanted] * 3


def test_a_result_returns_where_its_end_cannot_be_written(ledger: Ledger, monkeypatch) -> None:
    charge = ledger.reserve(pure(0.5))
    with _held(ledger, monkeypatch), pytest.warns(LedgerWarning, match="charge 1 could not be"):
        assert charge.run(lambda: "paid for") == "paid for"
    (entry,) = ledger.entries()
    assert (entry.state, entry.standing, ledger.spent()) == ("started", "spent", 0.5)
    ledger.check()
    charge.commit()
    assert ledger.entries()[0].state == "committed" and ledger.spent() == 0.5


@pytest.mark.parametrize("lost", ["gone", "another", "unreadable"])
def test_whatever_became_of_the_file_meanwhile(ledger: Ledger, lost: str) -> None:
    other = Ledger.create(ledger.path.with_name("other.ledger"))

    def work() -> str:
        if lost == "gone":
            ledger.path.unlink()
        elif lost == "another":
            os.replace(other.path, ledger.path)
        else:
            ledger.path.write_bytes(b"no ledger" * 100)
        return "paid for"

    charge = ledger.reserve(pure(0.5))
    with pytest.warns(LedgerWarning, match="complete and charged"):
        assert charge.run(work) == "paid for"
    if lost == "another":
        assert Ledger(ledger.path).entries() == []  # nothing was written into it


def test_an_error_of_the_file_system_is_no_reason_to_lose_a_result(ledger, monkeypatch) -> None:
    charge = ledger.reserve(pure(0.5))

    def broken() -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(charge, "commit", broken)
    with pytest.warns(LedgerWarning, match="Input/output error"):
        assert charge.run(lambda: 7) == 7


def test_nothing_runs_where_the_start_cannot_be_written(ledger: Ledger) -> None:
    charge, ran, held = ledger.reserve(pure(0.5)), [], Held(ledger.path)
    held.begin()
    with pytest.raises(LedgerError):
        charge.run(lambda: ran.append(1))
    held.end()
    assert not ran and ledger.entries()[0].state == "reserved"


def test_no_price_depends_on_a_result_whose_end_was_not_written(ledger, monkeypatch) -> None:
    """The file says started, as before the run; only the receipt knows that it has returned."""
    charge = ledger.reserve(pure(0.5))
    charge.start()
    rest = ledger.reserve(pure(0.8), extends=charge)
    with _held(ledger, monkeypatch), pytest.warns(LedgerWarning):
        charge.run(lambda: "seen")
    with pytest.raises(LedgerError, match="may have been seen"):
        rest.void()
    other = ledger.reserve(pure(0.5))
    with _held(ledger, monkeypatch), pytest.warns(LedgerWarning):
        other.run(lambda: "seen")
    with pytest.raises(LedgerError, match="may have been seen"):
        ledger.reserve(pure(0.8), extends=other)
    assert ledger.spent() == pytest.approx(1.3)


def test_before_it_has_returned_a_charge_is_extended_and_the_rest_voided(ledger: Ledger) -> None:
    charge = ledger.reserve(pure(0.5))
    charge.start()
    ledger.reserve(pure(0.8), extends=charge).void()
    with pytest.raises(FitError):
        charge.run(lambda: [][0])  # which returns nothing
    ledger.reserve(pure(0.8), extends=charge).void()


def test_a_fit_and_a_release_are_returned(ledger: Ledger, monkeypatch) -> None:
    one = DPClassifier(classes=[0, 1], epsilon=1.0, ledger=ledger)
    several = RashomonClassifier(classes=[0, 1], n_draws=2, epsilon=20.0, ledger=ledger)
    for estimator in (one, several):
        with _held(ledger, monkeypatch), pytest.warns(LedgerWarning):
            estimator.fit(X, Y)
    assert one.encoded_coef_.shape == (1, 1) and several.rashomon_set_.n_draws == 2
    models = several.rashomon_set_.release()
    with _held(ledger, monkeypatch), pytest.warns(LedgerWarning):
        released = release(models, X, Y, queries=["ambiguity"], epsilon=1.0, ledger=ledger)
    assert released.charge == 3 and len(released.statistics) == 1
    assert {entry.state for entry in ledger.entries()} == {"started"}


def test_chains_show_their_last_state_only_once_that_is_written(ledger: Ledger) -> None:
    problem = Problem([[0.5], [-0.5]] * 50, [1, -1] * 50, ridge=1.0)
    sampler = LangevinSampler(step_size=0.5, n_steps=20, n_chains=1, shown="last")
    target = GibbsTarget(problem, beta=1.0, psi=0.0)
    chains = MeteredLangevin(sampler, target, np.random.default_rng(0), ledger)
    spent, held = ledger.spent(), Held(ledger.path)
    held.begin()
    with pytest.raises(LedgerError):
        chains.last()
    held.end()
    assert ledger.entries()[0].state == "started"
    assert chains.last().shape == (2, 1) and np.array_equal(chains.last(), chains.last())
    assert ledger.entries()[0].state == "committed" and ledger.spent() == spent
