"""Every loss of the registry: gradients, constants and radial bounds, by definition."""

from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import mean_pinball_loss

from rashomon_explorer.problem.losses import LOSSES, get_loss
from rashomon_explorer.problem.losses.base import sum_row_batches
from rashomon_explorer.problem.losses.kinked import AbsoluteLoss, SmoothedHingeLoss
from rashomon_explorer.problem.losses.smooth import LogisticRisk, SquaredLoss
from tests.crossing import crossed
from tests.problem.rows import random_rows

SCALAR = sorted(name for name, make in LOSSES.items() if make().outputs == 1)


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


@crossed(
    {
        "name": SCALAR,
        "reach": [0.3, 1.0, 2.5, 6.0],
    }
)
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
        sum_row_batches(lambda rows: (values[rows].sum(0),), *values.shape, workers=w)[0]
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


@pytest.mark.parametrize("smoothing", [0.0, -1.0, np.nan, np.inf])
def test_a_smoothing_that_smooths_nothing_is_refused(smoothing):
    with pytest.raises(ValueError, match="smoothing must be finite and > 0"):
        SmoothedHingeLoss(smoothing)


@pytest.mark.parametrize("tau", [0.0, 1.0, np.nan])
def test_a_level_that_is_no_quantile_is_refused(tau):
    with pytest.raises(ValueError, match="tau must lie between 0 and 1"):
        AbsoluteLoss(tau=tau)


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
