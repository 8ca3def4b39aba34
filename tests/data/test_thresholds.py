"""What trees ask of a column of numbers is declared with it, and nowhere else."""

import pandas as pd
import pytest

from rashomon_explorer.data import Numeric, TableSchema
from rashomon_explorer.exceptions import DataError
from rashomon_explorer.trees.questions import schema_questions

AGE = Numeric("age", (0, 120), typical=(20, 60), thresholds=[65, 18.5])


def test_thresholds_are_asked_in_the_place_of_even_steps():
    plain = Numeric("age", (0, 120), typical=(20, 60))
    assert schema_questions(TableSchema([plain]), None).in_words == (
        "age > 30",
        "age > 40",
        "age > 50",
    )
    assert schema_questions(TableSchema([AGE]), None).in_words == ("age > 18.5", "age > 65")
    assert schema_questions(TableSchema([AGE]), {"age": [7]}).in_words == ("age > 7",)


def test_they_change_nothing_that_a_linear_model_sees():
    cells = pd.Series([3.0, 200.0, None])
    plain = Numeric("age", (0, 120), typical=(20, 60))
    assert (AGE.in_unit_size(AGE.read(cells)) == plain.in_unit_size(plain.read(cells))).all()


@pytest.mark.parametrize("write", ["to_toml", "to_json"])
def test_they_travel_with_the_declaration(write):
    schema = TableSchema([AGE])
    read = getattr(TableSchema, write.replace("to_", "from_"))
    assert read(getattr(schema, write)()) == schema
    assert "thresholds 18.5, 65" in repr(schema)
    lines = "name,kind,low,high,thresholds\nage,numeric,0,120,65 | 18.5\n"
    assert TableSchema.from_data_dictionary(lines)["age"].thresholds == (18.5, 65.0)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ([30, 30], "each once"),
        ([float("nan")], "finite"),
        (["thirty"], "finite numbers"),
        ([True], "finite"),
        (30.0, "must be a list"),
        ([120], "every row gives the same answer: got 120"),
        ([-1], r"within its bounds \(0, 120\)"),
    ],
)
def test_what_asks_nothing_is_refused(given, words):
    with pytest.raises(DataError, match=words):
        Numeric("age", (0, 120), thresholds=given)


def test_another_kind_drops_them():
    schema = TableSchema([AGE]).declare("age", kind="categorical", levels=[1, 2])
    assert "thresholds" not in schema.to_dict()["columns"]["age"]
