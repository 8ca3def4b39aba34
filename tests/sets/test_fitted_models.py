"""Sets of fitted linear models and trees have the measures of linear sets and of trees."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_diabetes, load_iris
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.inspection import permutation_importance as of_one
from sklearn.linear_model import LogisticRegression, PoissonRegressor, Ridge, RidgeClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from rashomon_explorer import measures
from rashomon_explorer.plots import plot_coefficient_spread, plot_trees
from rashomon_explorer.sets import RashomonSet, from_estimators, from_predictions


def iris(classes=2, named=True):
    data = load_iris(as_frame=named)
    kept = np.asarray(data.target) < classes
    y = np.array(["a", "b", "c"])[np.asarray(data.target)[kept]]
    return data.data[kept], y


def several(kind, X, y, **settings):
    return from_estimators([kind(**settings, **one).fit(X, y) for one in _VARIANTS[kind]], X, y)


_VARIANTS = {
    LogisticRegression: [{"C": c} for c in (0.1, 1.0, 10.0)],
    Ridge: [{"alpha": a} for a in (0.1, 1.0)],
    RidgeClassifier: [{"alpha": a} for a in (0.1, 1.0)],
    DecisionTreeClassifier: [{"max_depth": d, "random_state": 0} for d in (1, 2, 4)],
}


@pytest.mark.parametrize(("classes", "named"), [(2, True), (3, False)])
def test_fitted_linear_classifiers_have_coefficients_and_their_measures(classes, named):
    X, y = iris(classes, named)
    models = several(LogisticRegression, X, y, max_iter=5000)
    linear = models.linear
    assert isinstance(linear, RashomonSet)
    assert linear.scores(X) == pytest.approx(models.scores(X))
    assert (linear.losses == models.losses).all()
    assert linear.best_scores(X) == pytest.approx(models.best_scores(X))
    assert linear.feature_names[:-1] == (tuple(X.columns) if named else ("x0", "x1", "x2", "x3"))
    assert len(measures.coefficient_spread(models)) == 5 * (classes - 1)
    values, margins = measures.linear_shap(models, X), linear.margins(X)
    assert values.sum(axis=2) == pytest.approx(margins - margins.mean(axis=1, keepdims=True))
    for measure in (measures.shap_importance, measures.model_reliance):
        rest = () if measure is measures.shap_importance else (y,)
        pd.testing.assert_frame_equal(measure(models, X, *rest), measure(linear, X, *rest))
    assert not linear.guarantee.holds
    assert len(plot_coefficient_spread(models).data) > 0


@pytest.mark.parametrize("kind", [Ridge, RidgeClassifier])
def test_fitted_regressions_and_labels_have_the_same_predictions(kind):
    X, y = load_diabetes(return_X_y=True) if kind is Ridge else iris(2, False)
    models = several(kind, X, y)
    assert models.linear.scores(X) == pytest.approx(models.scores(X))
    assert measures.model_reliance(models, X, y).shape == (2, X.shape[1])


@pytest.mark.parametrize(
    "model",
    [*(PoissonRegressor(), make_pipeline(StandardScaler(), Ridge()), DecisionTreeRegressor())],
)
def test_models_that_are_not_linear_in_the_rows_are_refused(model):
    X, y = load_diabetes(return_X_y=True)
    models = from_estimators([model.fit(X, y)], X, y)
    for call in (lambda: models.linear, lambda: measures.linear_shap(models, X)):
        with pytest.raises(TypeError, match=r"linear|coefficients"):
            call()


@pytest.mark.parametrize(("classes", "named"), [(2, True), (3, False)])
def test_fitted_trees_have_text_shap_and_reliance(classes, named):
    X, y = iris(classes, named)
    models = several(DecisionTreeClassifier, X, y)
    trees = models.decision_trees
    assert (trees.labels(X) == models.labels(X)).all()
    assert trees.complexity(0).tolist() == models.complexity().tolist()
    name = "petal" if named else "column"
    assert name in models.text(0)
    labels = models.labels(X)[..., None] == np.arange(classes)
    own = labels[..., 1] if classes == 2 else labels
    values = measures.tree_shap(models, X)
    assert values.sum(axis=2) == pytest.approx(own - own.mean(axis=1, keepdims=True))
    assert measures.model_reliance(models, X, y).shape == (3, 4)
    assert len(plot_trees(models).data) > 0


def test_thresholds_send_every_double_the_way_that_scikit_learn_sends_it():
    """Which rounds rows to single precision first; a threshold itself would send some wrongly."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 1)).astype(np.float32).astype(float)
    model = DecisionTreeClassifier(random_state=0).fit(X, rng.integers(0, 2, 60))
    models = from_estimators([model], X, model.predict(X), loss="zero_one")
    cuts = model.tree_.threshold[model.tree_.children_left >= 0]
    near = np.concatenate([np.nextafter(cuts, np.inf), np.nextafter(cuts, -np.inf), cuts])
    steps = np.spacing(cuts.astype(np.float32)).astype(float)
    around = np.concatenate([cuts + share * steps for share in np.linspace(-1, 1, 41)])
    rows = np.concatenate([near, around])[:, None]
    expected = model.predict(rows)
    assert (models.decision_trees.labels(rows)[0] == expected).all()
    plain = np.array([np.searchsorted(np.sort(cuts), one) for one in rows.ravel()])
    singles = np.searchsorted(np.sort(cuts), rows.ravel().astype(np.float32).astype(float))
    assert (plain != singles).any()  # control: some doubles do change sides


def test_other_models_have_no_trees():
    X, y = iris()
    boosted = from_estimators([GradientBoostingClassifier(n_estimators=2).fit(X, y)], X, y)
    with pytest.raises(TypeError, match="no decision trees"):
        boosted.text(0)
    with pytest.raises(TypeError, match="tree_shap needs"):
        measures.tree_shap(boosted, X)
    with pytest.raises(TypeError, match="permutation_importance is for any models"):
        measures.model_reliance(boosted, X, y)
    with pytest.raises(TypeError, match="no coefficients"):
        _ = from_predictions([[0.1, 0.9]], [0, 1]).linear


@pytest.mark.slow
def test_any_models_have_permutation_importance_on_their_own_table():
    """As scikit-learn's for each model, in the mean over many shuffles; a pipeline takes text."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"home": rng.choice(["own", "rent"], 150), "noise": rng.normal(size=150)})
    y = np.where(rng.random(150) < 0.1, "no", np.where(table["home"] == "own", "yes", "no"))
    encode = make_pipeline(OneHotEncoder(handle_unknown="ignore"), LogisticRegression())
    each = [encode.fit(table, y), DecisionTreeClassifier(max_depth=1).fit(table[["noise"]], y)]
    models = from_estimators(each[:1], table, y)
    found = measures.permutation_importance(
        models, table, y, n_repeats=40, random_state=0
    ).to_numpy()[0]
    theirs = of_one(each[0], table, y, scoring="neg_log_loss", n_repeats=30, random_state=1)
    assert found == pytest.approx(theirs.importances_mean, abs=0.02)
    assert found[0] > 10 * abs(found[1])
    arrays = table.to_numpy(dtype=object)
    plain = from_estimators([encode.fit(arrays, y)], arrays, y)
    again = measures.permutation_importance(
        plain, arrays, y, n_repeats=40, random_state=0
    ).to_numpy()[0]
    assert again == pytest.approx(found)
