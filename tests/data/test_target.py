import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rashomon_explorer.data.bunch import Declaration, encode_classes, encode_numbers, infer_task
from rashomon_explorer.data.messages import row_place
from rashomon_explorer.exceptions import DataError

# Small tables with one value outside on purpose: that this is said has tests of its own.
pytestmark = pytest.mark.filterwarnings("ignore::rashomon_explorer.exceptions.RowsClippedWarning")


def labels(*values, name="t"):
    return pd.Series(values, name=name)


@given(st.lists(st.sampled_from(["no", "yes", "maybe"]), min_size=2))
def test_classes_decode_the_codes(cells):
    if len(set(cells)) < 2:
        with pytest.raises(DataError, match="target column 't' is constant"):
            encode_classes(labels(*cells), None, row_place)
        return
    codes, classes = encode_classes(labels(*cells), None, row_place)
    assert classes == sorted(set(cells))
    assert [classes[code] for code in codes] == cells


@pytest.mark.parametrize(
    ("values", "positive", "codes", "classes"),
    [
        (("no", "yes", "no"), None, [0, 1, 0], ["no", "yes"]),
        (("no", "yes", "no"), "no", [1, 0, 1], ["yes", "no"]),
        ((True, False, True), None, [1, 0, 1], [False, True]),
        ((2, 1, 2), None, [1, 0, 1], [1, 2]),
        ((2, 1, 2), "1", [0, 1, 0], [2, 1]),
        ((2.0, 1.0, 2.0), 2, [1, 0, 1], [1, 2]),
        ((10, 9, 2), None, [2, 1, 0], [2, 9, 10]),
        (("a", "b", "c"), "b", [0, 1, 0], ["not b", "b"]),
        ((" a", "a ", "b"), None, [0, 0, 1], ["a", "b"]),
    ],
)
def test_codes(values, positive, codes, classes):
    found, names = encode_classes(labels(*values), positive, row_place)
    assert (found.tolist(), names) == (codes, classes)


def test_a_positive_class_that_is_not_there_is_refused():
    with pytest.raises(DataError, match="positive='ja' is not a class of target column 't'; the"):
        encode_classes(labels("no", "yes"), "ja", row_place)


@pytest.mark.parametrize("values", [("a", "", "b"), (1.0, np.nan, 2.0)])
def test_a_missing_label_is_refused_with_its_place(values):
    with pytest.raises(DataError, match="column 't' has no value at row 2"):
        encode_classes(labels(*values), None, row_place)


def test_numbers_are_clipped_into_the_declared_bounds():
    values, bounds = encode_numbers(labels(-5, 3, 99), [0, 10], row_place)
    assert values.tolist() == [0.0, 3.0, 10.0]
    assert bounds == (0.0, 10.0)


@pytest.mark.parametrize(
    ("values", "bounds", "message"),
    [
        ((1, 2), None, r"regression on 't' needs target_bounds=\(low, high\)"),
        ((1, 2), (3, 3), "target_bounds must have low < high"),
        ((1, 1), (0, 3), "target column 't' is constant"),
        (("1", "x"), (0, 3), "column 't' is not numeric: row 2"),
        ((1.0, np.nan), (0, 3), "column 't' has no value at row 2"),
        ((1.0, np.inf), (0, 3), "column 't' is infinite at row 2"),
    ],
)
def test_a_regression_target_that_cannot_be_used_is_refused(values, bounds, message):
    with pytest.raises(DataError, match=message):
        encode_numbers(labels(*values), bounds, row_place)


@pytest.mark.parametrize(
    ("values", "declared", "task"),
    [
        (range(100), {"task": "classification"}, "classification"),
        (range(3), {"task": "regression"}, "regression"),
        (range(3), {"target_bounds": (0, 5)}, "regression"),
        (range(20), {}, "classification"),
        ([1.0, 2.0], {}, "classification"),
        (["a", "b"], {}, "classification"),
    ],
)
def test_task_is_what_was_declared_or_beyond_doubt(values, declared, task):
    assert infer_task(labels(*values), Declaration(target="t", **declared)) == task


@pytest.mark.parametrize("values", [range(21), [str(i) for i in range(21)], [0.5, 1.0]])
def test_a_doubtful_task_is_asked_for(values):
    with pytest.raises(DataError, match=r"target column 't' .* pass target_bounds=.* or task="):
        infer_task(labels(*values), Declaration(target="t"))
