"""Ranges of every kind of scikit-learn's linear models, by other optimisers of its objectives."""

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.linear_model import (
    LinearRegression,
    LogisticRegression,
    LogisticRegressionCV,
    Ridge,
    RidgeClassifier,
    RidgeClassifierCV,
    RidgeCV,
)
from sklearn.svm import LinearSVC

from rashomon_explorer import measures as m

pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning")

RNG = np.random.default_rng(0)
N = 80
X = RNG.normal(size=(N, 3)) * [1.0, 2.0, 0.5] + [0.0, 0.3, 0.0]
SCORE = X @ [1.0, -0.5, 0.3] + RNG.normal(size=N)
LABELS = np.where(SCORE > 0.4, "yes", "no")
SIGNS = np.where(SCORE > 0.4, 1.0, -1.0)
WEIGHTS = RNG.exponential(size=N)


def log_loss(scores):
    return np.logaddexp(0, -SIGNS * scores)


def half_square(scores):
    return (scores - SCORE) ** 2 / 2


def half_square_of_labels(scores):
    return (scores - SIGNS) ** 2 / 2


def squared_hinge(scores):
    return np.maximum(1 - SIGNS * scores, 0) ** 2


def balanced(y):
    values, counts = np.unique(y, return_counts=True)
    return (len(y) / (len(values) * counts))[np.searchsorted(values, y)]


def penalised(loss, weights, factor, *, intercept=0.0, l1=0.0):
    """Sum of weighted losses + factor·(½‖w‖² + l1‖w‖₁), by the sum of weights."""

    def objective(theta):
        w = np.append(theta[:-1], intercept * theta[-1])
        penalty = factor * ((1 - l1) * (w @ w) / 2 + l1 * np.abs(w).sum())
        return (weights @ loss(X @ theta[:-1] + theta[-1]) + penalty) / weights.sum()

    return objective


ONES, CV = np.ones(N), {"Cs": [0.3], "cv": 3, "solver": "newton-cholesky", "tol": 1e-9}
CASES = {
    "logistic, weights": (LogisticRegression(C=0.5, tol=1e-8), WEIGHTS, log_loss, WEIGHTS, 2.0, {}),
    "logistic, balanced": (
        LogisticRegression(class_weight="balanced", tol=1e-8),
        None,
        log_loss,
        balanced(LABELS),
        1.0,
        {},
    ),
    "logistic, both": (
        LogisticRegression(class_weight={"no": 1, "yes": 3}, tol=1e-8),
        WEIGHTS,
        log_loss,
        WEIGHTS * np.where(LABELS == "yes", 3, 1),
        1.0,
        {},
    ),
    "logistic, none": (LogisticRegression(C=np.inf, tol=1e-8), WEIGHTS, log_loss, WEIGHTS, 0.0, {}),
    "logistic, liblinear": (
        LogisticRegression(solver="liblinear", intercept_scaling=2.0, tol=1e-9),
        WEIGHTS,
        log_loss,
        WEIGHTS,
        1.0,
        {"intercept": 0.5},
    ),
    "logistic, CV": (LogisticRegressionCV(**CV), None, log_loss, ONES, 1 / 0.3, {}),
    "ridge, weights": (Ridge(alpha=3.0), WEIGHTS, half_square, WEIGHTS, 3.0, {}),
    "ridge, CV": (RidgeCV(alphas=[0.7]), WEIGHTS, half_square, WEIGHTS, 0.7, {}),
    "least squares": (LinearRegression(), WEIGHTS, half_square, WEIGHTS, 0.0, {}),
    "ridge labels": (
        RidgeClassifier(class_weight="balanced", alpha=2.0),
        WEIGHTS,
        half_square_of_labels,
        WEIGHTS * balanced(LABELS),
        2.0,
        {},
    ),
    "ridge labels, CV": (
        RidgeClassifierCV(alphas=[0.7]),
        None,
        half_square_of_labels,
        ONES,
        0.7,
        {},
    ),
    "SVC": (
        LinearSVC(C=0.4, intercept_scaling=2.0, tol=1e-9, dual=False),
        WEIGHTS,
        squared_hinge,
        WEIGHTS,
        2.5,
        {"intercept": 0.5},
    ),
    "SVC, balanced": (
        LinearSVC(class_weight="balanced", tol=1e-9, dual=False),
        None,
        squared_hinge,
        balanced(LABELS),
        1.0,
        {"intercept": 1.0},
    ),
}


def fitted(case):
    """Problem of a case, and its objective written down here."""
    model, weights, loss, total, factor, more = CASES[case]
    y = SCORE if loss is half_square else LABELS
    model.fit(X, y, **({} if weights is None else {"sample_weight": weights}))
    problem = m.penalised_problem(model, X, y, sample_weight=weights)
    return problem, penalised(loss, total, factor, **more)


