"""Data sets of declared tables: features, targets and what does not fit together."""

import re

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rashomon_explorer.data.bunch import declared_schema, make_bunch
from rashomon_explorer.exceptions import DataError

# Small tables with one value outside on purpose: that this is said has tests of its own.
pytestmark = pytest.mark.filterwarnings("ignore::rashomon_explorer.exceptions.RowsClippedWarning")

FIELDS = {
    *("name", "X", "y", "sensitive", "bounds", "bounds_learnt", "target_bounds", "task", "classes"),
    *("feature_names", "feature_groups", "schema", "frame", "DESCR", "source"),
}
SHIPPED = FIELDS | {"public_rows"}


def bunch(frame, task=None, positive=None, **declared):
    frame = pd.DataFrame(frame)
    schema = declared_schema(**{"target": "t", **declared}).in_order(list(frame.columns))
    words = {"name": "demo", "description": "A demo.", "source": "here"}
    return make_bunch(frame, schema, task=task, positive=positive, **words)


def assert_is_a_whole_bunch(data):
    """What every loader promises, whatever the table."""
    assert set(data) == (SHIPPED if "public_rows" in data else FIELDS)
    assert list(data.X.columns) == data.feature_names == list(data.bounds)
    assert all(str(dtype) == "float64" for dtype in data.X.dtypes)
    assert data.X.index.equals(data.y.index) and data.X.index.equals(data.sensitive.index)
    assert not set(data.sensitive.columns) & set(data.X.columns)
    assert data.X.notna().to_numpy().all()
    for column, (low, high) in data.bounds.items():
        assert low < high and data.X[column].between(low, high).all()
    if data.task == "classification":
        assert str(data.y.dtype) == "int64" and data.target_bounds is None
        assert sorted(data.y.unique()) == list(range(len(data.classes)))
    else:
        assert data.classes is None and data.y.between(*data.target_bounds).all()
    assert data.source and data.y.name in data.DESCR


def test_every_offline_data_set_is_whole(offline):
    assert_is_a_whole_bunch(offline)
    assert not offline.bounds_learnt and offline.public_rows


def test_columns_keep_their_order_sensitive_ones_leave_and_the_table_stays_as_it_was():
    table = {"b": [1, 2], "t": ["n", "y"], "s": ["f", "m"], "k": ["u", "v"], "a": [-9, 4]}
    frame = pd.DataFrame(table, index=[7, 7])
    before = frame.copy()
    declared = {"bounds": {"a": (0, 5), "b": (0, 5)}, "categories": {"k": ["v", "u"]}}
    data = bunch(frame, sensitive=["s"], positive="n", **declared)
    assert_is_a_whole_bunch(data)
    assert data.feature_names == ["b", "k=v", "k=u", "a"]
    assert data.X["a"].tolist() == [0.0, 4.0] and data.X.index.tolist() == [0, 1]
    assert data.sensitive["s"].tolist() == ["f", "m"]
    assert "coded 0 = y, 1 = n" in data.DESCR
    pd.testing.assert_frame_equal(frame, before)
    assert bunch({"a": [1, 2], "t": [0, 1]}, bounds={"a": (0, 3)}).sensitive.shape == (2, 0)


def test_levels_of_a_sensitive_column_are_checked_but_not_encoded():
    table = {"a": [1, 2], "s": [1, 2], "t": [0, 1]}
    data = bunch(table, bounds={"a": (0, 3)}, sensitive=["s"], categories={"s": [1, 2]})
    assert data.feature_names == ["a"]
    with pytest.raises(DataError, match="column 's' has level '2' at row 2"):
        bunch(table, bounds={"a": (0, 3)}, sensitive=["s"], categories={"s": [1, 3]})


def target(values, **declared):
    return bunch({"a": range(len(values)), "t": values}, bounds={"a": (0, 99)}, **declared)


@given(st.lists(st.sampled_from(["no", "yes", "maybe"]), min_size=2))
def test_classes_decode_the_codes(labels):
    if len(set(labels)) < 2:
        with pytest.raises(DataError, match="target column 't' is constant"):
            target(labels)
        return
    data = target(labels)
    assert data.classes == sorted(set(labels))
    assert [data.classes[code] for code in data.y] == labels


