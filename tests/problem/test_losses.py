"""Every loss: values, derivatives and constants by definition; clipped forms; a new loss."""

import math
import re
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.special import expit
from scipy.stats import ks_2samp

from rashomon_explorer.mechanisms import ExactSampler
from rashomon_explorer.mechanisms.base import collect
from rashomon_explorer.mechanisms.target import GibbsTarget
from rashomon_explorer.problem.domains import Ball
from rashomon_explorer.problem.losses import LOSSES, SquaredLoss, clipped, get_loss
from rashomon_explorer.problem.losses.base import sum_row_batches
from rashomon_explorer.problem.losses.kinked import (
    AbsoluteLoss,
    HingeLoss,
    HuberLoss,
    SmoothedHingeLoss,
)
from rashomon_explorer.problem.losses.logistic import ClippedLogisticLoss, LogisticLoss
from rashomon_explorer.problem.losses.scores import RegressionLoss, ScoreFunction
from rashomon_explorer.problem.losses.softmax import SoftmaxLoss, largest_and_range
from rashomon_explorer.problem.problem import Problem
from tests.crossing import crossed
from tests.problem.rows import plain_rejection, random_rows

EXAMPLE = re.search(
    r"^```python\n([^`]*LogCosh[^`]*)^```",
    (Path(__file__).parents[2] / "docs" / "extending.md").read_text(),
    flags=re.MULTILINE | re.DOTALL,
)
KNOWN = {
    "np": np, "math": math, "dataclass": dataclass, "ClassVar": ClassVar,
    "RegressionLoss": RegressionLoss, "ScoreFunction": ScoreFunction,
    "LOSSES": {}, "__name__": __name__,
}  # fmt: skip
assert EXAMPLE
exec(EXAMPLE[1], KNOWN)
LogCoshLoss = KNOWN["LogCoshLoss"]

SCALAR = [get_loss(name) for name in sorted(LOSSES) if get_loss(name).outputs == 1]
CLIPPED = [ClippedLogisticLoss(most) for most in (0.25, 0.5, 0.8, 1.0)]
CLIPPED += [HuberLoss(most=most) for most in (0.25, 0.5, 2.0)]
OTHERS = [AbsoluteLoss(tau=0.8), AbsoluteLoss(tau=0.3), SmoothedHingeLoss(0.3), LogCoshLoss()]
EVERY = [*SCALAR, *CLIPPED, *OTHERS]
SOFTMAX = [SoftmaxLoss(classes) for classes in (2, 3, 5)]
SCORES = np.linspace(-6, 6, 481)


def pointwise(loss, targets, scores):
    """The loss of each row, written from its definition."""
    margin, error = targets * scores, targets - scores
    if loss.name in ("logistic", "clipped_logistic"):
        most = getattr(loss, "most", 1.0)
        edge = -np.inf if most == 1 else np.log((1 - most) / most)
        high = np.maximum(margin, edge)
        return np.logaddexp(0, -high) + most * (high - margin)
    if loss.name == "hinge":
        return np.maximum(0, 1 - margin)
    if loss.name == "smoothed_hinge":
        width, beyond = loss.smoothing, 1 - margin
        return np.where(
            beyond < 0, 0, np.where(beyond < width, beyond**2 / (2 * width), beyond - width / 2)
        )
    if loss.name in ("squared", "huber"):
        most, size = getattr(loss, "most", 1e9), np.abs(error)
        return np.where(size <= most, error**2 / 2, most * size - most**2 / 2)
    if loss.name == "log_cosh":
        return np.log(np.cosh(error))
    return 2 * np.maximum(loss.tau * error, (loss.tau - 1) * error)


def along_scores(loss, target):
    """Values and slopes (481,) of one row's loss at SCORES."""
    risk = loss.empirical(np.ones((1, 1)), np.array([target]))
    value, gradient = risk.value_and_gradient(SCORES[None])
    return value, gradient[0]


@pytest.mark.parametrize("loss", [*EVERY, *SOFTMAX], ids=repr)
def test_values_are_the_mean_of_the_definition(loss):
    rng = np.random.default_rng(0)
    rows, targets = random_rows(loss, rng)
    theta = rng.standard_normal((3 * loss.outputs, 5))
    if loss in SOFTMAX:
        scores = np.einsum("nd,cdk->nck", rows, theta.reshape(loss.outputs, 3, 5))
        each = np.array([losses_of(s, int(y)) for s, y in zip(scores, targets, strict=True)])
    else:
        each = pointwise(loss, targets[:, None], rows @ theta)
        row_losses = loss.row_losses(rows @ theta, targets[:, None])
        np.testing.assert_allclose(row_losses, each, atol=1e-14)
    np.testing.assert_allclose(loss.empirical(rows, targets).value(theta), each.mean(axis=0))


