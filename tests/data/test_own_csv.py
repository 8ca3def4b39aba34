import io
import re
import warnings

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rashomon_explorer.data import TableSchema, load_csv
from rashomon_explorer.exceptions import DataError, PrivacyLeakWarning, RowsClippedWarning

# Small tables with one value outside on purpose: that this is said has tests of its own.
pytestmark = pytest.mark.filterwarnings("ignore::rashomon_explorer.exceptions.RowsClippedWarning")


ROWS = b"""age,income,home,sex,repaid
20,1.5,rent,f,no
44,2.5,own,m,yes
95,-1,own,f,yes
"""
DECLARED = {
    "target": "repaid",
    "sensitive": ["sex"],
    "bounds": {"age": (18, 90), "income": (0, 10)},
    "categories": {"home": ["own", "rent", "none"]},
}


def load(rows=ROWS, **changes):
    return load_csv(rows, **{**DECLARED, **changes})


def test_a_table_is_loaded_as_declared():
    data = load()
    assert data.X.to_dict("list") == {
        "age": [20.0, 44.0, 90.0],
        "income": [1.5, 2.5, 0.0],
        "home=own": [0.0, 1.0, 1.0],
        "home=rent": [1.0, 0.0, 0.0],
        "home=none": [0.0, 0.0, 0.0],
    }
    assert (data.y.tolist(), data.classes) == ([0, 1, 1], ["no", "yes"])
    assert data.sensitive["sex"].tolist() == ["f", "m", "f"]
    assert data.bounds["home=none"] == (0.0, 1.0)
    assert not data.bounds_learnt
    assert (data.name, data.task) == ("csv", "classification")


def test_a_path_names_the_data(tmp_path):
    path = tmp_path / "loans.csv"
    path.write_bytes(ROWS)
    assert load(path).name == "loans"
    assert load(str(path), name="mine").name == "mine"
    with path.open("rb") as upload:
        assert load(upload).X.equals(load(io.BytesIO(ROWS)).X)


def test_positive_selects_the_class_coded_one():
    assert load(positive="no").y.tolist() == [1, 0, 0]


def test_a_regression_target_is_clipped():
    bounds = {"age": (18, 90)}
    data = load(target="income", bounds=bounds, drop=["repaid"], target_bounds=(0, 2))
    assert (data.task, data.y.tolist(), data.classes) == ("regression", [1.5, 2.0, 0.0], None)


def test_dropped_columns_are_gone_whatever_is_in_them():
    data = load(ROWS.replace(b"2.5", b"oops"), drop=["income"], bounds={"age": (18, 90)})
    assert "income" not in data.X


def test_the_lacking_bounds_come_as_a_skeleton_without_values():
    with pytest.raises(DataError) as caught:
        load(bounds={}, categories={})
    message = str(caught.value)
    assert "bounds={'age': (low, high), 'income': (low, high)}" in message
    assert "categories={'home': ['level', 'level']}" in message
    for value in ("20", "44", "95", "1.5", "2.5", "rent", "own"):
        assert value not in message


def test_learnt_bounds_warn_and_are_marked():
    with pytest.warns(PrivacyLeakWarning, match="bounds of 'income' were computed from the rows"):
        data = load(bounds={"age": (18, 90)}, learn_bounds=True)
    assert data.bounds_learnt
    assert data.bounds["income"] == (-1.0, 2.5)
    assert data.bounds["age"] == (18.0, 90.0)
    assert "no privacy guarantee" in data.DESCR


def test_nothing_is_learnt_where_all_is_declared():
    with warnings.catch_warnings():
        warnings.simplefilter("error", PrivacyLeakWarning)
        assert not load(learn_bounds=True).bounds_learnt


def test_the_bounds_of_a_regression_target_may_be_learnt():
    with pytest.warns(PrivacyLeakWarning, match="'income'"):
        data = load(
            target="income",
            bounds={"age": (18, 90)},
            drop=["repaid"],
            task="regression",
            learn_bounds=True,
        )
    assert data.target_bounds == (-1.0, 2.5)


def swap(old, new):
    return ROWS.replace(old, new)


