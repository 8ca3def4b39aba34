"""What was paid for is never lost: two pages at once, a full disk, a kill, errors that pass."""

import errno
import json
import os
import stat
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from unittest.mock import Mock

import pytest

import rashomon_explorer
from rashomon_explorer.explorer.release import Purchases
from rashomon_explorer.explorer.set_store import SetStore, read_file
from tests.explorer.killed_pages import BOUGHT, KEEPING, MODELS
from tests.failing_disk import Gate, full
from tests.patience import LONG

SCRIPT = Path(__file__).with_name("killed_pages.py")


@pytest.fixture
def sets(tmp_path):
    return SetStore(tmp_path / "loans.ledger")


@pytest.fixture
def purchases(sets):
    return Purchases(sets.purchases_path(1))


@pytest.fixture(params=KEEPING)
def keeping(request, tmp_path):
    """What keeps one more result of a kind, and what counts those that are there."""
    (keep, listed), ledger = KEEPING[request.param], tmp_path / "loans.ledger"
    return lambda: keep(ledger), lambda: len(listed(ledger))


def test_two_pages_in_lock_step_lose_nothing(keeping, monkeypatch):
    keep, count = keeping
    link, step, waited = os.link, threading.Barrier(2), threading.local()

    def together(source, target):
        if not hasattr(waited, "once"):
            waited.once = step.wait(timeout=LONG)  # both have found the same number free
        return link(source, target)

    with monkeypatch.context() as patch, ThreadPoolExecutor(2) as pool:
        patch.setattr(os, "link", together)
        for page in [pool.submit(keep) for _ in range(2)]:
            page.result()
    assert count() == 2


def test_a_disk_that_is_full_at_any_call_takes_nothing_away(keeping):
    keep, count = keeping
    at, calls = 0, [""]
    while at <= len(calls):
        at, before = at + 1, count()
        with Gate(at, full).closed() as gate:
            try:
                keep()
            except OSError:
                returned = False
            else:
                returned = True
        calls = gate.calls
        assert before + returned <= count() <= before + 1
    assert returned and "write" in calls


@pytest.mark.law
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_page_that_is_killed_at_any_call_takes_nothing_away():
    place = {**os.environ, "PYTHONPATH": str(Path(rashomon_explorer.__file__).parents[1])}
    ended = subprocess.run(
        [sys.executable, "-W", "ignore", str(SCRIPT)],
        capture_output=True,
        text=True,
        env=place,
        timeout=LONG,
    )
    assert ended.returncode == 0, ended.stderr
    kills = json.loads(ended.stdout)
    # At the least: folder, temporary file, its content, flush, link, flush of the folder.
    assert kills["set"] > 16 and min(kills["purchase"], kills["model"]) >= 8, kills
    assert kills["deleting"] >= 4


def test_only_the_owner_may_read_any_of_it(sets, tmp_path):
    for keep, _ in KEEPING.values():
        keep(tmp_path / "loans.ledger")
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in sets.folder.iterdir()}
    assert set(modes) == {"0001.npz", "0001.json", "0001-0001.paid", "0001.model"}
    assert set(modes.values()) == {0o600}


@pytest.mark.parametrize("note", [None, "", "{", "[]", '{"number": 1}'])
def test_a_set_is_listed_by_its_models_whatever_became_of_its_note(sets, note):
    kept = sets.keep(MODELS, {"psi": 0.1})
    (place,) = sets.folder.glob("*.json")
    if note is None:
        place.unlink()
    else:
        place.write_text(note)
    (found,) = sets.all()
    assert (found.number, found.n_draws, found.epsilon) == (1, 5, kept.epsilon)
    assert abs(found.at - kept.at).total_seconds() < LONG and found.settings == {}
    assert note is None or place.read_text() == note  # another page may be writing it
    assert sets.keep(MODELS, {}).number == 2 and len(sets.all()) == 2


def test_where_the_note_cannot_be_written_the_set_is_kept(sets, monkeypatch):
    refused = Mock(side_effect=OSError(errno.ENOSPC, "No space left on device"))
    monkeypatch.setattr("rashomon_explorer.explorer.set_store.files.replace_file", refused)
    assert sets.keep(MODELS, {"psi": 0.1}).settings == {"psi": 0.1}
    assert [one.number for one in sets.all()] == [1]


def test_models_that_are_damaged_hide_no_other_set(sets):
    for _ in range(2):
        sets.keep(MODELS, {})
    (sets.folder / "0001.npz").write_bytes(b"PK")
    (sets.folder / "0001.json").unlink()
    assert [one.number for one in sets.all()] == [2]
    assert (sets.folder / "0001.npz").exists() and sets.keep(MODELS, {}).number == 3


def test_a_number_of_which_anything_is_left_is_not_given_again(sets):
    sets.keep(MODELS, {})
    Purchases(sets.purchases_path(4)).add(BOUGHT)  # of a set whose deletion was killed in the midst
    (sets.folder / "0009.model").write_text("{}")  # which has numbers of its own
    assert sets.keep(MODELS, {}).number == 5
    assert Purchases(sets.purchases_path(5)).all() == ()


