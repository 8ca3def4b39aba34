"""What a fitted estimator says and predicts, against its draws."""

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit, logit
from sklearn.model_selection import cross_val_predict
from sklearn.pipeline import make_pipeline

from rashomon_explorer import PublicBoundsScaler, RashomonClassifier, RashomonRegressor
from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer.exceptions import CuratorOnlyError, RowsClippedWarning

Estimator = RashomonClassifier | RashomonRegressor

KINDS = [RashomonClassifier, RashomonRegressor]
EASY: dict[str, Any] = {"epsilon": 40.0, "n_draws": 5}


@pytest.fixture
def fitted(X: FloatArray, labels: FloatArray) -> RashomonClassifier:
    return RashomonClassifier(**EASY, random_state=0).fit(X, labels)


@pytest.fixture
def regression(X: FloatArray, targets: FloatArray) -> RashomonRegressor:
    model = RashomonRegressor(**EASY, target_bounds=(-20, 80), random_state=0)
    return model.fit(X, 30 + 50 * targets)


def probabilities(model: RashomonClassifier, rows: FloatArray) -> FloatArray:
    coef = model.rashomon_set_.coef
    return np.array([[expit(c[:-1] @ x + c[-1]) for x in rows] for c in coef])


class TestClassifier:
    def test_probability_is_the_mean_over_draws(
        self, fitted: RashomonClassifier, X: FloatArray
    ) -> None:
        each = probabilities(fitted, X)
        proba = fitted.predict_proba(X)
        assert np.allclose(proba[:, 1], each.mean(axis=0))
        assert np.allclose(proba.sum(axis=1), 1.0)
        assert np.allclose(fitted.decision_function(X), logit(each.mean(axis=0)))
        assert np.array_equal(fitted.predict(X), (proba[:, 1] > 0.5).astype(int))

    def test_each_draw_predicts_its_own_label(
        self, fitted: RashomonClassifier, X: FloatArray
    ) -> None:
        each = fitted.predict_each(X)
        assert each.shape == (5, len(X))
        assert np.array_equal(each, (probabilities(fitted, X) > 0.5).astype(int))
        assert np.array_equal(each, fitted.rashomon_set_.labels(X))

    def test_spread_is_the_standard_deviation_over_draws(
        self, fitted: RashomonClassifier, X: FloatArray
    ) -> None:
        each = probabilities(fitted, X)
        expected = np.sqrt(((each - each.mean(axis=0)) ** 2).mean(axis=0))
        assert np.allclose(fitted.decision_spread(X), expected)

    def test_the_mean_model(self, fitted: RashomonClassifier) -> None:
        mean = fitted.rashomon_set_.coef.mean(axis=0)
        assert fitted.encoded_coef_.shape == (1, 3)
        assert np.array_equal(np.append(fitted.encoded_coef_[0], fitted.encoded_intercept_), mean)

    def test_one_draw_is_a_logistic_regression(self, X: FloatArray, labels: FloatArray) -> None:
        model = RashomonClassifier(epsilon=5.0, n_draws=1, random_state=0).fit(X, labels)
        margins = X @ model.encoded_coef_[0] + model.encoded_intercept_
        assert np.allclose(logit(model.predict_proba(X)[:, 1]), margins)
        assert (model.decision_spread(X) == 0).all()

    def test_long_rows_are_shortened_in_predict_as_in_fit(self, fitted: RashomonClassifier) -> None:
        row = np.array([[0.6, 0.0, 0.8]])
        assert np.allclose(fitted.predict_proba(row), fitted.predict_proba(1000 * row))

    @pytest.mark.parametrize("names", [("no", "yes"), (False, True), (-7, 3)])
    def test_any_two_labels(
        self, X: FloatArray, labels: FloatArray, names: tuple[Any, Any]
    ) -> None:
        named = np.array(names)[labels]
        plain = RashomonClassifier(**EASY, random_state=0).fit(X, labels)
        model = RashomonClassifier(**EASY, random_state=0).fit(X, named)
        assert list(model.classes_) == list(names)
        assert np.array_equal(model.rashomon_set_.coef, plain.rashomon_set_.coef)
        assert np.array_equal(model.predict(X), np.array(names)[plain.predict(X)])
        assert np.array_equal(model.predict_each(X), np.array(names)[plain.predict_each(X)])

    def test_learns_what_there_is_to_learn(self, X: FloatArray, labels: FloatArray) -> None:
        good = RashomonClassifier(epsilon=500.0, n_draws=3, random_state=0).fit(X, labels)
        assert good.score(X, labels) > 0.85
        flipped = RashomonClassifier(epsilon=500.0, n_draws=3, random_state=0).fit(X, 1 - labels)
        assert flipped.score(X, labels) < 0.15


