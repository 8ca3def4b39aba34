"""Partial dependence against its closed form for linear models and against scikit-learn's."""

import numpy as np
import pandas as pd
import pytest
from sklearn.inspection import partial_dependence as of_sklearn
from sklearn.tree import DecisionTreeClassifier

from rashomon_explorer import RashomonRegressor
from rashomon_explorer.data import Categorical, Numeric, TableEncoder, TableSchema
from rashomon_explorer.measures import partial_dependence_band
from rashomon_explorer.measures.importance import partial_dependence
from rashomon_explorer.sets import from_estimators


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.uniform(-0.4, 0.4, (120, 3)), columns=["a", "b", "c"])
    return X, X["a"] - 0.5 * X["b"]


def test_a_linear_model_moves_by_its_coefficient(rows):
    X, y = rows
    fitted = RashomonRegressor(
        n_draws=4, epsilon=60.0, row_norm=2.0, target_bounds=(-1.0, 1.0), random_state=0
    ).fit(X, y)
    models, grid = fitted.rashomon_set_, [-0.4, 0.0, 0.3]
    found = partial_dependence(models, X, "b", grid=grid)
    away = np.array(grid)[None] - X["b"].mean()
    expected = models.scores(X).mean(axis=1)[:, None] + models.coef[:, [1]] * away
    np.testing.assert_allclose(found.to_numpy(), expected, atol=1e-12)
    band = partial_dependence_band(models, X, "b", grid=grid)
    np.testing.assert_allclose(band["max"], expected.max(axis=0))
    np.testing.assert_allclose(band["median"], np.median(expected, axis=0))
    best = models.best_scores(X).mean() + models.best[1] * away[0]
    np.testing.assert_allclose(band["best"], best)


def test_any_model_as_scikit_learn_measures_it(rows):
    X, y = rows
    trees = [DecisionTreeClassifier(max_depth=k).fit(X, y > 0) for k in (1, 3)]
    models = from_estimators(trees, X, y > 0)
    grid = np.linspace(-0.3, 0.3, 5)
    found = partial_dependence(models, X, "a", grid=grid)
    for tree, curve in zip(trees, found.to_numpy(), strict=True):
        known = of_sklearn(tree, X, ["a"], custom_values={"a": grid}, method="brute")
        np.testing.assert_allclose(curve, known["average"][0])


def test_a_category_is_set_as_a_whole(rows):
    X, y = rows
    table = X[["a"]].assign(home=np.where(np.arange(len(X)) % 3, "own", "rent"))
    encoder = TableEncoder(
        TableSchema([Numeric("a", (-0.4, 0.4)), Categorical("home", ["own", "rent"])])
    ).fit(table)
    coded = encoder.transform(table)
    fitted = RashomonRegressor(
        n_draws=2, epsilon=60.0, target_bounds=(-1.0, 1.0), random_state=0
    ).fit(coded, y)
    found = partial_dependence(fitted.rashomon_set_, table, "home", transform=encoder.transform)
    assert list(found.columns) == ["own", "rent"]
    own = encoder.transform(table.assign(home="own"))
    np.testing.assert_allclose(found["own"], fitted.rashomon_set_.scores(own).mean(axis=1))


@pytest.mark.parametrize(
    ("feature", "options", "words"),
    [("d", {}, "no column 'd'"), ("a", {"grid": []}, "at least one"), ("a", {"n_points": 0}, "n_")],
)
def test_what_cannot_be_asked_is_refused(rows, feature, options, words):
    with pytest.raises(ValueError, match=words):
        partial_dependence_band(_Models(), rows[0], feature, **options)


class _Models:
    def scores(self, X):
        return np.zeros((1, len(X)))
