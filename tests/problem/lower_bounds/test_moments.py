"""Third and fourth moments are their sums, and their suprema cover every direction."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rashomon_explorer.problem.lower_bounds.smooth import FourthMoment, ThirdMoment, outer_squares


@given(seed=st.integers(0, 2**32 - 1), p=st.integers(1, 5))
def test_moments_are_their_sums_and_their_suprema_cover_every_direction(seed, p):
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((30, p)) * rng.exponential(1.0, (30, 1))
    weights, signed = rng.random(30), rng.standard_normal(30)
    points = rng.standard_normal((p, 500))
    points /= np.linalg.norm(points, axis=0)
    third, fourth = ThirdMoment.of(rows, signed), FourthMoment.of(rows, weights)
    np.testing.assert_allclose(third.at(points), signed @ (rows @ points) ** 3, atol=1e-9)
    np.testing.assert_allclose(fourth.at(points), weights @ (rows @ points) ** 4, rtol=1e-6)
    assert np.abs(third.at(points)).max() <= third.supremum()
    assert fourth.at(points).max() <= fourth.supremum() * (1 + 1e-9)


def test_outer_squares_are_an_isometry():
    u, v = np.random.default_rng(0).standard_normal((2, 4, 1))
    inner = outer_squares(u).ravel() @ outer_squares(v).ravel()
    assert inner == pytest.approx(float(u.ravel() @ v.ravel()) ** 2)
