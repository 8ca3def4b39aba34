"""Warnings of a fit: once, at the user's line, and no number of the rows in it."""

import warnings
from functools import partial
from typing import Any

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline

from rashomon_explorer import PublicBoundsScaler, RashomonClassifier, RashomonRegressor
from rashomon_explorer.exceptions import RowsClippedWarning, WeakGuaranteeWarning
from rashomon_explorer.mechanisms.planning.suggestions import suppress_weak_warnings

STRONG: dict[str, Any] = {"n_draws": 3, "epsilon": 200.0, "random_state": 0}
NARROW = PublicBoundsScaler([(-0.01, 0.01)] * 3)


@pytest.mark.parametrize(
    "kind", [RashomonClassifier, partial(RashomonRegressor, target_bounds=(-1, 1))]
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
    [RashomonClassifier(**STRONG), make_pipeline(NARROW, RashomonClassifier(**STRONG))],
    ids=["alone", "behind a scaler"],
)
def test_a_warning_points_to_the_line_that_fits(model, X, labels):
    with pytest.warns(RowsClippedWarning) as caught:
        model.fit(10 * X, labels)
    assert {one.filename for one in caught} == {__file__}


def test_a_cached_plan_warns_again():
    weak = RashomonClassifier(epsilon=0.01)
    with suppress_weak_warnings():
        planned = weak.plan(200, 8)
    for _ in range(2):
        with pytest.warns(WeakGuaranteeWarning, match="this plan has a weak guarantee"):
            assert weak.plan(200, 8) is planned
