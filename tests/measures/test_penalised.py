"""Problems of scikit-learn's models: only what minimised the objective is taken; their ranges."""

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize
from scipy.special import chdtri
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler, scale

from rashomon_explorer import RashomonClassifier, RashomonRegressor
from rashomon_explorer import measures as m
from rashomon_explorer.exceptions import DataError

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def rows_of(name):
    if name == "random":
        rng = np.random.default_rng(0)
        X = rng.normal(size=(400, 5))
        return X, (X[:, 0] + rng.normal(size=400) > 0).astype(int)
    if name == "diabetes":
        X, y = load_diabetes(return_X_y=True)
        return 20 * X, y
    X, y = load_wine(return_X_y=True) if name == "wine" else load_breast_cancer(return_X_y=True)
    return scale(X), (y == 1).astype(int)


X, Y = rows_of("random")
MILD = np.random.default_rng(1).uniform(0.8, 1.2, 442)  # sample weights


@pytest.fixture(scope="module")
def cancer():
    rows, y = rows_of("cancer")
    return rows, m.penalised_problem(LogisticRegression(max_iter=1000).fit(rows, y), rows, y)


@pytest.mark.parametrize(("slack", "flips"), [(0.01, 0.0281195), (0.03, 0.0615114)])
def test_breast_cancer_flips_as_published(cancer, slack, flips):
    """Of 569 people, C = 1, free intercept: 16 and 35 can get another label."""
    rows, problem = cancer
    share = m.exact_ambiguity(problem, m.relative_psi(problem, slack), rows)
    assert share.lower == share.upper == pytest.approx(flips, abs=1e-7)
    if slack == 0.01:  # control: slack in units of the loss, or half of it, gives other figures
        for psi in (0.01, m.relative_psi(problem, 0.005)):
            assert m.exact_ambiguity(problem, psi, rows).lower != pytest.approx(flips, abs=1e-3)


def test_the_ellipsoid_holds_the_set(cancer):
    """Its support in every direction is no smaller than the exact extent."""
    problem = cancer[1]
    psi = m.relative_psi(problem, 0.02)
    table, reach = m.exact_coefficient_ranges(problem, psi), problem.reach(psi)
    support = reach.extent * np.linalg.norm(reach.whiten, axis=1)
    assert (table["high"] - table["best"] <= support).all()
    assert (table["high_outer"] - table["high"] <= 1e-5 * (table["high"] - table["best"])).all()


def admissions(n=200):
    rng = np.random.default_rng(0)
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
    problem, quantile = m.penalised_problem(model, X, y), chdtri(1, 0.05)
    table = m.exact_coefficient_ranges(problem, quantile / (2 * len(y)))
    for parameter in range(problem.p):
        for end in ("low", "high"):
            rise = profile(problem, parameter, table[end].iloc[parameter]) - problem.minimum.value
            assert 2 * len(y) * rise == pytest.approx(quantile, rel=1e-3)


@pytest.mark.parametrize("model", [Ridge(alpha=5), LinearRegression(), Ridge(fit_intercept=False)])
def test_least_squares_are_an_ellipsoid(model):
    X, y = rows_of("diabetes")
    problem = m.penalised_problem(model.fit(X, y), X, y)
    fitted = np.append(model.coef_, model.intercept_ if model.fit_intercept else [])
    np.testing.assert_allclose(problem.minimum.theta, fitted, rtol=1e-6)
    psi = 0.05 * problem.minimum.value
    half = np.sqrt(2 * psi * np.diag(np.linalg.inv(problem.hessian(fitted))))
    table = m.exact_coefficient_ranges(problem, psi)
    np.testing.assert_allclose(table["high"] - table["best"], half, rtol=2e-6)
    np.testing.assert_allclose(table["best"] - table["low_outer"], half, rtol=2e-6)


SOLVERS = {
    **{name: {} for name in ("lbfgs", "newton-cg", "newton-cholesky", "liblinear")},
    "liblinear dual": {"solver": "liblinear", "dual": True},
    **{name: {"random_state": 0} for name in ("sag", "saga")},
}


