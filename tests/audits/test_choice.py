"""Models chosen from an exact set: against enumeration, scipy, and what the estimator predicts."""

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize
from sklearn.linear_model import Lasso, LinearRegression, LogisticRegression, Ridge, RidgeClassifier
from sklearn.model_selection import FixedThresholdClassifier, GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from rashomon_explorer import audit
from rashomon_explorer.audits.choice.choice import table_features
from rashomon_explorer.audits.choice.region import Region
from rashomon_explorer.audits.choice.sparse import SupportSearch, WorkBudget
from rashomon_explorer.exceptions import MissingAnswerError
from rashomon_explorer.measures.ranges import level_set
from tests.audits.conftest import SAGA

MODELS = {
    "logistic": lambda: LogisticRegression(C=1.0, tol=1e-10, max_iter=10_000),
    "l1": lambda: LogisticRegression(**SAGA, l1_ratio=1.0, C=0.3, max_iter=100_000),
    "ridge": lambda: Ridge(1.0),
    "linear": lambda: LinearRegression(),
    "lasso": lambda: Lasso(0.02, tol=1e-6, max_iter=100_000),
    "labels": lambda: RidgeClassifier(),
    "softmax": lambda: LogisticRegression(C=1.0, tol=1e-10, max_iter=10_000),
}


def random_audit(seed, kind=None, tolerance=None):
    """Audit of a small random table with correlated columns, some of them without an effect."""
    rng = np.random.default_rng(seed)
    kind = kind or list(MODELS)[seed % len(MODELS)]
    n, p = int(rng.integers(40, 120)), int(rng.integers(2, 5 if kind == "softmax" else 7))
    mixing = np.eye(p) + 0.7 * rng.standard_normal((p, p)) * (rng.random((p, p)) < 0.4)
    X = pd.DataFrame(rng.standard_normal((n, p)) @ mixing, columns=[f"x{j}" for j in range(p)])
    score = X.to_numpy() @ (rng.standard_normal(p) * (rng.random(p) < 0.6)) + rng.logistic(size=n)
    if kind in ("ridge", "linear", "lasso"):
        y = score
    else:
        y = np.digitize(score, [-0.5, 0.5] if kind == "softmax" else [0.0])
        y[:3] = [0, 1, 2 if kind == "softmax" else 0]
    weights = rng.uniform(0.5, 2.0, n) if seed % 3 == 0 and kind not in ("lasso",) else None
    model = MODELS[kind]().fit(X, y, sample_weight=weights)
    group = np.where(rng.random(n) + 0.2 * X["x0"] > 0.5, "a", "b")
    group[:2] = ["a", "b"]
    share = tolerance or f"{rng.choice([1, 5, 20])}%"
    return audit(model, X, y, tolerance=share, groups=group, sample_weight=weights, n_models=2)


def least(problem, columns):
    """Least objective with these columns, by L-BFGS-B in positive and negative parts."""
    used = np.tile(columns, problem.loss.outputs)
    l1 = np.zeros(problem.p) if problem.l1 is None else problem.l1

    def objective(parts):
        positive, negative = np.split(parts, 2)
        theta = np.zeros(problem.p)
        theta[used] = positive - negative
        value, gradient = problem.value_and_gradient(theta[:, None])
        slope = (gradient[:, 0] - l1 * np.sign(theta))[used]
        total = value[0] + l1[used] @ (positive + negative - np.abs(positive - negative))
        return total, np.concatenate([slope + l1[used], l1[used] - slope])

    options = {"maxiter": 5_000, "maxfun": 50_000, "ftol": 1e-15, "gtol": 1e-9}
    size = 2 * int(used.sum())
    return minimize(
        objective, np.zeros(size), jac=True, method="L-BFGS-B", bounds=[(0, None)] * size,
        options=options,
    ).fun  # fmt: skip


