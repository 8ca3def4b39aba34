"""Coefficients are shown under scikit-learn's names only where they are the decision function."""

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest

from rashomon_explorer import (
    DPBilevelSearch,
    DPClassifier,
    DPRegressor,
    RashomonClassifier,
    RashomonRegressor,
)
from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer.data import Numeric, TableSchema, YesNo
from rashomon_explorer.data.cells import clip_rows
from rashomon_explorer.sets.sklearn_models import DrawnLogisticRegression, DrawnRidge

RNG = np.random.default_rng(0)
ROWS = RNG.uniform(-1, 1, (300, 3)) * 0.5
LABELS = (ROWS[:, 0] + 0.3 * RNG.standard_normal(300) > 0).astype(int)
TABLE = pd.DataFrame(ROWS * [10, 100, 1000] + [50, 500, 0], columns=["age", "income", "debt"])
SCHEMA = TableSchema(
    [
        Numeric("age", (40, 60)),
        Numeric("income", (400, 600)),
        Numeric("debt", (-1000, 1000)),
        YesNo("good", (0, 1), role="target"),
    ]
)
NUMBERS = TableSchema([*SCHEMA.features, Numeric("good", (0, 1), role="target")])

pytestmark = pytest.mark.filterwarnings(
    "ignore::rashomon_explorer.exceptions.RowsClippedWarning",
    "ignore::rashomon_explorer.exceptions.WeakGuaranteeWarning",
)


SEARCH = DPBilevelSearch(
    "ridge", bounds=(0.1, 1.0), epsilon=50.0, refit="dp", target_bounds=(0, 1), random_state=0
)


def _configurations() -> dict[str, tuple[Any, Any]]:
    one = {"epsilon": 20.0, "random_state": 0}
    several = {**one, "epsilon": 80.0, "n_draws": 4}
    made: dict[str, tuple[Any, Any]] = {
        "set": (RashomonClassifier(**several), ROWS),
        "one draw": (RashomonClassifier(**several | {"n_draws": 1}), ROWS),
        "clipped set": (RashomonClassifier(**several, row_norm=0.3), ROWS),
        "set of a schema": (RashomonClassifier(**several, schema=SCHEMA), TABLE),
        "set of targets": (RashomonRegressor(**several), ROWS),
        "targets of a schema": (RashomonRegressor(**several, schema=NUMBERS), TABLE),
        "model": (DPClassifier(**one), ROWS),
        "clipped model": (DPClassifier(**one, row_norm=0.3), ROWS),
        "model of mapped rows": (DPClassifier(**one, standardize="private"), ROWS),
        "model of a schema": (DPClassifier(**one, schema=SCHEMA), TABLE),
        "model of targets": (DPRegressor(**one, row_norm=0.3), ROWS),
        "search": (SEARCH, ROWS),
    }
    return made


CONFIGURATIONS = _configurations()


def _scores(model: Any, X: Any) -> FloatArray:
    score = getattr(model, "decision_function", model.predict)
    return np.asarray(score(X))


@pytest.fixture(scope="module", params=CONFIGURATIONS)
def case(request: pytest.FixtureRequest) -> tuple[str, Any, Any]:
    model, X = CONFIGURATIONS[request.param]
    return request.param, model.fit(X, LABELS), X


def test_other_programs_find_no_coefficients_to_believe(case: tuple[str, Any, Any]) -> None:
    _, model, _ = case
    for name in ("coef_", "intercept_"):
        assert not hasattr(model, name)
        with pytest.raises(AttributeError, match=f"encoded_{name} refers to encoded"):
            getattr(model, name)


def test_those_of_rows_as_they_are_encoded_are_the_decision_function(
    case: tuple[str, Any, Any],
) -> None:
    """As SHAP's LinearExplainer has it: φ = coef·(x − mean), which adds up to the score."""
    name, model, X = case
    if name in ("set", "clipped set", "set of a schema"):
        return  # the log odds of a mean probability are not linear in any rows
    norm = getattr(model, "_row_norm", None) or model.row_norm
    rows = np.asarray(model.encoder_.transform(X)) if hasattr(model, "encoder_") else X
    scored = clip_rows(rows, norm)[0]
    if getattr(model, "scale_", None) is not None:  # rows are clipped again once they are mapped
        mapped = (scored - model.scale_.centre) / model.scale_.spread
        inside = np.linalg.norm(mapped, axis=1) <= norm
        assert 0.2 < inside.mean() < 1
        scored, X = scored[inside], X[inside]
    coef, intercept = np.ravel(model.encoded_coef_), float(np.ravel(model.encoded_intercept_)[0])
    middle = scored.mean(axis=0)
    explained = (coef * (scored - middle)).sum(axis=1) + coef @ middle + intercept
    np.testing.assert_allclose(explained, _scores(model, X), atol=1e-9)


@pytest.mark.parametrize("name", ["clipped model", "clipped set", "model of targets"])
def test_of_rows_as_they_are_given_they_are_not(name: str) -> None:
    """The negative control: what a LinearExplainer would have said."""
    model, X = CONFIGURATIONS[name]
    model.fit(X, LABELS)
    believed = X @ np.ravel(model.encoded_coef_) + np.ravel(model.encoded_intercept_)
    scores = _scores(model, X)
    assert np.abs(believed - scores).max() > 0.2 * np.ptp(scores)


def test_shap_explains_what_is_predicted_or_refuses(case: tuple[str, Any, Any]) -> None:
    shap = pytest.importorskip("shap")
    _, model, X = case
    with pytest.raises(TypeError, match="not callable"):
        shap.Explainer(model, X)
    score = getattr(model, "decision_function", model.predict)
    few = X[:20]
    found = shap.Explainer(score, few)(few)
    total = found.values.sum(axis=1) + found.base_values
    np.testing.assert_allclose(total, _scores(model, few), atol=1e-9)


@pytest.mark.parametrize("kind", [RashomonClassifier, RashomonRegressor])
def test_one_model_of_a_set_shows_them_where_it_clips_nothing(kind: type[Any]) -> None:
    models = kind(epsilon=80.0, n_draws=2, row_norm=0.4, random_state=0).fit(ROWS, LABELS)
    model = models.rashomon_set_.to_sklearn(0)
    assert not hasattr(model, "coef_") and not hasattr(model, "intercept_")
    model.row_norm_ = math.inf
    rows = 9 * ROWS
    believed = rows @ np.ravel(model.coef_) + np.ravel(model.intercept_)
    np.testing.assert_allclose(believed, _scores(model, rows), atol=1e-12)
    model.row_norm_ = 0.4
    again = model.fit(ROWS, LABELS)  # scikit-learn's own, which clips nothing
    assert isinstance(again, DrawnLogisticRegression | DrawnRidge)
    believed = ROWS @ np.ravel(again.coef_) + np.ravel(again.intercept_)
    np.testing.assert_allclose(believed, _scores(again, ROWS), atol=1e-12)


def test_selection_by_coefficients_names_them() -> None:
    from sklearn.feature_selection import SelectFromModel

    chosen = SelectFromModel(DPClassifier(epsilon=20.0), importance_getter="encoded_coef_")
    assert chosen.fit(ROWS, LABELS).get_support().shape == (3,)
    with pytest.raises((AttributeError, ValueError)):
        SelectFromModel(DPClassifier(epsilon=20.0, schema=SCHEMA)).fit(TABLE, LABELS).get_support()