@pytest.mark.parametrize("solver", SOLVERS)
def test_fits_at_a_solvers_usual_tolerance_are_taken_and_mild_weights_are_found(solver):
    model = LogisticRegression(max_iter=3000, **{"solver": solver, **SOLVERS[solver]})
    for name in ("random", "wine", "cancer"):
        rows, y = rows_of(name)
        problem = m.penalised_problem(model.fit(rows, y), rows, y)
        assert problem.minimum.gap < 1e-8
        free = 0.0 if "liblinear" not in solver else problem.ridges[0]
        assert problem.ridges[-1] == free  # of the intercept
    model.fit(X, Y, sample_weight=MILD[: len(Y)])
    with pytest.raises(ValueError, match=r"above the minimum.*its sample_weight"):
        m.penalised_problem(model, X, Y)


@pytest.mark.parametrize("solver", ("auto", "svd", "cholesky", "lsqr", "sparse_cg", "sag", "saga"))
@pytest.mark.parametrize("intercept", [True, False])
def test_least_squares_are_taken_and_their_weights_are_found(solver, intercept):
    rows, y = rows_of("diabetes")
    make = {"alpha": 0.3, "solver": solver, "fit_intercept": intercept, "random_state": 0}
    model = Ridge(**make, max_iter=5000).fit(rows, y)
    assert m.penalised_problem(model, rows, y).ridges[0] == pytest.approx(0.3 / len(y))
    with pytest.raises(ValueError, match="its sample_weight"):
        m.penalised_problem(model.fit(rows, y, sample_weight=MILD), rows, y)


@pytest.mark.parametrize("kind", [LinearRegression, Ridge, LogisticRegression])
def test_weights_are_found_in_single_precision_too(kind):
    rows, y = rows_of("diabetes")
    targets = (y > 140).astype(int) if kind is LogisticRegression else y
    rows = rows if kind is LinearRegression else rows.astype(np.float32)
    m.penalised_problem(kind().fit(rows, targets), rows, targets)
    with pytest.raises(ValueError, match="above the minimum"):
        m.penalised_problem(kind().fit(rows, targets, sample_weight=MILD), rows, targets)


SPELLINGS = {
    "1.6: L2": ({"penalty": "l2", "l1_ratio": None}, 1.0),
    "1.6: L2, idle l1_ratio": ({"penalty": "l2", "l1_ratio": 0.5}, 1.0),
    "1.6: none": ({"penalty": None, "l1_ratio": None, "C": 3.0}, np.inf),
    "1.6: L1": ({"penalty": "l1", "l1_ratio": None}, None),
    "1.6: elastic net": ({"penalty": "elasticnet", "l1_ratio": 0.5}, None),
    "1.6: elastic net without L1": ({"penalty": "elasticnet", "l1_ratio": 0.0}, 1.0),
    "1.9: L2": ({"penalty": "deprecated", "l1_ratio": 0.0}, 1.0),
    "1.9: none": ({"penalty": "deprecated", "l1_ratio": 0.0, "C": np.inf}, np.inf),
    "1.9: elastic net": ({"penalty": "deprecated", "l1_ratio": 0.5}, None),
    "1.10: L2": ({"l1_ratio": 0.0}, 1.0),
    "1.10: L1": ({"l1_ratio": 1.0}, None),
    "of a later version": ({"penalty": "l3", "l1_ratio": 0.0}, None),
}


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_the_penalty_is_read_as_every_version_spells_it(spelling):
    settings, C = SPELLINGS[spelling]
    model = LogisticRegression(C=1.0 if C is None else C).fit(X, Y)
    vars(model).pop("penalty", None)
    vars(model).update(settings)
    if C is None:
        with pytest.raises(ValueError, match=r"above the minimum|penalty must be one of"):
            m.penalised_problem(model, X, Y)
    else:
        assert m.penalised_problem(model, X, Y).ridges[0] == 1 / (len(Y) * C)


