"""The ledger's file: what is none, what creates it, and what cannot be changed."""

import json
import pickle
import signal
import sqlite3
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from functools import partial

import pytest

from rashomon_explorer._utils import files
from rashomon_explorer.privacy import Ledger, LedgerError, LedgerWarning, gdp, pure
from rashomon_explorer.privacy.ledger import file
from rashomon_explorer.privacy.ledger.totals import Totals
from tests.patience import LONG

NAMES = ("budget", "charges", "totals", "divergences")


@pytest.fixture
def path(tmp_path):
    return tmp_path / "data.ledger"


@pytest.fixture
def ledger(path):
    return Ledger.create(path, epsilon=1.0, delta=1e-6)


def tamper(path, statement, *values):
    """Change the file without its triggers."""
    connection = sqlite3.connect(path)
    triggers = connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'")
    for (name,) in triggers.fetchall():
        connection.execute(f"DROP TRIGGER {name}")
    connection.execute(statement, values)
    connection.commit()
    connection.close()


class TestOpening:
    @pytest.mark.parametrize(
        ("content", "message"),
        [
            ("text", "file is not a database"),
            ("database", "not a privacy ledger"),
            ("folder", "cannot open"),
            ("", r"create the ledger with Ledger\.create"),
        ],
    )
    def test_what_is_no_ledger_stays_as_it_is(self, path, content, message):
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

    def test_an_empty_file_is_a_lost_ledger_and_gets_no_budget(self, ledger, path, monkeypatch):
        monkeypatch.setattr(file, "_RETRY_SECONDS", 1e-4)
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

    def test_another_schema_and_a_file_without_its_name_are_refused(self, ledger, path):
        tamper(path, "DELETE FROM identity")
        for call in (partial(Ledger, path), ledger.spent):
            with pytest.raises(LedgerError, match=r"lost its identifier|is not the ledger that"):
                call()
        for version in (5, 99):
            tamper(path, f"PRAGMA user_version = {version}")
            with pytest.raises(LedgerError, match=f"schema {version}.*version .* that wrote it"):
                Ledger.open(path)

    def test_a_hard_link_is_refused_a_symbolic_one_is_not(self, ledger, path):
        other = path.with_name("other")
        other.symlink_to(path)
        Ledger(other).reserve(pure(0.25))
        other.unlink()
        other.hardlink_to(path)
        for call in (
            *(partial(Ledger, path), partial(Ledger, other), ledger.spent),
            partial(ledger.reserve, pure(0.25)),
        ):
            with pytest.raises(LedgerError, match=r"has another hard link.*Remove the other name"):
                call()
        other.unlink()
        assert ledger.spent() == 0.25


