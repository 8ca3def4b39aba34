"""Each kind of column: what a cell becomes, and what cannot be declared."""

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer.data import (
    Categorical,
    IgnoredColumn,
    Numeric,
    Ordered,
    TableEncoder,
    TableSchema,
    YesNo,
    propose_schema,
)
from rashomon_explorer.data.cells import (
    MISSING,
    ColumnSample,
    Reading,
    as_text,
    is_missing,
    level_codes,
    refuse_missing_text,
    to_numbers,
)
from rashomon_explorer.data.columns import KINDS, Column
from rashomon_explorer.data.encoder import UnitEncoder
from rashomon_explorer.data.messages import numbered_row
from rashomon_explorer.exceptions import DataError
from rashomon_explorer.trees.questions import schema_questions


def unit(column, cells):
    return column.in_unit_size(column.read(pd.Series(cells, dtype=object)))


@given(st.floats(-1e6, 1e6), st.floats(1e-3, 1e6))
def test_a_number_spread_evenly_over_its_typical_range_has_mean_square_one(low, width):
    column = Numeric("x", (low - width, low + 2 * width), typical=(low, low + width))
    cells = low + width * (np.arange(1000) + 0.5) / 1000
    values = unit(column, cells)
    np.testing.assert_allclose([values.mean(), (values**2).mean()], [0, 1], atol=1e-5)


@given(st.integers(2, 12), st.booleans(), st.booleans())
def test_levels_are_equally_far_apart_and_at_distance_one_from_the_middle(many, other, marked):
    column = Categorical(
        "k",
        [f"l{i}" for i in range(many)],
        unknown="other" if other else "zero",
        missing="indicator" if marked else "unexpected",
    )
    cells = [*column.levels, *["?!"] * other, *[None] * marked]
    corners = unit(column, cells)
    assert corners.shape == (len(cells), len(column.encoded_names)) == (len(cells), len(cells))
    np.testing.assert_allclose((corners**2).sum(axis=1), 1)
    np.testing.assert_allclose(corners.sum(axis=0), 0, atol=1e-12)
    apart = [np.linalg.norm(a - b) for a, b in itertools.combinations(corners, 2)]
    np.testing.assert_allclose(apart, apart[0])


@given(st.integers(2, 12))
def test_scores_of_ordered_levels_are_even_and_have_mean_square_one(many):
    scores = unit(Ordered("k", range(many)), range(many)).ravel()
    np.testing.assert_allclose(np.diff(scores), np.diff(scores)[0])
    np.testing.assert_allclose([scores.mean(), (scores**2).mean()], [0, 1], atol=1e-12)
    for level, score in enumerate(scores):  # whichever levels occur
        assert unit(Ordered("k", range(many)), [level]).item() == score
    assert unit(YesNo("k", (False, True)), [True, False, None]).ravel().tolist() == [1, -1, 0]


def test_numbers_are_clipped_filled_and_marked():
    column = Numeric("x", (0, 10), typical=(0, 4), missing="indicator", missing_values=[-9])
    reading = column.read(pd.Series([2.0, -1.0, 99.0, np.inf, -np.inf, np.nan, -9.0]))
    assert reading.values.tolist() == [2, 0, 10, 10, 0, 2, 2]
    assert column.in_units(reading)[:, 1].tolist() == [0, 0, 0, 0, 0, 1, 1]
    assert reading.outside.tolist() == [False, True, True, True, True, False, False]
    assert not reading.undeclared.any()
    filled = Numeric("x", (0, 10), missing="fill")
    assert filled.read(pd.Series([None, "?", "3"])).values.tolist() == [5, 5, 3]
    for missing, undeclared in (
        ("unexpected", [True, True, False]),
        ("fill", [False, True, False]),
    ):
        reading = Numeric("x", (0, 4), missing=missing).read(pd.Series([None, "old", "1"]))
        assert reading.values.tolist() == [2, 2, 1] and reading.undeclared.tolist() == undeclared


