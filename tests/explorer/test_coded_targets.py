"""Targets of chunked rows, coded as the page names them."""

import numpy as np
import pytest

from rashomon_explorer.data import Categorical, TableSchema
from rashomon_explorer.exceptions import DataError
from rashomon_explorer.explorer.streamed_table import Coded

SCHEMA = TableSchema([Categorical("sort", ["a", "b", "c"], role="target")])
LABELS = np.array(["b", "a", "c", "b"], dtype=object)
ROWS = np.zeros((4, 1))


@pytest.mark.parametrize(
    ("asked", "codes"),
    [
        ({}, [1, 0, 2, 1]),
        ({"told_apart": "b"}, [1, 0, 0, 1]),
        ({"labels": True}, ["b", "a", "c", "b"]),
    ],
)
def test_labels_are_coded_by_their_class_or_as_one_against_the_others(asked, codes):
    rows, targets = Coded(SCHEMA, None, **asked)(ROWS, LABELS)
    assert rows is ROWS and targets.tolist() == codes


def test_numbers_are_clipped_to_their_bounds_and_checked():
    coded = Coded(SCHEMA, (0.0, 2.0))
    assert coded(ROWS, [-1.0, 0.5, 2.0, 7.0])[1].tolist() == [0.0, 0.5, 2.0, 2.0]
    for bad in (np.nan, np.inf, -np.inf):
        with pytest.raises(DataError, match="NaN or infinity"):
            coded(ROWS, [0.0, bad, 1.0, 1.0])
