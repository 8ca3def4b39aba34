"""The transformer: every row by itself, of public size, whatever the container."""

import re
import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from rashomon_explorer import TableEncoder, TableSchema
from rashomon_explorer._utils.taint import find_leak
from rashomon_explorer.data import Categorical, IgnoredColumn, Numeric, Ordered, YesNo
from rashomon_explorer.data.encoder import UnitEncoder, encoded_rows, encoded_units
from rashomon_explorer.exceptions import (
    DataError,
    PrivacyLeakWarning,
    RowsClippedWarning,
    UndeclaredValueWarning,
)

SCHEMA = TableSchema(
    [
        IgnoredColumn("id"),
        Numeric("age", (0, 120), typical=(20, 70), missing="indicator"),
        Categorical("home", ["own", "rent", 3], unknown="other", missing="fill"),
        Ordered("grade", ["low", "mid", "high"], missing="fill"),
        YesNo("pets", (0, 1), missing="fill"),
        YesNo("repaid", role="target"),
    ]
)
quiet = pytest.mark.filterwarnings(
    "ignore::rashomon_explorer.exceptions.RowsClippedWarning",
    "ignore::rashomon_explorer.exceptions.UndeclaredValueWarning",
)
cell = {
    "age": st.one_of(st.none(), st.integers(-10, 200), st.floats(), st.sampled_from(["7", "x"])),
    "home": st.sampled_from(["own", " rent", "3", 3, 3.0, "tent", None, True, 1, "?", np.nan]),
    "grade": st.sampled_from(["low", "high", "HIGH", None, 2]),
    "pets": st.sampled_from([0, 1, 1.0, "1", True, None, "no", np.float32(1)]),
}
record = st.fixed_dictionaries(cell)


def encoded(records):
    frame = pd.DataFrame(records, columns=list(cell))
    return np.asarray(TableEncoder(SCHEMA).fit_transform(frame))


@quiet
@given(record, st.lists(record, max_size=6), st.lists(record, max_size=6))
def test_a_row_follows_from_its_own_record_alone(own, before, after):
    """Whatever the others hold, and so whatever dtype pandas gives the columns."""
    alone = encoded([own])
    among = encoded([*before, own, *after])
    assert np.array_equal(alone[0], among[len(before)])
    assert np.isfinite(among).all() and (np.linalg.norm(among, axis=1) <= 1 + 1e-12).all()


@pytest.mark.parametrize("row_norm", [1.0, 2.5])
def test_typical_rows_have_the_declared_norm(row_norm):
    rng = np.random.default_rng(0)
    columns = [Numeric(f"x{j}", (-99, 99), typical=(-1, 3)) for j in range(20)]
    columns += [Categorical(f"k{j}", list("abcde")) for j in range(10)]
    columns += [Ordered(f"o{j}", list("abcd")) for j in range(5)]
    frame = pd.DataFrame({c.name: rng.uniform(-1, 3, 500) for c in columns[:20]})
    for column in columns[20:]:
        frame[column.name] = rng.choice(column.levels, 500)
    rows = TableEncoder(TableSchema(columns), row_norm=row_norm).fit_transform(frame)
    norms = np.linalg.norm(rows, axis=1)
    assert norms.max() <= row_norm * (1 + 1e-12)
    assert np.quantile(norms, 0.05) > 0.8 * row_norm


def frame_of(n=50):
    rng = np.random.default_rng(1)
    return pd.DataFrame(
        {
            "id": [f"c{i}" for i in range(n)],
            "age": rng.integers(20, 70, n),
            "home": rng.choice(["own", "rent", "3"], n),
            "grade": rng.choice(["low", "mid", "high"], n),
            "pets": rng.integers(0, 2, n),
            "repaid": rng.choice(["no", "yes"], n),
        }
    )