def test_every_rule_of_unknown_and_missing_levels():
    cells = pd.Series(["own", "tent", None])
    by_rule = {}
    for unknown, missing in itertools.product(
        ["zero", "other"], ["unexpected", "fill", "indicator"]
    ):
        column = Categorical("home", ["own", "rent"], unknown=unknown, missing=missing)
        by_rule[unknown, missing] = column.in_units(column.read(cells)).tolist()
    assert by_rule["zero", "unexpected"] == by_rule["zero", "fill"] == [[1, 0], [0, 0], [0, 0]]
    assert by_rule["other", "fill"] == [[1, 0, 0], [0, 0, 1], [0, 0, 0]]
    assert by_rule["zero", "indicator"] == [[1, 0, 0], [0, 0, 0], [0, 0, 1]]
    assert by_rule["other", "indicator"] == [[1, 0, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]]
    word = Categorical("k", ["a", "None"]).read(pd.Series(["None", "NA"]))  # a level, not missing
    assert word.missing.tolist() == [False, True] and word.values[0] == 1


@pytest.mark.parametrize(
    ("make", "message"),
    [
        *(
            (lambda pair=pair: Numeric("x", pair), f"bounds of column 'x' must {words}")
            for pair, words in (
                *(((1, 0), "have low < high, got (1, 0)"), ((1, 1), "have low < high, got (1, 1)")),
                *(((0, np.inf), "be finite numbers"), ((np.nan, 1), "be finite numbers, got (nan")),
                *((one, "be two numbers") for one in ((0, 1, 2), 5, ("low", "high"), None, "01")),
            )
        ),
        (lambda: Numeric("x", (0, 1), typical=(0, 2)), "typical range of column 'x' must lie wit"),
        (lambda: Numeric("x", (0, 1e300), typical=(0, 1e-9)), "exceed 1e+100 times the half-width"),
        (lambda: Numeric("", (0, 1)), "a column must have a name, got ''"),
        (lambda: Numeric("x", (0, 1), role="featur"), "(did you mean 'feature'?)"),
        (lambda: Numeric("x", (0, 1), missing="drop"), "missing of column 'x' must be one of"),
        (lambda: Numeric("x", (0, 1), learnt=["levels"]), "learnt of column 'x' must be one of"),
        (lambda: Numeric("x", (0, 9), thresholds=[3, 3]), "each once"),
        (lambda: Numeric("x", (0, 9), thresholds=["thirty"]), "finite numbers"),
        (lambda: Numeric("x", (0, 9), thresholds=3.0), "thresholds of column 'x' must be a list"),
        (lambda: Numeric("x", (0, 9), thresholds=[9]), "every row gives the same answer: got 9"),
        (lambda: Numeric("x", (0, 9), thresholds=[-1]), "must lie within its bounds (0, 9)"),
        (lambda: Categorical("k", ["a"]), "levels of column 'k' must be a list of at least 2"),
        (lambda: Categorical("k", "ab"), "levels of column 'k' must be a list, got 'ab'"),
        (lambda: Categorical("k", [1, "1"]), "levels of column 'k' name '1' twice"),
        (lambda: Categorical("k", [1, None]), "must be text, numbers or true and false, got None"),
        (lambda: Categorical("k", ["a", "b"], unknown="drop"), "unknown of column 'k' must be one"),
        (lambda: Ordered("k", ["a", "b"], unknown="other"), "must be one of 'zero', 'refuse'"),
        (lambda: YesNo("k", ("a", "b", "c")), "must be two, no and yes, got"),
        (
            lambda: IgnoredColumn("id", role="feature"),
            "column 'id' is a feature without a declaration",
        ),
    ],
)
def test_what_cannot_be_declared_is_refused_by_name(make, message):
    with pytest.raises(DataError, match=re.escape(message)):
        make()


def test_thresholds_are_asked_in_the_place_of_even_steps_and_change_no_encoding():
    """What trees ask of a column of numbers is declared with it, and nowhere else."""
    plain = Numeric("age", (0, 120), typical=(20, 60))
    own = Numeric("age", (0, 120), typical=(20, 60), thresholds=[65, 18.5])
    for column, asked, words in (
        (plain, None, ("age > 30", "age > 40", "age > 50")),
        (own, None, ("age > 18.5", "age > 65")),
        (own, {"age": [7]}, ("age > 7",)),
    ):
        assert schema_questions(TableSchema([column]), asked).in_words == words
    assert (unit(own, [3.0, 200.0, None]) == unit(plain, [3.0, 200.0, None])).all()
    schema = TableSchema([own])
    assert TableSchema.from_toml(schema.to_toml()) == schema
    assert "thresholds 18.5, 65" in repr(TableSchema.from_toml(schema.to_toml()))
    lines = "name,kind,low,high,thresholds\nage,numeric,0,120,65 | 18.5\n"
    assert TableSchema.from_data_dictionary(lines)["age"].thresholds == (18.5, 65.0)
    other = schema.declare("age", kind="categorical", levels=[1, 2])  # another kind drops them
    assert "thresholds" not in other.to_dict()["columns"]["age"]


