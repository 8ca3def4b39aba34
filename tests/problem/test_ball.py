"""The ball of models."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rashomon_explorer.problem.domains import Ball


@given(seed=st.integers(0, 2**32 - 1), radius=st.floats(0.1, 10.0), p=st.integers(1, 6))
def test_projection_is_the_nearest_point(seed, radius, p):
    rng = np.random.default_rng(seed)
    ball = Ball(radius)
    points = rng.standard_normal((p, 20)) * 2 * radius
    nearest = ball.project(points)
    assert np.linalg.norm(nearest, axis=0).max() <= radius * (1 + 1e-12)
    others = ball.project(rng.standard_normal((p, 20)) * radius)
    apart = np.linalg.norm(points - nearest, axis=0)
    assert (apart <= np.linalg.norm(points - others, axis=0) + 1e-12).all()


@given(seed=st.integers(0, 2**32 - 1), p=st.integers(1, 6))
def test_a_chord_ends_on_the_sphere(seed, p):
    rng = np.random.default_rng(seed)
    ball = Ball(2.0)
    theta = ball.project(rng.standard_normal((p, 10)))
    direction = rng.standard_normal((p, 10))
    low, high = ball.chord(theta, direction)
    assert (low <= 1e-12).all() and (high >= -1e-12).all()
    for t in (low, high):
        np.testing.assert_allclose(np.linalg.norm(theta + t * direction, axis=0), 2.0, rtol=1e-9)


def test_reach_is_the_largest_score():
    ball = Ball(3.0)
    row = np.array([0.6, 0.8]) * 0.5
    best = 3.0 * row / np.linalg.norm(row)
    assert ball.reach(0.5) == pytest.approx(row @ best)
    assert ball.diameter == 6.0


@pytest.mark.parametrize("radius", [0.0, -1.0, np.nan, np.inf])
def test_a_ball_without_inside_is_refused(radius):
    with pytest.raises(ValueError, match="radius must be finite and > 0"):
        Ball(radius)
