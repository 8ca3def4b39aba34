"""Warnings of a fit: once, at the user's line, and no number of the rows in it."""

import math
import warnings
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline

import rashomon_explorer as rx
from rashomon_explorer.data import YesNo
from rashomon_explorer.estimators.base import quiet
from rashomon_explorer.exceptions import LargeDeltaWarning, RowsClippedWarning, WeakGuaranteeWarning
from rashomon_explorer.mechanisms.simulation.expected_gain import spread

STRONG: dict[str, Any] = {"n_draws": 3, "epsilon": 200.0, "random_state": 0}
NARROW = rx.PublicBoundsScaler([(-0.01, 0.01)] * 3)


@pytest.mark.parametrize(
    "kind", [rx.RashomonClassifier, partial(rx.RashomonRegressor, target_bounds=(-1, 1))]
)
@pytest.mark.parametrize(("long", "count"), [(2, 0), (3, 1)])
def test_more_than_a_hundredth_of_clipped_rows_is_reported(kind, X, labels, long, count):
    rows = np.vstack([X, X])[:200]
    rows[:long] = 3.0
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        kind(**STRONG).fit(rows, np.concatenate([labels, labels])[:200])
    assert len([one for one in caught if one.category is RowsClippedWarning]) == count


@pytest.mark.parametrize(
    "model",
    [rx.RashomonClassifier(**STRONG), make_pipeline(NARROW, rx.RashomonClassifier(**STRONG))],
    ids=["alone", "behind a scaler"],
)
def test_a_warning_points_to_the_line_that_fits(model, X, labels):
    with pytest.warns(RowsClippedWarning) as caught:
        model.fit(10 * X, labels)
    assert {one.filename for one in caught} == {__file__}


def test_a_cached_plan_warns_again():
    weak = rx.RashomonClassifier(epsilon=0.01)
    planned = quiet(rx.RashomonClassifier(epsilon=0.01)).plan(200, 8)
    for _ in range(2):
        with pytest.warns(WeakGuaranteeWarning, match="this plan is weak: the model is expected"):
            assert weak.plan(200, 8) == planned


@pytest.mark.parametrize("heard", [False, True])
def test_nothing_is_simulated_for_a_warning_that_is_ignored(heard):
    weak = rx.DPClassifier(epsilon=0.01)
    with warnings.catch_warnings(record=True):
        warnings.simplefilter("ignore", WeakGuaranteeWarning)
        warnings.filterwarnings("ignore", "only this text")
        if heard:
            warnings.filterwarnings("always", "of any text", WeakGuaranteeWarning)
        assert ("expected" in vars(weak.plan(210 + heard, 7))) is heard


@pytest.mark.slow
def test_a_search_warns_once_and_each_search_does(X, labels):
    weak = rx.DPClassifier(epsilon=0.01, classes=(0, 1), delta=0.02)
    for search in (
        lambda: cross_val_score(weak, X, labels, cv=2),
        lambda: GridSearchCV(weak, {"epsilon": [0.01, 0.02]}, cv=2).fit(X, labels),
    ):
        for _ in range(2):
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                search()
            kinds = [one.category for one in caught]
            assert kinds.count(WeakGuaranteeWarning) == kinds.count(LargeDeltaWarning) == 1


@pytest.mark.filterwarnings("ignore::rashomon_explorer.exceptions.WeakGuaranteeWarning")
@pytest.mark.parametrize(("rows", "weak"), [(200, True), (60_000, False)])
def test_what_is_expected_is_said_before_a_row_is_read_and_is_no_guarantee(rows, weak):
    planned = rx.DPRegressor(epsilon=0.1, target_bounds=(0, 9)).plan(rows, 5)
    assert (planned.expected.share < 0.5) == weak
    assert planned.expected.low <= planned.expected.share <= planned.expected.high <= 1.1
    assert "simulated tables of this shape; no guarantee" in repr(planned)
    assert ("is expected to reach" in planned.weakness) == weak
    for share in (0.49, 0.5):
        judged = replace(planned, simulation=planned.expected._replace(share=share))
        assert (judged.weakness == "") == (share == 0.5)
    assert planned.expected.least == 0.5
    assert (
        planned.expected == rx.DPRegressor(epsilon=0.1, target_bounds=(0, 9)).plan(rows, 5).expected
    )


