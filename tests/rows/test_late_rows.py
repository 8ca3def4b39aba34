"""A bad cell behind nine thousand row groups: named with its file, nothing spent unsaid."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from rashomon_explorer import (
    DPClassifier,
    Ledger,
    RashomonClassifier,
    RashomonTreeClassifier,
    TableSchema,
)
from rashomon_explorer.data import Categorical, Numeric
from rashomon_explorer.exceptions import FitError
from rashomon_explorer.rows import chunk_rows

pytestmark = [pytest.mark.law, pytest.mark.filterwarnings("ignore")]

GROUPS, ROWS = 9_100, 4
SCHEMA = TableSchema(
    [
        Numeric("age", (0, 100), missing="indicator", thresholds=[50]),
        Categorical("home", ["own", "rent"]),
        Categorical("label", ["no", "yes"], role="target"),
    ]
)


@pytest.fixture
def frame() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    n = GROUPS * ROWS
    age, home = rng.uniform(0, 100, n), rng.choice(["own", "rent"], n)
    age[rng.random(n) < 0.1] = np.nan  # which a schema takes
    label = np.where((age > 50) ^ (rng.random(n) < 0.1), "yes", "no")
    return pd.DataFrame({"age": age, "home": home, "label": label})


def _written(frame: pd.DataFrame, folder: Path) -> Path:
    """Two files, of 4,550 row groups each."""
    folder.mkdir()
    half = len(frame) // 2
    for part, rows in enumerate((frame[:half], frame[half:])):
        rows.to_parquet(folder / f"part-{part}.parquet", row_group_size=ROWS, index=False)
    return folder


ESTIMATORS = {
    "exact": (RashomonClassifier, {"mechanism": "exact", "n_draws": 1, "epsilon": 1.0}),
    "one": (DPClassifier, {"epsilon": 1.0}),
    "trees": (RashomonTreeClassifier, {"n_draws": 1, "epsilon": 1.0}),
}


@pytest.mark.parametrize("name", ESTIMATORS)
def test_a_bad_label_in_a_late_row_group_is_named(
    name: str, frame: pd.DataFrame, tmp_path: Path
) -> None:
    pytest.importorskip("pyarrow")
    made, asked = ESTIMATORS[name]
    ledger = Ledger.create(tmp_path / "clinic.ledger", epsilon=9.0, delta=1e-6)
    frame.loc[9_000 * ROWS + 2, "label"] = "perhaps"
    table = chunk_rows(_written(frame, tmp_path / "rows"), target="label")
    clf = made(schema=SCHEMA, ledger=ledger, random_state=0, **asked)
    with pytest.raises(FitError) as caught:
        clf.fit(table)
    assert "part-1.parquet, row group 4450, row 2 of it (row 36002 of all)" in caught.value.detail
    assert "perhaps" not in str(caught.value)
    assert [entry.state for entry in ledger.entries()] == ["started"]


@pytest.mark.parametrize("name", ESTIMATORS)
def test_a_dask_frame_with_text_and_missing_values_is_fitted_in_three_lines(
    name: str, frame: pd.DataFrame, tmp_path: Path
) -> None:
    dd = pytest.importorskip("dask.dataframe")
    made, asked = ESTIMATORS[name]
    ledger = Ledger.create(tmp_path / "clinic.ledger", epsilon=9.0, delta=1e-6)
    rows = dd.from_pandas(frame, npartitions=3)
    clf = made(schema=SCHEMA, ledger=ledger, random_state=0, **asked)
    clf.fit(rows.drop(columns="label"), rows["label"])
    said: Any = clf.predict(frame.drop(columns="label"))
    assert np.mean(said == frame["label"]) > 0.7
    assert [entry.state for entry in ledger.entries()] == ["committed"]
