"""Targets of chunked rows, coded as the page names them."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from rashomon_explorer.data import Categorical, TableSchema
from rashomon_explorer.exceptions import DataError
from rashomon_explorer.explorer import answers
from rashomon_explorer.explorer.streamed_table import NO_VALUE, Coded, Grouping

SCHEMA = TableSchema([Categorical("sort", ["a", "b", "c"], role="target")])
LABELS = np.array(["b", "a", "c", "b"], dtype=object)
ROWS = np.zeros((4, 1))


@pytest.mark.parametrize(
    ("asked", "codes"),
    [
        ({}, [1, 0, 2, 1]),
        ({"positive_label": "b"}, [1, 0, 0, 1]),
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


def test_a_value_at_an_edge_is_in_the_group_up_to_it_and_a_missing_one_in_its_own():
    grouping = Grouping(edges=(1.0, 2.0, 3.0))
    values = pd.Series([0.0, 1.0, 2.0, 2.5, 3.0, 4.0, np.nan])
    assert grouping(values).tolist() == [
        "up to 1",
        "up to 1",
        "1 to 2",
        "2 to 3",
        "2 to 3",
        "over 3",
        NO_VALUE,
    ]
    assert set(grouping(values)) <= set(grouping.names)


def test_a_tree_that_flips_a_person_is_found_by_the_row_of_the_table(monkeypatch):
    monkeypatch.setattr(
        answers.trees, "best_tree_predicting", lambda counted, place, code: (place, code)
    )
    page = SimpleNamespace(
        state=SimpleNamespace(data={}),
        counted=None,
        flips=lambda: pd.DataFrame({"code": [4, 5, 6]}),
        _as_predictor_set=lambda tree: tree,
    )
    assert answers.TreeAnswers.flipping(page, 1) == (1, 5)
    page.state.data["whole"] = SimpleNamespace(sampled=SimpleNamespace(places=[70, 80, 90]))
    assert answers.TreeAnswers.flipping(page, 1) == (80, 5)


def test_a_gap_is_between_the_highest_rate_and_the_lowest():
    page = SimpleNamespace(
        _are_of_this_class=lambda models: True,
        _groups=lambda column: None,
        _label=lambda label: 1,
        _rates=lambda models, groups, label: np.array([[0.5, 0.25], [0.25, 0.75], [0.4, 0.3]]),
    )
    drawn = SimpleNamespace(losses=np.array([0.3, 0.2]), least=0.2)
    assert answers.TreeAnswers.drawn_gaps(page, drawn, "sort")["gap"].tolist() == [0.25, 0.5]
