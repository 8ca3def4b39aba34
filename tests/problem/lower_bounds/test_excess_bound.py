"""Bounds of the excess loss around a model, for every loss, and exact draws under them."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rashomon_explorer.exceptions import SamplerError
from rashomon_explorer.mechanisms.rejection.envelope import Envelope
from rashomon_explorer.mechanisms.target import GibbsTarget
from rashomon_explorer.problem.losses import LOSSES, SmoothedHingeLoss, SoftmaxLoss, get_loss
from rashomon_explorer.problem.losses.base import TableRows
from rashomon_explorer.problem.losses.logistic import LogisticRisk, Softplus
from rashomon_explorer.problem.losses.scikit_learn import SymmetricSoftmaxRisk, WeightedLogisticRisk
from rashomon_explorer.problem.lower_bounds import ENVELOPES, excess_bound
from rashomon_explorer.problem.lower_bounds.quadratic import BOWLS
from rashomon_explorer.problem.problem import Problem
from tests.problem.rows import random_rows

PADS = {"smoothed_hinge": 0.01, "softmax": 1e-6}  # all rows may be off the parabola
CURVED = [get_loss(name) for name in ("logistic", "smoothed_hinge", "squared")]
CURVED += [SoftmaxLoss(classes) for classes in (2, 3, 4, 7)]
LARGEST = ("largest_third", "largest_fourth")
HUGE = {"largest_third": 1e9, "largest_fourth": 1e9, "cubic": 1e9, "lever": 1e9}


def certified(empirical, theta, pad):
    """Bound in the metric of the Hessian, and its whitening."""
    p = empirical.p
    eigenvalues, vectors = np.linalg.eigh(empirical.hessian(theta) + pad * np.eye(p))
    whiten = vectors / np.sqrt(eigenvalues)
    return excess_bound(empirical, theta, whiten), whiten


def excess_at(empirical, theta, whiten, points, pad):
    """Excess over the tangent at whitened points, with the pad's parabola."""
    step = whiten @ points
    value, gradient = empirical.value_and_gradient(theta[:, None])
    excess = empirical.value(theta[:, None] + step) - value - gradient[:, 0] @ step
    return excess + pad / 2 * np.sum(step**2, axis=0)


def bound_and_loss_on_rays(loss, seed, scale=1.0, n=60):
    """Certified bound, with its linear part, against the loss along random rays."""
    rng = np.random.default_rng(seed)
    empirical, pad = loss.empirical(*random_rows(loss, rng, n=n)), PADS.get(loss.name, 0.0)
    theta = rng.standard_normal(empirical.p) * rng.uniform(0, 3) * scale
    bound, whiten = certified(empirical, theta, pad)
    points = rng.standard_normal((empirical.p, 60))
    points *= 10.0 ** rng.uniform(-3, 1.5, 60) / np.linalg.norm(points, axis=0)
    return bound, points, excess_at(empirical, theta, whiten, points, pad)


@pytest.mark.parametrize("loss", CURVED, ids=repr)
@given(seed=st.integers(0, 2**32 - 1), scale=st.sampled_from([0.1, 1.0, 10.0]))
def test_the_excess_bound_never_passes_the_loss(loss, seed, scale):
    bound, points, excess = bound_and_loss_on_rays(loss, seed, scale)
    radius, room = np.linalg.norm(points, axis=0), 1e-9 * (1 + excess)
    at, radial = bound.at(points), bound.radial(radius)
    assert (at <= excess + room).all()
    assert (radial <= at * (1 + 1e-12)).all()
    assert (np.diff(bound.radial(np.linspace(0, 2 * radius.max(), 500))) >= 0).all()
    assert bound.radial(np.zeros(1))[0] == 0
    if loss.name == "softmax":
        for kept in ({"cubic"}, {"lever"}, {*LARGEST}):
            alone = replace(bound, **{part: HUGE[part] for part in HUGE.keys() - kept})
            assert (alone.radial(radius) <= at + room).all()


