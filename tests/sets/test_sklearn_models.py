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

from rashomon_explorer import DPClassifier, DPRegressor, TableSchema
from rashomon_explorer.data import Numeric
from rashomon_explorer.data.cells import ColumnMap
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


def _answers(model, rows):
    """Outputs of its ONNX graph by name, computed by the reference of the standard."""
    reference = pytest.importorskip("onnx.reference")
    graph = model.to_onnx()
    names = [output.name for output in graph.graph.output]
    values = reference.ReferenceEvaluator(graph).run(None, {"X": np.asarray(rows)})
    return dict(zip(names, values, strict=True))


@pytest.mark.parametrize("name", LINKS)
@pytest.mark.parametrize(
    "scale", [None, ColumnMap(np.array([0.1, 0.3]), np.array([0.5, 2.0]), 1.0)]
)
def test_onnx_predicts_the_same_for_long_rows_too(name, scale):
    settings, _ = LINKS[name]
    model = make(**settings, scale=scale).to_sklearn(1)
    found = _answers(model, ROWS)
    if name == "identity":
        np.testing.assert_allclose(found["variable"][:, 0], model.predict(FRAME), atol=1e-12)
        return
    np.testing.assert_array_equal(found["label"], model.predict(FRAME))
    assert ("probabilities" in found) == (name != "sign")
    if name != "sign":
        expected = model.predict_proba(FRAME)
        np.testing.assert_allclose(found["probabilities"], expected, rtol=0, atol=1e-12)


@pytest.mark.filterwarnings("ignore::rashomon_explorer.exceptions.RowsClippedWarning")
@pytest.mark.parametrize(
    ("classes", "standardize"), [(["no", "yes"], "private"), ([1, 2, 3], None)]
)
def test_one_private_model_is_handed_on(classes, standardize):
    y = np.asarray(classes)[RNG.integers(len(classes), size=len(ROWS))]
    clf = DPClassifier(
        epsilon=9.0, classes=classes, row_norm=1.0, standardize=standardize, family="linear"
    )
    model = clf.fit(ROWS, y).to_sklearn()
    np.testing.assert_array_equal(model.predict(ROWS), clf.predict(ROWS))
    np.testing.assert_allclose(model.predict_proba(ROWS), clf.predict_proba(ROWS), atol=1e-12)
    np.testing.assert_array_equal(_answers(model, ROWS)["label"], clf.predict(ROWS))


@pytest.mark.filterwarnings("ignore::rashomon_explorer.exceptions.RowsClippedWarning")
def test_a_private_regression_and_a_private_tree_are_handed_on():
    reg = DPRegressor(epsilon=9.0, row_norm=1.0, target_bounds=(-15, 15)).fit(ROWS, ROWS[:, 0])
    np.testing.assert_allclose(reg.to_sklearn().predict(ROWS), reg.predict(ROWS), atol=1e-12)
    schema = TableSchema([Numeric("age", (-9, 9), thresholds=[0]), Numeric("income", (-9, 9))])
    clf = DPClassifier(epsilon=9.0, classes=[0, 1], family="trees", schema=schema)
    clf.fit(FRAME, (FRAME["age"] > 0).astype(int))
    encoded = pd.DataFrame(clf.encoder_.transform(FRAME), columns=clf.tree_.feature_names)
    np.testing.assert_array_equal(clf.to_sklearn().predict(encoded), clf.predict(FRAME))
