"""Rows that are never held are predicted as rows that are."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from rashomon_explorer import RashomonClassifier
from rashomon_explorer.data import Categorical, Numeric, TableSchema
from rashomon_explorer.exceptions import DataError
from rashomon_explorer.rows import chunk_rows

SCHEMA = TableSchema(
    [
        Numeric("age", (20, 80)),
        Categorical("home", ["own", "rent"], missing="indicator"),
        Categorical("paid", ["no", "yes"], role="target"),
    ]
)


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    home = rng.choice(["own", "rent", None], 90)
    frame = pd.DataFrame({"age": rng.uniform(20, 80, 90), "home": home})
    return frame.assign(paid=np.where(frame["age"] > 45, "yes", "no"))


@pytest.fixture(scope="module")
def clf(table: pd.DataFrame) -> Any:
    own = {"epsilon": 500.0, "n_draws": 3, "mechanism": "langevin", "random_state": 0}
    return RashomonClassifier(schema=SCHEMA, **own).fit(table, table["paid"])


METHODS = ["predict", "predict_proba", "decision_function", "decision_spread"]


@pytest.mark.parametrize("method", METHODS)
def test_blocks_and_dask_are_predicted_as_the_whole_table(
    method: str, clf: Any, table: pd.DataFrame
) -> None:
    whole = getattr(clf, method)(table)
    found = getattr(clf, method)(chunk_rows(table, labelled=False))
    np.testing.assert_array_equal(found, whole)
    dd = pytest.importorskip("dask.dataframe")
    lazy = getattr(clf, method)(dd.from_pandas(table, npartitions=4))
    assert (lazy.ndim, lazy.dtype) == (whole.ndim, whole.dtype)
    computed = lazy.compute(scheduler="synchronous")
    if whole.dtype.kind == "f":
        np.testing.assert_allclose(computed, whole, rtol=1e-13)
    else:
        np.testing.assert_array_equal(computed, whole)


def test_a_dask_array_keeps_its_chunks() -> None:
    da = pytest.importorskip("dask.array")
    X = np.random.default_rng(1).uniform(-0.5, 0.5, size=(50, 2))
    own = {"epsilon": 500.0, "n_draws": 2, "mechanism": "langevin", "random_state": 0}
    clf = RashomonClassifier(**own).fit(X, X[:, 0] > 0)
    lazy = clf.predict(da.from_array(X, chunks=(20, 1)))
    assert lazy.chunks == ((20, 20, 10),)
    np.testing.assert_array_equal(lazy.compute(scheduler="synchronous"), clf.predict(X))


def test_a_row_that_cannot_be_predicted_is_named(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    X = np.random.default_rng(1).uniform(-0.5, 0.5, size=(90, 1))
    own = {"epsilon": 500.0, "n_draws": 2, "mechanism": "langevin", "random_state": 0}
    clf = RashomonClassifier(**own).fit(pd.DataFrame(X, columns=["a"]), X[:, 0] > 0)
    X[71] = np.nan
    pd.DataFrame(X, columns=["a"]).to_parquet(tmp_path / "part.parquet", row_group_size=30)
    with pytest.raises(DataError, match="row group 2, row 11 of it"):
        clf.predict(chunk_rows(tmp_path, labelled=False))


def test_rows_without_targets_are_not_fitted(table: pd.DataFrame) -> None:
    with pytest.raises(TypeError, match="no targets to fit"):
        RashomonClassifier(schema=SCHEMA).fit(chunk_rows(table, labelled=False))
    with pytest.raises(TypeError, match="labelled=False is for rows without"):
        chunk_rows(table, target="paid", labelled=False)
