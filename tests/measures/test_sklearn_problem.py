"""Only a model that minimised the audited objective is audited, whatever its solver."""

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler, scale

from rashomon_explorer.measures import penalised_problem

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

SOLVERS = {
    **{name: {"solver": name} for name in ("lbfgs", "newton-cg", "newton-cholesky", "liblinear")},
    "liblinear dual": {"solver": "liblinear", "dual": True},
    **{name: {"solver": name, "random_state": 0} for name in ("sag", "saga")},
}
LEAST_SQUARES = ("auto", "svd", "cholesky", "lsqr", "sparse_cg", "sag", "saga")


def table(name):
    if name == "random":
        rng = np.random.default_rng(0)
        X = rng.normal(size=(400, 5))
        return X, (X[:, 0] + rng.normal(size=400) > 0).astype(int)
    X, y = load_wine(return_X_y=True) if name == "wine" else load_breast_cancer(return_X_y=True)
    return scale(X), (y == 1).astype(int)


def mild_weights(n, seed=1):
    return np.random.default_rng(seed).uniform(0.8, 1.2, n)


def independent_minimum(X, y, *, C, weights=None, l1=0.0):
    """Weights and intercept by another optimiser; an L1 penalty with split parameters."""
    n, p = X.shape
    sample = np.ones(n) if weights is None else weights
    signs = np.where(y == y.max(), 1.0, -1.0)

    def objective(u):
        w = u[:p] - u[p : 2 * p] if l1 else u[:p]
        margins = signs * (X @ w + u[-1])
        slopes = -C * sample * signs / (1 + np.exp(margins))
        value = C * (sample * np.logaddexp(0, -margins)).sum() + (1 - l1) * (w @ w) / 2
        gradient = X.T @ slopes + (1 - l1) * w
        if not l1:
            return value, np.append(gradient, slopes.sum())
        return value + l1 * u[:-1].sum(), np.append(
            [*(gradient + l1), *(l1 - gradient)], slopes.sum()
        )

    bounds = [(0, None)] * (2 * p) + [(None, None)] if l1 else None
    start = np.zeros(2 * p + 1 if l1 else p + 1)
    options = {"maxiter": 20_000, "maxfun": 50_000, "ftol": 1e-15, "gtol": 1e-9}
    found = minimize(objective, start, jac=True, method="L-BFGS-B", bounds=bounds, options=options)
    w = found.x[:p] - found.x[p : 2 * p] if l1 else found.x[:p]
    return w, found.x[-1]


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("name", ["random", "wine", "cancer"])
def test_fits_at_a_solvers_usual_tolerance_are_taken(solver, name):
    X, y = table(name)
    model = LogisticRegression(max_iter=3000, **SOLVERS[solver]).fit(X, y)
    assert penalised_problem(model, X, y).minimum.gap < 1e-8


@pytest.mark.parametrize("solver", SOLVERS)
def test_mild_sample_weights_are_found(solver):
    X, y = table("random")
    model = LogisticRegression(max_iter=3000, **SOLVERS[solver])
    model.fit(X, y, sample_weight=mild_weights(len(y)))
    with pytest.raises(ValueError, match=r"above the minimum.*without sample weights"):
        penalised_problem(model, X, y)


@pytest.mark.parametrize("solver", LEAST_SQUARES)
@pytest.mark.parametrize("intercept", [True, False])
def test_least_squares_are_taken_and_their_weights_are_found(solver, intercept):
    X, y = load_diabetes(return_X_y=True)
    make = {"alpha": 0.3, "solver": solver, "fit_intercept": intercept, "random_state": 0}
    model = Ridge(**make, max_iter=5000).fit(20 * X, y)
    assert penalised_problem(model, 20 * X, y).ridges[0] == pytest.approx(0.3 / len(y))
    model.fit(20 * X, y, sample_weight=mild_weights(len(y)))
    with pytest.raises(ValueError, match="without sample weights"):
        penalised_problem(model, 20 * X, y)


def test_weights_of_ordinary_least_squares_and_of_single_precision_are_found():
    X, y = load_diabetes(return_X_y=True)
    for kind, dtype in ((LinearRegression, float), (Ridge, np.float32), (LogisticRegression, "f4")):
        rows = (20 * X).astype(dtype)
        targets = (y > 140).astype(int) if kind is LogisticRegression else y
        model = kind().fit(rows, targets)
        penalised_problem(model, rows, targets)
        model.fit(rows, targets, sample_weight=mild_weights(len(y)))
        with pytest.raises(ValueError, match="above the minimum"):
            penalised_problem(model, rows, targets)


