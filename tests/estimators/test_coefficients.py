"""Coefficients are shown under scikit-learn's names only where they are the decision function."""

import math
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import pytest

from rashomon_explorer import DPBilevelSearch, DPClassifier, DPRegressor
from rashomon_explorer import RashomonClassifier as Classifier
from rashomon_explorer import RashomonRegressor as Regressor
from rashomon_explorer.data import Numeric, TableSchema, YesNo
from rashomon_explorer.data.cells import clip_rows

RNG = np.random.default_rng(0)
ROWS = RNG.uniform(-1, 1, (300, 3)) * 0.5
LABELS = (ROWS[:, 0] + 0.3 * RNG.standard_normal(300) > 0).astype(int)
TABLE = pd.DataFrame(ROWS * [10, 100, 1000] + [50, 500, 0], columns=["age", "income", "debt"])
COLUMNS = [Numeric("age", (40, 60)), Numeric("income", (400, 600)), Numeric("debt", (-1000, 1000))]
SCHEMA = TableSchema([*COLUMNS, YesNo("good", (0, 1), role="target")])
NUMBERS = TableSchema([*COLUMNS, Numeric("good", (0, 1), role="target")])
ONE: dict[str, Any] = {"epsilon": 20.0, "random_state": 0, "radius": 4.0}
SEVERAL = {**ONE, "epsilon": 80.0, "n_draws": 4}

pytestmark = pytest.mark.filterwarnings("ignore::rashomon_explorer.exceptions.RowsClippedWarning")
MODELS: dict[str, tuple[Any, Any]] = {
    "set": (Classifier(**SEVERAL), ROWS),
    "one draw": (Classifier(**SEVERAL | {"n_draws": 1}), ROWS),
    "clipped set": (Classifier(**SEVERAL, row_norm=0.3), ROWS),
    "set of a schema": (Classifier(**SEVERAL, schema=SCHEMA), TABLE),
    "targets of a schema": (Regressor(**SEVERAL, schema=NUMBERS), TABLE),
    "clipped model": (DPClassifier(**ONE, row_norm=0.3), ROWS),
    "model of mapped rows": (DPClassifier(**ONE, standardize="private"), ROWS),
    "model of a schema": (DPClassifier(**ONE, schema=SCHEMA), TABLE),
    "model of targets": (DPRegressor(target_bounds=(-1, 1), **ONE, row_norm=0.3), ROWS),
    "search": (DPBilevelSearch(bounds=(0.1, 1.0), epsilon=50.0, target_bounds=(0, 1)), ROWS),
}
NOT_LINEAR = ("set", "clipped set", "set of a schema")  # log odds of a mean probability


def _scores(model, X):
    score = getattr(model, "decision_function", model.predict)
    return np.asarray(score(X))


@pytest.fixture(scope="module", params=MODELS)
def case(request):
    model, X = MODELS[request.param]
    return request.param, model.fit(X, LABELS), X


def test_encoded_coefficients_are_the_decision_function(case):
    """As SHAP's LinearExplainer has it: φ = coef·(x − mean), which adds up to the score."""
    name, model, X = case
    for missing in ("coef_", "intercept_"):
        with pytest.raises(AttributeError, match=f"encoded_{missing} refers to encoded"):
            getattr(model, missing)
    if name in NOT_LINEAR:
        return
    rows = np.asarray(model.encoder_.transform(X)) if hasattr(model, "encoder_") else X
    scored = clip_rows(rows, model._row_norm)[0]
    if getattr(model, "scale_", None) is not None:  # rows are clipped again once they are mapped
        mapped = (scored - model.scale_.centre) / model.scale_.spread
        inside = np.linalg.norm(mapped, axis=1) <= model._row_norm
        assert 0.2 < inside.mean() < 1
        scored, X = scored[inside], X[inside]
    coef, intercept = np.ravel(model.encoded_coef_), float(np.ravel(model.encoded_intercept_)[0])
    middle = scored.mean(axis=0)
    explained = (coef * (scored - middle)).sum(axis=1) + coef @ middle + intercept
    np.testing.assert_allclose(explained, _scores(model, X), atol=1e-9)
    if name in ("clipped model", "model of targets"):  # the control: of rows as they are given
        believed = X @ np.ravel(coef) + intercept
        assert np.abs(believed - _scores(model, X)).max() > 0.2 * np.ptp(_scores(model, X))


@pytest.mark.law  # shap is compiled when it is imported
@pytest.mark.parametrize("name", ["set", "model of a schema", "model of targets"])
def test_shap_explains_what_is_predicted_or_refuses(name):
    shap = pytest.importorskip("shap")
    model, X = MODELS[name]
    model.fit(X, LABELS)
    with pytest.raises(TypeError, match="not callable"):
        shap.Explainer(model, X)
    score = getattr(model, "decision_function", model.predict)
    few = X[:8]
    found = shap.Explainer(score, few)(few)
    total = found.values.sum(axis=1) + found.base_values
    np.testing.assert_allclose(total, _scores(model, few), atol=1e-9)


@pytest.mark.parametrize("kind", [Classifier, partial(Regressor, target_bounds=(-1, 1))])
def test_one_model_of_a_set_shows_them_where_it_clips_nothing(kind):
    models = kind(epsilon=80.0, n_draws=2, row_norm=0.4, random_state=0).fit(ROWS, LABELS)
    model = models.rashomon_set_.to_sklearn(0)
    assert not hasattr(model, "coef_") and not hasattr(model, "intercept_")
    model.row_norm_ = math.inf
    for rows in (9 * ROWS, ROWS):
        believed = rows @ np.ravel(model.coef_) + np.ravel(model.intercept_)
        np.testing.assert_allclose(believed, _scores(model, rows), atol=1e-12)
        model.row_norm_ = 0.4
        model = model.fit(ROWS, LABELS)  # scikit-learn's own, which clips nothing
