"""Ranges of every kind of scikit-learn's linear models, by other optimisers of its objectives."""

import warnings
from dataclasses import dataclass
from functools import cache

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import (
    ElasticNet,
    Lasso,
    LassoCV,
    LinearRegression,
    LogisticRegression,
    LogisticRegressionCV,
    Ridge,
    RidgeClassifier,
    RidgeClassifierCV,
    RidgeCV,
)
from sklearn.preprocessing import scale
from sklearn.svm import LinearSVC

from rashomon_explorer import measures as m
from rashomon_explorer.exceptions import DataError
from rashomon_explorer.measures.ranges.level_set import matched_subgradient
from tests.measures.rays import edge_of_set

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


def largest_below(value, level, goal, start, bounds, maxiter=500, ftol=1e-10):
    """Largest goal·x where a function is at most a level, by sequential quadratic programmes."""
    inside = {"type": "ineq", "fun": lambda x: 1e3 * (level - value(x))}
    how = {"method": "SLSQP", "options": {"maxiter": maxiter, "ftol": ftol}}
    how |= {"constraints": inside, "bounds": bounds}
    found = minimize(lambda x: -goal @ x, start, jac=lambda x: -goal, **how)
    assert value(found.x) <= level + 1e-7
    return goal @ found.x


@dataclass
class Objective:
    """Sum of weighted losses + factor·(½(1 − l1)‖w‖² + l1‖w‖₁), by the sum of weights."""

    loss: object
    weights: np.ndarray
    factor: float
    intercept: float = 0.0  # as the penalty sees it
    l1: float = 0.0

    def __call__(self, theta):
        return self.smooth(theta) + self.penalty(np.abs(theta))

    def smooth(self, theta):
        w = np.append(theta[:-1], self.intercept * theta[-1])
        loss = self.weights @ self.loss(X @ theta[:-1] + theta[-1])
        return (loss + self.factor * (1 - self.l1) * (w @ w) / 2) / self.weights.sum()

    def penalty(self, sizes):
        total = sizes[:-1].sum() + self.intercept * sizes[-1]
        return self.factor * self.l1 * total / self.weights.sum()

    def of_parts(self, parts):
        """Smooth in the positive and negative parts of the parameters."""
        up, down = np.split(parts, 2)
        return self.smooth(up - down) + self.penalty(up + down)

    def least(self, start):
        """Least value, by another optimiser."""
        if not self.l1:
            return minimize(self, start, method="BFGS", options={"gtol": 1e-8}).fun
        parts = np.maximum(np.append(start, -start), 0)
        options = {"ftol": 1e-15, "gtol": 1e-10, "maxfun": 10**6, "maxiter": 10**5}
        bounds = [(0, None)] * len(parts)
        return minimize(self.of_parts, parts, method="L-BFGS-B", bounds=bounds, options=options).fun

    def furthest(self, level, direction, start):
        """Largest direction·θ among models up to a level."""
        goal, value, bounds = direction, self, None
        if self.l1:
            goal, value = np.append(direction, -direction), self.of_parts
            start, bounds = np.maximum(np.append(start, -start), 0), [(0, 50)] * 2 * len(start)
        return largest_below(value, level, goal, start, bounds)


def spelled(penalty):
    """Name of a penalty for versions of scikit-learn that still need it."""
    deprecated = LogisticRegression().get_params().get("penalty", "deprecated") == "deprecated"
    return {} if deprecated else {"penalty": penalty}


L1, NET = {"max_iter": 10**5, "random_state": 0, **spelled("l1")}, spelled("elasticnet")
ONES, CV = np.ones(N), {"Cs": [0.3], "cv": 3, "solver": "newton-cholesky", "tol": 1e-9}


def case(model, loss, factor, total=None, weights=None, **more):
    """Fit with sample weights, and the objective: by default the fit's weights are its total."""
    total = (ONES if weights is None else weights) if total is None else total
    return model, weights, loss, total, factor, more


