"""A model handed to scikit-learn predicts what the set predicts, for long rows too."""

import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import accuracy_score
from sklearn.svm import LinearSVC

from rashomon_explorer import RashomonClassifier
from rashomon_explorer.sets import from_estimators
from tests.sets.made import make

RNG = np.random.default_rng(3)
ROWS = RNG.normal(size=(40, 2)) * 3  # most are longer than row_norm = 1
SOFTMAX = {"coef": RNG.normal(size=(4, 6)), "link": "softmax", "classes": ("a", "b", "c")}


def test_logistic() -> None:
    models = make(classes=("no", "yes"))
    for draw in range(4):
        model = models.to_sklearn(draw)
        assert isinstance(model, LogisticRegression)
        assert np.allclose(
            model.predict_proba(frame())[:, 1], models.scores(ROWS)[draw], rtol=0, atol=1e-15
        )
        codes = (model.predict(frame()) == "yes").astype(int)
        assert np.array_equal(codes, models.labels(ROWS)[draw])
        assert model.encoded_coef_.shape == (1, 2)
        assert model.n_features_in_ == 2
        assert list(model.feature_names_in_) == ["age", "income"]


def test_several_classes() -> None:
    models = make(**SOFTMAX)
    model = models.to_sklearn(-1)
    assert np.allclose(model.predict_proba(frame()), models.scores(ROWS)[3], rtol=0, atol=1e-15)
    assert np.array_equal(model.predict(frame()), np.array(["a", "b", "c"])[models.labels(ROWS)[3]])
    assert model.encoded_coef_.shape == (3, 2)
    two = make(coef=SOFTMAX["coef"][:, :3], link="softmax")
    assert np.allclose(two.to_sklearn(0).predict_proba(frame()), two.scores(ROWS)[0])


def test_a_sign_link_gives_labels_and_no_probabilities() -> None:
    models = make(link="sign")
    model = models.to_sklearn(0)
    assert isinstance(model, LinearSVC)
    assert np.array_equal(model.predict(frame()), models.labels(ROWS)[0])
    assert not hasattr(model, "predict_proba")


def test_regression() -> None:
    models = make(link="identity", target_bounds=(10.0, 30.0))
    model = models.to_sklearn(2)
    assert isinstance(model, Ridge)
    assert np.allclose(model.predict(frame()), models.scores(ROWS)[2], rtol=0, atol=1e-12)


def test_without_the_clipping_step_long_rows_would_be_predicted_otherwise() -> None:
    models = make()
    model = models.to_sklearn(0)
    plain = LogisticRegression()
    plain.classes_, plain.coef_ = model.classes_, model.encoded_coef_
    plain.intercept_ = model.encoded_intercept_
    assert np.abs(plain.predict_proba(ROWS)[:, 1] - models.scores(ROWS)[0]).max() > 0.1
    short = ROWS / 100
    assert np.allclose(plain.predict_proba(short)[:, 1], models.scores(short)[0])


def test_it_is_a_scikit_learn_model() -> None:
    model = make().to_sklearn(0)
    twin = pickle.loads(pickle.dumps(model))
    assert np.array_equal(twin.predict_proba(frame()), model.predict_proba(frame()))
    assert accuracy_score(model.predict(frame()), twin.predict(frame())) == 1.0
    with pytest.raises(NotFittedError):
        clone(model).predict(frame())
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame().rename(columns={"age": "years"}))
    anew = clone(model).fit(frame(), np.arange(40) % 2)
    bare = LogisticRegression().fit(frame(), np.arange(40) % 2)
    assert np.allclose(anew.predict_proba(frame()), bare.predict_proba(frame()))


def test_names_that_nobody_gave_are_not_asked_for() -> None:
    labels = (ROWS[:, 0] > 0).astype(int)
    fitted = RashomonClassifier(n_draws=2, epsilon=50.0, random_state=0).fit(ROWS / 20, labels)
    public = fitted.rashomon_set_.release()
    model = public.to_sklearn(1)
    assert not hasattr(model, "feature_names_in_")
    assert np.allclose(model.predict_proba(ROWS)[:, 1], public.scores(ROWS)[1])


def test_changing_the_model_leaves_the_set_alone() -> None:
    models = make()
    models.to_sklearn(0).encoded_coef_[:] = 9.0
    assert models.coef[0, 0] == 1.0


@pytest.mark.parametrize(("draw", "error"), [(4, IndexError), (1.0, TypeError), (True, TypeError)])
def test_a_place_that_is_none_is_refused(draw: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        make().to_sklearn(draw)


def test_other_models_give_themselves_or_refuse() -> None:
    fitted = LogisticRegression().fit(ROWS, ROWS[:, 0] > 0)
    models = from_estimators([fitted], ROWS, ROWS[:, 0] > 0)
    assert models.to_sklearn(0) is fitted
    with pytest.raises(TypeError, match="stored predictions have no decision trees"):
        models.stored(ROWS).to_sklearn(0)


def frame() -> pd.DataFrame:
    return pd.DataFrame(ROWS, columns=["age", "income"])
