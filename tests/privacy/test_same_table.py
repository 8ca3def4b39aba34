"""A table is recognised whatever its order, and by nobody who lacks the folder's key."""

import os
import sqlite3
import stat
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rashomon_explorer import RashomonClassifier, RashomonRegressor
from rashomon_explorer.privacy import Ledger, LedgerWarning, SameTableWarning
from rashomon_explorer.privacy.ledger.tables import (
    NAME,
    TableRegistry,
    fingerprint,
    record_charged_table,
)
from rashomon_explorer.release import release

KEY = b"k" * 32
CELLS = st.lists(
    st.lists(
        st.sampled_from([0.0, -1.0, 1.0, 2.0, 0.5, 2.0**-1074, 1e300]), min_size=3, max_size=3
    ),
    min_size=1,
    max_size=6,
)
ROWS = np.random.default_rng(0).uniform(-0.5, 0.5, (200, 2))
LABELS = (ROWS[:, 0] > 0).astype(int)


@given(CELLS, CELLS)
def test_two_fingerprints_agree_just_when_the_rows_do(one, other):
    same = sorted(one) == sorted(other)
    assert (fingerprint(one, KEY) == fingerprint(other, KEY)) == same
    assert fingerprint(one[::-1], KEY) == fingerprint(one, KEY)
    for changed in (np.array(one)[:, :2], np.reshape(one, (-1, 1))):
        assert fingerprint(changed, KEY) != fingerprint(one, KEY)
    assert fingerprint(one, b"l" * 32) != fingerprint(one, KEY)


def test_a_fingerprint_is_of_values_and_not_of_their_types():
    frame = pd.DataFrame(ROWS, columns=["age", "debt"])
    for same in (frame.sample(frac=1, random_state=0), ROWS.tolist(), np.asfortranarray(ROWS)):
        assert fingerprint(same, KEY) == fingerprint(ROWS, KEY)
    whole = pd.DataFrame({"a": [1, 0], "b": [True, False]})
    for other in (whole.astype(float), whole.astype("Int64"), np.array([[1, 1], [-0.0, 0]])):
        assert fingerprint(other, KEY) == fingerprint(whole, KEY)
    words = pd.DataFrame({"sex": ["f", "m", None], "age": [1.0, np.nan, 3.0]})
    assert fingerprint(words.astype({"sex": "category"})[::-1], KEY) == fingerprint(words, KEY)
    assert fingerprint(words.replace({"sex": {"m": "f"}}), KEY) != fingerprint(words, KEY)
    mixed = pd.DataFrame({"cell": [1, True, "1", 1.0, None]}, dtype=object)
    assert fingerprint(mixed[::-1], KEY) == fingerprint(mixed, KEY)


@pytest.fixture
def ledgers(tmp_path):
    return [Ledger.create(tmp_path / name) for name in ("a.ledger", "b.ledger")]


def test_the_second_ledger_of_a_table_is_named_in_a_warning(ledgers, tmp_path):
    first, second = ledgers
    model = RashomonClassifier(n_draws=2, classes=[0, 1], ledger=first)
    for _ in range(2):
        model.fit(ROWS, LABELS)
    model.set_params(ledger=str(second.path))
    with pytest.warns(SameTableWarning, match=r"to b\.ledger were also charged to a\.ledger"):
        model.fit(ROWS[::-1], LABELS[::-1])
    model.fit(ROWS[:-1], LABELS[:-1])  # another table
    with pytest.warns(SameTableWarning) as caught:
        RashomonRegressor(n_draws=2, target_bounds=(0, 1), ledger=second).fit(ROWS, LABELS)
    assert caught[0].filename == __file__
    assert str(tmp_path) not in str(caught[0].message)
    assert [len(ledger.entries()) for ledger in ledgers] == [2, 3]
    models = model.rashomon_set_.release()
    settings = {"queries": ["ambiguity"], "epsilon": 1.0}
    release(models, ROWS[1:], LABELS[1:], ledger=first, **settings)
    with pytest.warns(SameTableWarning, match=r"a\.ledger"):
        release(models, ROWS[1:], LABELS[1:], ledger=second, **settings)


def test_the_registry_is_the_owners_and_in_no_ledger(ledgers, tmp_path):
    ledger, registry = ledgers[0], tmp_path / NAME
    RashomonClassifier(n_draws=2, classes=[0, 1], ledger=ledger).fit(ROWS, LABELS)
    assert stat.S_IMODE(registry.stat().st_mode) == 0o600
    connection = sqlite3.connect(registry)
    ((key,),) = connection.execute("SELECT value FROM secret").fetchall()
    ((found, name),) = connection.execute("SELECT fingerprint, ledger FROM tables").fetchall()
    connection.close()
    assert len(key) == 32 and name == "a.ledger" and found == fingerprint(ROWS, key)
    for secret in (key, found):
        assert secret not in ledger.path.read_bytes()
        assert secret.hex() not in ledger.export()
    other = tmp_path / "other"
    other.mkdir()
    TableRegistry(other).note("a.ledger", ROWS)
    connection = sqlite3.connect(other / NAME)
    assert connection.execute("SELECT value FROM secret").fetchone()[0] != key
    connection.close()


def test_no_row_is_read_for_it_before_the_charge_was_started(tmp_path):
    ledger = Ledger.create(tmp_path / "a.ledger", epsilon=1e-9)
    with pytest.raises(RuntimeError, match="budget"):
        RashomonClassifier(n_draws=2, classes=[0, 1], ledger=ledger).fit(ROWS, LABELS)
    assert not (tmp_path / NAME).exists()


@pytest.mark.parametrize("content", [b"garbage " * 200, None])
def test_a_folder_without_a_registry_breaks_no_fit(content, ledgers, tmp_path):
    if content is None:
        (tmp_path / NAME).mkdir()
    else:
        (tmp_path / NAME).write_bytes(content)
    with pytest.warns(LedgerWarning, match="cannot store which tables"):
        RashomonClassifier(n_draws=2, classes=[0, 1], ledger=ledgers[0]).fit(ROWS, LABELS)
    assert [entry.state for entry in ledgers[0].entries()] == ["committed"]


def test_links_lead_to_the_one_ledger(tmp_path):
    real = tmp_path / "real"
    real.mkdir()
    Ledger.create(real / "a.ledger")
    (tmp_path / "link").symlink_to(real / "a.ledger")
    for path in (real / "a.ledger", tmp_path / "link"):
        assert record_charged_table(path, ROWS) == ()
    assert not (tmp_path / NAME).exists()


def test_of_ledgers_noted_at_once_all_but_the_first_know_the_others(tmp_path):
    def note(name):
        return TableRegistry(tmp_path).note(name, ROWS)

    with ThreadPoolExecutor(8) as pool:
        known = list(pool.map(note, [f"{k}.ledger" for k in range(8)]))
    assert sorted(map(len, known)) == list(range(1, 9))
    assert os.listdir(tmp_path) == [NAME]
