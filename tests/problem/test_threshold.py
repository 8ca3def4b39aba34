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


@pytest.mark.parametrize("threshold", ["hard", HardThreshold()])
def test_nothing_is_thresholded_at_psi_0(threshold):
    shape = get_threshold(threshold, 0.0)
    assert isinstance(shape, NoThreshold)
    np.testing.assert_array_equal(shape.energy(V), np.maximum(V, 0))
    assert (shape.slope(V) == 1).all()


GAUSSIAN = get_threshold("gaussian", 0.1)


@pytest.mark.parametrize(
    ("work", "message"),
    [
        (
            lambda: get_threshold("soft", 0.1),
            r"one of \['gaussian', 'hard', 'smooth'\].*got 'soft'",
        ),
        (lambda: get_threshold("smooth", 0.0), "width must be finite and > 0"),
        (lambda: GaussianThreshold(scale=-1.0), "scale must be finite and > 0"),
        (lambda: GaussianThreshold(n_samples=0), "n_samples must be a whole number, at least 1"),
        (lambda: GAUSSIAN.energy(V), "no closed form: draw from it with a Langevin"),
        (lambda: GAUSSIAN.slope(V), "no closed form: draw from it with a Langevin"),
    ],
)
def test_what_is_no_shape_or_has_no_closed_form_says_so(work, message):
    with pytest.raises((ValueError, SamplerError), match=message):
        work()