@pytest.mark.parametrize("loss", [*EVERY, *SOFTMAX], ids=repr)
def test_gradient_and_hessian_are_the_derivatives(loss):
    rng = np.random.default_rng(1)
    rows, targets = random_rows(loss, rng)
    empirical = loss.empirical(rows, targets)
    p, h = empirical.p, 1e-6
    theta = rng.standard_normal(p)
    steps = theta[:, None] + h * np.hstack([np.eye(p), -np.eye(p)])
    values, gradients = empirical.value_and_gradient(steps)
    np.testing.assert_allclose(empirical.value(steps), values, rtol=1e-14)
    if hasattr(empirical, "gradient"):
        np.testing.assert_allclose(empirical.gradient(steps), gradients, rtol=1e-12)
    numeric = (values[:p] - values[p:]) / (2 * h)
    np.testing.assert_allclose(
        empirical.value_and_gradient(theta[:, None])[1][:, 0], numeric, atol=1e-8
    )
    curvature, hessian = (gradients[:, :p] - gradients[:, p:]) / (2 * h), empirical.hessian(theta)
    np.testing.assert_allclose(hessian, curvature, atol=1e-8)


@pytest.mark.parametrize("loss", [*EVERY, *SOFTMAX], ids=repr)
@given(seed=st.integers(0, 2**32 - 1), radius=st.floats(0.1, 6.0), row_bound=st.floats(0.2, 2.0))
def test_constants_are_never_exceeded(loss, seed, radius, row_bound):
    rng = np.random.default_rng(seed)
    reach, tolerance = radius * row_bound, 1 + 1e-9
    rows, targets = random_rows(loss, rng, n=2, row_bound=row_bound)
    theta = rng.standard_normal((3 * loss.outputs, 200))
    theta *= radius * rng.random(200) ** 0.2 / np.linalg.norm(theta, axis=0)
    one, other = (loss.empirical(rows[k : k + 1], targets[k : k + 1]) for k in (0, 1))
    values, gradients = one.value_and_gradient(theta)
    assert np.linalg.norm(gradients, axis=0).max() <= loss.lipschitz(reach, row_bound) * tolerance
    apart = np.linalg.norm(theta[:, 1:] - theta[:, :-1], axis=0)
    change = np.linalg.norm(np.diff(gradients, axis=1), axis=0)
    assert (change <= loss.smoothness(row_bound) * apart * tolerance + 1e-12).all()
    assert np.ptp(values - other.value(theta)) <= loss.oscillation(reach) * tolerance


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


@crossed({"loss": [*SCALAR, *OTHERS], "reach": [0.3, 1.0, 2.5, 6.0]})
def test_the_oscillation_is_attained_by_some_pair_of_rows(loss, reach):
    ratio = attained_oscillation(partial(pointwise, loss), reach) / loss.oscillation(reach)
    assert 0.998 <= ratio <= 1 + 1e-9


@pytest.mark.parametrize("loss", EVERY, ids=repr)
def test_slope_and_curvature_attain_their_constants(loss):
    reach, bound = 3.0, 1.5
    slopes = [along_scores(loss, target)[1] for target in (1.0, -1.0)]
    steepest = np.abs(slopes)[:, np.abs(SCORES) <= reach].max() * bound
    assert steepest == pytest.approx(loss.lipschitz(reach, bound), rel=1e-2)
    if math.isfinite(loss.smoothness(bound)):
        curvature = np.abs(np.diff(slopes)).max() / (SCORES[1] - SCORES[0]) * bound**2
        assert 0.95 * loss.smoothness(bound) <= curvature <= loss.smoothness(bound) + 1e-9


@pytest.mark.parametrize("loss", CLIPPED, ids=repr)
@pytest.mark.parametrize("target", [-1.0, 1.0])
def test_a_clipped_loss_is_convex_never_above_and_the_same_where_nothing_is_clipped(loss, target):
    values, slopes = along_scores(loss, target)
    assert (np.diff(slopes) >= -1e-12).all()
    assert np.abs(slopes).max() <= loss.most + 1e-12
    whole = get_loss({"clipped_logistic": "logistic", "huber": "squared"}[loss.name])
    assert clipped(whole, loss.most) == loss
    above, steep = along_scores(whole, target)
    assert (values <= above + 1e-12).all()
    same = np.abs(steep) <= loss.most - 1e-9
    np.testing.assert_allclose(values[same], above[same], atol=1e-12)
    assert same.any()


def test_only_losses_with_a_clipped_form_have_one():
    assert clipped(HingeLoss()) is None
    assert clipped(SquaredLoss(target_bound=2.0)) == HuberLoss(target_bound=2.0, most=0.5)


@pytest.fixture
def own(monkeypatch):
    """The loss of docs/extending.md, registered."""
    monkeypatch.setitem(LOSSES, "log_cosh", LogCoshLoss)
    rng = np.random.default_rng(5)
    X = rng.uniform(-1, 1, (200, 1))
    y = np.clip(0.6 * X[:, 0] + 0.3 * rng.standard_normal(200), -1, 1)
    return Problem(X, y, loss="log_cosh", radius=2.0)


