"""Rules of the tolerance against closed forms, profile likelihoods and published numbers."""

import re

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import brentq, minimize
from scipy.stats import chi2
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.linear_model import (
    ElasticNet,
    LinearRegression,
    LogisticRegression,
    Ridge,
    RidgeClassifier,
)
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from rashomon_explorer import audit
from rashomon_explorer.audits.refits import Refit
from rashomon_explorer.audits.tolerance import _Case, resolve
from rashomon_explorer.measures import exact_ambiguity, exact_coefficient_ranges, penalised_problem
from tests.audits.conftest import SAGA


def cancer():
    data = load_breast_cancer()
    return StandardScaler().fit_transform(data.data[:, :10]), data.target


def resolved(tolerance, model, X, y, **settings):
    return resolve(tolerance, model, X, y, penalised_problem(model, X, y), **settings)


def test_the_published_ambiguity_of_breast_cancer():
    """README of rashomon-py 0.3.1: .01704, the standard error of five folds' means; 99 of 569."""
    X, y = cancer()
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    model = LogisticRegression()
    chance = cross_val_predict(model, X, y, cv=folds, method="predict_proba")
    losses = -np.log(chance[np.arange(len(y)), y])
    psi = np.std([losses[test].mean() for _, test in folds.split(X, y)], ddof=1) / 5**0.5
    assert round(psi, 5) == 0.01704
    share = exact_ambiguity(penalised_problem(model.fit(X, y), X, y), psi, X)
    assert share.lower == share.upper == 99 / 569


def test_the_default_is_the_likelihood_ratio_where_there_is_one():
    X, y = cancer()
    for model in (LogisticRegression(), LogisticRegression(C=np.inf), LinearRegression()):
        model.fit(X, y)
        found = resolved("auto", model, X, y)
        assert found == resolved("likelihood ratio", model, X, y)
        if isinstance(model, LogisticRegression):
            assert found.psi == pytest.approx(chi2.ppf(0.95, 1) / (2 * len(y)))
            assert audit(model, X, y).tolerance == found
    model = RidgeClassifier().fit(X, y)
    found = resolved("auto", model, X, y)
    assert found.rule == "paired standard error"
    assert 0 < found.psi < resolved("cv", model, X, y).psi


def test_the_paired_standard_error_is_that_of_bootstrapped_refits_on_held_out_rows():
    """By hand for a ridge classifier; of a logistic regression it is near the likelihood ratio."""
    X, y = (part[:200] for part in cancer())
    model, errors = RidgeClassifier().fit(X, y), []
    for seed in range(5):
        apart = np.empty(len(y))
        splits = StratifiedKFold(5, shuffle=True, random_state=0).split(X, y)
        for train, test in splits:
            plain = RidgeClassifier().fit(X[train], y[train])
            change = Refit("bootstrap", "rows", seed=seed)
            other = change.fitted(model, X[train], y[train], None, 0)
            signs = 2 * y[test] - 1
            first, second = (m.decision_function(X[test]) for m in (plain, other))
            apart[test] = ((signs - second) ** 2 - (signs - first) ** 2) / 2
        errors.append(apart.std(ddof=1) / np.sqrt(len(y)))
    psi = resolved("paired standard error", model, X, y).psi
    assert psi == pytest.approx(np.median(errors))
    model = LogisticRegression().fit(X, y)
    ratio = resolved("paired standard error", model, X, y).psi
    ratio /= resolved("likelihood ratio", model, X, y).psi
    assert 1 / 8 < ratio < 8


def test_the_standard_error_of_all_rows_depends_little_on_the_folds():
    X, y = cancer()
    model = LogisticRegression().fit(X, y)
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    chance = cross_val_predict(model, X, y, cv=folds, method="predict_proba")
    losses = -np.log(chance[np.arange(len(y)), y])
    found = resolved("cv", model, X, y)
    own, least = found.psi, resolved("likelihood ratio", model, X, y).psi
    assert f"{own / least:.2g} times what tolerance='likelihood ratio' allows" in found.text
    assert own == pytest.approx(losses.std(ddof=1) / len(y) ** 0.5)
    rows = [resolved("cv", model, X, y, random_state=seed).psi for seed in range(3)]
    assert np.ptp(rows) < 0.1 * np.mean(rows)


