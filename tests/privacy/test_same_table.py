"""A table is known again whatever its order, and by nobody who lacks the folder's key."""

import os
import sqlite3
import stat
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rashomon_explorer import RashomonClassifier, RashomonRegressor
from rashomon_explorer.privacy import Ledger, LedgerWarning, SameTableWarning
from rashomon_explorer.privacy.ledger.tables import NAME, TableRegistry, fingerprint, recognise
from rashomon_explorer.release import release

KEY = b"k" * 32
CELLS = st.lists(
    st.lists(
        st.sampled_from([0.0, -1.0, 1.0, 2.0, 0.5, 2.0**-1074, 1e300]), min_size=3, max_size=3
    ),
    min_size=1,
    max_size=6,
)


@pytest.fixture
def rows() -> np.ndarray:
    return np.random.default_rng(0).uniform(-0.5, 0.5, (200, 2))


@pytest.fixture
def labels(rows: np.ndarray) -> np.ndarray:
    return (rows[:, 0] > 0).astype(int)


@given(CELLS, CELLS)
def test_two_tables_agree_just_when_their_rows_do(one: list, other: list) -> None:
    same = sorted(one) == sorted(other)
    assert (fingerprint(one, KEY) == fingerprint(other, KEY)) == same
    assert fingerprint(one[::-1], KEY) == fingerprint(one, KEY)


@pytest.mark.parametrize(
    "change",
    [
        lambda x: x[:-1],
        lambda x: np.vstack([x, x[:1]]),
        lambda x: x[:, ::-1],
        lambda x: x[:, :1],
        lambda x: np.vstack([[np.nextafter(x[0, 0], 1), x[0, 1]], x[1:]]),
        lambda x: np.column_stack([np.sort(x[:, 0]), np.sort(x[:, 1])]),
        lambda x: x.reshape(-1, 1),
        lambda x: x * 2.0,
    ],
)
def test_any_other_table_is_another(change: Callable, rows: np.ndarray) -> None:
    assert fingerprint(change(rows), KEY) != fingerprint(rows, KEY)


def test_what_a_value_is_counts_and_not_how_it_is_kept(rows: np.ndarray) -> None:
    frame = pd.DataFrame(rows, columns=["age", "debt"])
    for same in (
        frame,
        frame.sample(frac=1, random_state=0),
        rows.tolist(),
        np.asfortranarray(rows),
    ):
        assert fingerprint(same, KEY) == fingerprint(rows, KEY)
    whole = pd.DataFrame({"a": [1, 0], "b": [True, False]})
    for other in (whole.astype(float), whole.astype("Int64"), np.array([[1, 1], [-0.0, 0]])):
        assert fingerprint(other, KEY) == fingerprint(whole, KEY)
    words = pd.DataFrame({"sex": ["f", "m", None], "age": [1.0, np.nan, 3.0]})
    assert fingerprint(words.astype({"sex": "category"})[::-1], KEY) == fingerprint(words, KEY)
    mixed = pd.DataFrame({"cell": [1, True, "1", 1.0, None]}, dtype=object)
    assert fingerprint(mixed[::-1], KEY) == fingerprint(mixed, KEY)
    assert fingerprint(words.replace({"sex": {"m": "f"}}), KEY) != fingerprint(words, KEY)


def test_without_the_key_a_fingerprint_tells_nothing(rows: np.ndarray) -> None:
    assert fingerprint(rows, KEY) != fingerprint(rows, b"l" * 32)
    assert len(fingerprint(rows, KEY)) == 16


def test_the_second_ledger_of_a_table_is_told_in_python(
    rows: np.ndarray, labels: np.ndarray, tmp_path: Path
) -> None:
    first, second = (Ledger.create(tmp_path / name) for name in ("a.ledger", "b.ledger"))
    model = RashomonClassifier(n_draws=2, classes=[0, 1], ledger=first)
    for _ in range(2):
        model.fit(rows, labels)
    model.set_params(ledger=str(second.path))
    with pytest.warns(
        SameTableWarning, match=r"charged to b\.ledger were also charged to a\.ledger"
    ):
        model.fit(rows[::-1], labels[::-1])
    model.fit(rows[:-1], labels[:-1])  # another table
    with pytest.warns(SameTableWarning) as told:
        RashomonRegressor(n_draws=2, target_bounds=(0, 1), ledger=second).fit(rows, labels)
    assert told[0].filename == __file__
    assert str(tmp_path) not in str(told[0].message)
    assert [len(ledger.entries()) for ledger in (first, second)] == [2, 3]


