"""Exact ranges of scikit-learn's own models, against published figures and other programmes."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import chdtri
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.linear_model import Lasso, LinearRegression, LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler, scale

from rashomon_explorer import RashomonClassifier, RashomonRegressor
from rashomon_explorer.exceptions import DataError
from rashomon_explorer.measures import (
    declared_problem,
    draws_in_range,
    exact_ambiguity,
    exact_coefficient_ranges,
    exact_group_gap,
    exact_ranges,
    exact_score_ranges,
    penalised_problem,
    relative_psi,
)


@pytest.fixture(scope="module")
def cancer():
    X, y = load_breast_cancer(return_X_y=True)
    X = scale(X)
    return X, penalised_problem(LogisticRegression(max_iter=1000).fit(X, y), X, y)


@pytest.mark.parametrize(("slack", "flips"), [(0.01, 0.0281195), (0.03, 0.0615114)])
def test_breast_cancer_flips_as_published(cancer, slack, flips):
    """Of 569 people, C = 1, free intercept: 16 and 35 can get another label."""
    X, problem = cancer
    share = exact_ambiguity(problem, relative_psi(problem, slack), X)
    assert share.lower == share.upper == pytest.approx(flips, abs=1e-7)


def test_other_conventions_give_other_flips(cancer):
    """The control: slack in units of the loss, or half of it, does not give those figures."""
    X, problem = cancer
    for psi in (0.01, relative_psi(problem, 0.005)):
        assert exact_ambiguity(problem, psi, X).lower != pytest.approx(0.0281195, abs=1e-3)


def admissions(n=200, seed=0):
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.normal(600, 100, n), rng.normal(3.4, 0.4, n), rng.random(n) < 0.3])
    chance = 1 / (1 + np.exp(-(X @ [0.003, 0.8, -0.7] - 4.9)))
    return X, (rng.random(n) < chance).astype(int)


def profile(problem, parameter, at):
    """Least objective with one parameter held, by another optimiser, in scaled parameters."""
    size = np.maximum(np.abs(problem.rows).max(axis=0), 1e-12)
    free = np.arange(problem.p) != parameter

    def objective(u):
        theta = np.full(problem.p, at)
        theta[free] = u / size[free]
        value, gradient = problem.value_and_gradient(theta[:, None])
        return value[0], gradient[free, 0] / size[free]

    start = (problem.minimum.theta * size)[free]
    return minimize(objective, start, jac=True, method="BFGS", options={"gtol": 1e-9}).fun


def test_unpenalised_ranges_are_profile_likelihood_intervals():
    """With ψ = χ²₁(.95)/(2n): twice n times the excess of each end's profile is χ²₁(.95)."""
    X, y = admissions()
    model = LogisticRegression(C=np.inf, solver="newton-cholesky", tol=1e-8).fit(X, y)
    problem = penalised_problem(model, X, y)
    quantile = chdtri(1, 0.05)
    table = exact_coefficient_ranges(problem, quantile / (2 * len(y)))
    for parameter in range(problem.p):
        for end in ("low", "high"):
            rise = profile(problem, parameter, table[end].iloc[parameter]) - problem.minimum.value
            assert 2 * len(y) * rise == pytest.approx(quantile, rel=1e-3)
    assert (table["high_outer"] - table["low_outer"]).max() < 30


@pytest.mark.parametrize(
    "model", [Ridge(alpha=5.0), LinearRegression(), Ridge(fit_intercept=False)]
)
def test_least_squares_are_an_ellipsoid(model):
    X, y = load_diabetes(return_X_y=True)
    X = X * 20
    problem = penalised_problem(model.fit(X, y), X, y)
    fitted = np.append(model.coef_, model.intercept_ if model.fit_intercept else [])
    np.testing.assert_allclose(problem.minimum.theta, fitted, rtol=1e-6)
    psi = 0.05 * problem.minimum.value
    half = np.sqrt(2 * psi * np.diag(np.linalg.inv(problem.hessian(fitted))))
    table = exact_coefficient_ranges(problem, psi)
    np.testing.assert_allclose(table["high"] - table["best"], half, rtol=2e-6)
    np.testing.assert_allclose(table["best"] - table["low_outer"], half, rtol=2e-6)


