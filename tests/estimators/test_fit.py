"""What a fitted estimator says and predicts, against its draws."""

from functools import partial
from typing import Any

import numpy as np
import pytest
from scipy.special import expit, logit

from rashomon_explorer import RashomonClassifier, RashomonRegressor
from rashomon_explorer.exceptions import RowsClippedWarning

Estimator = RashomonClassifier | RashomonRegressor

KINDS = [RashomonClassifier, partial(RashomonRegressor, target_bounds=(-1, 1))]
EASY: dict[str, Any] = {"epsilon": 40.0, "n_draws": 5}


@pytest.fixture
def fitted(X, labels):
    return RashomonClassifier(**EASY, random_state=0).fit(X, labels)


@pytest.fixture
def regression(X, targets):
    model = RashomonRegressor(**EASY, target_bounds=(-20, 80), random_state=0)
    return model.fit(X, 30 + 50 * targets)


def probabilities(model, rows):
    coef = model.rashomon_set_.coef
    return np.array([[expit(c[:-1] @ x + c[-1]) for x in rows] for c in coef])


class TestClassifier:
    def test_probability_is_the_mean_over_draws(self, fitted, X):
        each = probabilities(fitted, X)
        proba = fitted.predict_proba(X)
        assert np.allclose(proba[:, 1], each.mean(axis=0))
        assert np.allclose(proba.sum(axis=1), 1.0)
        assert np.allclose(fitted.decision_function(X), logit(each.mean(axis=0)))
        assert np.array_equal(fitted.predict(X), (proba[:, 1] > 0.5).astype(int))
        assert np.array_equal(fitted.predict_each(X), (each > 0.5).astype(int))
        mean = fitted.rashomon_set_.coef.mean(axis=0)
        assert np.array_equal(np.append(fitted.encoded_coef_[0], fitted.encoded_intercept_), mean)
        row = np.array([[0.6, 0.0, 0.8]])  # long rows are clipped as in the fit
        assert np.allclose(fitted.predict_proba(row), fitted.predict_proba(1000 * row))


class TestRegressor:
    def test_prediction_is_the_mean_over_draws_and_linear(self, regression, X):
        coef = regression.rashomon_set_.coef
        each = np.array([[30 + 50 * (c[:-1] @ x + c[-1]) for x in X] for c in coef])
        assert np.allclose(regression.predict_each(X), each)
        assert np.allclose(regression.predict(X), each.mean(axis=0))
        assert np.allclose(
            X @ regression.encoded_coef_ + regression.encoded_intercept_, each.mean(axis=0)
        )
        targets = (X @ [1.0, -0.5, 0.0] + 0.1).clip(-1, 1)
        strong = RashomonRegressor(
            target_bounds=(-1, 1), epsilon=2000.0, psi=1e-4, n_draws=3, random_state=0
        )
        assert strong.fit(X, targets).score(X, targets) > 0.9

    def test_targets_beyond_the_bounds_are_clipped(self, X, targets):
        wild = targets.copy()
        wild[:5], held = 1e6, targets.copy()
        held[:5] = 1.0
        with pytest.warns(RowsClippedWarning, match=r"targets are outside target_bounds=\(-1, 1\)"):
            one = RashomonRegressor(target_bounds=(-1, 1), **EASY, random_state=0).fit(X, wild)
        other = RashomonRegressor(target_bounds=(-1, 1), **EASY, random_state=0).fit(X, held)
        assert np.array_equal(one.rashomon_set_.coef, other.rashomon_set_.coef)


@pytest.mark.parametrize("kind", KINDS)
def test_without_a_seed_every_fit_differs_whatever_numpy_was_told(kind, X, labels):
    fits = []
    for _ in range(2):
        np.random.seed(0)
        fits.append(kind(**EASY).fit(X, labels))
    assert not fits[0].guarantee_.seeded
    shared = np.random.RandomState(0)  # a shared one moves on
    fits += [kind(**EASY, random_state=shared).fit(X, labels) for _ in range(2)]
    assert len({model.rashomon_set_.coef.tobytes() for model in fits}) == 4
