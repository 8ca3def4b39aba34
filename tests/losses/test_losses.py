"""Every loss of the registry: gradients, constants and radial bounds, by definition."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import mean_pinball_loss

from rashomon_explorer.exceptions import SamplerError
from rashomon_explorer.losses import (
    LOSSES,
    AbsoluteLoss,
    SmoothedHingeLoss,
    SquaredLoss,
    get_loss,
)
from rashomon_explorer.losses.blocks import sum_row_blocks
from rashomon_explorer.losses.logistic import LogisticRisk
from rashomon_explorer.losses.moments import FourthMoment, ThirdMoment, outer_squares

SCALAR = sorted(name for name, make in LOSSES.items() if make().outputs == 1)
CURVED = ["logistic", "smoothed_hinge", "squared"]


def pointwise(name, targets, scores):
    """The loss of each row, written from its definition."""
    margin, error = targets * scores, targets - scores
    if name == "logistic":
        return np.logaddexp(0, -margin)
    if name == "hinge":
        return np.maximum(0, 1 - margin)
    if name == "smoothed_hinge":  # width 1
        return np.where(margin > 1, 0, np.where(margin > 0, (1 - margin) ** 2 / 2, 0.5 - margin))
    return {"squared": error**2 / 2, "absolute": np.abs(error)}[name]


def random_rows(name, rng, n=40, p=3, row_bound=1.0):
    rows = rng.standard_normal((n, p))
    rows *= row_bound / np.maximum(row_bound, np.linalg.norm(rows, axis=1, keepdims=True))
    targets = np.where(rng.random(n) < 0.5, 1.0, -1.0)
    return rows, targets if get_loss(name).labels else rng.uniform(-1, 1, n)


@pytest.mark.parametrize("name", SCALAR)
def test_values_are_the_mean_of_the_definition(name):
    rng = np.random.default_rng(0)
    rows, targets = random_rows(name, rng)
    theta = rng.standard_normal((3, 5))
    expected = pointwise(name, targets[:, None], rows @ theta).mean(axis=0)
    np.testing.assert_allclose(get_loss(name).empirical(rows, targets).value(theta), expected)


@pytest.mark.parametrize("name", SCALAR)
def test_gradient_and_hessian_are_the_derivatives(name):
    rng = np.random.default_rng(1)
    rows, targets = random_rows(name, rng)
    empirical = get_loss(name).empirical(rows, targets)
    theta, h = rng.standard_normal(3), 1e-6
    steps = theta[:, None] + h * np.hstack([np.eye(3), -np.eye(3)])
    values, gradients = empirical.value_and_gradient(steps)
    numeric = (values[:3] - values[3:]) / (2 * h)
    np.testing.assert_allclose(
        empirical.value_and_gradient(theta[:, None])[1][:, 0], numeric, atol=1e-8
    )
    curvature = (gradients[:, :3] - gradients[:, 3:]) / (2 * h)
    np.testing.assert_allclose(empirical.hessian(theta), curvature, atol=1e-8)


@pytest.mark.parametrize("name", SCALAR)
@given(seed=st.integers(0, 2**32 - 1), radius=st.floats(0.1, 6.0), row_bound=st.floats(0.2, 2.0))
def test_constants_are_never_exceeded(name, seed, radius, row_bound):
    rng = np.random.default_rng(seed)
    loss, reach = get_loss(name), radius * row_bound
    rows, targets = random_rows(name, rng, n=2, row_bound=row_bound)
    theta = rng.standard_normal((3, 200))
    theta *= radius * rng.random(200) ** 0.2 / np.linalg.norm(theta, axis=0)
    one = loss.empirical(rows[:1], targets[:1])
    other = loss.empirical(rows[1:], targets[1:])
    values, gradients = one.value_and_gradient(theta)
    tolerance = 1 + 1e-9
    assert np.linalg.norm(gradients, axis=0).max() <= loss.lipschitz(reach, row_bound) * tolerance
    apart = np.linalg.norm(theta[:, 1:] - theta[:, :-1], axis=0)
    change = np.linalg.norm(np.diff(gradients, axis=1), axis=0)
    assert (change <= loss.smoothness(row_bound) * apart * tolerance + 1e-12).all()
    difference = values - other.value(theta)
    assert np.ptp(difference) <= loss.oscillation(reach) * tolerance


def attained_oscillation(loss_of, reach):
    """Largest range found over two-dimensional rows and models of fine circles."""
    turn = np.linspace(0, 2 * np.pi, 721)
    circle = np.array([np.cos(turn), np.sin(turn)])
    theta = np.hstack([circle * s for s in np.linspace(0.0, 1.0, 5)])
    best = 0.0
    for angle in np.linspace(0, np.pi, 241):
        rows = np.array([[1.0, 0.0], [np.cos(angle), np.sin(angle)]])
        for targets in ((1.0, 1.0), (1.0, -1.0), (-1.0, -1.0)):
            scores = rows @ theta * reach
            both = loss_of(np.array(targets)[:, None], scores)
            best = max(best, np.ptp(both[0] - both[1]))
    return best


@pytest.mark.parametrize("name", SCALAR)
@pytest.mark.parametrize("reach", [0.3, 1.0, 2.5, 6.0])
def test_the_oscillation_is_attained_by_some_pair_of_rows(name, reach):
    ratio = attained_oscillation(partial(pointwise, name), reach) / get_loss(name).oscillation(
        reach
    )
    assert 0.998 <= ratio <= 1 + 1e-12


@pytest.mark.parametrize("reach", [0.3, 2.5])
@pytest.mark.parametrize(
    "loss", [AbsoluteLoss(tau=0.8), AbsoluteLoss(tau=0.3), SmoothedHingeLoss(0.3)]
)
def test_the_oscillation_is_attained_for_other_settings_too(loss, reach):
    def loss_of(targets, scores):
        return np.array(
            [
                loss.empirical(np.ones((1, 1)), target).value(row[None])
                for target, row in zip(targets, scores, strict=True)
            ]
        )

    assert 0.998 <= attained_oscillation(loss_of, reach) / loss.oscillation(reach) <= 1 + 1e-12


def test_a_tilted_absolute_loss_is_twice_the_pinball_loss():
    rng = np.random.default_rng(8)
    rows, targets = random_rows("absolute", rng)
    theta = rng.standard_normal((3, 1))
    expected = 2 * mean_pinball_loss(targets, (rows @ theta)[:, 0], alpha=0.8)
    assert AbsoluteLoss(tau=0.8).empirical(rows, targets).value(theta)[0] == pytest.approx(expected)


def test_half_the_oscillation_would_be_caught():
    found = attained_oscillation(partial(pointwise, "logistic"), 2.5)
    assert found > 0.5 * get_loss("logistic").oscillation(2.5)


def bound_and_loss_on_rays(name, seed, scale=1.0):
    """Certified bound, with its linear part, against the loss along random rays."""
    rng = np.random.default_rng(seed)
    rows, targets = random_rows(name, rng, n=60, p=3)
    empirical = get_loss(name).empirical(rows, targets)
    theta = rng.standard_normal(3) * rng.uniform(0, 3) * scale
    pad = 0.01 if name == "smoothed_hinge" else 0.0  # all rows may be off the parabola
    eigenvalues, vectors = np.linalg.eigh(empirical.hessian(theta) + pad * np.eye(3))
    whiten = vectors / np.sqrt(eigenvalues)
    bound = empirical.excess_bound(theta, whiten)
    points = rng.standard_normal((3, 60))
    points *= 10.0 ** rng.uniform(-3, 1.5, 60) / np.linalg.norm(points, axis=0)
    step = whiten @ points
    value, gradient = empirical.value_and_gradient(theta[:, None])
    excess = empirical.value(theta[:, None] + step) - value - gradient[:, 0] @ step
    return bound, points, excess + pad / 2 * np.sum(step**2, axis=0)


@pytest.mark.parametrize("name", CURVED)
@given(seed=st.integers(0, 2**32 - 1), scale=st.sampled_from([0.1, 1.0, 10.0]))
def test_the_excess_bound_never_passes_the_loss(name, seed, scale):
    bound, points, excess = bound_and_loss_on_rays(name, seed, scale)
    radius = np.linalg.norm(points, axis=0)
    at, radial = bound.at(points), bound.radial(radius)
    assert (at <= excess + 1e-9 * (1 + excess)).all()
    assert (radial <= at * (1 + 1e-12)).all()
    assert (np.diff(bound.radial(np.linspace(0, 2 * radius.max(), 500))) >= 0).all()
    assert bound.radial(np.zeros(1))[0] == 0


@pytest.mark.parametrize("part", ["largest_third", "largest_fourth", "cubic", "lever"])
def test_each_part_of_the_radial_bound_is_needed_in_full(part):
    """A part made too small must be caught when it decides; the others are switched off."""
    huge = {"largest_third": 1e9, "largest_fourth": 1e9, "cubic": 1e9, "lever": 1e9}
    decides = {"largest_third": {"largest_fourth"}, "largest_fourth": {"largest_third"}}
    kept = {part, *decides.get(part, set())}
    caught = 0
    for seed in range(60):
        bound, points, excess = bound_and_loss_on_rays("logistic", seed)
        off = {name: value for name, value in huge.items() if name not in kept}
        if part in ("cubic", "lever"):
            off.pop("largest_third"), off.pop("largest_fourth")
            off |= {"third": None, "fourth": None}
        spoiled = replace(bound, **off, **{part: getattr(bound, part) / 20})
        radius = np.linalg.norm(points, axis=0)
        assert (replace(bound, **off).radial(radius) <= excess + 1e-9 * (1 + excess)).all()
        caught += (spoiled.radial(radius) > excess + 1e-9 * (1 + excess)).any()
    assert caught > 5


@pytest.mark.parametrize("part", ["largest_fourth", "largest_dropped"])
def test_each_part_of_a_clipped_slopes_bound_is_needed(part):
    """Twenty times too little must be caught, for some of the limits on some problems."""
    caught = 0
    for seed in range(60):
        bound, points, excess = bound_and_loss_on_rays("smoothed_hinge", seed)
        radius = np.linalg.norm(points, axis=0)
        spoiled = [replace(one, **{part: getattr(one, part) / 20}) for one in bound.parts]
        above = replace(bound, parts=tuple(spoiled)).radial(radius) > excess + 1e-9 * (1 + excess)
        caught += above.any()
    assert caught > 5


def test_the_bound_of_a_clipped_slope_keeps_most_of_the_curvature():
    rows, targets = random_rows("smoothed_hinge", np.random.default_rng(0), n=4000)
    empirical = get_loss("smoothed_hinge").empirical(rows, targets)
    eigenvalues, vectors = np.linalg.eigh(empirical.hessian(np.zeros(3) + 0.3))
    bound = empirical.excess_bound(np.zeros(3) + 0.3, vectors / np.sqrt(eigenvalues))
    radius = np.array([0.03, 0.2])
    assert (bound.radial(radius) / (radius**2 / 2) > [0.85, 0.45]).all()


def test_the_bound_is_right_to_third_order():
    bound, points, _ = bound_and_loss_on_rays("logistic", 3)
    rng = np.random.default_rng(3)
    rows, targets = random_rows("logistic", rng, n=60, p=3)
    theta = rng.standard_normal(3) * rng.uniform(0, 3)
    empirical = get_loss("logistic").empirical(rows, targets)
    eigenvalues, vectors = np.linalg.eigh(empirical.hessian(theta))
    small = points / np.linalg.norm(points, axis=0) * 0.05
    step = (vectors / np.sqrt(eigenvalues)) @ small
    value, gradient = empirical.value_and_gradient(theta[:, None])
    excess = empirical.value(theta[:, None] + step) - value - gradient[:, 0] @ step
    assert np.abs(excess - bound.at(small)).max() < 0.05**4 * (1 + bound.largest_fourth)


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


def test_many_parameters_fall_back_on_the_lever():
    rng = np.random.default_rng(0)
    for name in ("logistic", "smoothed_hinge"):
        rows, targets = random_rows(name, rng, n=200, p=70)
        empirical = get_loss(name).empirical(rows, targets)
        theta = rng.standard_normal(70) / 10
        pad = 1e-3 * np.eye(70)
        eigenvalues, vectors = np.linalg.eigh(empirical.hessian(theta) + pad)
        whiten = vectors / np.sqrt(eigenvalues)
        bound = empirical.excess_bound(theta, whiten)
        assert all(part.fourth is None for part in getattr(bound, "parts", [bound]))
        points = rng.standard_normal((70, 50)) * 10.0 ** rng.uniform(-3, 0, 50)
        at, radial = bound.at(points), bound.radial(np.linalg.norm(points, axis=0))
        assert (at == radial).all()
        value, gradient = empirical.value_and_gradient(theta[:, None])
        step = whiten @ points
        excess = empirical.value(theta[:, None] + step) - value - gradient[:, 0] @ step
        assert (radial <= excess + 0.5e-3 * np.sum(step**2, axis=0) + 1e-12).all()


@pytest.mark.parametrize("reach", [1.0, 50.0, 500.0, 5000.0])
def test_logistic_losses_do_not_overflow_however_large_the_ball(reach):
    rng = np.random.default_rng(2)
    z = rng.standard_normal((500, 2))
    z /= np.linalg.norm(z, axis=1, keepdims=True)
    theta = reach * np.eye(2)
    expected = np.logaddexp(0, z @ theta).mean(axis=0)
    np.testing.assert_allclose(LogisticRisk(z).value(theta), expected, rtol=1e-13)


def test_sums_over_blocks_do_not_depend_on_the_number_of_threads():
    values = np.random.default_rng(3).standard_normal((100_003, 4))
    sums = [
        sum_row_blocks(lambda rows: (values[rows].sum(0),), *values.shape, workers=w)[0]
        for w in (1, 2, 3)
    ]
    assert (sums[0] == sums[1]).all() and (sums[0] == sums[2]).all()


def test_the_order_of_rows_does_not_matter():
    rng = np.random.default_rng(4)
    rows, targets = random_rows("logistic", rng, n=1000)
    order, theta = rng.permutation(1000), rng.standard_normal((3, 4))
    loss = get_loss("logistic")
    np.testing.assert_allclose(
        loss.empirical(rows, targets).value(theta),
        loss.empirical(rows[order], targets[order]).value(theta),
        rtol=1e-13,
    )


def test_targets_beyond_their_bound_are_clipped():
    rows = np.array([[1.0], [1.0]])
    clipped = SquaredLoss(0.5).empirical(rows, np.array([3.0, -3.0]))
    assert clipped.value(np.zeros((1, 1)))[0] == pytest.approx(0.125)


@pytest.mark.parametrize("bound", [0.0, -1.0, np.nan, np.inf])
def test_a_target_bound_that_bounds_nothing_is_refused(bound):
    with pytest.raises(ValueError, match="target_bound must be finite and > 0"):
        SquaredLoss(bound)


@pytest.mark.parametrize("width", [0.0, -1.0, np.nan, np.inf])
def test_a_width_that_smooths_nothing_is_refused(width):
    with pytest.raises(ValueError, match="width must be finite and > 0"):
        SmoothedHingeLoss(width)


@pytest.mark.parametrize("tau", [0.0, 1.0, np.nan])
def test_a_level_that_is_no_quantile_is_refused(tau):
    with pytest.raises(ValueError, match="tau must lie between 0 and 1"):
        AbsoluteLoss(tau=tau)


@pytest.mark.parametrize("name", ["hinge", "absolute"])
def test_a_loss_with_kinks_says_what_works_without_a_bound(name):
    empirical = get_loss(name).empirical(*random_rows(name, np.random.default_rng(0)))
    with pytest.raises(SamplerError, match=r"smoothed_hinge.*under a plane"):
        empirical.excess_bound(np.zeros(3), np.eye(3))


@pytest.mark.parametrize("name", sorted(LOSSES))
def test_only_a_globally_lipschitz_loss_keeps_its_constant_on_every_ball(name):
    loss = get_loss(name)
    grows = loss.lipschitz(1e6, 1.0) > 3 * loss.lipschitz(10.0, 1.0)
    assert grows == (not loss.globally_lipschitz)


def test_losses_are_found_by_their_own_names():
    assert all(make().name == name for name, make in LOSSES.items())


def test_an_unknown_loss_is_refused_by_name():
    with pytest.raises(ValueError, match=r"one of \['absolute', 'hinge', .*got 'hinge2'"):
        get_loss("hinge2")
