"""A new file is there whole or not at all, overwrites none, and is its owner's alone."""

import errno
import os
import sqlite3
import stat
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext

import numpy as np
import pytest

from rashomon_explorer._utils import files
from rashomon_explorer.privacy import Ledger, pure
from rashomon_explorer.privacy.ledger.tables import NAME, TableRegistry
from tests.failing_disk import Gate, full


def _write(folder, content, first=1):
    return files.write_new_file(
        folder, "{:04d}.txt".format, first, lambda file: file.write(content)
    )


def _contents(folder):
    return [path.read_bytes() for path in sorted(folder.glob("[0-9]*"))]


@pytest.fixture
def without_links(monkeypatch):
    def refused(*_args, **_named):
        raise OSError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "link", refused)


@pytest.mark.parametrize("linked", [True, False])
def test_a_new_file_is_its_owners_alone_and_leaves_nothing_beside_it(tmp_path, linked, request):
    if not linked:  # a file system without hard links does as well
        request.getfixturevalue("without_links")
    assert [_write(tmp_path, b"one"), _write(tmp_path, b"two")] == [1, 2]
    assert _write(tmp_path, b"three", first=2) == 3
    assert _contents(tmp_path) == [b"one", b"two", b"three"]
    assert len(os.listdir(tmp_path)) == 3
    assert stat.S_IMODE((tmp_path / "0002.txt").stat().st_mode) == 0o600
    assert files.quarantine_file(tmp_path / "0001.txt").read_bytes() == b"one"


def test_writers_in_lock_step_get_a_number_each(tmp_path, monkeypatch):
    link, step, waited = os.link, threading.Barrier(2), threading.local()

    def together(source, target):
        if not hasattr(waited, "once"):
            waited.once = step.wait(timeout=60)  # both have found the same number free
        return link(source, target)

    monkeypatch.setattr(os, "link", together)
    with ThreadPoolExecutor(2) as pool:
        assert sorted(pool.map(_write, [tmp_path] * 2, [b"one", b"two"])) == [1, 2]
    assert sorted(_contents(tmp_path)) == [b"one", b"two"]


@pytest.mark.usefixtures("without_links")
def test_without_hard_links_a_number_that_cannot_be_filled_is_free_again(tmp_path, monkeypatch):
    def broken(*_args):
        raise OSError(errno.EIO, "Input/output error")

    with monkeypatch.context() as patch, pytest.raises(OSError, match="Input/output"):
        patch.setattr(os, "replace", broken)
        _write(tmp_path, b"one")
    assert os.listdir(tmp_path) == [] and _write(tmp_path, b"one") == 1


@pytest.mark.parametrize("linked", [True, False])
def test_a_full_disk_at_any_call_leaves_a_whole_file_or_none(tmp_path, linked, request):
    if not linked:
        request.getfixturevalue("without_links")
    _write(tmp_path, b"earlier")
    calls, at = [], 0
    while at <= len(calls):
        at += 1
        with Gate(at, full).closed() as gate:
            try:
                _write(tmp_path, b"0123456789", first=at + 1)
            except OSError as error:
                assert error.errno == errno.ENOSPC
        calls = gate.calls
        before, *others = _contents(tmp_path)
        assert before == b"earlier" and {*others} <= {b"0123456789"}
    assert {"open", "write", "fsync", "link" if linked else "replace"} <= {*calls}
    assert (tmp_path / f"{at + 1:04d}.txt").exists()  # at last nothing failed


def test_a_file_that_is_replaced_is_the_old_one_or_the_new_one(tmp_path):
    place, calls, at = tmp_path / "stars", [""], 0
    place.write_bytes(b"old")
    while at <= len(calls):
        at += 1
        with Gate(at, full).closed() as gate:
            try:
                files.replace_file(place, lambda file: file.write(b"new one"))
            except OSError:
                assert place.read_bytes() in (b"old", b"new one")
        calls = gate.calls
    assert place.read_bytes() == b"new one" and os.listdir(tmp_path) == ["stars"]
    assert stat.S_IMODE(place.stat().st_mode) == 0o600


def test_what_is_put_aside_overwrites_nothing(tmp_path):
    for content in ("{", "[", "("):
        (tmp_path / "1.json").write_text(content)
        files.quarantine_file(tmp_path / "1.json")
    assert sorted(path.read_text() for path in tmp_path.iterdir()) == ["(", "[", "{"]
    with pytest.raises(FileNotFoundError):
        files.quarantine_file(tmp_path / "1.json")


def test_the_files_and_the_folder_are_flushed_before_it_returns(tmp_path, monkeypatch):
    flushed, fsync = [], os.fsync

    def noted(handle):
        flushed.append(stat.S_ISDIR(os.fstat(handle).st_mode))
        fsync(handle)

    monkeypatch.setattr(os, "fsync", noted)
    _write(tmp_path, b"one")
    assert flushed == [False, True]


@pytest.mark.parametrize(("code", "fails"), [("EIO", True), ("ENOSPC", True), ("EINVAL", False)])
def test_a_folder_whose_flush_fails_is_an_error(tmp_path, monkeypatch, code, fails):
    """But not where folders cannot be flushed at all."""
    fsync = os.fsync

    def refused(handle):
        if stat.S_ISDIR(os.fstat(handle).st_mode):
            raise OSError(getattr(errno, code), os.strerror(getattr(errno, code)))
        fsync(handle)

    monkeypatch.setattr(os, "fsync", refused)
    with pytest.raises(OSError) if fails else nullcontext():
        _write(tmp_path, b"one")
    with pytest.raises(OSError) if fails else nullcontext():
        files.replace_file(tmp_path / "stars", lambda file: file.write(b"one"))


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
    with open(path, "a", opener=files.private_opener) as file:
        file.write("b")
    assert files.tighten(folder)
    assert (rights(path), path.read_text(), rights(folder)) == (0o600, "ab", 0o700)


def test_a_file_of_another_account_is_left_alone(tmp_path, monkeypatch):
    path = tmp_path / "theirs"
    path.write_text("")
    path.chmod(0o644)
    monkeypatch.setattr(os, "geteuid", lambda: path.stat().st_uid + 1)
    assert not files.tighten(path) and rights(path) == 0o644
    assert not files.tighten(tmp_path / "missing")


def test_a_new_file_a_ledger_and_its_journal_are_the_owners_whatever_the_umask(tmp_path, umask):
    files.create_private(tmp_path / "created")
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
