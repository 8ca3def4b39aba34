"""Shapes of the threshold."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rashomon_explorer.exceptions import SamplerError
from rashomon_explorer.problem.thresholds import (
    THRESHOLDS,
    GaussianThreshold,
    HardThreshold,
    NoThreshold,
    SmoothThreshold,
    get_threshold,
)

V = np.linspace(-0.1, 0.3, 4001)


@pytest.mark.parametrize("name", sorted(set(THRESHOLDS) - {"gaussian"}))
def test_every_shape_is_0_inside_rises_at_most_as_the_loss_and_is_convex(name):
    shape = get_threshold(name, psi=0.04)
    energy, slope = shape.energy(V), shape.slope(V)
    assert (energy[V <= 0] == 0).all() and (slope[V < 0] == 0).all()
    steps = np.diff(energy) / np.diff(V)
    assert (steps >= 0).all() and (steps <= 1 + 1e-12).all()
    assert (np.diff(steps) >= -1e-9).all()
    numeric = (shape.energy(V + 1e-7) - shape.energy(V - 1e-7)) / 2e-7
    away = np.abs(V) > 1e-6
    np.testing.assert_allclose(slope[away], numeric[away], atol=1e-5)


@given(
    x=st.floats(0, 1),
    y=st.floats(0, 1),
    low=st.floats(-0.2, 0.2),
    width=st.floats(0, 0.3),
    t=st.floats(0, 1),
    u=st.floats(0, 1),
)
def test_no_shape_widens_the_interval_between_neighbours(x, y, low, width, t, u):
    """y + energy(x − y − ψ) moves within [a, b] when x and y do: the price knows no shape."""
    moved_x, moved_y = x + low + t * width, y + low + u * width
    for shape in (HardThreshold(), SmoothThreshold(0.05)):
        before = y + shape.energy(np.array([x - y - 0.02]))[0]
        after = moved_y + shape.energy(np.array([moved_x - moved_y - 0.02]))[0]
        assert low - 1e-12 <= after - before <= low + width + 1e-12


def test_the_smooth_shape_is_within_half_its_width_of_the_hard_one():
    gap = HardThreshold().energy(V) - SmoothThreshold(0.04).energy(V)
    assert gap.min() >= 0 and gap.max() == pytest.approx(0.02)


def test_unknown_shapes_and_empty_widths_are_refused():
    with pytest.raises(ValueError, match=r"one of \['gaussian', 'hard', 'smooth'\].*got 'soft'"):
        get_threshold("soft", 0.1)
    with pytest.raises(ValueError, match="width must be finite and > 0"):
        get_threshold("smooth", 0.0)


@pytest.mark.parametrize("threshold", ["hard", HardThreshold()])
def test_nothing_is_thresholded_at_psi_0(threshold):
    shape = get_threshold(threshold, 0.0)
    assert isinstance(shape, NoThreshold)
    np.testing.assert_array_equal(shape.energy(V), np.maximum(V, 0))
    assert (shape.slope(V) == 1).all()


def test_the_gaussian_shape_has_no_closed_form_and_says_what_to_do():
    shape = get_threshold("gaussian", 0.1)
    for ask in (shape.energy, shape.slope):
        with pytest.raises(SamplerError, match="no closed form: draw from it with a Langevin"):
            ask(V)
    with pytest.raises(ValueError, match="scale must be finite and > 0"):
        GaussianThreshold(scale=-1.0)
    with pytest.raises(ValueError, match="n_samples must be a whole number, at least 1"):
        GaussianThreshold(n_samples=0)