@quiet
def test_encoded_columns_are_mapped_back_to_the_units_of_the_table():
    columns = [
        Numeric("wage", (0, 9_000), typical=(1_000, 3_000), unit="€", missing="indicator"),
        Categorical("home", ["own", "rent", "other"], missing="indicator", unknown="other"),
        Ordered("grade", ["low", "mid", "high"]),
        YesNo("old", ["no", "yes"]),
    ]
    schema = TableSchema(columns)
    cells = {"wage": [0.0, 2_500, 8_000, np.nan], "home": ["own", "rent", "tent", None]}
    cells |= {"grade": ["low", "mid", "high", "low"], "old": ["no", "yes", "no", "yes"]}
    table, units = pd.DataFrame(cells), encoded_units(schema, 2.0)
    assert list(units) == list(schema.encoded_names) and units["wage"][2] == "€"
    offset, size = (np.array([one[part] for one in units.values()]) for part in (0, 1))
    found = offset + size * encoded_rows(schema, table, 2.0)
    np.testing.assert_allclose(found, UnitEncoder(schema).transform(table), atol=1e-9)


def test_names_groups_and_index_are_kept():
    frame = frame_of().set_index(np.arange(50) + 7)
    encoder = TableEncoder(SCHEMA).fit(frame)
    rows = encoder.transform(frame)
    assert tuple(rows.columns) == SCHEMA.encoded_names == tuple(encoder.get_feature_names_out())
    assert rows.index.equals(frame.index)
    assert encoder.feature_groups_ == SCHEMA.feature_groups
    assert encoder.feature_names_in_.tolist() == ["age", "home", "grade", "pets"]
    assert encoder.n_features_in_ == 4


def test_every_container_gives_the_same_numbers():
    frame = frame_of()
    expected = TableEncoder(SCHEMA).fit_transform(frame).to_numpy()
    features = [column.name for column in SCHEMA.features]
    for table in (
        frame[features],
        frame[[*reversed(features)]],
        frame.to_numpy(),
        frame[features].to_numpy(),
        frame.to_numpy().tolist(),
        frame.astype({"home": "category", "pets": "Int64", "age": "float32"}),
        frame.astype(object),
    ):
        assert np.array_equal(np.asarray(TableEncoder(SCHEMA).fit_transform(table)), expected)
    polars = pytest.importorskip("polars")
    table = polars.DataFrame({name: frame[name].tolist() for name in frame})
    encoder = TableEncoder(SCHEMA).fit(table)
    assert np.array_equal(encoder.transform(table), expected)
    assert encoder.feature_names_in_.tolist() == ["age", "home", "grade", "pets"]
    out = encoder.set_output(transform="polars").transform(table)
    assert isinstance(out, polars.DataFrame) and tuple(out.columns) == SCHEMA.encoded_names
    assert not hasattr(TableEncoder(SCHEMA).fit(frame.to_numpy()), "feature_names_in_")
    wide = TableEncoder(SCHEMA).set_output(transform="pandas").fit_transform(frame.to_numpy())
    assert tuple(wide.columns) == SCHEMA.encoded_names


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (lambda f: f.drop(columns="age"), "the table lacks 'age', which the schema declares as a"),
        (lambda f: f.rename(columns={"age": "Age"}), "'Age', which the schema does not declare (d"),
        (lambda f: f.assign(extra=1), "the table has 'extra', which the schema does not declare"),
        (lambda f: f.to_numpy()[:, :2], "4 features in 6 columns, got an array of 2 columns"),
        (lambda f: f["age"], "X must be a table with rows and columns, got shape (50,)"),
        (lambda f: pd.concat([f, f[["age"]]], axis=1), "column 'age' occurs 2 times"),
    ],
)
def test_columns_are_compared_with_the_schema(table, message):
    frame = frame_of()
    with pytest.raises(DataError, match=re.escape(message)):
        TableEncoder(SCHEMA).fit(table(frame))
    with pytest.raises(DataError, match=re.escape(message)):
        TableEncoder(SCHEMA).fit(frame).transform(table(frame))