class TestCreating:
    def test_it_overwrites_nothing(self, ledger, path, tmp_path):
        ledger.reserve(pure(0.7))
        before = path.read_bytes()
        with pytest.raises(LedgerError, match=r"does not overwrite it: open it with Ledger\.open"):
            Ledger.create(path, epsilon=1.0)
        assert path.read_bytes() == before
        (tmp_path / "dangling").symlink_to(tmp_path / "missing")
        with pytest.raises(LedgerError, match="a file at"):
            Ledger.create(tmp_path / "dangling", epsilon=1.0)
        assert not (tmp_path / "missing").exists()
        with pytest.raises(LedgerError, match=r"folder .* does not exist"):
            Ledger.create(tmp_path / "no" / "data.ledger")
        path.unlink()
        with pytest.raises(LedgerError, match="there is no ledger"):
            ledger.reserve(pure(0.1))
        assert not path.exists()

    def test_it_does_not_inherit_a_journal_and_leaves_no_file_if_it_fails(self, path, monkeypatch):
        journal = path.with_name(path.name + "-journal")
        journal.write_bytes(b"pages")
        with pytest.raises(LedgerError, match="belongs to a ledger that is no longer here"):
            Ledger.create(path, epsilon=1.0)
        journal.unlink()

        def full(*_):
            raise sqlite3.OperationalError("database or disk is full")

        monkeypatch.setattr(file, "create", full)
        with pytest.raises(LedgerError, match="disk is full"):
            Ledger.create(path, epsilon=1.0)
        assert not path.exists()

    def test_only_one_of_several_at_once_succeeds(self, path):
        def create(epsilon):
            try:
                Ledger.create(path, epsilon=epsilon)
            except LedgerError:
                Ledger.open(path)
                return 0.0
            return epsilon

        with ThreadPoolExecutor(4) as pool:
            created = sum(pool.map(create, [1.0, 2.0, 4.0, 8.0]))
        assert Ledger(path).budget == (created, 0.0) and created in (1, 2, 4, 8)

    def test_every_connection_flushes_to_the_disk(self, path, monkeypatch):
        expected = {"synchronous": 3, "fullfsync": 1, "secure_delete": 1, "journal_mode": "delete"}
        found: list[dict[str, object]] = []
        create = file.create

        def read_pragmas(connection):
            values = {name: connection.execute(f"PRAGMA {name}").fetchone() for name in expected}
            found.append({name: value for name, (value,) in values.items()})

        def watched(connection, *settings):
            read_pragmas(connection)
            create(connection, *settings)

        monkeypatch.setattr(file, "create", watched)
        file.create_file(path, None, Totals())
        for opened in (file.reading, file.writing):
            with opened(path) as connection:
                read_pragmas(connection)
        assert found == [expected] * 3

    def test_a_crash_before_commit_leaves_no_charge_and_no_lock(self, ledger, path):
        code = """
import os, sqlite3, sys
from rashomon_explorer.privacy import Ledger, pure

class Dying(sqlite3.Connection):
    def execute(self, sql, *rest):
        if sql == "COMMIT":
            os.kill(os.getpid(), 9)
        return super().execute(sql, *rest)

connect = sqlite3.connect
sqlite3.connect = lambda *args, **options: connect(*args, factory=Dying, **options)
Ledger(sys.argv[1]).reserve(pure(0.75))
"""
        victim = subprocess.run([sys.executable, "-c", code, path], timeout=LONG, check=False)
        assert victim.returncode == -signal.SIGKILL
        assert ledger.entries() == []
        ledger.reserve(pure(1.0))


