"""Trees of rows in blocks: the same sets of rows, counts and draws as of the whole table."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from rashomon_explorer import Ledger, RashomonTreeClassifier, TableSchema
from rashomon_explorer.data import Categorical, Numeric
from rashomon_explorer.exceptions import DataError, FitError
from rashomon_explorer.rows import ChunkedRows, chunk_rows
from rashomon_explorer.rows.workers import ThreadWorkers
from rashomon_explorer.trees.rows import MergedRows, merged

RNG = np.random.default_rng(4)
N = 1_500
TABLE = pd.DataFrame(
    {"age": RNG.integers(18, 80, N).astype(float), "home": RNG.choice(["own", "rent"], N)}
)
LABELS = np.where((TABLE["age"] > 40) ^ (RNG.random(N) < 0.1), "yes", "no")
SCHEMA = TableSchema([Numeric("age", (18, 80)), Categorical("home", ["own", "rent"])])
NUMBERS = np.column_stack([TABLE["age"], TABLE["home"] == "own"])
ASKED: dict[str, Any] = {
    "max_leaves": 3,
    "n_draws": 5,
    "epsilon": 2.0,
    "classes": ["no", "yes"],
    "random_state": 0,
}
KINDS: dict[str, tuple[Any, dict[str, Any]]] = {
    "numbers": (NUMBERS, {"thresholds": {0: [30, 40, 60]}}),
    "schema": (TABLE, {"thresholds": {"age": [30, 40, 60]}, "schema": SCHEMA}),
    "dear": (NUMBERS, {"thresholds": {0: [30, 40]}, "costs": {"yes": 3}}),
}

pytestmark = pytest.mark.filterwarnings("ignore")


def _blocks(X: Any, labels: Any = LABELS, workers: int = 2) -> ChunkedRows:
    return replace(chunk_rows(X, labels), rows=128, workers=ThreadWorkers(workers))


@pytest.mark.parametrize("kind", KINDS)
def test_counts_and_draws_are_those_of_the_table(kind: str) -> None:
    X, own = KINDS[kind]
    clf = RashomonTreeClassifier(**ASKED, **own)
    whole, blocked = clf.counted(X, LABELS), clf.counted(_blocks(X))
    for name in ("patterns", "counts", "place"):
        np.testing.assert_array_equal(getattr(blocked.rows, name), getattr(whole.rows, name))
    assert blocked.sizes(0.1) == whole.sizes(0.1)
    drawn = [clf.fit(*given).rashomon_set_ for given in ((X, LABELS), (_blocks(X),))]
    assert drawn[0].models.trees == drawn[1].models.trees
    np.testing.assert_array_equal(drawn[0].losses, drawn[1].losses)
    np.testing.assert_array_equal(clf.predict(chunk_rows(X, labelled=False)), clf.predict(X))
    assert len(clf.feature_names_in_) == 2 if kind == "schema" else True


@pytest.mark.parametrize("workers", [1, 3, 8])
def test_merging_in_whatever_order_is_merging_all(workers: int) -> None:
    table = RNG.integers(0, 2, (400, 6))
    codes = RNG.integers(0, 3, 400)
    want = MergedRows.of(table, codes, 3)
    cuts = np.sort(RNG.choice(np.arange(1, 400), workers, replace=False))
    parts = [
        MergedRows.of(rows, labels, 3)
        for rows, labels in zip(np.split(table, cuts), np.split(codes, cuts), strict=True)
    ]
    found = parts[-1]
    for part in reversed(parts[:-1]):
        found = merged(part, found)
    for name in ("patterns", "counts", "place"):
        np.testing.assert_array_equal(getattr(found, name), getattr(want, name))
    turned = merged(*reversed(parts[:2]))  # a control: the order of the rows is kept
    assert (turned.place != merged(*parts[:2]).place).any()


def test_one_charge_and_a_bad_row_is_named_for_the_curator(tmp_path: Path) -> None:
    ledger = Ledger.create(tmp_path / "clinic.ledger", epsilon=9.0, delta=1e-5)
    X, own = KINDS["numbers"]
    clf = RashomonTreeClassifier(**ASKED, **own, ledger=ledger).fit(_blocks(X))
    assert [entry.state for entry in ledger.entries()] == ["committed"]
    odd = X.copy()
    odd[700, 1] = 0.5  # which is no answer
    with pytest.raises(DataError, match="row 700: column 'x1' has values other than 0 and 1"):
        RashomonTreeClassifier(**ASKED, **own).fit(_blocks(odd))
    with pytest.raises(FitError) as caught:
        clf.fit(_blocks(odd))
    assert "row 700" in caught.value.detail
    with pytest.raises(ValueError, match="chunked rows are not read to find the classes"):
        RashomonTreeClassifier(**own).fit(_blocks(X))
    assert [entry.state for entry in ledger.entries()] == ["committed", "started"]
