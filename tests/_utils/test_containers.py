"""Tables of other libraries: read by their names, or refused before anything is charged."""

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest

import rashomon_explorer as rx
from rashomon_explorer._utils.containers import as_pandas, check_readable, column_labels
from rashomon_explorer.data import Categorical, Numeric, TableSchema, YesNo
from rashomon_explorer.rows import chunk_rows

RNG = np.random.default_rng(0)
N = 240
AGE = RNG.uniform(20, 80, N).round(1)
INCOME = RNG.uniform(0, 1000, N).round(1)
GOOD = (INCOME > 400 + 5 * RNG.standard_normal(N) * 20).astype(int)
HOME = np.where(AGE > 50, "own", "rent")
FRAME = pd.DataFrame({"income": INCOME, "good": GOOD, "home": HOME, "age": AGE})  # another order
SCHEMA = TableSchema(
    [
        Numeric("age", (20, 80)),
        Numeric("income", (0, 1000), missing="fill"),
        Categorical("home", ["own", "rent"], missing="fill"),
        YesNo("good", (0, 1), role="target"),
    ]
)
TWO = FRAME[["income", "age"]]
NUMBERS = TableSchema([SCHEMA["age"], SCHEMA["income"], SCHEMA["good"]])

pytestmark = pytest.mark.filterwarnings(
    "ignore::rashomon_explorer.exceptions.RowsClippedWarning",
    "ignore::rashomon_explorer.exceptions.WeakGuaranteeWarning",
)


def _polars(frame):
    polars = pytest.importorskip("polars")
    cells = {str(name): frame[name].astype(object) for name in frame}
    return polars.DataFrame(
        {name: column.where(column.notna(), None).tolist() for name, column in cells.items()}
    )


def _arrow(frame):
    return pytest.importorskip("pyarrow").Table.from_pandas(frame)


def _batch(frame):
    return _arrow(frame).combine_chunks().to_batches()[0]


def _narwhals(frame):
    return pytest.importorskip("narwhals").from_native(frame)


def _narwhals_of_arrow(frame):
    return pytest.importorskip("narwhals").from_native(_arrow(frame))


CONTAINERS = [_polars, _arrow, _batch, _narwhals, _narwhals_of_arrow]
Container = Callable[[pd.DataFrame], Any]


def _model(**settings):
    given = {"epsilon": 20.0, "classes": [0, 1], "random_state": 0}
    return rx.DPClassifier(**{**given, **settings})


def _chances(model, X):
    return np.asarray(model.predict_proba(X))


@cache
def _fitted():
    """Frame with gaps in text and numbers, and a model fitted to it."""
    frame = FRAME.copy()
    frame.loc[3, "home"] = None
    frame.loc[4, "income"] = np.nan
    return frame, _model(schema=SCHEMA).fit(frame, GOOD)


@pytest.mark.parametrize("made", CONTAINERS)
def test_a_schema_finds_columns_by_name_in_every_frame(made):
    frame, plain = _fitted()
    table, backwards = made(frame), frame[list(frame)[::-1]]
    features, expected = [name for name in frame if name != "good"], _chances(plain, frame)
    for given in ((table, GOOD), (chunk_rows(table, GOOD), None)):
        found = _model(schema=plain.schema).fit(*given)
        assert found.feature_names_in_.tolist() == features
        assert found.n_features_in_ == len(features)
        for rows in (table, backwards, made(backwards), chunk_rows(table, labelled=False)):
            np.testing.assert_allclose(_chances(found, rows), expected, rtol=1e-9)


@pytest.mark.parametrize("made", CONTAINERS)
def test_without_a_schema_names_are_remembered_targets_read_and_a_schema_proposed(made):
    frame = (FRAME[["income", "age"]] - [500, 50]) / [1000, 100]
    table = made(pd.DataFrame({"good": GOOD, "other": GOOD}))
    y = table["good"]
    plain = _model().fit(frame, GOOD)
    for given in ((made(frame), GOOD), (chunk_rows(made(frame), GOOD), None), (frame, y)):
        found = _model().fit(*given)
        assert found.feature_names_in_.tolist() == ["income", "age"]
        np.testing.assert_allclose(_chances(found, made(frame)), _chances(plain, frame), rtol=1e-9)
        with pytest.raises(ValueError, match="same order"):
            found.predict(made(frame[["age", "income"]]))
    assert _model().fit(chunk_rows(frame, y)).score(frame, GOOD) > 0.8
    named = _model(schema=NUMBERS, classes=None).fit(TWO, y)
    assert named.classes_.tolist() == [0, 1]
    numbers = FRAME[["income", "good", "age"]].astype(float)
    assert rx.propose_schema(made(numbers), target="good") == rx.propose_schema(
        numbers, target="good"
    )


