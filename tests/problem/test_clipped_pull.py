"""Losses with clipped slopes: convex, never above the loss itself, and no row pulls harder."""

import math

import numpy as np
import pytest

from rashomon_explorer.problem.constants import Constants
from rashomon_explorer.problem.domains import Ball
from rashomon_explorer.problem.losses.clipped_gradient import (
    ClippedLogisticLoss,
    HuberLoss,
    clipped,
)
from rashomon_explorer.problem.losses.kinked import HingeLoss
from rashomon_explorer.problem.losses.smooth import LogisticLoss, SquaredLoss
from rashomon_explorer.problem.problem import Problem

LOSSES = [ClippedLogisticLoss(c) for c in (0.25, 0.5, 0.8, 1.0)]
LOSSES += [HuberLoss(c, target_bound=1.0) for c in (0.25, 0.5, 2.0)]
WHOLE = {"clipped_logistic": LogisticLoss(), "huber": SquaredLoss()}
SCORES = np.linspace(-6, 6, 481)


def rows_and_targets(loss, n=40, p=3):
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(n, p))
    rows /= np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1)
    labels = loss.labels is not None
    return rows, rng.choice([-1.0, 1.0], n) if labels else rng.uniform(-1, 1, n)


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
@pytest.mark.parametrize("target", [-1.0, 1.0])
def test_it_is_convex_never_above_and_the_same_where_nothing_is_clipped(loss, target):
    values = loss.value(SCORES, np.full_like(SCORES, target))
    slopes = loss.slope(SCORES, np.full_like(SCORES, target))
    assert (np.diff(slopes) >= -1e-12).all()
    assert np.abs(slopes).max() <= loss.most + 1e-12
    np.testing.assert_allclose(np.gradient(values, SCORES)[1:-1], slopes[1:-1], atol=0.02)
    whole = WHOLE[loss.name].empirical(np.ones((1, 1)), np.array([target]))
    given = np.array([whole.value(np.array([[s]]))[0] for s in SCORES])
    steep = np.array([whole.value_and_gradient(np.array([[s]]))[1][0, 0] for s in SCORES])
    assert (values <= given + 1e-12).all()
    same = np.abs(steep) <= loss.most - 1e-9
    np.testing.assert_allclose(values[same], given[same], atol=1e-12)
    assert same.any()


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_constants_hold_and_are_attained(loss):
    reach, bound = 3.0, 1.5
    target = np.ones_like(SCORES)
    near = np.abs(SCORES) <= reach
    steepest = np.abs(loss.slope(SCORES, target))[near].max()
    assert steepest * bound == pytest.approx(loss.lipschitz(reach, bound), rel=1e-2)
    assert loss.curvature(SCORES, target).max() * bound**2 <= loss.smoothness(bound) + 1e-12
    assert loss.curvature(SCORES, target).max() * bound**2 >= loss.smoothness(bound) * 0.98
    spread = np.ptp(loss.value(SCORES, target)[near])
    assert 2 * spread <= loss.oscillation(reach) + 1e-9


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_the_mean_over_rows_is_that_of_its_rows(loss):
    rows, targets = rows_and_targets(loss)
    risk = loss.empirical(rows, targets)
    theta = np.random.default_rng(2).normal(size=(3, 4)) * 2
    value, gradient = risk.value_and_gradient(theta)
    scores = rows @ theta
    by_hand = loss.value(scores, targets[:, None]).mean(axis=0)
    np.testing.assert_allclose(value, by_hand, rtol=1e-12)
    np.testing.assert_allclose(risk.gradient(theta), gradient, rtol=1e-12)
    step = 1e-6
    for j, nudge in enumerate(np.eye(3) * step):
        rise = (risk.value(theta + nudge[:, None]) - risk.value(theta - nudge[:, None])) / step / 2
        np.testing.assert_allclose(rise, gradient[j], atol=1e-5)
    one = theta[:, 0]
    hessian = risk.hessian(one)
    assert np.linalg.eigvalsh(risk.curvature_bound() - hessian).min() >= -1e-12


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_no_neighbour_moves_the_gradient_further_than_its_price(loss):
    """Brute force over rows on the sphere, labels and models; half of the price is passed."""
    rng = np.random.default_rng(3)
    angles = np.linspace(0, 2 * math.pi, 24, endpoint=False)
    rows = np.column_stack([np.cos(angles), np.sin(angles)])
    models = np.column_stack([3.9 * rows.T, rng.normal(size=(2, 20))])
    moves = []
    for target in (-1.0, 1.0):
        pull = loss.slope(rows @ models, np.full((len(rows), 1), target))
        moves.append(pull[:, None, :] * rows[:, :, None])
    pulls = np.concatenate(moves)
    furthest = max(
        np.linalg.norm(pulls[:, None, :, k] - pulls[None, :, :, k], axis=2).max()
        for k in range(models.shape[1])
    )
    ball = Ball(4.0)
    price = 2 * Constants.of(loss, n=1, p=2, domain=ball, row_bound=1.0).L
    assert furthest <= price + 1e-12
    assert furthest > price / 2


def test_a_problem_takes_them_as_any_loss():
    loss = ClippedLogisticLoss(0.5)
    rows, targets = rows_and_targets(loss, n=200)
    problem = Problem(rows, targets, loss=loss, radius=4.0)
    minimum = problem.minimum
    assert minimum.gap <= problem.constants.gap_tolerance
    assert minimum.value <= Problem(rows, targets, radius=4.0).minimum.value + 1e-12


def test_only_losses_with_such_a_form_have_one():
    assert clipped(HingeLoss()) is None
    assert clipped(SquaredLoss(target_bound=2.0)) == HuberLoss(0.5, target_bound=2.0)
    with pytest.raises(ValueError, match="most"):
        ClippedLogisticLoss(0.0)
    with pytest.raises(ValueError, match="most"):
        ClippedLogisticLoss(1.5)