def test_other_rows_orders_and_unfinished_fits_are_refused():
    raw, y = load_breast_cancer(return_X_y=True)
    pipeline = make_pipeline(StandardScaler(), LogisticRegression()).fit(raw, y)
    rows, last = pipeline[:-1].transform(raw), pipeline[-1]
    assert "array" not in repr(m.penalised_problem(last, rows, y)).split("ridges")[0]
    frame = pd.DataFrame(X, columns=list("abcde"))
    named, plain = (LogisticRegression().fit(table, Y) for table in (frame, X))
    m.penalised_problem(named, frame, Y)
    early = LogisticRegression(max_iter=20).fit(raw, y)
    loose = LogisticRegression(tol=0.3).fit(rows, y)  # stops by its own rule, too early
    for model, table, targets, words in (
        (last, raw, y, "transformed rows"),
        (last, rows * 1.01, y, "above the minimum"),
        (plain, X[:-4], Y[:-4], "pass the rows that it was fitted to"),
        (plain, X, 1 - Y, "pass the rows that it was fitted to"),
        (named, frame.rename(columns={"a": "f"}), Y, r"must have the columns \['a', 'b'"),
    ):
        with pytest.raises(ValueError, match=words):
            m.penalised_problem(model, table, targets)
    for model, table in ((early, raw), (loose, rows)):
        with pytest.warns(ConvergenceWarning, match="above the minimum"):
            m.penalised_problem(model, table, y)


def test_objectives_without_a_minimum_are_refused_and_steep_ones_are_not():
    def unpenalised(rows, y):
        model = LogisticRegression(C=np.inf, max_iter=1000).fit(rows, y)
        return m.penalised_problem(model, rows, y)

    line = np.linspace(-1, 1, 20)[:, None]
    with pytest.raises(DataError, match="separated without error"):
        unpenalised(line, (line[:, 0] > 0).astype(int))
    both, score = np.random.default_rng(0).normal(size=(2, 200))
    y = (score > 0).astype(int)
    table = np.column_stack([both, score > 0.2])  # ties: no direction separates every row
    with pytest.raises(DataError, match=r"along \['x1'\] .*quasi-complete separation"):
        unpenalised(table, y)
    y[np.argmax(score)] = 0  # one exception, and there is a minimum again
    assert np.isfinite(m.exact_ranges(unpenalised(table, y), 0.01)).all(axis=None)
    steep = np.append(np.linspace(-50, 50, 60), [0.5, -0.5])[:, None]
    problem = unpenalised(steep, np.append(np.repeat([0, 1], 30), [0, 1]))
    assert (np.abs(steep) * problem.minimum.theta[0]).max() > 15  # so that it was looked closer
    assert np.isfinite(m.exact_ranges(problem, 0.01)).all(axis=None)


MANY, MANY_Y = admissions(600)
SETTINGS = {"psi": 0.1, "n_draws": 20, "epsilon": 300.0, "random_state": 0}
LETTERS = np.array(["a", "b", "c"])[np.digitize(scale(MANY)[:, 0], [-0.5, 0.5])]
ESTIMATORS = {
    "two classes": (RashomonClassifier(**SETTINGS), MANY_Y),
    "three classes": (RashomonClassifier(**SETTINGS), LETTERS),
    "regression": (RashomonRegressor(**SETTINGS, target_bounds=(200, 1000)), MANY[:, 0]),
}


@pytest.mark.parametrize("case", ESTIMATORS)
@pytest.mark.law
def test_an_estimators_own_draws_lie_in_the_ranges_of_its_problem(case):
    estimator, y = ESTIMATORS[case]
    rows = scale(MANY) / 4
    models = estimator.fit(rows, y).rashomon_set_
    problem = m.declared_problem(estimator, rows, y)
    table = m.draws_in_range(models, m.exact_ranges(problem, models.psi))
    assert table.attrs["n_inside"] > 5
    assert (table["shortfall"] > 0).all()
    with pytest.raises(ValueError, match="rows that the estimator was fitted to"):
        m.declared_problem(estimator, rows / 2, y)