@pytest.mark.parametrize(
    ("values", "positive", "codes", "classes"),
    [
        (("no", "yes", "no"), None, [0, 1, 0], ["no", "yes"]),
        (("no", "yes", "no"), "no", [1, 0, 1], ["yes", "no"]),
        ((True, False, True), None, [1, 0, 1], [False, True]),
        ((2, 1, 2), "1", [0, 1, 0], [2, 1]),
        ((2.0, 1.0, 2.0), 2, [1, 0, 1], [1, 2]),
        ((10, 9, 2), None, [2, 1, 0], [2, 9, 10]),
        (("a", "b", "c"), "b", [0, 1, 0], ["not b", "b"]),
        ((" a", "a ", "b"), None, [0, 0, 1], ["a", "b"]),
    ],
)
def test_codes(values, positive, codes, classes):
    data = target(values, positive=positive)
    assert (data.y.tolist(), data.classes) == (codes, classes)


@pytest.mark.parametrize(
    ("values", "declared", "task"),
    [
        (range(100), {"task": "classification"}, "classification"),
        (range(3), {"target_bounds": (0, 5)}, "regression"),
        (range(20), {}, "classification"),
        ([1.0, 2.0], {}, "classification"),
    ],
)
def test_the_task_is_what_was_declared_or_beyond_doubt(values, declared, task):
    data = target(values, **declared)
    assert data.task == task
    if task == "regression":
        assert target([-5, 3, 99], target_bounds=(0, 10)).y.tolist() == [0.0, 3.0, 10.0]


ONE = {"a": [1, 2], "t": [0, 1]}
BOUNDS = {"bounds": {"a": (0, 3)}}
DOUBT = "target column 't' has {}: pass target_bounds="


@pytest.mark.parametrize(
    ("frame", "declared", "message"),
    [
        ({**ONE, "b": [1, 2]}, BOUNDS, "the table has 'b', which the schema does not declare"),
        (ONE, {**BOUNDS, "target": "tt"}, "lacks 'tt', which is declared as target (did you mean"),
        (ONE, {"bounds": {"aa": (0, 1)}}, "the table lacks 'aa', which is declared as feature"),
        (ONE, {**BOUNDS, "sensitive": ["t"]}, "column 't' is in target and in sensitive"),
        (ONE, {"bounds": {"t": (0, 1)}}, "a regression target is bounded by target_bounds"),
        (ONE, {**BOUNDS, "categories": {"a": "uv"}}, "column 'a' is in bounds and in categories"),
        (ONE, {**BOUNDS, "classes": ["no"]}, "levels of column 't' must be a list of at least 2"),
        (ONE, {**BOUNDS, "task": "ranking"}, "task must be one of 'classification', 'regression'"),
        (ONE, {**BOUNDS, "task": "classification", "target_bounds": (0, 1)}, "for regression"),
        (ONE, {**BOUNDS, "task": "regression", "classes": [0, 1]}, "for classification"),
        (ONE, {**BOUNDS, "task": "regression"}, "needs target_bounds=(low, high)"),
        (ONE, {**BOUNDS, "positive": "ja"}, "positive='ja' is not a class of target column 't'"),
        ({"t": [0, 1]}, {}, "the schema declares no feature"),
        ({"a": [1], "t": [0]}, BOUNDS, "the table has 1 row(s), but at least 2 are needed"),
        ({"a": [1, 2], "t": ["a", ""]}, BOUNDS, "column 't' has no value at row 2"),
        ({"a": range(21), "t": range(21)}, BOUNDS, DOUBT.format("more than 20 distinct values")),
        ({"a": [1, 2], "t": [0.5, 1]}, BOUNDS, DOUBT.format("values that are not whole numbers")),
    ],
)
def test_what_does_not_fit_together_is_refused_by_name(frame, declared, message):
    with pytest.raises(DataError, match=re.escape(message)):
        bunch(frame, **declared)