@pytest.mark.parametrize("made", CONTAINERS)
def test_a_target_is_chosen_among_a_frames_columns(made):
    plain = chunk_rows(FRAME, target="good")
    rows = chunk_rows(made(FRAME), target="good")
    assert list(rows.source.names or ()) == ["income", "home", "age"]
    assert rows.to_memory()[0].equals(plain.to_memory()[0].astype(rows.to_memory()[0].dtypes))
    assert rows.to_memory()[1].tolist() == GOOD.tolist()
    fewer = chunk_rows(made(FRAME), target="good", columns=["age", "income"])
    assert list(fewer.source.names or ()) == ["age", "income"]
    assert fewer.source.select_column("income").names == ["income"]


class OwnFrame:
    """A frame of a library that nobody here knows, which is not read by position."""

    shape = (N, 2)

    def __array__(self, *given, **options):
        raise AssertionError("read by position")

    def __dataframe__(self):
        raise AssertionError("a value was read")


def _of(library, make):
    return lambda: make(pytest.importorskip(library))


UNREADABLE = {
    "a frame of an unknown library": (OwnFrame, "give a NumPy array, a DataFrame of pandas or pol"),
    "a generator": (lambda: (row for row in [[1.0]]), "give a NumPy array"),
    "a mapping": (lambda: {"income": INCOME, "age": AGE}, "give a NumPy array"),
    "a masked array": (lambda: np.ma.masked_invalid(TWO.to_numpy()), r"\.filled"),
    "a lazy frame": (lambda: _polars(TWO).lazy(), r"\.collect"),
    "a lazy frame of narwhals": (lambda: _narwhals_of_arrow(TWO).lazy(), r"\.collect"),
    "a reader": (lambda: _arrow(TWO).to_reader(), r"\.read_all"),
    "a data set": (_of("pyarrow.dataset", lambda lib: lib.dataset(_arrow(TWO))), r"\.to_table"),
    "a data set of xarray": (
        _of("xarray", lambda lib: lib.Dataset({"age": ("row", AGE)})),
        r"\.to_dataframe",
    ),
    "an array of xarray": (_of("xarray", lambda lib: lib.DataArray(TWO).chunk()), r"\.to_pandas"),
    "a relation": (
        _of("duckdb", lambda lib: lib.sql("select income, age from TWO")),
        r"use \.df\(\)",
    ),
}


@pytest.mark.parametrize("name", UNREADABLE)
def test_what_cannot_be_read_is_refused_before_a_charge(name, tmp_path):
    make, said = UNREADABLE[name]
    X = make()
    ledger = rx.Ledger.create(tmp_path / "table.ledger", epsilon=100.0, delta=1e-6)
    models = [
        _model(ledger=ledger),
        _model(ledger=ledger, schema=NUMBERS, classes=None),
        rx.RashomonClassifier(ledger=ledger, classes=[0, 1], n_draws=1),
        rx.RashomonTreeClassifier(ledger=ledger, classes=[0, 1], thresholds=50.0),
    ]
    for model in models:
        with pytest.raises(TypeError, match=f"X is an? .*cannot be read.*{said}"):
            model.fit(X, GOOD)
    with pytest.raises(TypeError, match=r"y is an? .*cannot be read"):
        models[0].fit(FRAME[["age"]], X)
    with pytest.raises(TypeError, match=r"cannot be read|y out and name the column, chunk_rows\(X"):
        chunk_rows(X, GOOD)
    assert ledger.spent(1e-6) == 0.0 and ledger.entries() == []
    fitted = _model(schema=NUMBERS, classes=None).fit(FRAME[["age", "income"]], GOOD)
    for model in (fitted, _model().fit(FRAME[["income", "age"]] / 1000, GOOD)):
        with pytest.raises(TypeError, match="cannot be read"):
            model.predict(X)


def test_what_is_taken_from_arrow_and_what_is_not(tmp_path):
    table = _arrow(FRAME.set_index("age"))  # an index that pandas noted is no column taken away
    assert column_labels(table) == list(as_pandas(table)) == ["income", "good", "home", "age"]
    for good in ([[1.0]], range(3), pd.Series([1]), pd.Index([1]), pd.Categorical(["a"])):
        check_readable("y", good)
    for work, message in (
        (lambda: check_readable("X", "income"), "X is a str"),
        (
            lambda: chunk_rows([tmp_path / "one.parquet"], target="good").n,
            "neither a Parquet file nor a folder",
        ),
        (lambda: chunk_rows(np.eye(3), target="good"), "X has none: give a DataFrame"),
        (lambda: chunk_rows(FRAME, target="gold"), "no column 'gold'"),
    ):
        with pytest.raises((TypeError, ValueError), match=message):
            work()


def test_dates_and_gaps_come_over_as_they_are():
    pytest.importorskip("pyarrow")
    days = pd.to_datetime(["2020-01-01", None, "2021-05-06"])
    frame = pd.DataFrame({"day": days, "count": pd.array([1, None, 3], dtype="Int64")})
    for made in (_arrow, _batch, _narwhals_of_arrow):
        found = as_pandas(made(frame))
        assert found["day"].tolist()[::2] == days.tolist()[::2] and found["day"].isna().tolist()[1]
        assert found["count"].tolist()[::2] == [1, 3] and found["count"].isna().tolist()[1]