def test_the_documented_kind_is_registered_proposed_encoded_and_stored(monkeypatch):
    """The class in docs/extending.md, and the one line that enters it."""
    page = (Path(__file__).parents[2] / "docs" / "extending.md").read_text(encoding="utf-8")
    (example,) = (one for one in re.findall(r"```python\n(.*?)```", page, re.S) if "Day(" in one)
    names = {"Column": Column, "ColumnSample": ColumnSample, "FloatArray": FloatArray, "pd": pd}
    names |= {"Reading": Reading, "ClassVar": ClassVar, "Sequence": Sequence, "np": np}
    exec(
        example,
        names := {**names, "as_text": as_text, "dataclass": dataclass, "is_missing": is_missing},
    )
    Day = names["Day"]
    frame = pd.DataFrame(
        {"opened": ["2020-01-01", "2020-12-31", None, "2020-07-01"], "x": [0.1, 2.5, 3.0, 4.2]}
    )
    assert propose_schema(frame)["opened"].kind == "anything"  # the control: not yet entered
    monkeypatch.setitem(KINDS, Day.kind, Day)
    schema = propose_schema(frame)
    assert schema["opened"] == Day(
        "opened",
        ("2020-01-01", "2020-12-31"),
        missing="indicator",
        learnt=("kind", "bounds", "missing"),
    )
    assert schema.leak and TableSchema.from_toml(schema.to_toml()) == schema
    schema = schema.confirm(*schema).declare("opened", bounds=["2019-01-01", "2021-12-31"])
    assert TableSchema.from_toml(schema.to_toml()) == schema and not schema.leak
    days = UnitEncoder(schema).transform(frame)
    assert days[:, :2].T.tolist() == [[365, 730, 547.5, 547], [0, 0, 1, 0]]
    assert TableEncoder(schema).fit(frame).get_feature_names_out()[0] == "opened"
    cells = pd.Series(["2019-01-01", "2021-12-31", None])
    assert unit(schema["opened"], cells)[:, 0] == pytest.approx([-(3**0.5), 3**0.5, 0])


finite = st.floats(allow_nan=False, allow_infinity=False)


@given(st.lists(finite, min_size=1))
def test_numbers_survive_being_spelt(numbers):
    text = pd.Series([f" {number!r} " for number in numbers], name="x")
    np.testing.assert_allclose(to_numbers(text, numbered_row), numbers, rtol=1e-15)
    np.testing.assert_array_equal(to_numbers(pd.Series(numbers, name="x"), numbered_row), numbers)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (["1", "old", "x"], "column 'age' is not numeric: row 2 is not a number (2 such values"),
        ([1.0, np.nan, np.nan], "column 'age' has no value at row 2 (2 missing in all)"),
        (["1", "2", "1e999"], "column 'age' is infinite at row 3"),
        (pd.array([1, None, 2], dtype="Int64"), "column 'age' has no value at row 2"),
    ],
)
def test_what_is_not_a_finite_number_is_refused_with_its_place(values, message):
    with pytest.raises(DataError, match=re.escape(message)) as caught:
        to_numbers(pd.Series(values, name="age"), numbered_row)
    assert "old" not in str(caught.value)  # no value of a column of numbers is repeated


def test_levels_are_compared_by_text_and_a_missing_one_is_refused_unless_declared():
    assert level_codes(pd.Series([1.0, 2.0, 1.0]), [1, 2], numbered_row).tolist() == [0, 1, 0]
    values = pd.Series(["a", "?"], name="k")
    with pytest.raises(DataError, match=r"column 'k' has a missing value \('\?'\) at row 2"):
        level_codes(values, ["a", "b"], numbered_row)
    assert level_codes(values, ["a", "?"], numbered_row).tolist() == [0, 1]


@pytest.mark.parametrize("word", sorted(MISSING))
def test_every_word_for_missing_is_refused(word):
    with pytest.raises(DataError, match="column 'sex' has no value at row 2"):
        refuse_missing_text(pd.Series(["f", word], name="sex"), numbered_row)
