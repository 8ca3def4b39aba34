import re

import numpy as np
import pytest

from rashomon_explorer.data.bunch import (
    Declaration,
    check_bounds,
    check_declaration,
    check_unique,
    quoted,
    suggestion,
)
from rashomon_explorer.exceptions import DataError

COLUMNS = ["age", "income", "sex", "repaid"]


def check(n_rows=10, columns=COLUMNS, **declared):
    check_declaration(Declaration(**{"target": "repaid", **declared}), columns, n_rows)


def test_a_fitting_declaration_passes():
    check(sensitive=["sex"], bounds={"age": (18, 90)}, categories={"income": ["low", "high"]})


@pytest.mark.parametrize(
    ("declared", "message"),
    [
        ({"target": "repayed"}, "target column 'repayed' is not in the table (did you mean 'repa"),
        ({"sensitive": ["sexe"]}, "sensitive names 'sexe', which is not a column (did you mean"),
        ({"bounds": {"agee": (0, 1)}}, "bounds names 'agee', which is not a column (did you mean"),
        ({"categories": {"home": ["a", "b"]}}, "categories names 'home', which is not a column"),
        ({"sensitive": ["repaid"]}, "column 'repaid' is the target, so it cannot be in sensitive"),
        ({"bounds": {"repaid": (0, 1)}}, "a regression target is bounded by target_bounds"),
        (
            {"bounds": {"age": (0, 1)}, "categories": {"age": ["a", "b"]}},
            "column 'age' is in bounds and in categories",
        ),
        (
            {"sensitive": ["age"], "bounds": {"age": (0, 1)}},
            "column 'age' is sensitive, so no model sees it: take it out of bounds",
        ),
        ({"bounds": {"age": (90, 18)}}, "bounds of column 'age' must have low < high, got (90, 18"),
        ({"categories": {"age": ["old"]}}, "categories of column 'age' must be a list of at least"),
        ({"categories": {"age": "old"}}, "categories of column 'age' must be a list of at least 2"),
        ({"categories": {"age": [1, "1"]}}, "categories of column 'age' name level '1' twice"),
        ({"task": "ranking"}, "task must be one of 'classification', 'regression', got 'ranking'"),
        (
            {"task": "classification", "target_bounds": (0, 1)},
            "target_bounds is for regression, but task='classification' for target 'repaid'",
        ),
        ({"target_bounds": (1, 1)}, "target_bounds must have low < high, got (1, 1)"),
        ({"n_rows": 1}, "the table has 1 row, but at least 2 are needed"),
        ({"sensitive": ["age", "income", "sex"]}, "no feature columns are left apart from target"),
    ],
)
def test_a_declaration_that_does_not_fit_is_refused_by_name(declared, message):
    with pytest.raises(DataError, match=re.escape(message)):
        check(**declared)


@pytest.mark.parametrize(
    ("pair", "message"),
    [
        ((1, 1), "low < high, got (1, 1)"),
        ((2, 1), "low < high, got (2, 1)"),
        ((0, float("inf")), "must be finite numbers, got (0, inf)"),
        ((float("nan"), 1), "must be finite numbers, got (nan, 1)"),
        ((0, 1, 2), "must be two numbers (low, high), got (0, 1, 2)"),
        (5, "must be two numbers (low, high), got 5"),
        (("low", "high"), "must be two numbers (low, high), got ('low', 'high')"),
        (None, "must be two numbers (low, high), got None"),
        ("01", "must be two numbers (low, high), got '01'"),
    ],
)
def test_bounds_must_be_two_finite_numbers_in_order(pair, message):
    with pytest.raises(DataError, match=f"^bounds of column 'age' .*{re.escape(message)}"):
        check_bounds(pair, "bounds of column 'age'")


def test_bounds_come_back_as_floats():
    assert check_bounds([0, np.int64(3)], "bounds") == (0.0, 3.0)


def test_repeated_columns_are_named():
    with pytest.raises(DataError, match="column 'age' occurs 3 times"):
        check_unique(["age", "income", "age", "age"])


def test_names_are_suggested_only_when_close():
    assert suggestion("lendng", ["lending", "wine"]) == " (did you mean 'lending'?)"
    assert suggestion("zzz", ["lending", "wine"]) == ""


def test_long_lists_are_cut():
    assert quoted(range(5), limit=3) == "0, 1, 2 and 2 more"