def furthest(objective, level, direction, start):
    """Largest direction·θ among models up to a level, by sequential quadratic programmes."""
    constraint = {"type": "ineq", "fun": lambda theta: 1e3 * (level - objective(theta))}
    found = minimize(
        lambda theta: -direction @ theta,
        start,
        constraints=constraint,
        method="SLSQP",
        options={"maxiter": 500, "ftol": 1e-10},
    )
    assert objective(found.x) <= level + 1e-7
    return direction @ found.x


@pytest.mark.parametrize("case", CASES)
def test_minimum_and_ranges_are_those_of_another_optimiser_of_scikit_learns_objective(case):
    problem, objective = fitted(case)
    theta = problem.minimum.theta
    assert problem.minimum.gap < 1e-9
    assert objective(theta) == pytest.approx(problem.minimum.value, rel=1e-9)
    least = minimize(objective, theta + 0.1, method="BFGS", options={"gtol": 1e-8}).fun
    assert problem.minimum.value == pytest.approx(least, abs=1e-8)
    psi, directions = 0.03, np.vstack([np.eye(4), np.append(X[0], 1.0)])
    table = m.exact_ranges(problem, psi, directions)
    width = table["high"] - table["low"]
    assert (table["high_outer"] - table["low_outer"] <= width * (1 + 1e-5)).all()
    for place, direction in enumerate(directions):
        high = furthest(objective, least + psi, direction, theta)
        low = -furthest(objective, least + psi, -direction, theta)
        row = table.iloc[place]
        assert [low, high] == pytest.approx([row["low"], row["high"]], abs=1e-4 * width.iloc[place])


def test_weights_of_whole_numbers_are_repeated_rows():
    counts = RNG.integers(0, 4, N)
    rows, y = np.repeat(X, counts, axis=0), np.repeat(LABELS, counts)
    for model in (LogisticRegression(tol=1e-9), RidgeClassifier(), LinearSVC(tol=1e-9, dual=False)):
        weighted = m.penalised_problem(
            model.fit(X, LABELS, sample_weight=counts), X, LABELS, sample_weight=counts
        )
        repeated = m.penalised_problem(model.fit(rows, y), rows, y)
        one, other = (m.exact_score_ranges(p, 0.02, X[:9]) for p in (weighted, repeated))
        np.testing.assert_allclose(one, other, atol=1e-5)
        assert weighted.n == (counts > 0).sum()


@pytest.mark.parametrize("case", ["logistic, weights", "ridge labels", "SVC"])
def test_flips_and_their_least_psi_are_those_of_the_score_ranges(case):
    problem = fitted(case)[0]
    scores, flips = m.exact_score_ranges(problem, 0.02, X), m.exact_flips(problem, 0.02, X)
    crosses = np.sign(scores["low"]) != np.sign(scores["high"])
    assert flips["decided"].all() and 0 < crosses.mean() < 1
    np.testing.assert_array_equal(flips["flips"], crosses)
    for end, flipped in zip(m.flip_psi(problem, X[3]), (False, True), strict=True):
        assert m.exact_flips(problem, end, X[3:4])["flips"].item() == flipped


@pytest.mark.parametrize("case", CASES)
def test_other_weights_and_penalties_are_refused(case):
    model, weights, loss, _, factor, _ = CASES[case]
    y = SCORE if loss is half_square else LABELS
    model.fit(X, y, **({} if weights is None else {"sample_weight": weights}))
    others = [np.linspace(0.9, 1.1, N)] if weights is None else [None, weights + 0.1, weights[::-1]]
    for other in others:
        with pytest.raises(ValueError, match="above the minimum"):
            m.penalised_problem(model, X, y, sample_weight=other)
    for name in {"C", "C_", "alpha", "alpha_"} & set(vars(model)):
        before = getattr(model, name)
        setattr(model, name, float(np.ravel(before)[0]) * 1.02 if factor else 1.0)
        with pytest.raises(ValueError, match="above the minimum"):
            m.penalised_problem(model, X, y, sample_weight=weights)
        setattr(model, name, before)


def test_bad_weights_and_unsupported_losses_are_named():
    model = LogisticRegression().fit(X, LABELS)
    for weights in (-WEIGHTS, WEIGHTS[:-1], np.full(N, np.nan), np.zeros(N)):
        with pytest.raises(ValueError, match="sample_weight must"):
            m.penalised_problem(model, X, LABELS, sample_weight=weights)
    hinge = LinearSVC(loss="hinge", max_iter=100_000).fit(X, LABELS)
    with pytest.raises(ValueError, match="fit with these"):
        m.penalised_problem(hinge, X, LABELS)
