"""The scaler maps declared ranges into the unit ball and learns nothing."""

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from sklearn.pipeline import make_pipeline

from rashomon_explorer import PublicBoundsScaler, RashomonClassifier
from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer.data.cells import clip_rows
from rashomon_explorer.exceptions import RowsClippedWarning
from rashomon_explorer.measures import declared_problem, exact_coefficient_ranges

ROWS = arrays(
    np.float64, array_shapes(min_dims=2, max_dims=2, max_side=8), elements=st.floats(-1e9, 1e9)
)
clips = pytest.mark.filterwarnings("ignore::rashomon_explorer.exceptions.RowsClippedWarning")
RANGES = st.tuples(st.floats(-1e6, 1e6), st.floats(1e-3, 1e6)).map(lambda r: (r[0], r[0] + r[1]))


@clips
@given(ROWS, RANGES)
def test_every_row_lies_in_the_unit_ball(rows: FloatArray, bounds: tuple[float, float]) -> None:
    scaled = PublicBoundsScaler(bounds).fit_transform(rows)
    assert (np.linalg.norm(scaled, axis=1) <= 1 + 1e-12).all()


def test_corners_are_not_taken_for_rows_that_are_too_long() -> None:
    """Rows of 0/1 features all lie on the sphere: rounding must not report them as clipped."""
    for p in range(1, 60):
        corners = np.random.default_rng(p).integers(0, 2, (40, p)).astype(float)
        scaled = PublicBoundsScaler((0, 1)).fit_transform(corners)
        assert clip_rows(scaled, 1.0)[1] == 0.0, p


@given(ROWS)
def test_rows_within_their_range_come_back(rows: FloatArray) -> None:
    scaler = PublicBoundsScaler((-1e9, 1e9)).fit(rows)
    assert np.allclose(scaler.inverse_transform(scaler.transform(rows)), rows, rtol=1e-9, atol=1e-3)


@clips
@given(ROWS)
def test_values_beyond_their_range_are_held_at_it(rows: FloatArray) -> None:
    scaler = PublicBoundsScaler((-1, 1)).fit(rows)
    inside = np.clip(rows, -1, 1)
    assert np.array_equal(scaler.transform(rows), scaler.transform(inside))


def test_nothing_is_learnt_from_the_rows() -> None:
    one = PublicBoundsScaler((-5, 5)).fit(np.zeros((3, 2)))
    other = PublicBoundsScaler((-5, 5)).fit(np.full((9, 2), 4.0))
    assert np.array_equal(one.middle_, other.middle_)
    assert np.array_equal(one.half_width_, other.half_width_)


def test_ranges_by_name_follow_the_columns() -> None:
    frame = pd.DataFrame({"debt": [0.0, 10.0], "age": [20.0, 60.0]})
    bounds = {"age": (20, 60), "debt": (0, 10), "unused": (0, 1)}
    scaled = PublicBoundsScaler(bounds).fit_transform(frame)
    assert np.allclose(scaled, np.array([[-1, -1], [1, 1]]) / math.sqrt(2))


def test_names_are_kept() -> None:
    frame = pd.DataFrame({"age": [30.0], "debt": [1.0]})
    scaler = PublicBoundsScaler((0, 100))
    assert list(scaler.fit_transform(frame).columns) == ["age", "debt"]
    assert list(scaler.get_feature_names_out()) == ["age", "debt"]
    assert type(scaler.fit_transform(frame.to_numpy())) is np.ndarray
    assert type(scaler.set_output(transform="default").fit_transform(frame)) is np.ndarray


def test_names_reach_the_models_through_a_pipeline_and_back_to_the_problem() -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"age": rng.uniform(20, 60, 200), "debt": rng.uniform(0, 9, 200)})
    y = (frame["age"] > 40).astype(int)
    bounds = {"age": (20, 60), "debt": (0, 9)}
    pipe = make_pipeline(PublicBoundsScaler(bounds), RashomonClassifier(n_draws=2, random_state=0))
    models = pipe.fit(frame, y)[-1].rashomon_set_
    assert models.feature_names == ("age", "debt", "intercept")
    assert list(pipe[-1].feature_names_in_) == ["age", "debt"]
    problem = declared_problem(pipe, frame, y)
    ranges = exact_coefficient_ranges(problem, 0.02)
    assert list(ranges.index) == ["age", "debt", "intercept"]
    alone = declared_problem(pipe[-1], pipe[:-1].transform(frame), y)
    assert alone.minimum.value == problem.minimum.value


def test_missing_values_pass_and_are_refused_after_the_charge() -> None:
    rows = np.array([[np.nan, 2.0], [np.inf, 0.5], [0.5, -1.0]])
    scaled = PublicBoundsScaler((-2, 2)).fit_transform(rows)
    assert np.isnan(scaled[0, 0]) and np.isinf(scaled[1, 0])
    assert np.allclose(scaled[2], [0.25 / math.sqrt(2), -0.5 / math.sqrt(2)])
    with pytest.raises(ValueError, match="NaN"):
        PublicBoundsScaler("learn").fit(rows)


def test_clipping_is_said_above_one_row_in_a_hundred() -> None:
    rows = np.zeros((200, 2))
    rows[:2] = 5.0
    PublicBoundsScaler((-1, 1)).fit_transform(rows)
    rows[2] = 5.0
    with pytest.warns(RowsClippedWarning, match="a value outside its declared bounds"):
        PublicBoundsScaler((-1, 1)).fit_transform(rows)


def test_clipping_names_the_columns_it_is_about() -> None:
    rows = pd.DataFrame(np.zeros((200, 5)), columns=["age", "debt", "income", "rent", "size"])
    rows.loc[:9, "debt"] = 5.0
    rows.loc[:19, "rent"] = rows.loc[:1, "size"] = rows.loc[:0, "age"] = -5.0
    with pytest.warns(RowsClippedWarning, match=r"\(most often in rent, debt, size\), and were"):
        PublicBoundsScaler((-1, 1)).fit_transform(rows)
    with pytest.warns(RowsClippedWarning, match=r"\(most often in 3, 1, 4\)"):
        PublicBoundsScaler((-1, 1)).fit_transform(rows.to_numpy())


@pytest.mark.parametrize(
    ("bounds", "message"),
    [
        ({"age": (0, 1)}, "no bounds are declared for debt"),
        ({}, "no bounds are declared for age, debt"),
        ({"age": (0, 1), "debt": (1, 1)}, "bounds of column 'debt' must be finite with low < high"),
        ([(0, 1), (2, 1)], "bounds of column 'debt'"),
        ([(0, 1), (0, math.inf)], "bounds of column 'debt'"),
        ([(0, 1), (math.nan, 1)], "bounds of column 'debt'"),
        ([(0, 1)], "each of 2 features, got an array of shape"),
        ([(0, 1, 2), (0, 1, 2)], "each of 2 features"),
    ],
)
def test_bad_ranges_are_refused(bounds: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        PublicBoundsScaler(bounds).fit(pd.DataFrame({"age": [1.0], "debt": [1.0]}))


def test_ranges_by_name_need_names() -> None:
    with pytest.raises(ValueError, match="bounds by name need a DataFrame"):
        PublicBoundsScaler({"age": (0, 1)}).fit([[1.0]])


def test_a_column_without_a_name_is_named_by_its_place() -> None:
    with pytest.raises(ValueError, match="bounds of feature 1"):
        PublicBoundsScaler([(0, 1), (1, 0)]).fit([[1.0, 1.0]])