def test_the_loss_of_the_documentation_has_a_certified_minimum_and_exact_draws(own):
    """Against plain rejection from uniform models; the control has a tenth of the temperature."""

    def value(theta):
        losses, gradients = own.value_and_gradient(theta[:, None])
        return losses[0], gradients[:, 0]

    found = minimize(value, np.zeros(2), jac=True, options={"gtol": 1e-9})
    assert own.minimum.value == pytest.approx(found.fun, abs=1e-9)
    np.testing.assert_allclose(own.minimum.theta, found.x, atol=1e-5)
    assert own.minimum.gap <= own.constants.gap_tolerance
    target = GibbsTarget(own, beta=60.0, psi=0.02)
    draws = collect(ExactSampler(), target, 2_000, np.random.default_rng(3)).coef[:, 0]
    for beta, agrees in ((60.0, True), (6.0, False)):
        other = GibbsTarget(own, beta=beta, psi=0.02)
        found = plain_rejection(other, 2_000, np.random.default_rng(2))[0]
        assert (ks_2samp(draws, found).pvalue > 1e-4) == agrees


@pytest.mark.parametrize("reach", [1.0, 36.5, 36.6, 50.0, 5000.0])
def test_logistic_losses_do_not_overflow_however_large_the_ball(reach):
    z = np.random.default_rng(2).standard_normal((500, 2))
    z /= np.linalg.norm(z, axis=1, keepdims=True)
    z[:480] = [1.0, 0.0]  # whose scores are as large as any
    risk, theta = get_loss("logistic").empirical(z, -np.ones(500)), reach * np.eye(2)
    expected = np.logaddexp(0, z @ theta).mean(axis=0)
    np.testing.assert_allclose(risk.value(theta), expected, rtol=1e-13)
    np.testing.assert_allclose(risk.within(reach).value(theta), expected, rtol=1e-13)
    z[-1] *= 1000.0  # one long row among many short ones, and enough models for a bound by norms
    risk, theta = get_loss("logistic").empirical(z, -np.ones(500)), np.hstack([theta, theta, theta])
    values, gradients = risk.value_and_gradient(theta)
    np.testing.assert_allclose(values, np.logaddexp(0, z @ theta).mean(axis=0), rtol=1e-13)
    np.testing.assert_allclose(gradients, z.T @ expit(z @ theta) / 500, rtol=1e-11, atol=1e-13)


def test_sums_over_blocks_do_not_depend_on_the_number_of_threads():
    values = np.random.default_rng(3).standard_normal((100_003, 4))
    sums = [
        sum_row_batches(lambda rows: (values[rows].sum(0),), *values.shape, workers=w)[0]
        for w in (1, 2, 3)
    ]
    assert (sums[0] == sums[1]).all() and (sums[0] == sums[2]).all()


def test_targets_beyond_their_bound_are_clipped():
    rows = np.array([[1.0], [1.0]])
    clipped = SquaredLoss(0.5).empirical(rows, np.array([3.0, -3.0]))
    assert clipped.value(np.zeros((1, 1)))[0] == pytest.approx(0.125)


BAD = (0.0, -1.0, np.nan, np.inf)


@pytest.mark.parametrize(
    ("make", "value", "message"),
    [
        *((SquaredLoss, bad, "target_bound must be finite and > 0") for bad in BAD),
        *((SmoothedHingeLoss, bad, "smoothing must be finite and > 0") for bad in BAD),
        *((lambda t: AbsoluteLoss(tau=t), bad, "tau must lie between 0 and 1") for bad in BAD),
        *((ClippedLogisticLoss, bad, "most") for bad in (*BAD, 1.5)),
        (lambda most: HuberLoss(most=most), 0.0, "most"),
        *((SoftmaxLoss, bad, "classes must be a whole number, at least 2") for bad in (1, 0, 2.5)),
        *((Ball, bad, "radius must be finite and > 0") for bad in BAD),
        (get_loss, "hinge2", r"one of \['absolute', 'hinge', .*got 'hinge2'"),
    ],
)
def test_a_setting_out_of_range_is_refused(make, value, message):
    with pytest.raises(ValueError, match=message):
        make(value)


@pytest.mark.parametrize("name", sorted(LOSSES))
def test_only_a_globally_lipschitz_loss_keeps_its_constant_on_every_ball(name):
    loss = get_loss(name)
    assert loss.name == name
    grows = loss.lipschitz(1e6, 1.0) > 3 * loss.lipschitz(10.0, 1.0)
    assert grows == (not loss.globally_lipschitz)


def losses_of(scores, label):
    """Cross-entropy of columns of scores (C − 1, K), from its definition."""
    full = np.vstack([np.zeros(scores.shape[1]), scores])
    return np.log(np.exp(full).sum(axis=0)) - full[label]


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
