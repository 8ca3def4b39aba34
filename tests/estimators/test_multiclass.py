"""Three or more classes: softmax models, by hand and by law."""

from typing import Any

import numpy as np
import pytest
from scipy.special import softmax

from rashomon_explorer import RashomonClassifier, RashomonRegressor
from rashomon_explorer.mechanisms.planner import plan
from rashomon_explorer.problem.losses.softmax import SoftmaxLoss
from rashomon_explorer.problem.problem import Problem

NAMES = np.array(["low", "mid", "top"])
EASY: dict[str, Any] = {"epsilon": 60.0, "n_draws": 6, "random_state": 0, "mechanism": "exact"}


@pytest.fixture(scope="module")
def rows():
    return np.random.default_rng(2).uniform(-0.55, 0.55, (240, 2))


@pytest.fixture(scope="module")
def codes(rows):
    return np.digitize(rows @ [1.0, 0.3], [-0.2, 0.2])


@pytest.fixture(scope="module")
def fitted(rows, codes):
    return RashomonClassifier(**EASY).fit(rows, NAMES[codes])


def probabilities(model, X):
    """Of every draw, by hand: class 0 has the score 0."""
    each = []
    for theta in model.rashomon_set_.coef:
        first, second = theta[:3], theta[3:]
        scores = [[0.0, first[:2] @ x + first[2], second[:2] @ x + second[2]] for x in X]
        each.append(softmax(scores, axis=1))
    return np.array(each)


def test_predictions_are_means_over_the_draws(fitted, rows, codes):
    each = probabilities(fitted, rows)
    proba = fitted.predict_proba(rows)
    assert np.allclose(proba, each.mean(axis=0))
    assert np.allclose(fitted.decision_function(rows), np.log(each.mean(axis=0)))
    assert np.array_equal(fitted.predict(rows), NAMES[proba.argmax(axis=1)])
    assert np.array_equal(fitted.predict_each(rows), NAMES[each.argmax(axis=2)])
    mean = fitted.rashomon_set_.coef.mean(axis=0).reshape(2, 3)
    assert np.array_equal(fitted.encoded_coef_, np.vstack([np.zeros(2), mean[:, :2]]))
    assert np.array_equal(fitted.encoded_intercept_, np.append(0.0, mean[:, 2]))
    models = fitted.rashomon_set_
    problem = Problem(rows, codes, loss=SoftmaxLoss(3), radius=fitted.plan_.radius)
    own = each[:, np.arange(len(rows)), codes]
    assert np.allclose(models.losses, -np.log(own).mean(axis=1), atol=1e-5)
    assert models.minimum.value == pytest.approx(problem.minimum.value, abs=1e-9)


def test_labels_are_names_only(fitted, rows, codes):
    model = RashomonClassifier(**EASY).fit(rows, codes.astype(float) - 5)
    assert np.array_equal(model.rashomon_set_.coef, fitted.rashomon_set_.coef)
    assert np.array_equal(model.predict(rows), np.searchsorted(NAMES, fitted.predict(rows)) - 5)


def test_the_plan_counts_a_model_for_each_class_but_one():
    model = RashomonClassifier(epsilon=4.0, mechanism="ellipsoid")
    assert model.plan(100, 4).p == 5
    assert model.plan(100, 4, n_classes=2) == model.plan(100, 4)
    assert model.plan(100, 4, n_classes=4).p == 15
    asked = {"epsilon": 4.0, "radius": 4.0, "ridge": 0.0, "n_draws": 20, "mechanism": "exact"}
    declared = RashomonClassifier(**asked, classes=["a", "b", "c"])
    known = {"loss": SoftmaxLoss(3), "radius": 4.0, "row_norm": 2**0.5, "n_draws": 20}
    assert declared.plan(100, 4) == plan(100, 10, 0.02, **known, epsilon=4.0, delta=1e-6)
    assert declared.constants(100, 4).p == 10
    with pytest.raises(TypeError):
        RashomonRegressor().plan(100, 4, n_classes=3)  # type: ignore[call-arg]
    with pytest.raises(ValueError, match="classes must be a whole number, at least 2, got 1"):
        model.plan(100, 4, n_classes=1)


class TestDeclaredClasses:
    @pytest.mark.slow
    def test_a_declared_class_may_lack_rows(self, rows, codes):
        model = RashomonClassifier(**EASY, classes=["low", "mid", "none", "top"])
        model.fit(rows, NAMES[codes])
        assert list(model.classes_) == ["low", "mid", "none", "top"]
        proba = model.predict_proba(rows)
        assert proba.shape == (240, 4)
        turned = RashomonClassifier(**EASY, classes=["top", "none", "low", "mid"])
        turned.fit(rows, NAMES[codes])
        assert np.array_equal(model.rashomon_set_.coef, turned.rashomon_set_.coef)
        strong = RashomonClassifier(**{**EASY, "epsilon": 2000.0, "radius": 12.0})
        assert strong.fit(rows, codes).score(rows, codes) > 0.85
        assert proba[:, 2].mean() < 0.15
        one = RashomonClassifier(**EASY, classes=[0, 1]).fit(rows, np.zeros(240, int))
        assert one.predict_proba(rows)[:, 0].min() > 0.7
        assert one.rashomon_set_.classes == (0, 1)

    @pytest.mark.parametrize(
        ("classes", "message"),
        [
            ([1], "at least two labels"),
            ([], "labels of one kind|at least two"),
            ([0, 1, 1], "each named once"),
            (["a", 1], "labels of one kind"),
            ([0.0, np.nan], "labels of one kind"),
            ("ab", "'classes' parameter"),
        ],
    )
    def test_bad_declarations_are_refused(self, rows, codes, classes, message):
        with pytest.raises(ValueError, match=message):
            RashomonClassifier(classes=classes).fit(rows, codes)
