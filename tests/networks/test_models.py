"""Scores, row gradients and clipped sums of differentiable models."""

from typing import Any

import numpy as np
import pytest

from rashomon_explorer.networks import Additive, DifferentiableModel, Network
from rashomon_explorer.networks.losses import Logistic, Ordinal, Poisson, Squared
from rashomon_explorer.networks.models import clip_factors, clipped_total

RNG = np.random.default_rng(0)
N, P = 25, 4
X = RNG.uniform(-1, 1, (N, P))
CLASSES: list[Any] = [Logistic(2), Logistic(3), Ordinal(2), Ordinal(4)]
LOSSES = [(loss, RNG.integers(0, loss.n_classes, N)) for loss in CLASSES]
LOSSES += [(Squared((0.0, 5.0)), RNG.uniform(-1, 1, N))]
LOSSES += [(Poisson((0.0, 9.0)), RNG.integers(0, 10, N) / 9 * 2 - 1)]
MODELS = [Network((5,)), Network((5, 3)), Network((4, 3, 2)), Network(()), Additive(n_knots=5)]


def row_losses(model, loss, targets, theta):
    k = model.n_parameters(P, loss.n_outputs)
    scores = model.scores(theta[:k], X, loss.n_outputs)
    return loss.values(scores, targets.astype(float), theta[k:])


def slopes_at(loss, targets, eta):
    return lambda scores: loss.slopes(scores, targets.astype(float), eta)


