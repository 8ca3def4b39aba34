"""Files of a home are their owner's alone: whatever the umask, and also those of older versions."""

import os
import sqlite3
import stat
import subprocess
import sys
import threading

import numpy as np
import pytest

from rashomon_explorer._utils.files import create_private, private_opener, tighten
from rashomon_explorer.privacy import Ledger, pure
from rashomon_explorer.privacy.ledger.tables import NAME, TableRegistry

pytestmark = pytest.mark.skipif(not hasattr(os, "geteuid"), reason="Windows has no such rights")


@pytest.fixture(params=[0o000, 0o022, 0o277], ids=oct)
def umask(request):
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


def rights(path):
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.parametrize("before", [0o755, 0o775], ids=oct)
def test_an_existing_file_or_folder_becomes_its_owners(tmp_path, before):
    path, folder = tmp_path / "log", tmp_path / "sets"
    path.write_text("a")
    path.chmod(0o644)
    folder.mkdir()
    folder.chmod(before)
    with open(path, "a", opener=private_opener) as file:
        file.write("b")
    assert tighten(folder)
    assert (rights(path), path.read_text(), rights(folder)) == (0o600, "ab", 0o700)


def test_a_file_of_another_account_is_left_alone(tmp_path, monkeypatch):
    path = tmp_path / "theirs"
    path.write_text("")
    path.chmod(0o644)
    monkeypatch.setattr(os, "geteuid", lambda: path.stat().st_uid + 1)
    assert not tighten(path) and rights(path) == 0o644
    assert not tighten(tmp_path / "missing")


def test_a_new_file_a_ledger_and_its_journal_are_the_owners_whatever_the_umask(tmp_path, umask):
    create_private(tmp_path / "created")
    assert rights(tmp_path / "created") == 0o600
    (tmp_path / "plain").write_text("words")  # control: the umask alone does not do it
    assert rights(tmp_path / "plain") == 0o666 & ~umask
    ledger = Ledger.create(tmp_path / "a.ledger", epsilon=1.0)
    ledger.reserve(pure(0.1))
    TableRegistry(tmp_path).note("a.ledger", [[1.0]])
    assert rights(ledger.path) == rights(tmp_path / NAME) == 0o600
    assert journal_rights(ledger.path) == 0o600
    ledger.path.chmod(0o644)  # control: SQLite gives a journal the rights of its file
    assert journal_rights(ledger.path) == 0o644


def journal_rights(path):
    """Rights of the journal while another program writes to a ledger."""
    connection = sqlite3.connect(path, isolation_level=None)
    try:
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("CREATE TABLE strange (x)")
        connection.execute("PRAGMA cache_spill = ON")
        (journal,) = path.parent.glob(f"{path.name}-*")
        return rights(journal)
    finally:
        connection.close()


def test_what_others_could_read_of_a_ledger_and_beside_it_is_tightened_when_it_is_opened(tmp_path):
    ledger = Ledger.create(tmp_path / "a.ledger", epsilon=1.0)
    TableRegistry(tmp_path).note("a.ledger", [[1.0]])
    for path in (ledger.path, tmp_path / NAME):
        path.chmod(0o644)
    other = sqlite3.connect(ledger.path, isolation_level=None)
    other.execute("PRAGMA journal_mode = WAL")
    other.execute("CREATE TABLE strange (x)")
    assert rights(tmp_path / "a.ledger-wal") == 0o644
    assert Ledger.open(ledger.path).spent() == 0.0
    assert TableRegistry(tmp_path).knows("a.ledger") and rights(tmp_path / NAME) == 0o600
    assert {rights(path) for path in tmp_path.glob("a.ledger*")} == {0o600}
    other.close()


def test_a_ledger_that_a_group_shares_stays_the_groups(tmp_path):
    ledger = Ledger.create(tmp_path / "a.ledger", epsilon=1.0)
    ledger.path.chmod(0o664)
    ledger.reserve(pure(0.1))
    assert rights(ledger.path) == 0o660


def test_noting_a_table_does_not_take_the_lock_of_another_thread(tmp_path):
    """POSIX drops a process's locks on a file when any of its descriptors of it is closed."""
    registry = TableRegistry(tmp_path)
    registry.note("a.ledger", [[1.0]])
    holder = sqlite3.connect(registry.path, isolation_level=None, check_same_thread=False)
    holder.execute("BEGIN EXCLUSIVE")
    noting = threading.Thread(target=registry.note, args=("b.ledger", np.ones((1, 1))))
    noting.start()
    noting.join(0.3)
    code = (
        "import sqlite3, sys; c = sqlite3.connect(sys.argv[1], timeout=0);"
        "c.execute('BEGIN IMMEDIATE')"
    )
    other = subprocess.run([sys.executable, "-c", code, str(registry.path)], capture_output=True)
    holder.execute("ROLLBACK")
    holder.close()
    noting.join()
    assert b"locked" in other.stderr
    assert registry.knows("b.ledger")