def test_a_release_is_told_too(rows: np.ndarray, labels: np.ndarray, tmp_path: Path) -> None:
    first, second = (Ledger.create(tmp_path / name) for name in ("a.ledger", "b.ledger"))
    fit = RashomonClassifier(n_draws=2, classes=[0, 1], ledger=first).fit(rows, labels)
    models = fit.rashomon_set_.release()
    asked = {"queries": ["ambiguity"], "epsilon": 1.0}
    release(models, rows, labels, ledger=first, **asked)
    with pytest.warns(SameTableWarning, match=r"a\.ledger"):
        release(models, rows, labels, ledger=second, **asked)


def test_what_is_kept_is_the_owners_and_in_no_ledger(
    rows: np.ndarray, labels: np.ndarray, tmp_path: Path
) -> None:
    ledger = Ledger.create(tmp_path / "a.ledger")
    RashomonClassifier(n_draws=2, classes=[0, 1], ledger=ledger).fit(rows, labels)
    kept = tmp_path / NAME
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    connection = sqlite3.connect(kept)
    ((key,),) = connection.execute("SELECT value FROM secret").fetchall()
    ((found, name),) = connection.execute("SELECT fingerprint, ledger FROM tables").fetchall()
    connection.close()
    assert len(key) == 32 and name == "a.ledger" and found == fingerprint(rows, key)
    for secret in (key, found):
        assert secret not in ledger.path.read_bytes()
        assert secret.hex() not in ledger.export()
    other = tmp_path / "other"
    other.mkdir()
    TableRegistry(other).note("a.ledger", rows)
    connection = sqlite3.connect(other / NAME)
    assert connection.execute("SELECT value FROM secret").fetchone()[0] != key
    connection.close()


def test_nothing_is_read_for_it_before_the_charge_was_started(
    rows: np.ndarray, labels: np.ndarray, tmp_path: Path
) -> None:
    ledger = Ledger.create(tmp_path / "a.ledger", epsilon=1e-9)
    with pytest.raises(RuntimeError, match="budget"):
        RashomonClassifier(n_draws=2, classes=[0, 1], ledger=ledger).fit(rows, labels)
    assert not (tmp_path / NAME).exists()


@pytest.mark.parametrize("content", [b"garbage " * 200, None])
def test_a_folder_that_cannot_keep_it_is_told_and_breaks_no_fit(
    content: bytes | None, rows: np.ndarray, labels: np.ndarray, tmp_path: Path
) -> None:
    ledger = Ledger.create(tmp_path / "a.ledger")
    if content is None:
        (tmp_path / NAME).mkdir()
    else:
        (tmp_path / NAME).write_bytes(content)
    with pytest.warns(LedgerWarning, match="cannot store which tables"):
        RashomonClassifier(n_draws=2, classes=[0, 1], ledger=ledger).fit(rows, labels)
    assert [entry.state for entry in ledger.entries()] == ["committed"]


def test_links_lead_to_the_one_ledger(rows: np.ndarray, tmp_path: Path) -> None:
    real = tmp_path / "real"
    real.mkdir()
    Ledger.create(real / "a.ledger")
    (tmp_path / "link").symlink_to(real / "a.ledger")
    assert recognise(real / "a.ledger", rows) == ()
    assert recognise(tmp_path / "link", rows) == ()
    assert not (tmp_path / NAME).exists()


def test_of_ledgers_noted_at_once_all_but_the_first_are_told(
    rows: np.ndarray, tmp_path: Path
) -> None:
    def note(name: str) -> tuple[str, ...]:
        return TableRegistry(tmp_path).note(name, rows)

    with ThreadPoolExecutor(8) as pool:
        told = list(pool.map(note, [f"{k}.ledger" for k in range(8)]))
    assert sorted(map(len, told)) == list(range(1, 9))
    assert os.listdir(tmp_path) == [NAME]
