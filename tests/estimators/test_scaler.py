"""The scaler maps declared ranges into the unit ball and learns nothing."""

import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from rashomon_explorer import PublicBoundsScaler
from rashomon_explorer.data.cells import clip_rows
from rashomon_explorer.exceptions import RowsClippedWarning

ROWS = arrays(
    np.float64, array_shapes(min_dims=2, max_dims=2, max_side=8), elements=st.floats(-1e9, 1e9)
)
clips = pytest.mark.filterwarnings("ignore::rashomon_explorer.exceptions.RowsClippedWarning")
RANGES = st.tuples(st.floats(-1e6, 1e6), st.floats(1e-3, 1e6)).map(lambda r: (r[0], r[0] + r[1]))


@clips
@given(ROWS, RANGES)
def test_every_row_lies_in_the_unit_ball(rows, bounds):
    scaled = PublicBoundsScaler(bounds).fit_transform(rows)
    assert (np.linalg.norm(scaled, axis=1) <= 1 + 1e-12).all()
    clipped = PublicBoundsScaler(bounds).fit_transform(np.clip(rows, *bounds))
    assert np.allclose(scaled, clipped, atol=1e-9)


def test_corners_are_not_taken_for_rows_that_are_too_long():
    """Rows of 0/1 features all lie on the sphere: rounding must not report them as clipped."""
    for p in range(1, 60):
        corners = np.random.default_rng(p).integers(0, 2, (40, p)).astype(float)
        scaled = PublicBoundsScaler((0, 1)).fit_transform(corners)
        assert clip_rows(scaled, 1.0)[1] == 0.0, p


@given(ROWS)
def test_rows_within_their_range_come_back(rows):
    scaler = PublicBoundsScaler((-1e9, 1e9)).fit(rows)
    assert np.allclose(scaler.inverse_transform(scaler.transform(rows)), rows, rtol=1e-9, atol=1e-3)


def test_ranges_by_name_follow_the_columns():
    frame = pd.DataFrame({"debt": [0.0, 10.0], "age": [20.0, 60.0]})
    bounds = {"age": (20, 60), "debt": (0, 10), "unused": (0, 1)}
    scaled = PublicBoundsScaler(bounds).fit_transform(frame)
    assert np.allclose(scaled, np.array([[-1, -1], [1, 1]]) / math.sqrt(2))
    scaler = PublicBoundsScaler((0, 100))
    assert list(scaler.fit_transform(frame).columns) == ["debt", "age"]
    assert list(scaler.get_feature_names_out()) == ["debt", "age"]
    assert type(scaler.fit_transform(frame.to_numpy())) is np.ndarray
    assert type(scaler.set_output(transform="default").fit_transform(frame)) is np.ndarray


def test_missing_values_pass_and_are_refused_after_the_charge():
    rows = np.array([[np.nan, 2.0], [np.inf, 0.5], [0.5, -1.0]])
    scaled = PublicBoundsScaler((-2, 2)).fit_transform(rows)
    assert np.isnan(scaled[0, 0]) and np.isinf(scaled[1, 0])
    assert np.allclose(scaled[2], [0.25 / math.sqrt(2), -0.5 / math.sqrt(2)])
    with pytest.raises(ValueError, match="NaN"):
        PublicBoundsScaler("learn").fit(rows)


def test_clipping_names_the_columns_it_is_about():
    few = np.zeros((200, 2))
    few[:2] = 5.0
    PublicBoundsScaler((-1, 1)).fit_transform(few)  # one row in a hundred is not reported
    rows = pd.DataFrame(np.zeros((200, 5)), columns=["age", "debt", "income", "rent", "size"])
    rows.loc[:9, "debt"] = 5.0
    rows.loc[:19, "rent"] = rows.loc[:1, "size"] = rows.loc[:0, "age"] = -5.0
    with pytest.warns(RowsClippedWarning, match=r"often in 'rent', 'debt', 'size'\), and were"):
        PublicBoundsScaler((-1, 1)).fit_transform(rows)
    with pytest.warns(RowsClippedWarning, match=r"\(most often in 3, 1, 4\)"):
        PublicBoundsScaler((-1, 1)).fit_transform(rows.to_numpy())


FRAME = pd.DataFrame({"age": [1.0, 2.0], "debt": [1.0, 1.0]})


@pytest.mark.parametrize(
    ("bounds", "rows", "message"),
    [
        ({"age": (0, 1)}, FRAME, "no bounds are declared for debt"),
        ({"age": (0, 1)}, [[1.0]], "bounds by name need a DataFrame"),
        ({"age": (0, 1), "debt": (1, 1)}, FRAME, "bounds of column 'debt' must be finite with low"),
        ([(0, 1), (2, 1)], FRAME, "bounds of column 'debt'"),
        ([(0, 1), (0, math.inf)], FRAME, "bounds of column 'debt'"),
        ([(0, 1), (1, 0)], [[1.0, 1.0]], "bounds of feature 1"),
        ([(0, 1)], FRAME, "each of 2 features, got an array of shape"),
        ("learn", FRAME, r"column 'debt' is constant.*declare them"),
        ("guess", FRAME, "'bounds' parameter"),
    ],
)
def test_bad_ranges_are_refused(bounds, rows, message):
    with pytest.raises(ValueError, match=message):
        PublicBoundsScaler(bounds).fit(rows)