def fewest_by_enumeration(found, margin):
    """Fewest features of a model with an excess of at most ψ plus a margin, over all subsets."""
    names, uses = table_features(found)
    level = found.problem.minimum.value + found.psi + margin
    for size in range(len(names) + 1):
        for features in combinations(range(len(names)), size):
            dropped = np.ones(len(names), dtype=bool)
            dropped[list(features)] = False
            if least(found.problem, ~uses[dropped].any(axis=0)) <= level:
                return size
    raise AssertionError


def whole_set(found):
    columns = np.ones(found.problem.rows.shape[1], dtype=bool)
    return Region(found.problem, found.psi, columns)


def proved_fewest(found, seconds=None):
    _, uses = table_features(found)
    search = SupportSearch(whole_set(found), uses, WorkBudget(seconds))
    return search, search.fewest()


def check_sparse(found):
    search, solution = proved_fewest(found)
    kept = int((~solution.dropped).sum())
    assert kept == solution.fewest
    margin = 1e-6 * (1 + found.problem.minimum.value)
    loose, tight = (fewest_by_enumeration(found, each) for each in (margin, -margin))
    assert loose <= solution.fewest <= tight
    theta = found.choose("sparse", seconds=None).theta
    excess = found.problem.value(theta[:, None])[0] - found.problem.minimum.value
    assert excess <= found.psi
    used = np.tile(search.columns_without(solution.dropped), found.problem.loss.outputs)
    assert not theta[~used].any()


@pytest.mark.parametrize("seed", range(21))
def test_no_subset_of_fewer_features_has_a_good_model(seed):
    check_sparse(random_audit(seed))


@pytest.mark.law
@pytest.mark.parametrize("part", range(10))
def test_no_subset_of_fewer_features_has_a_good_model_on_many_tables(part):
    for seed in range(100 + 28 * part, 128 + 28 * part):
        check_sparse(random_audit(seed))


def test_the_curvature_of_the_fit_in_place_of_the_least_one_proves_too_much(monkeypatch):
    def wrong(scores, distance):
        return np.full_like(scores, 1 / 8)

    monkeypatch.setattr(level_set, "least_curvature", wrong)
    missed = 0
    for seed in range(12):
        found = random_audit(seed, "logistic", "40%")
        fewest, (search, _) = fewest_by_enumeration(found, -1e-6), proved_fewest(found)
        none = np.zeros(len(search.uses), dtype=bool)
        missed += search._decide(none, none, fewest) is None
    assert missed


def test_a_model_is_the_pipeline_with_other_coefficients(found, people, pipeline):
    X, _ = people
    choice = found.choose("sparse")
    fresh = X.head(7).assign(age=33.0)
    assert set(choice.model.predict(fresh)) <= {"died", "lived"}
    assert choice.excess <= found.psi
    kept = int((choice.model[-1].coef_ != 0).sum())
    assert kept < (pipeline[-1].coef_ != 0).sum() == pipeline[-1].coef_.size
    labels = pipeline.predict(X) != choice.model.predict(X)
    assert choice.changed.index.equals(X.index[labels])
    accuracy = choice.costs.loc["accuracy"]
    assert accuracy["chosen"] == choice.model.score(X, people[1])
    assert accuracy["fitted"] == pipeline.score(X, people[1])
    assert "sparse" in repr(choice) and "psi" not in choice.code
    assert choice.certificate.loc["sparse", "optimal"]
    kept_columns = choice.coefficients["chosen"] != 0
    assert kept_columns.sum() < len(kept_columns)
    # All levels of a column are left out together.
    _, uses = table_features(found)
    inside = choice.model[-1].coef_[0] != 0
    assert int(choice.costs.loc["features", "chosen"]) == uses[:, :-1][:, inside].any(axis=1).sum()