class TestContent:
    def test_names_are_random(self, ledger, path):
        other = Ledger.create(path.with_name("other"))
        assert ledger.reserve(pure(0.1)).identity != other.reserve(pure(0.1)).identity

    def test_nothing_that_counts_can_be_changed(self, ledger, path):
        for _ in range(2):
            ledger.reserve(gdp(0.1)).start()
        ledger.reserve(gdp(0.1)).void()
        connection = sqlite3.connect(path, isolation_level=None)
        (row, *_) = connection.execute("SELECT * FROM charges").fetchall()
        into = f"INTO charges VALUES ({', '.join('?' * len(row))})"

        changes = [
            f"INSERT OR REPLACE {into}",
            f"REPLACE {into}",
            "DELETE FROM charges WHERE id = 1",
            "UPDATE charges SET id = 9 WHERE id = 1",
            "UPDATE charges SET guarantee = '{}' WHERE id = 1",
            "UPDATE charges SET leaks = 1 WHERE id = 1",
            "UPDATE charges SET state = 'voided' WHERE id = 1",
            "UPDATE charges SET state = 'reserved' WHERE id = 1",
            "UPDATE charges SET state = 'started' WHERE id = 3",
            "UPDATE OR REPLACE charges SET state = 'reserved' WHERE state = 'started'",
            "INSERT OR REPLACE INTO budget VALUES (1, 9.0, 0.0)",
            "UPDATE budget SET epsilon = 9.0",
            "DELETE FROM budget",
            "UPDATE identity SET name = 'x'",
            "UPDATE divergences SET value = 0.0",
            "DELETE FROM divergences",
            "INSERT OR REPLACE INTO divergences VALUES (1, 0.0, 1)",
            "UPDATE renyi_order SET value = 2.0",
            "DELETE FROM renyi_order",
            "INSERT OR REPLACE INTO renyi_order VALUES (1, 2.0)",
        ]
        for change in changes:
            with pytest.raises(sqlite3.IntegrityError, match=r"never|stays so|once|keeps"):
                connection.execute(change, row if "?" in change else ())
        with pytest.raises(sqlite3.IntegrityError):
            connection.execute("INSERT INTO identity VALUES (2, 'x')")
        connection.close()
        ledger.check()

    @pytest.mark.parametrize(
        "guarantee",
        [
            "{",
            "[]",
            '{"notion": "pure", "theorem": "", "pure_epsilon": NaN, "assumptions": []}',
            '{"notion": "pure", "theorem": "", "colour": "red", "assumptions": []}',
        ],
    )
    def test_an_unreadable_charge_is_named(self, ledger, path, guarantee):
        ledger.reserve(pure(0.5))
        tamper(path, "UPDATE charges SET guarantee = ?", guarantee)
        for call in (ledger.entries, ledger.check, ledger.export):
            with pytest.raises(LedgerError, match="charge 1 of the ledger cannot be read"):
                call()

    @pytest.mark.parametrize("value", ["NULL", "'much'", "-1.0", "1e400 - 1e400"])
    def test_an_invalid_budget_is_refused(self, ledger, path, value):
        tamper(path, f"UPDATE budget SET epsilon = {value}")
        with pytest.raises(LedgerError, match="another program changed the file"):
            ledger.reserve(pure(0.1))

    @pytest.mark.parametrize(
        "change",
        [
            "DELETE FROM charges WHERE id = 2",
            "UPDATE divergences SET value = value / 2",
            "DELETE FROM divergences",
        ],
    )
    def test_a_changed_charge_is_noticed(self, ledger, path, change):
        for mu in (0.02, 0.03):
            ledger.reserve(gdp(mu))
        spent = ledger.spent()
        tamper(path, change)
        assert ledger.spent() >= spent
        for step in (ledger.check, ledger.export, partial(ledger.reserve, pure(0.1))):
            with pytest.raises(LedgerError, match="not the sum of its charges"):
                step()

    @pytest.mark.parametrize("budget", [{}, {"epsilon": 1.0, "delta": 1e-6}])
    def test_edited_totals_allow_nothing(self, tmp_path, budget):
        ledger = Ledger.create(tmp_path / "own.ledger", **budget)
        ledger.reserve(pure(0.9))
        true = ledger.totals.to_dict()
        forgeries = [{**true, "live": 0}]
        for name, value in (("pure_epsilon", ["0", 0]), ("rho", ["1/3", 0]), ("rho", ["0", 1])):
            forgeries.append({**true, "sums": {**true["sums"], name: value}})
        if budget:
            forgeries.append({**true, "divergences": ["0", 0]})
            forgeries.append({**true, "unsteady": 1})
        for forged in forgeries:
            tamper(ledger.path, "UPDATE totals SET value = ?", json.dumps(forged))
            with pytest.raises(LedgerError, match="restore a trusted copy"):
                ledger.reserve(pure(0.01))
        tamper(ledger.path, "UPDATE totals SET value = ?", json.dumps(true))
        ledger.reserve(pure(0.01)).void()
        if budget:  # a divergence that is lost is infinite
            tamper(ledger.path, "DELETE FROM divergences")
            forged = {**true, "divergences": ["0", 0], "unsteady": 1}
            tamper(ledger.path, "UPDATE totals SET value = ?", json.dumps(forged))
            with pytest.raises(LedgerError, match="restore a trusted copy"):
                ledger.reserve(pure(0.01))


def test_no_time_after_the_reservation_is_stored(ledger, path):
    def rows():
        connection = sqlite3.connect(path)
        tables = [connection.execute(f"SELECT * FROM {name}").fetchall() for name in NAMES]
        connection.close()
        return [row for table in tables for row in table]

    for step in ("start", "commit"):
        charge = ledger.reserve(pure(0.01))
        before = rows()
        getattr(charge, step)()
        changed = [pair for pair in zip(before, rows(), strict=True) if len(set(pair)) > 1]
        assert len(changed) == 1
        assert {*changed[0][1]} - {*changed[0][0]} <= {"started", "committed"}


@pytest.mark.parametrize(
    ("kind", "warns"), [("nfs4", True), ("fuse.sshfs", True), ("ext4", False), ("overlay", False)]
)
def test_a_ledger_on_a_network_file_system_warns_of_its_locks(
    path, ledger, tmp_path, monkeypatch, kind, warns
):
    mounts = tmp_path / "mounts"
    folder = str(path.parent).replace(" ", "\\040")
    mounts.write_text(
        "21 27 0:22 / / rw,relatime - ext4 /dev/a rw\n"
        f"22 27 0:23 / {folder} rw,relatime - nfs4 hidden:/volume rw\n"
        f"23 27 0:24 / {folder} rw,relatime shared:7 - {kind} there:/volume rw\n"
        f"24 27 0:25 / {folder}-not rw,relatime - cifs there:/volume rw\n"
    )
    monkeypatch.setattr(files, "_MOUNTS", mounts)
    with (
        pytest.warns(LedgerWarning, match=f"network file system .{kind}")
        if warns
        else nullcontext()
    ):
        Ledger(path)