def profile_interval(X, y, place, level):
    """Interval of one coefficient of an unpenalised logistic regression, by refits of the rest."""
    rows, signs = np.column_stack([X, np.ones(len(X))]), 2 * y - 1

    def loss(theta):
        return np.logaddexp(0, -signs * (rows @ theta)).sum()

    def slope(theta):
        return -(signs / (1 + np.exp(signs * (rows @ theta)))) @ rows

    best = minimize(loss, np.zeros(rows.shape[1]), jac=slope, options={"gtol": 1e-9})
    free = np.arange(rows.shape[1]) != place

    def above(value):
        def whole(rest):
            theta = np.full(rows.shape[1], value)
            theta[free] = rest
            return theta

        how = {"jac": lambda rest: slope(whole(rest))[free], "options": {"gtol": 1e-9}}
        fixed = minimize(lambda rest: loss(whole(rest)), best.x[free], **how)
        return 2 * (fixed.fun - best.fun) - chi2.ppf(level, 1)

    middle = best.x[place]
    return brentq(above, middle - 5, middle), brentq(above, middle, middle + 5)


@pytest.mark.parametrize("level", [0.8, 0.95])
def test_ranges_at_the_likelihood_ratio_are_profile_intervals(level):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((80, 2))
    y = (X[:, 0] + rng.logistic(size=80) > 0.3).astype(int)
    model = LogisticRegression(C=np.inf, tol=1e-10).fit(X, y)
    problem = penalised_problem(model, X, y)
    psi = resolve(f"likelihood ratio {100 * level:g}%", model, X, y, problem).psi
    table = exact_coefficient_ranges(problem, psi)
    for place in range(2):
        ends = table.iloc[place][["low", "high"]].to_numpy(dtype=float)
        assert ends == pytest.approx(profile_interval(X, y, place, level), abs=1e-5)


def test_ranges_at_the_likelihood_ratio_of_least_squares_have_a_closed_form():
    """The profile likelihood ratio of n·log(RSS/min RSS), with the variance profiled out."""
    X, y = load_diabetes(return_X_y=True)
    model = LinearRegression().fit(X, y)
    problem = penalised_problem(model, X, y)
    table = exact_coefficient_ranges(problem, resolve("likelihood ratio", model, X, y, problem).psi)
    rows = np.column_stack([X, np.ones(len(X))])
    rss = ((y - model.predict(X)) ** 2).sum()
    variance = np.diag(np.linalg.inv(rows.T @ rows))
    half = np.sqrt(variance * rss * np.expm1(chi2.ppf(0.95, 1) / len(y)))
    assert (table["high"] - table["best"]).to_numpy() == pytest.approx(half, rel=1e-6)
    assert (table["best"] - table["low"]).to_numpy() == pytest.approx(half, rel=1e-6)


@pytest.mark.parametrize(
    ("kind", "classes"),
    [(LogisticRegression, 2), (Ridge, 2), (LogisticRegression, 3), (RidgeClassifier, 3)],
)
def test_the_price_of_a_group_is_the_loss_of_a_fit_without_it(kind, classes):
    X, y = cancer()
    y = y + (X[:, 1] > 0.5) if classes == 3 else y
    names = [f"c{j}" for j in range(10)]
    frame = pd.DataFrame(X, columns=names)
    settings = {"tol": 1e-9, "max_iter": 1000} if kind is LogisticRegression else {}
    model = kind(**settings).fit(frame, y)
    groups = {"size": ["c0", "c2", "c3"]}
    best = penalised_problem(model, frame, y).minimum.value
    for text, dropped in (("without c4", ["c4"]), ("without size, c5", [*groups["size"], "c5"])):
        rest = frame.drop(columns=dropped)
        smaller = penalised_problem(kind(**settings).fit(rest, y), rest, y).minimum.value
        found = resolved(text, model, frame, y, groups=groups)
        assert found.psi == pytest.approx(smaller - best, rel=1e-6)
        assert found.rule == "without"


def test_relative_and_absolute_tolerances_are_in_the_unit_of_the_objective():
    X, y = cancer()
    model = LogisticRegression().fit(X, y)
    best = penalised_problem(model, X, y).minimum.value
    assert resolved("2.5%", model, X, y).psi == pytest.approx(0.025 * best)
    assert resolved(0.03, model, X, y).psi == 0.03
    for rule in ("2.5%", 0.03, "cv", "likelihood ratio", "without x1"):
        assert re.fullmatch(
            r"good models lose at most [\d.e-]+ more.*", resolved(rule, model, X, y).text
        )


