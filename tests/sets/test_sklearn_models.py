"""A model handed to scikit-learn predicts what the set predicts, for long rows too."""

import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.svm import LinearSVC

from rashomon_explorer.sets import from_estimators
from tests.sets.made import make

RNG = np.random.default_rng(3)
ROWS = RNG.normal(size=(40, 2)) * 3  # most are longer than row_norm = 1
FRAME = pd.DataFrame(ROWS, columns=["age", "income"])
SOFTMAX = {"coef": RNG.normal(size=(4, 6)), "link": "softmax", "classes": ("a", "b", "c")}
LINKS: dict[str, tuple[dict[str, Any], type]] = {
    "logistic": ({"classes": ("no", "yes")}, LogisticRegression),
    "softmax": (SOFTMAX, LogisticRegression),
    "softmax of two": ({"coef": SOFTMAX["coef"][:, :3], "link": "softmax"}, LogisticRegression),
    "sign": ({"link": "sign"}, LinearSVC),
    "identity": ({"link": "identity", "target_bounds": (10.0, 30.0)}, Ridge),
}


@pytest.mark.parametrize("name", LINKS)
def test_every_link_predicts_the_same(name):
    settings, kind = LINKS[name]
    models = make(**settings)
    for draw in (0, 3, -1):
        model, scores = models.to_sklearn(draw), models.scores(ROWS)[draw]
        assert isinstance(model, kind) and model.n_features_in_ == 2
        assert list(model.feature_names_in_) == ["age", "income"]
        if name == "identity":
            np.testing.assert_allclose(model.predict(FRAME), scores, rtol=0, atol=1e-12)
            continue
        codes = np.searchsorted(model.classes_, model.predict(FRAME))
        np.testing.assert_array_equal(codes, models.labels(ROWS)[draw])
        assert hasattr(model, "predict_proba") == (name != "sign")
        if name != "sign":
            found = model.predict_proba(FRAME)
            wanted = scores if scores.ndim == 2 else np.column_stack([1 - scores, scores])
            np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-15)


def test_without_the_clipping_step_long_rows_would_be_predicted_otherwise():
    models = make()
    model = models.to_sklearn(0)
    plain = LogisticRegression()
    plain.classes_, plain.coef_ = model.classes_, model.encoded_coef_
    plain.intercept_ = model.encoded_intercept_
    assert np.abs(plain.predict_proba(ROWS)[:, 1] - models.scores(ROWS)[0]).max() > 0.1
    short = ROWS / 100
    assert np.allclose(plain.predict_proba(short)[:, 1], models.scores(short)[0])


def test_it_is_a_scikit_learn_model_of_its_own():
    models = make()
    model = models.to_sklearn(0)
    twin = pickle.loads(pickle.dumps(model))
    assert np.array_equal(twin.predict_proba(FRAME), model.predict_proba(FRAME))
    with pytest.raises(NotFittedError):
        clone(model).predict(FRAME)
    with pytest.raises(ValueError, match="feature names"):
        model.predict(FRAME.rename(columns={"age": "years"}))
    model.encoded_coef_[:] = 9.0
    assert models.coef[0, 0] == 1.0
    unnamed = make(feature_names=("x0", "x1", "intercept")).release().to_sklearn(1)
    assert not hasattr(unnamed, "feature_names_in_")


def test_other_models_are_returned_and_bad_places_refused():
    for draw, error in ((4, IndexError), (1.0, TypeError), (True, TypeError)):
        with pytest.raises(error):
            make().to_sklearn(draw)  # type: ignore[arg-type]
    fitted = LogisticRegression().fit(ROWS, ROWS[:, 0] > 0)
    models = from_estimators([fitted], ROWS, ROWS[:, 0] > 0)
    assert models.to_sklearn(0) is fitted
    with pytest.raises(TypeError, match="stored predictions have no decision trees"):
        models.stored(ROWS).to_sklearn(0)