BALANCED = {"class_weight": "balanced"}
LIBLINEAR = {"solver": "liblinear", "intercept_scaling": 2.0, "tol": 1e-9}
PRIMAL = {"tol": 1e-9, "dual": False}
SAGA = {"solver": "saga", "tol": 1e-8}
CASES = {
    "logistic, weights": case(LogisticRegression(C=0.5, tol=1e-8), log_loss, 2.0, weights=WEIGHTS),
    "logistic, balanced": case(
        LogisticRegression(**BALANCED, tol=1e-8), log_loss, 1.0, balanced(LABELS)
    ),
    "logistic, both": case(
        LogisticRegression(class_weight={"no": 1, "yes": 3}, tol=1e-8),
        *(log_loss, 1.0, WEIGHTS * np.where(LABELS == "yes", 3, 1), WEIGHTS),
    ),
    "logistic, none": case(LogisticRegression(C=np.inf, tol=1e-8), log_loss, 0.0, weights=WEIGHTS),
    "logistic, liblinear": case(
        LogisticRegression(**LIBLINEAR), log_loss, 1.0, weights=WEIGHTS, intercept=0.5
    ),
    "logistic, CV": case(LogisticRegressionCV(**CV), log_loss, 1 / 0.3),
    "ridge, weights": case(Ridge(alpha=3.0), half_square, 3.0, weights=WEIGHTS),
    "ridge, CV": case(RidgeCV(alphas=[0.7]), half_square, 0.7, weights=WEIGHTS),
    "least squares": case(LinearRegression(), half_square, 0.0, weights=WEIGHTS),
    "ridge labels": case(
        RidgeClassifier(**BALANCED, alpha=2.0),
        *(half_square_of_labels, 2.0, WEIGHTS * balanced(LABELS), WEIGHTS),
    ),
    "ridge labels, CV": case(RidgeClassifierCV(alphas=[0.7]), half_square_of_labels, 0.7),
    "SVC": case(
        LinearSVC(C=0.4, intercept_scaling=2.0, **PRIMAL),
        *(squared_hinge, 2.5, WEIGHTS, WEIGHTS),
        intercept=0.5,
    ),
    "SVC, balanced": case(
        LinearSVC(**BALANCED, **PRIMAL), squared_hinge, 1.0, balanced(LABELS), intercept=1.0
    ),
    "logistic, L1": case(
        LogisticRegression(l1_ratio=1, C=0.2, **SAGA, **L1), log_loss, 5.0, weights=WEIGHTS, l1=1.0
    ),
    "logistic, elastic net": case(
        LogisticRegression(l1_ratio=0.4, C=0.1, **SAGA, **{**L1, **NET}), log_loss, 10.0, l1=0.4
    ),
    "logistic, L1 of liblinear": case(
        LogisticRegression(l1_ratio=1, C=0.2, **LIBLINEAR, **L1),
        *(log_loss, 5.0, WEIGHTS, WEIGHTS),
        **{"l1": 1.0, "intercept": 0.5},
    ),
    "lasso": case(Lasso(alpha=0.2), half_square, 0.2 * WEIGHTS.sum(), weights=WEIGHTS, l1=1.0),
    "lasso, CV": case(LassoCV(alphas=[0.4], cv=3), half_square, 0.4 * N, l1=1.0),
    "elastic net": case(
        ElasticNet(alpha=0.3, l1_ratio=0.6, tol=1e-12),
        *(half_square, 0.3 * WEIGHTS.sum(), WEIGHTS, WEIGHTS),
        l1=0.6,
    ),
    "SVC, L1": case(
        LinearSVC(C=0.05, penalty="l1", **PRIMAL, max_iter=10**5),
        *(squared_hinge, 20.0),
        **{"l1": 1.0, "intercept": 1.0},
    ),
}


@cache
def fitted(case):
    """Problem of a case, and its objective written down here."""
    model, weights, loss, total, factor, more = CASES[case]
    y = SCORE if loss is half_square else LABELS
    model.fit(X, y, **({} if weights is None else {"sample_weight": weights}))
    problem = m.penalised_problem(model, X, y, sample_weight=weights)
    return problem, Objective(loss, total, factor, **more)


@pytest.mark.parametrize("case", CASES)
def test_minimum_and_ranges_are_those_of_another_optimiser_of_scikit_learns_objective(case):
    problem, objective = fitted(case)
    theta = problem.minimum.theta
    assert problem.minimum.gap < 1e-9
    assert objective(theta) == pytest.approx(problem.minimum.value, rel=1e-9)
    least = objective.least(theta + 0.1)
    assert problem.minimum.value == pytest.approx(least, abs=1e-8)
    psi, directions = 0.03, np.vstack([np.eye(4)[[0, 3]], np.append(X[0], 1.0)])
    table = m.exact_ranges(problem, psi, directions)
    width = table["high"] - table["low"]
    assert (table["high_outer"] - table["low_outer"] <= width * (1 + 1e-5)).all()
    for place, direction in enumerate(directions):
        high = objective.furthest(least + psi, direction, theta)
        low = -objective.furthest(least + psi, -direction, theta)
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


@pytest.mark.parametrize(
    "case", ["logistic, weights", "ridge labels", "SVC", "logistic, L1", "SVC, L1"]
)
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