@pytest.mark.parametrize("classes", [0, 2, 3])
@pytest.mark.parametrize("part", sorted(HUGE))
def test_each_part_of_the_radial_bound_is_needed_in_full(part, classes):
    """A part made too small must be caught when it decides; the others are switched off."""
    if classes == 3 and part == "largest_fourth":
        classes = 2  # the fourth-order part is loose for three classes and more
    loss = SoftmaxLoss(classes) if classes else get_loss("logistic")
    kept, caught = {part, *(LARGEST if part in LARGEST else ())}, 0
    off = {name: HUGE[name] for name in HUGE.keys() - kept}
    if part not in LARGEST and not classes:
        off = {name: value for name, value in off.items() if name not in LARGEST}
        off |= {"third": None, "fourth": None}
    for seed in range(60):
        bound, points, excess = bound_and_loss_on_rays(loss, seed)
        radius, room = np.linalg.norm(points, axis=0), 1e-9 * (1 + excess)
        spoiled = replace(bound, **off, **{part: getattr(bound, part) / 20})
        assert (replace(bound, **off).radial(radius) <= excess + room).all()
        caught += (spoiled.radial(radius) > excess + room).any()
    assert caught > 5


@pytest.mark.parametrize("part", ["largest_fourth", "largest_dropped"])
def test_each_part_of_a_clipped_slopes_bound_is_needed(part):
    """Twenty times too little must be caught, for some of the limits on some problems."""
    caught = 0
    for seed in range(60):
        bound, points, excess = bound_and_loss_on_rays(get_loss("smoothed_hinge"), seed)
        radius = np.linalg.norm(points, axis=0)
        spoiled = [replace(one, **{part: getattr(one, part) / 20}) for one in bound.parts]
        above = replace(bound, parts=tuple(spoiled)).radial(radius) > excess + 1e-9 * (1 + excess)
        caught += above.any()
    assert caught > 5


def test_the_bound_of_a_clipped_slope_keeps_most_of_the_curvature():
    loss, theta = get_loss("smoothed_hinge"), np.full(3, 0.3)
    empirical = loss.empirical(*random_rows(loss, np.random.default_rng(0), n=4000))
    bound, _ = certified(empirical, theta, 0.0)
    radius = np.array([0.03, 0.2])
    assert (bound.radial(radius) / (radius**2 / 2) > [0.85, 0.45]).all()


@pytest.mark.parametrize("loss", [get_loss("logistic"), *CURVED[3:6]], ids=repr)
def test_the_bound_is_right_to_third_order(loss):
    rng = np.random.default_rng(3)
    empirical = loss.empirical(*random_rows(loss, rng, n=500))
    theta, pad = 0.3 * rng.standard_normal(empirical.p), PADS.get(loss.name, 0.0)
    bound, whiten = certified(empirical, theta, pad)
    points = rng.standard_normal((empirical.p, 60))
    points *= 0.05 / np.linalg.norm(points, axis=0)
    off = excess_at(empirical, theta, whiten, points, pad) - bound.at(points)
    assert np.abs(off).max() <= 0.05**4 * (1 + bound.largest_fourth) / 12


@pytest.mark.parametrize(
    ("loss", "width"),
    [(get_loss("logistic"), 70), (get_loss("smoothed_hinge"), 70), (SoftmaxLoss(3), 40)],
    ids=repr,
)
def test_many_parameters_fall_back_on_the_lever(loss, width):
    rng = np.random.default_rng(0)
    empirical = loss.empirical(*random_rows(loss, rng, n=200, p=width))
    theta = rng.standard_normal(empirical.p) / 10
    bound, whiten = certified(empirical, theta, 1e-3)
    assert all(part.fourth is None for part in getattr(bound, "parts", [bound]))
    assert loss.name == "smoothed_hinge" or bound.cubic == bound.lever
    points = rng.standard_normal((empirical.p, 50)) * 10.0 ** rng.uniform(-3, 0, 50)
    at, radial = bound.at(points), bound.radial(np.linalg.norm(points, axis=0))
    assert (at == radial).all()
    assert (radial <= excess_at(empirical, theta, whiten, points, 1e-3) + 1e-12).all()


