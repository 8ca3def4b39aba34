"""Cross-entropy of several classes: its definition, constants and radial bound."""

import numpy as np
import pytest
from sklearn.metrics import log_loss

from rashomon_explorer.problem.losses.logistic import LogisticLoss
from rashomon_explorer.problem.losses.softmax import SoftmaxLoss, largest_and_range
from tests.problem.rows import random_rows


def losses_of(scores, label):
    """Cross-entropy of columns of scores (C − 1, K), from its definition."""
    full = np.vstack([np.zeros(scores.shape[1]), scores])
    return np.log(np.exp(full).sum(axis=0)) - full[label]


@pytest.mark.parametrize("classes", [2, 3, 5])
def test_values_are_the_log_loss_of_the_classes_probabilities(classes):
    rng = np.random.default_rng(0)
    rows, targets = random_rows(SoftmaxLoss(classes), rng)
    theta = rng.standard_normal((3 * (classes - 1), 1))
    full = np.column_stack([np.zeros(40), rows @ theta.reshape(classes - 1, 3).T])
    probability = np.exp(full) / np.exp(full).sum(axis=1, keepdims=True)
    expected = log_loss(targets, probability, labels=range(classes))
    assert SoftmaxLoss(classes).empirical(rows, targets).value(theta)[0] == pytest.approx(expected)


def test_two_classes_are_the_logistic_loss():
    rng = np.random.default_rng(1)
    rows, targets = random_rows(SoftmaxLoss(2), rng)
    two, one = SoftmaxLoss(2), LogisticLoss()
    theta = rng.standard_normal((3, 5))
    pair = two.empirical(rows, targets), one.empirical(rows, 2 * targets - 1)
    for found, expected in zip(*(risk.value_and_gradient(theta) for risk in pair), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-12)
    for reach in (0.2, 2.0, 30.0):
        assert two.oscillation(reach) == pytest.approx(one.oscillation(reach), rel=1e-12)
        assert two.lipschitz(reach, 0.5) == pytest.approx(one.lipschitz(reach, 0.5), rel=1e-12)
    assert two.smoothness(2.0) == one.smoothness(2.0)


def sphere(classes, reach, size=200_000, seed=0):
    """Scores all over the sphere, and where the worst ones are expected."""
    scores = np.random.default_rng(seed).standard_normal((classes - 1, size))
    return scores * (reach / np.linalg.norm(scores, axis=0))


@pytest.mark.parametrize("classes", [2, 3, 4])
@pytest.mark.parametrize("reach", [0.3, 1.0, 4.0])
def test_one_rows_range_is_attained_and_never_exceeded(classes, reach):
    scores = sphere(classes, reach)
    largest, width = largest_and_range(classes, reach)
    losses = [losses_of(scores, label) for label in range(classes)]
    assert max(one.max() for one in losses) <= largest * (1 + 1e-12)
    assert max(one.max() for one in losses) >= (0.99 if classes < 4 else 0.95) * largest
    assert max(np.ptp(one) for one in losses) <= width * (1 + 1e-12)
    assert max(np.ptp(one) for one in losses) >= (0.99 if classes < 4 else 0.9) * width


@pytest.mark.parametrize("reach", [0.3, 1.0, 2.0, 6.0])
def test_three_classes_come_near_their_constants(reach):
    loss, scores = SoftmaxLoss(3), sphere(3, reach, 4000)
    found = max(
        np.ptp(losses_of(scores, label) - losses_of(-scores, other))
        for label in range(3)
        for other in range(3)
    )
    assert found >= (0.92 if reach >= 2 else 0.75) * loss.oscillation(reach)
    steepest = 0.0
    for label in range(3):
        empirical = loss.empirical(np.ones((1, 1)), np.array([float(label)]))
        steepest = max(
            steepest, np.linalg.norm(empirical.value_and_gradient(scores)[1], axis=0).max()
        )
    assert 0.8 * loss.lipschitz(reach, 1.0) <= steepest <= loss.lipschitz(reach, 1.0)


def test_large_scores_do_not_overflow_and_a_smoothness_of_half_is_approached():
    flat = SoftmaxLoss(3).empirical(np.ones((1, 1)), np.zeros(1))
    assert np.linalg.eigvalsh(flat.hessian(np.array([20.0, 20.0])))[-1] > 0.499
    empirical = SoftmaxLoss(3).empirical(np.ones((2, 1)), np.array([0.0, 2.0]))
    values, gradients = empirical.value_and_gradient(np.array([[5000.0, -5000.0], [0.0, -1.0]]))
    assert np.isfinite(values).all() and np.isfinite(gradients).all()
    assert np.isfinite(SoftmaxLoss(5).oscillation(5000.0))
