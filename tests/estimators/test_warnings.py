"""What a fit says about itself: once, at the user's line, and no number of the rows in it."""

import warnings

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline

from rashomon_explorer import PublicBoundsScaler, RashomonClassifier, RashomonRegressor
from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer.exceptions import RowsClippedWarning, WeakGuaranteeWarning
from rashomon_explorer.mechanisms.planning.suggestions import suppress_weak_warnings

Estimator = RashomonClassifier | RashomonRegressor

STRONG = {"n_draws": 3, "epsilon": 200.0, "random_state": 0}


@pytest.mark.parametrize("kind", [RashomonClassifier, RashomonRegressor])
@pytest.mark.parametrize(("long", "said"), [(2, False), (3, True)])
def test_more_than_a_hundredth_of_clipped_rows_is_said(
    kind: type[Estimator], X: FloatArray, labels: FloatArray, long: int, said: bool
) -> None:
    rows = np.vstack([X, X])[:200]
    rows[:long] = 3.0
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        kind(**STRONG).fit(rows, np.concatenate([labels, labels])[:200])
    clipped = [one for one in caught if one.category is RowsClippedWarning]
    assert len(clipped) == said


def test_a_warning_points_to_the_line_that_fits(X: FloatArray, labels: FloatArray) -> None:
    with pytest.warns(RowsClippedWarning) as caught:
        RashomonClassifier(**STRONG).fit(10 * X, labels)
    assert {one.filename for one in caught} == {__file__}


def test_a_warning_of_a_transformer_in_a_pipeline_points_to_the_line_that_fits(
    X: FloatArray, labels: FloatArray
) -> None:
    bounds = [(-0.01, 0.01)] * X.shape[1]
    pipeline = make_pipeline(PublicBoundsScaler(bounds), RashomonClassifier(**STRONG))
    with pytest.warns(RowsClippedWarning) as caught:
        pipeline.fit(X, labels)
    assert {one.filename for one in caught} == {__file__}


def test_a_plan_made_before_warns_again_at_every_door() -> None:
    weak = RashomonClassifier(epsilon=0.01)
    with suppress_weak_warnings():
        planned = weak.plan(200, 8)
    for _ in range(2):
        with pytest.warns(WeakGuaranteeWarning, match="this plan has a weak guarantee"):
            assert weak.plan(200, 8) is planned