SPELLINGS = {
    "1.6: L2": ({"penalty": "l2", "l1_ratio": None}, 1.0),
    "1.6: L2, idle l1_ratio": ({"penalty": "l2", "l1_ratio": 0.5}, 1.0),
    "1.6: none": ({"penalty": None, "l1_ratio": None, "C": 3.0}, np.inf),
    "1.6: L1": ({"penalty": "l1", "l1_ratio": None}, None),
    "1.6: elastic net": ({"penalty": "elasticnet", "l1_ratio": 0.01}, None),
    "1.6: elastic net without L1": ({"penalty": "elasticnet", "l1_ratio": 0.0}, 1.0),
    "1.9: L2": ({"penalty": "deprecated", "l1_ratio": 0.0}, 1.0),
    "1.9: none": ({"penalty": "deprecated", "l1_ratio": 0.0, "C": np.inf}, np.inf),
    "1.9: elastic net": ({"penalty": "deprecated", "l1_ratio": 0.01}, None),
    "1.10: L2": ({"l1_ratio": 0.0}, 1.0),
    "1.10: none": ({"l1_ratio": 0.0, "C": np.inf}, np.inf),
    "1.10: L1": ({"l1_ratio": 1.0}, None),
    "of a later version": ({"penalty": "l3", "l1_ratio": 0.0}, None),
}


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_the_penalty_is_read_as_every_version_spells_it(spelling):
    X, y = table("random")
    settings, C = SPELLINGS[spelling]
    model = LogisticRegression(C=1.0 if C is None else C).fit(X, y)
    vars(model).pop("penalty", None)
    vars(model).update(settings)
    if C is None:
        with pytest.raises(ValueError, match="L1 penalties are not supported"):
            penalised_problem(model, X, y)
    else:
        assert penalised_problem(model, X, y).ridges[0] == 1 / (len(y) * C)


@pytest.mark.filterwarnings("ignore:.*penalty:FutureWarning", "ignore:Inconsistent values")
@pytest.mark.parametrize("solver", ["saga", "liblinear"])
def test_the_usual_spelling_of_l1_is_refused(solver):
    X, y = table("random")
    model = LogisticRegression(penalty="l1", solver=solver, C=10.0).fit(X, y)
    with pytest.raises(ValueError, match="L1 penalties are not supported"):
        penalised_problem(model, X, y)


def fitted(w, intercept, **settings):
    """A model that says that it minimised the plain objective, and has these parameters."""
    X, y = table("random")
    model = LogisticRegression(**settings).fit(X, y)
    model.coef_, model.intercept_ = w[None, :], np.array([intercept])
    return model


WRONG = {
    "weights": {"weights": mild_weights(400)},
    "balanced classes": {"weights": np.where(table("random")[1] == 1, 1.05, 0.95)},
    "L1": {"l1": 1.0},
    "a little L1": {"l1": 0.2},
    "another C": {"C": 0.8},
}


def test_an_independent_optimum_of_the_objective_is_taken():
    X, y = table("random")
    w, intercept = independent_minimum(X, y, C=1.0)
    problem = penalised_problem(fitted(w, intercept), X, y)
    np.testing.assert_allclose(problem.minimum.theta, [*w, intercept], atol=1e-6)


@pytest.mark.parametrize("case", WRONG)
def test_an_independent_optimum_of_another_objective_is_refused(case):
    X, y = table("random")
    w, intercept = independent_minimum(X, y, **{"C": 1.0, **WRONG[case]})
    with pytest.raises(ValueError, match="above the minimum"):
        penalised_problem(fitted(w, intercept), X, y)


def test_the_untransformed_rows_of_a_pipeline_are_refused():
    X, y = load_breast_cancer(return_X_y=True)
    pipeline = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, y)
    penalised_problem(pipeline[-1], pipeline[:-1].transform(X), y)
    with pytest.raises(ValueError, match="transformed rows"):
        penalised_problem(pipeline[-1], X, y)
    with pytest.raises(ValueError, match="above the minimum"):
        penalised_problem(pipeline[-1], pipeline[:-1].transform(X) * 1.01, y)


def test_a_few_other_rows_are_refused():
    X, y = table("random")
    model = LogisticRegression().fit(X, y)
    with pytest.raises(ValueError, match="pass the rows that it was fitted to"):
        penalised_problem(model, X[:-4], y[:-4])


def test_columns_in_another_order_are_refused_by_name():
    X, y = table("random")
    frame = pd.DataFrame(X, columns=list("abcde"))
    model = LogisticRegression().fit(frame, y)
    penalised_problem(model, frame, y)
    with pytest.raises(ValueError, match="in their order"):
        penalised_problem(model, frame[list("edcba")], y)


def test_an_unfinished_fit_is_refused_and_the_error_says_so():
    X, y = load_breast_cancer(return_X_y=True)
    model = LogisticRegression(max_iter=20).fit(X, y)
    with pytest.raises(ValueError, match=r"max_iter=20 steps: raise max_iter or scale"):
        penalised_problem(model, X, y)
    loose = LogisticRegression(tol=0.3).fit(*table("cancer"))  # stops by its own rule, too early
    with pytest.raises(ValueError, match="a smaller tol"):
        penalised_problem(loose, *table("cancer"))
