import re

import pandas as pd
import pytest

from rashomon_explorer.data.bunch import Declaration, make_bunch
from rashomon_explorer.exceptions import DataError

# Small tables with one value outside on purpose: that this is said has tests of its own.
pytestmark = pytest.mark.filterwarnings("ignore::rashomon_explorer.exceptions.RowsClippedWarning")


FIELDS = {
    "name",
    "X",
    "y",
    "sensitive",
    "bounds",
    "bounds_learnt",
    "target_bounds",
    "task",
    "classes",
    "feature_names",
    "feature_groups",
    "schema",
    "frame",
    "DESCR",
    "source",
}


def bunch(frame, **declared):
    return make_bunch(
        pd.DataFrame(frame),
        Declaration(**{"target": "t", **declared}),
        name="demo",
        description="A demo.",
        source="here",
    )


def assert_is_a_whole_bunch(data):
    """What every loader promises, whatever the table."""
    assert set(data) == FIELDS
    assert list(data.X.columns) == data.feature_names == list(data.bounds)
    assert all(str(dtype) == "float64" for dtype in data.X.dtypes)
    assert data.X.index.equals(data.y.index)
    assert data.X.index.equals(data.sensitive.index)
    assert not set(data.sensitive.columns) & set(data.X.columns)
    assert data.X.notna().to_numpy().all()
    for column, (low, high) in data.bounds.items():
        assert low < high
        assert data.X[column].between(low, high).all()
    if data.task == "classification":
        assert str(data.y.dtype) == "int64"
        assert data.target_bounds is None
        assert sorted(data.y.unique()) == list(range(len(data.classes)))
    else:
        assert data.classes is None
        assert data.y.between(*data.target_bounds).all()
    assert data.source
    assert data.y.name in data.DESCR


def test_every_offline_data_set_is_whole(offline):
    assert_is_a_whole_bunch(offline)
    assert not offline.bounds_learnt


def test_columns_keep_their_order_and_sensitive_ones_leave():
    data = bunch(
        {"b": [1, 2], "t": ["n", "y"], "s": ["f", "m"], "k": ["u", "v"], "a": [3, 4]},
        sensitive=["s"],
        bounds={"a": (0, 5), "b": (0, 5)},
        categories={"k": ["v", "u"]},
    )
    assert_is_a_whole_bunch(data)
    assert data.feature_names == ["b", "k=v", "k=u", "a"]
    assert data.sensitive["s"].tolist() == ["f", "m"]


def test_values_outside_are_clipped():
    data = bunch({"a": [-9, 1, 9], "t": [0, 1, 1]}, bounds={"a": (0, 2)})
    assert data.X["a"].tolist() == [0.0, 1.0, 2.0]


def test_an_index_of_the_caller_does_not_survive():
    frame = pd.DataFrame({"a": [1, 2], "t": [0, 1]}, index=[7, 7])
    assert bunch(frame, bounds={"a": (0, 3)}).X.index.tolist() == [0, 1]


def test_the_caller_s_table_is_not_changed():
    frame = pd.DataFrame({"a": [-9, 2], "t": [0, 1]})
    before = frame.copy()
    bunch(frame, bounds={"a": (0, 3)})
    pd.testing.assert_frame_equal(frame, before)


def test_without_sensitive_columns_the_table_of_them_has_the_rows_still():
    data = bunch({"a": [1, 2], "t": [0, 1]}, bounds={"a": (0, 3)})
    assert data.sensitive.shape == (2, 0)


def test_levels_of_a_sensitive_column_are_checked_but_not_encoded():
    table = {"a": [1, 2], "s": [1, 2], "t": [0, 1]}
    data = bunch(table, bounds={"a": (0, 3)}, sensitive=["s"], categories={"s": [1, 2]})
    assert data.feature_names == ["a"]
    with pytest.raises(DataError, match="column 's' has level '2' at row 2"):
        bunch(table, bounds={"a": (0, 3)}, sensitive=["s"], categories={"s": [1, 3]})


@pytest.mark.parametrize(
    ("frame", "declared", "message"),
    [
        ({"a": [1, 2], "t": [0, 1]}, {}, "no public bounds or categories are declared for 'a'"),
        (
            {"a": [1, 2], "s": ["f", ""], "t": [0, 1]},
            {"bounds": {"a": (0, 3)}, "sensitive": ["s"]},
            "column 's' has no value at row 2",
        ),
        (
            {"a": [1, 2], "t": [0, 1]},
            {"bounds": {"a": (0, 3)}, "target_bounds": (0, 1), "positive": 1},
            "positive=1 is for classification, but target 't' is regressed on",
        ),
        (
            {"k": ["u", "v"], "k=u": [0, 1], "t": [0, 1]},
            {"bounds": {"k=u": (0, 1)}, "categories": {"k": ["u", "v"]}},
            "column 'k=u' occurs 2 times",
        ),
    ],
)
def test_bad_tables_are_refused_by_name(frame, declared, message):
    with pytest.raises(DataError, match=re.escape(message)):
        bunch(frame, **declared)


def test_the_description_says_what_one_means():
    data = bunch({"a": [1, 2], "t": ["n", "y"]}, bounds={"a": (0, 3)}, positive="n")
    assert "coded 0 = y, 1 = n" in data.DESCR