@pytest.mark.parametrize(
    ("rows", "changes", "message"),
    [
        (ROWS, {"target": "default"}, "target column 'default' is not in the table; the columns"),
        (swap(b"no\n", b"yes\n"), {}, "target column 'repaid' is constant"),
        (swap(b"44", b"old"), {}, "column 'age' is not numeric: line 3 is not a number"),
        (swap(b"44", b""), {}, "column 'age' has no value at line 3 (1 missing in all)"),
        (swap(b"44", b"NaN"), {}, "column 'age' has no value at line 3"),
        (swap(b"44", b"?"), {}, "at line 3, where '?' stands for a missing value (1 missing"),
        (pd.DataFrame({"age": [1]}), {}, "load_csv(frame.to_csv(index=False).encode(), ...)"),
        (swap(b"44", b"inf"), {}, "column 'age' is infinite at line 3"),
        (swap(b",yes", b","), {}, "column 'repaid' has no value at line 3 (2 missing in all)"),
        (swap(b",m,", b",,"), {}, "column 'sex' has no value at line 3"),
        (swap(b"own,m", b"boat,m"), {}, "column 'home' has level 'boat' at line 3"),
        (swap(b"own,m", b",m"), {}, "column 'home' has a missing value at line 3"),
        (swap(b"income", b"age"), {}, "in the header on line 1, column 'age' occurs 2 times"),
        (b"", {}, "the file is empty"),
        (b"age,income,home,sex,repaid\n", {}, "has a header (line 1) and no rows"),
        (swap(b"rent", b"r\xe9nt"), {}, "byte 0xe9 at byte offset 35, line 2"),
        (b"".join(ROWS.splitlines(True)[:2]), {}, "the table has 1 row, but at least 2 are needed"),
        (swap(b"own,m", b"own"), {}, "line 3 has 4 values, but the header names 5 columns"),
        (swap(b"own,m", b"own,m,m"), {}, "line 3 has 6 values, but the header names 5 columns"),
        (ROWS, {"bounds": {"age": (18, 90)}}, "bounds={'income': (low, high)}"),
        (ROWS, {"bounds": {"age": (90, 18)}}, "bounds of column 'age' must have low < high"),
        (ROWS, {"bounds": {"agee": (0, 1)}}, "bounds names 'agee', which is not a column"),
        (ROWS, {"sensitive": ["race"]}, "sensitive names 'race', which is not a column"),
        (ROWS, {"categories": {"house": ["a", "b"]}}, "categories names 'house', which is not a"),
        (ROWS, {"drop": ["id"]}, "drop names 'id', which is not a column"),
        (ROWS, {"drop": ["repaid"]}, "target column 'repaid' is not in the table"),
        (ROWS, {"categories": {}}, "categories={'home': ['level', 'level']}"),
        (ROWS, {"positive": "maybe"}, "positive='maybe' is not a class of target column 'repaid'"),
        (ROWS, {"sensitive": "sex"}, "sensitive must be a list of column names, got the str 'sex'"),
        (ROWS, {"bounds": [(0, 1)]}, "bounds must be a dict with columns as keys, got list"),
        (ROWS, {"categories": {}, "learn_bounds": True}, "categories={'home': ['level', 'level']}"),
    ],
)
def test_bad_input_is_refused_with_the_column_or_the_line(rows, changes, message):
    with pytest.raises(DataError, match=re.escape(message)):
        load(rows, **changes)


def test_bounds_of_a_constant_column_cannot_be_learnt():
    rows = b"a,b,t\n1,1,0\n1,2,1\n"
    with pytest.raises(DataError, match="column 'a' is constant, so no bounds can be computed"):
        load_csv(rows, target="t", learn_bounds=True)


def test_a_target_of_many_numbers_asks_what_it_is():
    rows = "a,t\n" + "".join(f"1,{value}\n" for value in range(30))
    with pytest.raises(DataError, match="target column 't' has more than 20 distinct values"):
        load_csv(rows.encode(), target="t", bounds={"a": (0, 2)})


cells = st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=20)