def test_two_classes_have_the_logistic_bound():
    rng = np.random.default_rng(0)
    rows, targets = random_rows(SoftmaxLoss(2), rng, n=200)
    theta, whiten = rng.standard_normal(3), 3 * np.eye(3)
    two = excess_bound(SoftmaxLoss(2).empirical(rows, targets), theta, whiten)
    one = excess_bound(get_loss("logistic").empirical(rows, 2 * targets - 1), theta, whiten)
    for part in HUGE:
        assert getattr(two, part) == pytest.approx(getattr(one, part), rel=1e-9)
    points = rng.standard_normal((3, 50))
    np.testing.assert_allclose(two.at(points), one.at(points), rtol=1e-9)


def test_every_loss_of_the_registry_has_an_entry():
    rows, targets = np.eye(2), np.array([1.0, 1.0])
    penalised = {WeightedLogisticRisk, SymmetricSoftmaxRisk}  # of scikit-learn's models alone
    every = {type(make().empirical(rows, targets)) for make in LOSSES.values()}
    assert every == set(ENVELOPES) - penalised == set(BOWLS)


def test_a_loss_of_a_users_own_is_not_taken_for_the_one_it_extends():
    """A subclass may compute something else: its parent's bound proves nothing about it."""

    class Doubled(LogisticRisk):
        def value(self, theta):
            return 2 * super().value(theta)

    with pytest.raises(SamplerError, match=r"no envelope of Doubled.*from planes"):
        excess_bound(Doubled(TableRows(np.eye(2)), Softplus()), np.zeros(2), np.eye(2))


KINDS = ["round", "outliers", "flat", "one line", "lattice", "scales"]


def rows_of(kind, n, p, rng):
    X = rng.standard_normal((n, p))
    if kind == "outliers":
        X *= rng.exponential(1.0, (n, 1)) ** 3
    elif kind == "flat":
        X[:, 0] = 0.0
    elif kind == "one line":
        X = X[:, :1] + 1e-4 * X
    elif kind == "lattice":
        X = np.round(X)
    elif kind == "scales":
        X *= 10.0 ** -np.arange(p)
    return X


def problem_of(kind, seed, p, n, radius, width, ridge):
    rng = np.random.default_rng(seed)
    X = rows_of(kind, n, p, rng)
    y = np.where(X[:, -1] + rng.exponential(0.5) * rng.standard_normal(n) > 0, 1, -1)
    loss = SmoothedHingeLoss(width)
    return Problem(X, y, loss=loss, radius=radius, ridge=ridge, intercept=False)


@given(
    kind=st.sampled_from(KINDS),
    seed=st.integers(0, 2**32 - 1),
    p=st.integers(1, 6),
    n=st.sampled_from([1, 2, 30, 200]),
    radius=st.floats(0.05, 50.0),
    width=st.floats(0.02, 5.0),
    ridge=st.sampled_from([0.0, 0.05]),
)
@settings(max_examples=40)
def test_a_clipped_slopes_bound_is_below_its_loss_for_odd_rows(
    kind, seed, p, n, radius, width, ridge
):
    problem = problem_of(kind, seed, p, n, radius, width, ridge)
    envelope = Envelope.of(GibbsTarget(problem, 300.0, 0.0))
    theta = problem.domain.uniform(p, 200, np.random.default_rng(seed))
    theta[:, :100] = (
        problem.minimum.theta[:, None] + 0.1 * (theta - problem.minimum.theta[:, None])[:, :100]
    )
    excess = np.maximum(problem.value(theta) - problem.minimum.value, 0.0)
    assert (envelope.sharper_floor(theta) <= excess).all()


def test_a_loss_with_kinks_has_no_envelope():
    problem = Problem([[0.5], [-0.5]], [1, -1], loss="hinge")
    with pytest.raises(SamplerError, match="no certified quadratic bound"):
        excess_bound(problem.evaluator().loss, problem.minimum.theta, np.eye(2))
