"""The bound of cross-entropy around a model, against the loss itself."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rashomon_explorer.problem.losses.logistic import LogisticLoss
from rashomon_explorer.problem.losses.softmax import SoftmaxLoss
from rashomon_explorer.problem.lower_bounds import excess_bound
from tests.problem.rows import labelled_rows

CLASSES = st.sampled_from([2, 3, 4, 7])


def bound_and_loss_on_rays(seed, classes, scale=1.0, n=60):
    rng = np.random.default_rng(seed)
    empirical = SoftmaxLoss(classes).empirical(*labelled_rows(classes, rng, n=n))
    p = empirical.p
    theta = rng.standard_normal(p) * scale
    eigenvalues, vectors = np.linalg.eigh(empirical.hessian(theta) + 1e-6 * np.eye(p))
    whiten = vectors / np.sqrt(eigenvalues)
    points = rng.standard_normal((p, 60))
    points *= 10.0 ** rng.uniform(-3, 1.5, 60) / np.linalg.norm(points, axis=0)
    step = whiten @ points
    value, gradient = empirical.value_and_gradient(theta[:, None])
    excess = empirical.value(theta[:, None] + step) - value - gradient[:, 0] @ step
    excess += 0.5e-6 * np.sum(step**2, axis=0)
    return excess_bound(empirical, theta, whiten), points, excess


OFF = {"largest_third": 1e9, "largest_fourth": 1e9, "cubic": 1e9, "lever": 1e9}


@given(seed=st.integers(0, 2**32 - 1), classes=CLASSES, scale=st.sampled_from([0.1, 1.0, 5.0]))
@settings(max_examples=60)
def test_the_excess_bound_never_passes_the_loss(seed, classes, scale):
    bound, points, excess = bound_and_loss_on_rays(seed, classes, scale)
    radius, room = np.linalg.norm(points, axis=0), 1e-9 * (1 + excess)
    assert (bound.at(points) <= excess + room).all()
    for kept in ({"cubic"}, {"lever"}, {"largest_third", "largest_fourth"}):
        alone = replace(bound, **{part: huge for part, huge in OFF.items() if part not in kept})
        assert (alone.radial(radius) <= bound.at(points) + room).all()


@pytest.mark.parametrize("part", sorted(OFF))
def test_each_part_of_the_bound_is_needed_in_full(part):
    """A part made too small must be caught when it decides; the others are switched off.

    The fourth-order part is loose for three classes and more: for two it is the logistic one.
    """
    with_it = {"largest_third": {"largest_fourth"}, "largest_fourth": {"largest_third"}}
    kept = {part} | with_it.get(part, set())
    caught = 0
    for seed in range(60):
        bound, points, excess = bound_and_loss_on_rays(seed, 2 + (part != "largest_fourth"))
        off = {name: huge for name, huge in OFF.items() if name not in kept}
        alone = replace(bound, **off, **{part: getattr(bound, part) / 20})
        radius = np.linalg.norm(points, axis=0)
        caught += (alone.radial(radius) > excess + 1e-9 * (1 + excess)).any()
    assert caught > 5


@pytest.mark.parametrize("classes", [2, 3, 5])
def test_the_bound_is_right_to_third_order(classes):
    bound, points, excess = bound_and_loss_on_rays(0, classes, scale=0.3, n=500)
    radius = np.linalg.norm(points, axis=0)
    near = (radius > 0.02) & (radius < 0.2)
    off = (excess - bound.at(points))[near]
    assert (off <= radius[near] ** 4 * (1 + bound.largest_fourth) / 12).all()


def test_two_classes_have_the_logistic_bound():
    rng = np.random.default_rng(0)
    rows, targets = labelled_rows(2, rng, n=200)
    theta, whiten = rng.standard_normal(3), 3 * np.eye(3)
    two = excess_bound(SoftmaxLoss(2).empirical(rows, targets), theta, whiten)
    one = excess_bound(LogisticLoss().empirical(rows, 2 * targets - 1), theta, whiten)
    for part in OFF:
        assert getattr(two, part) == pytest.approx(getattr(one, part), rel=1e-9)
    points = rng.standard_normal((3, 50))
    np.testing.assert_allclose(two.at(points), one.at(points), rtol=1e-9)


def test_many_parameters_fall_back_on_the_lever():
    rng = np.random.default_rng(0)
    empirical = SoftmaxLoss(3).empirical(*labelled_rows(3, rng, n=50, d=40))
    bound = excess_bound(empirical, np.zeros(80), np.eye(80))
    assert bound.cubic == bound.lever
    assert bound.fourth is None