def test_a_model_decides_as_the_audited_one_does(people, pipeline):
    X, y = people
    wrapped = FixedThresholdClassifier(pipeline, threshold=0.3, pos_label="lived").fit(X, y)
    choice = audit(wrapped, X, y, tolerance="2%").choose("sparse")
    inner = choice.model.estimator_
    expected = np.where(inner.predict_proba(X)[:, 1] >= 0.3, "lived", "died")
    assert (choice.model.predict(X) == expected).all()
    replaced = audit(pipeline, X, y, threshold=0.3, wanted="lived", tolerance="2%")
    again = replaced.choose("sparse")
    assert (again.model.predict(X) == expected).all()
    assert (again.changed["fitted label"] == replaced.flips["label"][again.changed.index]).all()
    first = audit(pipeline, X, y, wanted="died", tolerance="2%").choose("sparse").model
    np.testing.assert_allclose(first[-1].coef_, inner[-1].coef_, atol=1e-7)
    search = GridSearchCV(pipeline, {"logisticregression__C": [2.0]}, cv=2).fit(X, y)
    chosen = audit(search, X, y, tolerance="2%").choose("sparse").model
    np.testing.assert_allclose(chosen.best_estimator_[-1].coef_, inner[-1].coef_, atol=1e-4)


def test_a_search_that_ends_early_leaves_a_bracket():
    found = random_audit(0, "logistic", "20%")
    preferred = found.choose("sparse", seconds=0.0).preferred[0]
    exact = found.choose("sparse", seconds=None).preferred[0]
    assert preferred.bound <= exact.value <= preferred.value
    assert not preferred.optimal and "no good model has less than" in preferred.text


def test_what_has_no_answer_says_so(found, people):
    X, y = people
    with pytest.raises(ValueError, match='prefer must be "sparse"'):
        found.choose("simple")
    neighbours = make_pipeline(OneHotEncoder(), KNeighborsClassifier()).fit(X[["sex"]], y)
    with pytest.raises(MissingAnswerError, match="sample of refits"):
        audit(neighbours, X[["sex"]], y, n_models=2).choose("sparse")


def test_a_column_of_a_complete_set_of_levels_costs_no_feature():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"kind": rng.choice(list("abc"), 90), "x": rng.standard_normal(90)})
    y = (X["kind"] == "a") * 2.0 + 0.1 * rng.standard_normal(90)
    encoded = pd.get_dummies(X, dtype=float)
    model = make_pipeline(StandardScaler(), LinearRegression()).fit(encoded, y)
    choice = audit(model, encoded, y, tolerance=0.01).choose("sparse")
    assert choice.costs.loc["features", "chosen"] == 1


def test_the_features_are_those_of_the_least_loss():
    for seed in range(8):
        found = random_audit(seed, "logistic", "20%")
        names, uses = table_features(found)
        theta = found.choose("sparse", seconds=None).theta
        size = int(uses[:, theta != 0].any(axis=1).sum())
        losses = []
        for features in combinations(range(len(names)), size):
            dropped = np.ones(len(names), dtype=bool)
            dropped[list(features)] = False
            losses.append(least(found.problem, ~uses[dropped].any(axis=0)))
        assert found.problem.value(theta[:, None])[0] == pytest.approx(min(losses), abs=1e-7)


def test_a_price_curve_falls_with_the_tolerance(found, regression):
    table = found.price("sparse", [found.psi / 8, found.psi, 4 * found.psi])
    assert table["value"].is_monotonic_decreasing
    assert (table["excess"] <= table.index).all() and table["optimal"].all()
    chosen = found.at(table.index[2]).choose()
    assert chosen.preferred[0].value == table["value"].iloc[2]
    assert table["accuracy"].iloc[2] == chosen.costs.loc["accuracy", "chosen"]
    figure = found.plot("price", psis=list(table.index))
    assert "of 4 features" in figure.layout.title.text
    assert list(figure.data[0].y) == table["value"].tolist()
    model, X, y = regression
    choice = audit(model, X, y, tolerance="1%").choose()
    assert choice.changed.shape == (len(X), 2) and "R²" in choice.costs.index