@given(cells, st.floats(-100, 0), st.floats(1, 100))
def test_every_value_ends_inside_the_declared_bounds(values, low, high):
    rows = "a,t\n" + "".join(f"{value!r},{i % 2}\n" for i, value in enumerate(values))
    found = load_csv(rows.encode(), target="t", bounds={"a": (low, high)}).X["a"]
    expected = [min(max(value, low), high) for value in values]
    assert found.tolist() == pytest.approx(expected, rel=1e-12, abs=1e-300)


@given(st.integers(2, 12), st.data())
def test_a_spoilt_cell_is_named_by_its_line(n_rows, data):
    spoilt = data.draw(st.integers(0, n_rows - 1))
    blanks = data.draw(st.lists(st.integers(0, 2), min_size=n_rows, max_size=n_rows))
    text, line = "a,b,t\n", 0
    for row in range(n_rows):
        text += "\n" * blanks[row]
        if row == spoilt:
            line = text.count("\n") + 1
        text += f"{'oops' if row == spoilt else row},0,{row % 2}\n"
    with pytest.raises(DataError, match=f"column 'a' is not numeric: line {line} is not"):
        load_csv(text.encode(), target="t", bounds={"a": (0, 9), "b": (-1, 1)})


def test_more_than_one_value_in_a_hundred_outside_is_said_to_the_curator_without_a_number():
    def load(outside):
        ages = [20.0] * (1000 - outside) + [95.0] * outside
        rows = "age,repaid\n" + "\n".join(
            f"{a},{'no' if i % 2 else 'yes'}" for i, a in enumerate(ages)
        )
        return load_csv(rows.encode(), target="repaid", bounds={"age": (18, 90)})

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert load(10).X["age"].max() == 90
    with pytest.warns(RowsClippedWarning, match="'age'.*Curator") as caught:
        load(11)
    assert "11" not in str(caught[0].message) and "95" not in str(caught[0].message)


def test_declared_classes_are_the_labels_whatever_the_rows_hold():
    data = load(classes=["yes", "no", "maybe"])
    assert data.classes == ["yes", "no", "maybe"] and data.y.tolist() == [1, 0, 0]
    assert data.schema["repaid"].learnt == () and data.schema.classes == ("yes", "no", "maybe")
    assert load(classes=["no", "yes"], positive="no").classes == ["yes", "no"]
    coded = load(ROWS.replace(b"no\n", b"0\n").replace(b"yes\n", b"1\n"), classes=[0, 1])
    assert (coded.y.tolist(), coded.classes) == ([0, 1, 1], [0, 1])


@pytest.mark.parametrize("positive", [None, "yes"])
def test_labels_that_nobody_declared_carry_a_mark(positive):
    with warnings.catch_warnings():
        warnings.simplefilter("error", PrivacyLeakWarning)
        data = load(positive=positive)
    assert data.schema["repaid"].learnt == ("levels",) and not data.bounds_learnt
    assert (
        "inferred from the rows" in data.DESCR
        and "inferred" not in load(classes=["no", "yes"]).DESCR
    )
    again = load_csv(ROWS, schema=TableSchema.from_toml(data.schema.to_toml()))
    assert again.schema["repaid"].learnt == ("levels",)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"classes": ["no", "late"]}, "'yes'"),
        ({"classes": ["no"]}, "classes of target 'repaid' must be a list of at least 2"),
        ({"classes": "yes"}, "classes of target 'repaid' must be a list of at least 2"),
        ({"classes": ["no", "no"]}, "classes of target 'repaid' name level 'no' twice"),
        ({"classes": [0, 1], "task": "regression"}, "classes are for classification"),
        ({"classes": [0, 1], "target_bounds": (0, 1)}, "classes are for classification"),
    ],
)
def test_classes_that_do_not_fit_are_refused(changes, message):
    with pytest.raises(DataError, match=re.escape(message)):
        load(**changes)


def test_classes_beside_a_schema_are_refused():
    with pytest.raises(DataError, match="leave classes out"):
        load_csv(ROWS, schema=load().schema, classes=["no", "yes"])
