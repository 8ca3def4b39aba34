import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rashomon_explorer.data.cells import MISSING, level_codes, refuse_missing_text, to_numbers
from rashomon_explorer.data.messages import row_place
from rashomon_explorer.exceptions import DataError

finite = st.floats(allow_nan=False, allow_infinity=False)


@given(st.lists(finite, min_size=1))
def test_numbers_survive_being_spelt(numbers):
    text = pd.Series([f" {number!r} " for number in numbers], name="x")
    np.testing.assert_allclose(to_numbers(text, row_place), numbers, rtol=1e-15)
    np.testing.assert_array_equal(to_numbers(pd.Series(numbers, name="x"), row_place), numbers)


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
        to_numbers(pd.Series(values, name="age"), row_place)
    assert "old" not in str(caught.value)  # no value of a column of numbers is repeated


def test_levels_are_compared_by_text_and_a_missing_one_is_refused_unless_declared():
    assert level_codes(pd.Series([1.0, 2.0, 1.0]), [1, 2], row_place).tolist() == [0, 1, 0]
    values = pd.Series(["a", "?"], name="k")
    with pytest.raises(DataError, match=r"column 'k' has a missing value \('\?'\) at row 2"):
        level_codes(values, ["a", "b"], row_place)
    assert level_codes(values, ["a", "?"], row_place).tolist() == [0, 1]


@pytest.mark.parametrize("word", sorted(MISSING))
def test_every_word_for_missing_is_refused(word):
    with pytest.raises(DataError, match="column 'sex' has no value at row 2"):
        refuse_missing_text(pd.Series(["f", word], name="sex"), row_place)