@pytest.mark.parametrize("solver", ["lbfgs", "liblinear"])
def test_the_objective_is_the_one_scikit_learn_minimises(solver):
    X, y = admissions()
    model = LogisticRegression(C=0.3, solver=solver, tol=1e-9, max_iter=10_000).fit(scale(X), y)
    problem = penalised_problem(model, scale(X), y)
    fitted = np.append(model.coef_, model.intercept_)
    np.testing.assert_allclose(problem.minimum.theta, fitted, atol=1e-4)
    assert problem.ridges[-1] == (problem.ridges[0] if solver == "liblinear" else 0.0)
    assert problem.minimum.gap < 1e-10


def test_the_ellipsoid_holds_the_set(cancer):
    """Its support in every direction is no smaller than the exact extent."""
    problem = cancer[1]
    psi = relative_psi(problem, 0.02)
    table = exact_coefficient_ranges(problem, psi)
    reach = problem.reach(psi)
    support = reach.extent * np.linalg.norm(reach.whiten, axis=1)
    assert (table["high"] - table["best"] <= support).all()
    assert (table["high_outer"] - table["high"] <= 1e-5 * (table["high"] - table["best"])).all()


X, Y = admissions(60)
BAD = {
    "several classes": (LogisticRegression(), np.arange(60) % 3, "two classes are needed, got 3"),
    "weights": (LogisticRegression(class_weight="balanced"), Y, "class weights"),
    "l1": (LogisticRegression(l1_ratio=1.0, solver="saga"), Y, "L1 penalties"),
    "alphas": (Ridge(positive=True, solver="lbfgs"), Y, "positive=False"),
    "kind": (Lasso(), Y, "must be one of LogisticRegression, Ridge, LinearRegression, got Lasso"),
}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("case", BAD)
def test_other_objectives_are_refused(case):
    model, y, words = BAD[case]
    with pytest.raises((ValueError, TypeError), match=words):
        penalised_problem(model.fit(scale(X), y), scale(X), y)


def test_other_rows_and_hopeless_ones_are_refused():
    model = LogisticRegression().fit(scale(X), Y)
    with pytest.raises(ValueError, match="above the minimum: pass the rows that it was fitted to"):
        penalised_problem(model, scale(X), 1 - Y)
    with pytest.raises(ValueError, match="must hold the labels"):
        penalised_problem(model, scale(X), Y + 1)
    with pytest.raises(ValueError, match="one target per row"):
        penalised_problem(model, scale(X), Y[1:])
    with pytest.raises(DataError, match="without NaN"):
        penalised_problem(model, np.full((60, 3), np.nan), Y)
    with pytest.raises(DataError, match="must hold numbers"):
        penalised_problem(model, [["old"]] * 60, Y)
    with pytest.raises(TypeError, match="must be one of LogisticRegression, Ridge"):
        penalised_problem("a model", X, Y)
    twice = scale(X)[:, [0, 0]]
    with pytest.raises(DataError, match="drop collinear columns"):
        penalised_problem(LinearRegression().fit(twice, Y), twice, Y)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_separable_classes_have_no_unpenalised_range():
    line = np.linspace(-1, 1, 20)[:, None]
    side = (line[:, 0] > 0).astype(int)
    with pytest.raises(DataError, match="separated without error"):
        penalised_problem(LogisticRegression(C=np.inf).fit(line, side), line, side)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_column_that_only_one_class_has_leaves_no_minimum_and_is_named():
    rng = np.random.default_rng(0)
    both, score = rng.normal(size=(2, 200))
    y = (score > 0).astype(int)
    table = np.column_stack([both, score > 0.2])  # ties: no direction separates every row
    with pytest.raises(DataError, match=r"along \['x1'\] .*quasi-complete separation"):
        penalised_problem(LogisticRegression(C=np.inf).fit(table, y), table, y)
    y[np.argmax(score)] = 0  # one exception, and there is a minimum again
    model = LogisticRegression(C=np.inf, max_iter=1000).fit(table, y)
    ranges = exact_coefficient_ranges(penalised_problem(model, table, y), 0.01)
    assert np.isfinite(ranges).all(axis=None)
    assert (ranges["high"] - ranges["low"] < 20).all()