def test_deleting_takes_one_set_and_its_purchases(sets):
    for _ in range(2):
        number = sets.keep(MODELS, {}).number
        Purchases(sets.purchases_path(number)).add(BOUGHT)
    (sets.folder / "0001.model").write_text("{}")
    (sets.folder / "0001.paid").write_text("[]")
    sets.delete(1)
    left = {path.name for path in sets.folder.iterdir()}
    assert left == {"0001.deleted", "0001.model", "0002.npz", "0002.json", "0002-0001.paid"}


def test_a_deleted_number_stays_taken_where_the_disk_was_full_at_first(sets, monkeypatch):
    touch, calls = Path.touch, []

    def full_at_first(path, **named):
        calls.append(path.name)
        if len(calls) == 1:
            raise OSError(errno.ENOSPC, "No space left on device")
        touch(path, **named)

    sets.keep(MODELS, {})
    monkeypatch.setattr(Path, "touch", full_at_first)
    sets.delete(1)
    assert calls == ["0001.deleted"] * 2
    assert sets.all() == () and sets.keep(MODELS, {}).number == 2


def test_an_error_that_passes_is_no_damage(purchases, monkeypatch):
    for adds in (1.0, 2.0, 3.0):
        purchases.add(replace(BOUGHT, adds=adds))
    errors, read = [], Path.read_bytes
    away = Mock(side_effect=OSError(errno.EMFILE, "Too many open files"))
    one_away = lambda path: (away if path.name == "0001-0002.paid" else read)(path)  # noqa: E731
    with monkeypatch.context() as patch:
        patch.setattr(Path, "read_bytes", one_away)
        assert [one.adds for one in purchases.all(errors.append)] == [1.0, 3.0]
        assert [error.errno for error in errors] == [errno.EMFILE]
        purchases.add(replace(BOUGHT, adds=4.0))
    assert [one.adds for one in purchases.all()] == [1.0, 2.0, 3.0, 4.0]


def test_what_cannot_be_read_now_is_told_and_there_again(sets, purchases, monkeypatch):
    sets.keep(MODELS, {})
    purchases.add(BOUGHT)
    errors, away = [], Mock(side_effect=OSError(errno.EIO, "Input/output error"))
    with monkeypatch.context() as patch:
        patch.setattr(os, "listdir", away)
        assert sets.all(errors.append) == purchases.all(errors.append) == ()
        with pytest.raises(OSError, match="Input/output"):
            sets.keep(MODELS, {})
    (sets.folder / "0001.json").unlink()
    with monkeypatch.context() as patch:
        patch.setattr("rashomon_explorer.explorer.set_store.load", away)
        assert sets.all(errors.append) == () and len(errors) == 3
    assert len(sets.all()) == len(purchases.all()) == 1


def test_only_what_is_no_json_is_put_aside_under_a_name_of_its_own(purchases):
    for _ in range(3):
        purchases.add(BOUGHT)
    folder = purchases.path.parent
    for content in (b"{", b"", b"\xff"):
        (folder / "0001-0002.paid").write_bytes(content)
        assert len(purchases.all()) == 2
    aside = {path.name: path.read_bytes() for path in folder.glob("*.damaged")}
    contents = enumerate((b"{", b"", b"\xff"), 1)
    assert aside == {f"0001-0002.paid.{n}.damaged": content for n, content in contents}
    newer = folder / "0001-0003.paid"
    newer.write_text('{"version": 9}')
    assert len(purchases.all()) == 1 and newer.exists()  # another version's, which can read it
    newer.unlink()
    purchases.add(BOUGHT)
    purchases.add(BOUGHT)
    assert (folder / "0001-0004.paid").exists()
    assert not (folder / "0001-0002.paid").exists()  # a name that was put aside is not given again


def test_what_cannot_be_put_aside_stays(tmp_path, monkeypatch, caplog):
    place = tmp_path / "0001.model"
    place.write_text("{")
    refused = Mock(side_effect=OSError(errno.EROFS, "Read-only file system"))
    monkeypatch.setattr("rashomon_explorer.explorer.set_store.files.quarantine_file", refused)
    assert read_file(place, json.loads) is None and place.exists()
    assert "could not be renamed" in caplog.text


def test_a_set_and_its_note_of_an_older_version_are_read(sets):
    sets.folder.mkdir()
    MODELS.save(sets.folder / "0003.npz")
    note = {"number": 3, "at": "2026-11-22T23:41:05", "n_draws": 5, "epsilon": 1.9}
    note["settings"] = {"psi": 0.1}
    (sets.folder / "0003.json").write_text(json.dumps(note, indent=1))
    (found,) = sets.all()
    assert found.label == "Draw 3 · 5 models · ε = 1.9"
    assert found.settings == {"psi": 0.1} and sets.open(3).n_draws == 5
    assert sets.keep(MODELS, {}).number == 4