STOPPED = [
    LogisticRegression(max_iter=3),
    LogisticRegression(solver="saga", max_iter=5, random_state=0),
    LinearSVC(dual=False, max_iter=2, loss="squared_hinge"),
    Lasso(alpha=1e-4, max_iter=2, tol=1e-12),
]


@pytest.mark.parametrize("model", STOPPED, ids=repr)
def test_a_solver_that_stopped_early_is_told_from_other_rows_weights_and_targets(model):
    rows, y = X * [1.0, 30.0, 300.0], LABELS
    y = (y == "yes").astype(int)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(rows, y)
    with pytest.warns(ConvergenceWarning, match=r"above the minimum: its solver stopped early"):
        problem = m.penalised_problem(model, rows, y)
    stopped = np.append(np.ravel(model.coef_), model.intercept_)
    least = minimize(lambda theta: problem.value(theta[:, None])[0], stopped, method="Powell")
    assert problem.minimum.value <= least.fun + 1e-9  # the minimum is not where the solver stopped
    excess = problem.value(stopped[:, None])[0] - problem.minimum.value
    assert excess > 1e-8
    others = (rows[: N // 2], y[: N // 2], None), (rows, y, WEIGHTS), (rows, 1 - y, None)
    for people, targets, weight in others:
        with pytest.raises(ValueError, match="a refit to them gives another model"):
            m.penalised_problem(model, people, targets, sample_weight=weight)


def test_bad_weights_and_unsupported_losses_are_named():
    model = LogisticRegression().fit(X, LABELS)
    for weights in (-WEIGHTS, WEIGHTS[:-1], np.full(N, np.nan), np.zeros(N)):
        with pytest.raises(ValueError, match="sample_weight must"):
            m.penalised_problem(model, X, LABELS, sample_weight=weights)
    hinge = LinearSVC(loss="hinge", max_iter=100_000).fit(X, LABELS)
    with pytest.raises(ValueError, match="fit with this loss"):
        m.penalised_problem(hinge, X, LABELS)


def one_hot(n=200, levels=4):
    """Rows of a number, all levels of a category and the number again, with their two classes."""
    rng = np.random.default_rng(2)
    level, x = rng.integers(0, levels, n), rng.normal(size=n)
    rows = np.column_stack([x, np.eye(levels)[level], 3 * x + 1])
    return rows, (x + 0.5 * level + rng.logistic(size=n) > 1).astype(int)


@pytest.mark.parametrize("scaled", [False, True])
@pytest.mark.parametrize("model", [LogisticRegression(C=np.inf, tol=1e-9), LinearRegression()])
def test_one_hot_designs_have_the_score_ranges_of_a_design_without_the_collinear_columns(
    model, scaled
):
    """The intercept, all levels and a repeated column: what the scores determine is bounded."""
    rows, y = one_hot()
    rows = scale(rows) if scaled else rows
    few, people = rows[:, [0, 2, 3, 4]], slice(0, 40)
    problem = m.penalised_problem(model.fit(rows, y), rows, y)
    plain = m.penalised_problem(model.fit(few, y), few, y)
    assert problem.minimum.value == pytest.approx(plain.minimum.value, rel=1e-12)
    psi = 0.01
    one = m.exact_score_ranges(problem, psi, rows[people])
    np.testing.assert_allclose(one, m.exact_score_ranges(plain, psi, few[people]), atol=1e-5)
    groups = rows[people, 1] > 0
    one, other = (
        m.exact_group_gap(p, psi, table[people], groups)
        for p, table in ((problem, rows), (plain, few))
    )
    np.testing.assert_allclose(one, other, atol=1e-5)
    table = m.exact_coefficient_ranges(problem, psi)
    free = table if not scaled else table.drop(index="intercept")  # centred columns determine it
    assert (free["sign"] == "not identified").all() and np.isinf(free["low_outer"]).all()
    contrast = np.zeros((2, problem.p))
    # A difference of two levels, in the units of the table.
    contrast[0, [1, 2]] = [-1, 1] / (one_hot()[0].std(axis=0)[[1, 2]] if scaled else np.ones(2))
    contrast[1, 3] = 1
    ends = m.exact_ranges(problem, psi, contrast)
    assert np.isfinite(ends.iloc[0]).all() and np.isinf(ends.iloc[1]["high"])
    if problem.loss.task == "classification":
        flips = [m.exact_flips(p, psi, t)["flips"] for p, t in ((problem, rows), (plain, few))]
        np.testing.assert_array_equal(*flips)
        one, other = m.flip_psi(problem, rows[:9]), m.flip_psi(plain, few[:9])
        np.testing.assert_allclose(one.upper, other.upper, rtol=0.02)


def test_a_row_outside_the_row_space_has_no_bounds_and_any_label():
    rows, y = one_hot()
    problem = m.penalised_problem(LogisticRegression(C=np.inf).fit(rows, y), rows, y)
    strange = rows[:1] + np.eye(6)[5]  # the repeated column differs
    assert np.isinf(m.exact_score_ranges(problem, 0.01, strange)["low"].item())
    assert m.exact_flips(problem, 1e-6, strange)["flips"].item()
    assert m.flip_psi(problem, strange[0]).lower == 0
    nearly = rows[:1] + 1e-12 * np.eye(6)[5]  # rounding is no difference
    assert np.isfinite(m.exact_score_ranges(problem, 0.01, nearly)).all(axis=None)


def test_more_columns_than_rows_leave_only_the_scores_of_the_rows_bounded():
    rng = np.random.default_rng(3)
    rows, y = rng.normal(size=(10, 20)), rng.normal(size=10)
    problem = m.penalised_problem(LinearRegression().fit(rows, y), rows, y)
    ends = m.exact_score_ranges(problem, 0.05, np.vstack([rows[:3], rng.normal(size=(1, 20))]))
    np.testing.assert_allclose(ends["high"] - ends["best"], [1.0] * 3 + [np.inf], rtol=1e-6)


def test_separation_in_a_flat_design_is_still_refused():
    rows, y = one_hot()
    y[rows[:, 2] == 1] = 1  # one level has one class
    with pytest.raises(DataError, match="quasi-complete separation"):
        m.penalised_problem(LogisticRegression(C=np.inf, max_iter=9999).fit(rows, y), rows, y)


SPARSE = [name for name, case in CASES.items() if "l1" in case[-1]]


@pytest.mark.parametrize("case", SPARSE)
def test_the_ellipsoid_of_an_l1_penalty_holds_the_set_and_a_smaller_one_does_not(case):
    problem, outside = fitted(case)[0], []
    ray = np.random.default_rng(0).normal(size=(problem.p, 1000))
    for psi in (1e-4, 0.01, 1.0):
        scaled = ray * problem.reach(psi).weight[:, None] ** 0.5
        edge = edge_of_set(problem, psi, scaled) - problem.minimum.theta[:, None]
        sizes = []
        for share in (1.0, 0.1):
            reach = problem.reach(share * psi)
            whitened = np.linalg.lstsq(reach.whiten, edge)[0]
            sizes.append(np.linalg.norm(whitened, axis=0).max() / reach.extent)
        assert sizes[0] <= 1 + 1e-9
        outside.append(sizes[1] > 1)
    assert any(outside) or "SVC" in case  # whose loss has no bound, so that its set is loose


@pytest.mark.parametrize("case", SPARSE)
def test_tangents_with_a_share_of_the_l1_penalty_lie_below_the_objective(case):
    problem, rng = fitted(case)[0], np.random.default_rng(0)
    theta = rng.normal(size=(4, 300)) * (rng.random((4, 300)) < 0.5)
    direction, others = rng.normal(size=(4, 300)), rng.normal(size=(4, 300)) / 10
    value, gradient = problem.value_and_gradient(theta)
    weight = np.ones(4)
    for share, holds in ((1.0, True), (1.5, False)):  # control: a larger share is no subgradient
        steeper = matched_subgradient(gradient, theta, share * problem.l1, direction, weight)
        below = value + np.einsum("ij,ij->j", steeper, others)
        assert (problem.value(theta + others) >= below - 1e-12).all() == holds
    nearest = matched_subgradient(gradient, theta, problem.l1, direction, weight)
    assert (nearest != gradient).any()


def test_a_lasso_of_more_columns_than_rows_has_bounded_coefficients():
    rng = np.random.default_rng(5)
    rows = rng.normal(size=(20, 40))
    y = rows[:, 0] - rows[:, 1] + 0.1 * rng.normal(size=20)
    problem = m.penalised_problem(Lasso(alpha=0.1, tol=1e-10).fit(rows, y), rows, y)
    table = m.exact_coefficient_ranges(problem, 0.01)
    outer, inner = table["high_outer"] - table["low_outer"], table["high"] - table["low"]
    assert (outer <= inner * (1 + 1e-5)).all()
    assert table["sign"]["x0"] == "+" and table["sign"]["x1"] == "-"
    assert (table["sign"] == "can be zero").sum() > 30