def test_eight_in_ten_tables_lie_between_what_a_plan_shows():
    assert spread([float(table) for table in range(11)]) == (5.0, 1.0, 9.0)


@pytest.mark.filterwarnings("ignore::rashomon_explorer.exceptions.WeakGuaranteeWarning")
@pytest.mark.parametrize(
    ("rows", "base_rate", "weak"), [(50, 0.5, True), (200, 0.5, False), (5_000, 0.1, True)]
)
def test_one_tree_warns_below_half_of_the_possible_gain(rows, base_rate, weak):
    """With few positive rows a tree predicts "no" for everybody, however many rows there are."""
    schema = rx.TableSchema([YesNo(f"x{k}", (0, 1)) for k in range(8)])
    tree = rx.DPClassifier(family="trees", base_rate=base_rate, schema=schema)
    planned = tree.plan(rows)
    assert planned.expected.least == 0.5 and planned.expected.is_weak == weak
    assert tree.set_params(base_rate=1 - base_rate).plan(rows).expected == planned.expected
    assert ("is expected to reach" in planned.weakness) == weak
    assert ("less than 50% of the possible gain is expected" in repr(planned)) == weak


@pytest.mark.filterwarnings("ignore::rashomon_explorer.exceptions.WeakGuaranteeWarning")
@pytest.mark.parametrize(("base_rate", "trees"), [(0.03, False), (0.4, True), (0.96, False)])
def test_the_base_rate_decides_between_tree_and_linear_model(base_rate, trees):
    schema = rx.TableSchema([YesNo(f"x{k}", (0, 1)) for k in range(9)])
    assert rx.DPClassifier(schema=schema).plan(60).of_trees
    planned = rx.DPClassifier(base_rate=base_rate, schema=schema).plan(100)
    assert planned.of_trees == trees
    assert not rx.DPClassifier(schema=schema).plan(100).of_trees


def test_a_base_rate_is_public_and_of_two_classes(X, labels):
    fitted = rx.DPClassifier(base_rate=0.5, epsilon=20.0, classes=[0, 1]).fit(X, labels)
    assert "base_rate was not computed from private rows" in fitted.guarantee_.assumptions
    with pytest.raises(ValueError, match="share of one of two classes"):
        rx.DPClassifier(base_rate=0.5, classes=[0, 1, 2]).plan(1000, 4)
    with pytest.raises(ValueError, match="base_rate"):
        rx.DPClassifier(base_rate=1.5).plan(1000, 4)


def test_a_table_of_plans_is_simulated_seeded_and_says_so():
    table = rx.plan_table(1_000, 6, [3.0, 0.1], base_rate=0.9)
    assert table.index.tolist() == [0.1, 3.0, math.inf] and table.attrs["simulated"]
    assert "no guarantee" in table.attrs["caption"] and "10 % of the rows" in table.attrs["caption"]
    for score in ("accuracy", "auc"):
        assert (table[f"{score}_low"] <= table[score]).all()
        assert (table[score] <= table[f"{score}_high"]).all()
    assert table["auc"].is_monotonic_increasing and table.loc[0.1, "auc"] < 0.75
    assert table.loc[math.inf, "accuracy_low"] > 0.85  # the most frequent class has .9
    pd.testing.assert_frame_equal(table, rx.plan_table(1_000, 6, [0.1, 3.0], base_rate=0.1))
    with pytest.raises(ValueError, match="base_rate"):
        rx.plan_table(1_000, 6, base_rate=0.0)