def test_weights_count_rows_as_often():
    X, y = cancer()
    weights = np.random.default_rng(0).integers(1, 4, len(y))
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(
        X, y, logisticregression__sample_weight=weights
    )
    found = resolve("1%", model, X, y, sample_weight=weights)
    plain = resolve("1%", model, X, y)
    assert found.psi != plain.psi
    assert resolve("1%", model, X, y, sample_weight=np.ones(len(y))).psi == pytest.approx(plain.psi)


def test_the_price_of_a_column_for_any_model_is_that_of_refits_without_it():
    """Nearest neighbours, whose distances would use a column that is constant only in fits."""
    rng = np.random.default_rng(1)
    X = rng.standard_normal((200, 2))
    y = X[:, 0] ** 2 + X[:, 1]
    model = KNeighborsRegressor().fit(X, y)
    found = resolve("without x1", model, X, y)
    rest = KNeighborsRegressor().fit(X[:, :1], y)
    price = resolve("1%", rest, X[:, :1], y).psi - resolve("1%", model, X, y).psi
    assert found.psi == pytest.approx(100 * price)


@pytest.mark.parametrize(
    ("tolerance", "told"),
    [
        (-1, "> 0"),
        ("0%", "> 0"),
        (True, "must be a number"),
        ("1.2.3%", "must be a number"),
        ("best", "must be a number"),
        ("likelihood ratio 100%", "in \\(0, 1\\)"),
        ("without x99", "unknown"),
    ],
)
def test_a_tolerance_that_says_nothing_is_refused(tolerance, told):
    X, y = cancer()
    model = LogisticRegression().fit(X, y)
    with pytest.raises(ValueError, match=told):
        resolved(tolerance, model, X, y)


def test_a_rule_that_does_not_apply_is_refused():
    X, y = cancer()
    for model in (DecisionTreeClassifier(max_depth=2), RidgeClassifier()):
        with pytest.raises(TypeError, match=f"logistic or linear.*{type(model).__name__}"):
            resolve("likelihood ratio", model.fit(X, y), X, y)
    model = LogisticRegression(l1_ratio=1.0, C=0.1, max_iter=20_000, **SAGA).fit(X, y)
    unused = int(np.flatnonzero(model.coef_[0] == 0)[0])
    with pytest.raises(ValueError, match="costs nothing"):
        resolved(f"without x{unused}", model, X, y)


def test_a_probability_of_zero_does_not_decide_on_the_tolerance():
    """One wrong row with probability 0 would cost 36 nats, of 569 rows that cost .1 on average."""
    X, y = cancer()
    model = DecisionTreeClassifier(random_state=0).fit(X, y)
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    chance = cross_val_predict(model, X, y, cv=folds, method="predict_proba")
    wrong = chance[np.arange(len(y)), y] == 0
    losses = np.where(wrong, np.log(2 * len(y)), -np.log1p(-1 / (2 * len(y))))
    expected = losses.std(ddof=1) / len(y) ** 0.5
    assert resolve("cv", model, X, y).psi == pytest.approx(expected)


@pytest.mark.parametrize(
    "model",
    [
        LogisticRegression(class_weight="balanced", tol=1e-8),
        LogisticRegression(l1_ratio=0.5, C=0.5, max_iter=20_000, **SAGA),
        LinearSVC(fit_intercept=False, tol=1e-8),
        RidgeClassifier(),
        Ridge(),
        ElasticNet(alpha=0.01, tol=1e-9),
    ],
    ids=lambda model: type(model).__name__,
)
@pytest.mark.parametrize("weighted", [False, True])
def test_losses_of_rows_are_in_the_unit_of_the_objective(model, weighted):
    """Their weighted mean is the objective of the fitted model without its penalty."""
    X, y = cancer()
    weights = np.random.default_rng(0).uniform(0.5, 2, len(y)) if weighted else None
    model.fit(X, y, sample_weight=weights)
    problem = penalised_problem(model, X, y, sample_weight=weights)
    case = _Case(model, X, y, problem, weights, {}, 0)
    theta = problem.minimum.theta
    penalty = problem.ridges @ theta**2 / 2
    if problem.l1 is not None:
        penalty += problem.l1 @ np.abs(theta)
    expected = problem.minimum.value - penalty
    assert case.mean(case._losses(model, X, y)) == pytest.approx(expected, rel=1e-5)