@pytest.mark.parametrize("model", MODELS, ids=repr)
@pytest.mark.parametrize(("loss", "targets"), LOSSES, ids=lambda part: getattr(part, "name", ""))
def test_row_gradients_are_finite_differences_and_sums_are_of_clipped_ones(model, loss, targets):
    k = model.n_parameters(P, loss.n_outputs)
    theta = np.append(0.5 * RNG.standard_normal(k), loss.start)
    steps = 1e-6 * np.eye(len(theta))
    above, below = (
        np.array([row_losses(model, loss, targets, theta + sign * step) for step in steps]).T
        for sign in (1, -1)
    )
    slopes = slopes_at(loss, targets, theta[k:])
    of_scores, of_loss = slopes(model.scores(theta[:k], X, loss.n_outputs))
    gradients = np.hstack([model.row_gradients(theta[:k], X, of_scores), of_loss])
    np.testing.assert_allclose(gradients, (above - below) / 2e-6, atol=1e-7)
    norms = np.linalg.norm(gradients, axis=1)
    clip = float(np.median(norms))
    expected = (np.minimum(1, clip / norms)[:, None] * gradients).sum(axis=0)
    for form in (type(model).clipped_sum, DifferentiableModel.clipped_sum):
        total = form(model, theta[:k], X, loss.n_outputs, slopes, clip)
        np.testing.assert_allclose(total, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("model", MODELS[:3], ids=repr)
@pytest.mark.parametrize("spread", [1.0, 1e8])
def test_no_record_moves_a_sum_by_more_than_the_clip(model, spread):
    """Also rows that are huge, infinite or NaN; without clipping the sum moves further."""
    loss, targets = LOSSES[0]
    theta = RNG.standard_normal(model.n_parameters(P, 1)) * spread
    slopes = slopes_at(loss, targets, np.empty(0))
    for row in (np.full(P, 1e6), np.full(P, np.inf), np.full(P, np.nan), np.zeros(P)):
        for form in (type(model).clipped_sum, DifferentiableModel.clipped_sum):
            changed = X.copy()
            changed[3] = row
            with np.errstate(all="ignore"):
                moved = form(model, theta, changed, 1, slopes, 0.05)
                before = form(model, theta, X, 1, slopes, 0.05)
            assert np.linalg.norm(moved - before) <= 2 * 0.05
    far = X.copy()
    far[3] = 1e3
    wide = [model.clipped_sum(theta / spread, rows, 1, slopes, 1e9) for rows in (X, far)]
    assert np.linalg.norm(wide[1] - wide[0]) > 2 * 0.05  # the control: nothing is clipped


class Mixing(DifferentiableModel):
    """A model whose scores and gradients of a row would depend on the others."""

    def n_parameters(self, n_features, n_outputs):
        return n_features

    def start(self, n_features, n_outputs, rng):
        return np.zeros(n_features)

    def scores(self, theta, rows, n_outputs):
        return ((rows + 9 * rows.mean(axis=0)) @ theta)[:, None]

    def row_gradients(self, theta, rows, slopes):
        return (rows + 9 * rows.mean(axis=0)) * slopes


def test_a_model_that_would_mix_rows_gets_them_one_by_one():
    loss, targets = LOSSES[0]
    slopes, theta, changed = slopes_at(loss, targets, np.empty(0)), np.ones(P), X.copy()
    changed[3] = 50.0
    sums = [Mixing().clipped_sum(theta, rows, 1, slopes, 0.5) for rows in (X, changed)]
    assert np.linalg.norm(sums[1] - sums[0]) <= 2 * 0.5
    together = []
    for rows in (X, changed):  # the control: all rows at once
        of_scores, of_loss = slopes(Mixing().scores(theta, rows, 1))
        gradients = Mixing().row_gradients(theta, rows, of_scores)
        together.append(clipped_total(gradients, of_loss, 0.5))
    assert np.linalg.norm(together[1] - together[0]) > 2 * 0.5


def test_a_step_without_rows_adds_noise_alone():
    slopes = slopes_at(LOSSES[0][0], np.empty(0), np.empty(0))
    for model in (Mixing(), Network((3,))):
        theta = np.zeros(model.n_parameters(P, 1))
        total = model.clipped_sum(theta, np.empty((0, P)), 1, slopes, 0.5)
        assert (total == 0).all() and (total + theta).shape == theta.shape


def test_clip_factors():
    squares = np.array([0.0, 1.0, 4.0, np.inf, np.nan])
    np.testing.assert_allclose(clip_factors(squares, 1.0), [1, 1, 0.5, 0, 0], rtol=2e-6)
    assert (clip_factors(squares, 1.0)[:3] * np.sqrt(squares[:3]) < 1).all()


@pytest.mark.parametrize("hidden", [(6,), (5, 4)])
def test_canonical_parameters_are_of_the_same_function_and_undo_permutations_and_signs(hidden):
    model = Network(hidden)
    theta = RNG.standard_normal(model.n_parameters(P, 2))
    once = model.canonical(theta, P, 2)
    np.testing.assert_allclose(model.scores(once, X, 2), model.scores(theta, X, 2), atol=1e-12)
    weights = [layer.copy() for layer in model._weights(theta, P, 2)]
    order, signs = RNG.permutation(hidden[0]), RNG.choice([-1.0, 1.0], hidden[0])
    weights[0] = (weights[0] * signs)[:, order]
    weights[1][:-1] = (weights[1][:-1] * signs[:, None])[order]
    other = np.concatenate([layer.ravel() for layer in weights])
    np.testing.assert_allclose(model.canonical(other, P, 2), once, atol=1e-12)


def test_ordinal_probabilities_are_ordered_cuts():
    loss = Ordinal(4)
    scores = RNG.standard_normal((N, 1))
    chances = loss.predictions(scores, loss.start)
    np.testing.assert_allclose(chances.sum(axis=1), 1)
    np.testing.assert_allclose(loss.predictions(np.zeros((1, 1)), loss.start), [[0.25] * 4])
    assert Ordinal(2).predictions(scores, Ordinal(2).start).shape == (N,)


def test_poisson_is_half_the_deviance():
    from sklearn.metrics import mean_poisson_deviance

    loss, counts = Poisson((0.0, 9.0)), np.arange(10.0)
    scores = RNG.standard_normal((10, 1))
    values = loss.values(scores, counts / 9 * 2 - 1, np.empty(0))
    expected = mean_poisson_deviance(counts, np.exp(scores[:, 0])) / 2
    assert values.mean() == pytest.approx(expected)
    with pytest.raises(ValueError, match="counts start at 0"):
        Poisson((1.0, 5.0))


def test_an_additive_model_is_linear_in_its_parameters_and_convex():
    model, loss = Additive(n_knots=4), Logistic(2)
    k = model.n_parameters(P, 1)
    one, two = RNG.standard_normal((2, k))
    middle = model.scores((one + two) / 2, X, 1)
    np.testing.assert_allclose(middle, (model.scores(one, X, 1) + model.scores(two, X, 1)) / 2)
    ends = [row_losses(model, loss, LOSSES[0][1], theta) for theta in (one, two)]
    assert (row_losses(model, loss, LOSSES[0][1], (one + two) / 2) <= np.mean(ends, axis=0)).all()


@pytest.mark.parametrize(
    ("settings", "message"),
    [({"hidden": (0,)}, "at least 1"), ({"hidden": (1, 1, 1, 1)}, "at most three layers")],
)
def test_layers_are_checked(settings, message):
    with pytest.raises(ValueError, match=message):
        Network(**settings)
    with pytest.raises(ValueError, match="two knots"):
        Additive(n_knots=1)