def test_fitting_reads_no_value():
    class Unreadable(pd.DataFrame):
        def __getitem__(self, name):
            raise AssertionError("a value was read")

        __array__ = to_numpy = __iter__ = __getitem__

    encoder = TableEncoder(SCHEMA).fit(Unreadable(frame_of()))
    with pytest.raises(AssertionError, match="a value was read"):
        encoder.transform(Unreadable(frame_of()))


def test_what_is_refused_tells_no_value_and_no_row():
    schema = TableSchema(
        [
            Categorical("home", ["own", "rent"], unknown="refuse", missing="fill"),
            Numeric("age", (0, 1), missing="refuse"),
        ]
    )
    encoder = TableEncoder(schema)
    said = set()
    for home, age in (("secret", 0), ("hidden", 0.5), ("own", None), ("own", "secret")):
        frame = pd.DataFrame({"home": ["own", home], "age": [0, age]})
        with pytest.raises(
            DataError, match="holds a value that its declaration does not allow"
        ) as caught:
            encoder.fit_transform(frame)
        assert "secret" not in str(caught.value) and "hidden" not in str(caught.value)
        said.add(str(caught.value))
    assert len(said) == 2  # one a column, whatever the cell
    # Between the rules nothing else is refused.
    assert encoder.fit_transform(pd.DataFrame({"home": [None], "age": [1]})).shape == (1, 3)


def test_the_curator_is_told_of_more_than_one_in_a_hundred():
    frame = frame_of(1000)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        few = frame.assign(age=[999] * 10 + [30] * 990, home=["own"] * 990 + [3] * 10)
        TableEncoder(SCHEMA).fit_transform(few)
    with pytest.warns(RowsClippedWarning, match=r"outside its declared bounds .*'age'.*Curator"):
        TableEncoder(SCHEMA).fit_transform(frame.assign(age=[999] * 11 + [30] * 989))
    with pytest.warns(UndeclaredValueWarning, match=r"does not declare.*'home'.*Curator") as caught:
        TableEncoder(SCHEMA).fit_transform(frame.assign(home=["boat"] * 11 + ["own"] * 989))
    assert "boat" not in str(caught[0].message) and "11" not in str(caught[0].message)


def test_an_unconfirmed_schema_warns_and_marks_the_rows():
    learnt = TableSchema([Numeric("age", (21, 69), learnt=["bounds"]), *SCHEMA.columns[2:5]])
    frame = frame_of()[["age", "home", "grade", "pets"]]
    with pytest.warns(PrivacyLeakWarning, match=r"nobody confirmed them: age \(bounds\)"):
        encoder = TableEncoder(learnt).fit(frame)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RowsClippedWarning)
        rows = encoder.transform(frame)
        assert find_leak(rows) == learnt.leak != ""
        declared = TableEncoder(learnt.confirm("age")).fit_transform(frame)
    assert find_leak(declared) == ""


def test_pipelines_files_and_parameters(tmp_path):
    frame = frame_of()
    SCHEMA.save(tmp_path / "loans.toml")
    rows = TableEncoder(tmp_path / "loans.toml").fit_transform(frame)
    pd.testing.assert_frame_equal(rows, TableEncoder(SCHEMA).fit_transform(frame))
    pipe = make_pipeline(TableEncoder(SCHEMA), LogisticRegression()).fit(frame, frame["repaid"])
    assert pipe.predict(frame.drop(columns=["repaid", "id"])).shape == (50,)
    with pytest.raises(ValueError, match="'schema' parameter of TableEncoder"):
        TableEncoder({"age": 1}).fit(frame)
    with pytest.raises(DataError, match="the schema declares no feature"):
        TableEncoder(TableSchema([IgnoredColumn("id")])).fit(frame[["id"]])


@quiet
@parametrize_with_checks([TableEncoder()])
def test_scikit_learn_accepts_it(estimator, check):
    check(estimator)