def test_steep_data_that_are_not_separated_keep_their_ranges():
    steep = np.append(np.linspace(-50, 50, 60), [0.5, -0.5])[:, None]
    y = np.append(np.repeat([0, 1], 30), [0, 1])
    model = LogisticRegression(C=np.inf, max_iter=1000).fit(steep, y)
    problem = penalised_problem(model, steep, y)
    assert (np.abs(steep) * problem.minimum.theta[0]).max() > 15  # so that it was looked closer
    assert np.isfinite(exact_coefficient_ranges(problem, 0.01)).all(axis=None)


@pytest.mark.parametrize(
    "ask",
    [
        lambda model: exact_ranges(model, 0.1),
        lambda model: exact_coefficient_ranges(model, 0.1),
        lambda model: exact_score_ranges(model, 0.1, X),
        lambda model: exact_group_gap(model, 0.1, X, Y),
        lambda model: exact_ambiguity(model, 0.1, X),
        lambda model: relative_psi(model, 0.1),
    ],
)
def test_a_fitted_model_is_no_problem_and_the_error_says_how_to_make_one(ask):
    with pytest.raises(TypeError, match=r"got LogisticRegression: make one .* penalised_problem"):
        ask(LogisticRegression().fit(X, Y))


def test_a_pipeline_is_refused_with_advice_and_no_row_is_printed():
    pipeline = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, Y)
    with pytest.raises(TypeError, match="got Pipeline: pass a pipeline's last step"):
        penalised_problem(pipeline, X, Y)
    problem = penalised_problem(pipeline[-1], pipeline[:-1].transform(X), Y)
    assert "array" not in repr(problem).split("ridges")[0]


MANY, MANY_Y = admissions(600)
SETTINGS = {"psi": 0.1, "n_draws": 20, "epsilon": 300.0, "random_state": 0}
ESTIMATORS = {
    "two classes": (RashomonClassifier(**SETTINGS), MANY_Y),
    "three classes": (
        RashomonClassifier(**SETTINGS),
        np.array(["a", "b", "c"])[np.digitize(scale(MANY)[:, 0], [-0.5, 0.5])],
    ),
    "regression": (RashomonRegressor(**SETTINGS, target_bounds=(200, 1000)), MANY[:, 0]),
}


@pytest.mark.parametrize("case", ESTIMATORS)
@pytest.mark.law
def test_an_estimators_own_draws_lie_in_the_ranges_of_its_problem(case):
    estimator, y = ESTIMATORS[case]
    rows = scale(MANY) / 4
    models = estimator.fit(rows, y).rashomon_set_
    problem = declared_problem(estimator, rows, y)
    table = draws_in_range(models, exact_ranges(problem, models.psi))
    assert table.attrs["n_inside"] > 5
    assert (table["shortfall"] > 0).all()
    with pytest.raises(ValueError, match="rows that the estimator was fitted to"):
        declared_problem(estimator, rows / 2, y)


def test_a_problem_is_declared_by_a_rashomon_estimator_only():
    with pytest.raises(TypeError, match="use penalised_problem"):
        declared_problem(LogisticRegression().fit(X, Y), X, Y)
    with pytest.raises(TypeError, match="fitted Rashomon estimator, got 3"):
        declared_problem(3, X, Y)
    fitted = RashomonClassifier(n_draws=3, random_state=0).fit(scale(X) / 4, Y)
    with pytest.raises(ValueError, match=r"y holds the class 5, which is not in \[0, 1\]"):
        declared_problem(fitted, scale(X) / 4, np.full(60, 5))
    with pytest.raises(ValueError, match="the rows give 3 parameters, the draws 4"):
        declared_problem(fitted, X[:, :2], Y)