class TestRegressor:
    def test_prediction_is_the_mean_over_draws_and_linear(
        self, regression: RashomonRegressor, X: FloatArray
    ) -> None:
        coef = regression.rashomon_set_.coef
        each = np.array([[30 + 50 * (c[:-1] @ x + c[-1]) for x in X] for c in coef])
        assert np.allclose(regression.predict_each(X), each)
        assert np.allclose(regression.predict(X), each.mean(axis=0))
        assert np.allclose(
            X @ regression.encoded_coef_ + regression.encoded_intercept_, each.mean(axis=0)
        )
        assert np.allclose(regression.decision_spread(X), each.std(axis=0))

    def test_only_the_place_within_the_bounds_counts(
        self, regression: RashomonRegressor, X: FloatArray, targets: FloatArray
    ) -> None:
        plain = RashomonRegressor(**EASY, random_state=0).fit(X, targets)
        assert np.allclose(plain.rashomon_set_.coef, regression.rashomon_set_.coef, atol=1e-5)

    def test_targets_beyond_the_bounds_are_clipped(
        self, X: FloatArray, targets: FloatArray
    ) -> None:
        wild = targets.copy()
        wild[:5], held = 1e6, targets.copy()
        held[:5] = 1.0
        with pytest.warns(RowsClippedWarning, match=r"targets are outside target_bounds=\(-1, 1\)"):
            one = RashomonRegressor(**EASY, random_state=0).fit(X, wild)
        other = RashomonRegressor(**EASY, random_state=0).fit(X, held)
        assert np.array_equal(one.rashomon_set_.coef, other.rashomon_set_.coef)

    def test_learns_what_there_is_to_learn(self, X: FloatArray, targets: FloatArray) -> None:
        model = RashomonRegressor(epsilon=2000.0, psi=1e-4, n_draws=3, random_state=0)
        assert model.fit(X, targets).score(X, targets) > 0.9


@pytest.mark.parametrize("kind", KINDS)
class TestBoth:
    def test_a_shared_random_state_moves_on(
        self, kind: type[Estimator], X: FloatArray, labels: FloatArray
    ) -> None:
        shared = np.random.RandomState(0)
        one, other = (kind(**EASY, random_state=shared).fit(X, labels) for _ in range(2))
        assert not np.array_equal(one.rashomon_set_.coef, other.rashomon_set_.coef)
        assert one.guarantee_.reproducible

    def test_without_a_seed_every_fit_differs_whatever_numpy_was_told(
        self, kind: type[Estimator], X: FloatArray, labels: FloatArray
    ) -> None:
        fits = []
        for _ in range(2):
            np.random.seed(0)
            fits.append(kind(**EASY).fit(X, labels))
        assert not np.array_equal(fits[0].rashomon_set_.coef, fits[1].rashomon_set_.coef)
        assert not fits[0].guarantee_.reproducible

    def test_draws_are_distinct_and_lie_in_the_ball_on_the_public_grid(
        self, kind: type[Estimator], X: FloatArray, labels: FloatArray
    ) -> None:
        model = kind(epsilon=40.0, n_draws=40, random_state=0).fit(X, labels)
        coef = model.rashomon_set_.coef
        assert len({tuple(c) for c in coef}) == 40
        assert (np.linalg.norm(coef, axis=1) <= model.plan_.radius + 4e-6).all()
        assert np.array_equal(coef * 2**20, np.round(coef * 2**20))

    def test_a_frame_gives_the_same_draws_and_its_names(
        self, kind: type[Estimator], X: FloatArray, frame: pd.DataFrame, labels: FloatArray
    ) -> None:
        plain, named = (kind(**EASY, random_state=0).fit(rows, labels) for rows in (X, frame))
        assert np.array_equal(plain.rashomon_set_.coef, named.rashomon_set_.coef)
        assert named.rashomon_set_.feature_names == ("age", "income", "debt", "intercept")
        assert plain.rashomon_set_.feature_names == ("x0", "x1", "x2", "intercept")
        assert np.array_equal(named.predict(frame), plain.predict(X))
        with pytest.raises(ValueError, match="feature names should match"):
            named.predict(frame[["debt", "age", "income"]])

    def test_order_of_rows_changes_only_rounding(
        self, kind: type[Estimator], X: FloatArray, labels: FloatArray
    ) -> None:
        order = np.random.default_rng(0).permutation(len(X))
        one = kind(**EASY, random_state=0).fit(X, labels)
        other = kind(**EASY, random_state=0).fit(X[order], labels[order])
        assert np.allclose(one.rashomon_set_.coef, other.rashomon_set_.coef, atol=1e-4)

    def test_in_a_pipeline_and_cross_validated(
        self, kind: type[Estimator], frame: pd.DataFrame, labels: FloatArray
    ) -> None:
        bounds = {"age": (-1, 1), "income": (-1, 1), "debt": (-1, 1)}
        pipe = make_pipeline(PublicBoundsScaler(bounds), kind(**EASY, random_state=0))
        assert cross_val_predict(pipe, frame, labels, cv=3).shape == (len(frame),)
        pipe.fit(frame, labels).predict(frame)

    def test_hit_and_run_has_no_guarantee_and_is_not_released(
        self, kind: type[Estimator], X: FloatArray, labels: FloatArray
    ) -> None:
        model = kind(n_draws=4, mechanism="hit_and_run", random_state=0).fit(X, labels)
        assert model.rashomon_set_.hit_rate == 1.0
        assert not model.guarantee_.holds
        assert model.guarantee_.epsilon(1e-6) == math.inf
        with pytest.raises(CuratorOnlyError, match="cannot be released"):
            model.rashomon_set_.release()
