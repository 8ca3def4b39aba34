"""Sets of scikit-learn's classifiers of three classes, by other optimisers of its objectives."""

from copy import copy
from functools import cache

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import logsumexp
from sklearn.linear_model import (
    LogisticRegression,
    LogisticRegressionCV,
    RidgeClassifier,
    RidgeClassifierCV,
)
from sklearn.preprocessing import OneHotEncoder

from rashomon_explorer import measures as m
from rashomon_explorer.exceptions import DataError
from tests.measures.test_linear_models import L1, NET, SAGA, largest_below

pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning")

RNG = np.random.default_rng(0)
N = 90
X = RNG.normal(size=(N, 2))
NAMES = np.array(["high", "low", "mid"])
CODES = np.digitize(X @ [1.0, -0.6] + RNG.normal(size=N), [-0.6, 0.6])
LABELS = NAMES[CODES]
WEIGHTS = RNG.exponential(size=N)
PER_CLASS = {"high": 1.0, "low": 2.0, "mid": 0.5}
BY_CLASS = np.array([PER_CLASS[label] for label in LABELS])


def cross_entropy(scores):
    return logsumexp(scores, axis=1) - scores[np.arange(N), CODES]


def squared_labels(scores):
    return ((scores - np.where(CODES[:, None] == np.arange(3), 1, -1)) ** 2).sum(axis=1) / 2


ONES = np.ones(N)
TIGHT = {"tol": 1e-9, "max_iter": 10_000}


def case(model, loss, factor, total=ONES, weights=None, l1=0.0):
    return model, weights, loss, total, factor, l1


CASES = {
    "softmax": case(LogisticRegression(**TIGHT), cross_entropy, 1.0),
    "softmax, weights": case(
        LogisticRegression(C=0.5, class_weight=PER_CLASS, solver="newton-cholesky", **TIGHT),
        *(cross_entropy, 2.0, WEIGHTS * BY_CLASS, WEIGHTS),
    ),
    "softmax, none": case(LogisticRegression(C=np.inf, **TIGHT), cross_entropy, 0.0),
    "softmax, CV": case(LogisticRegressionCV(Cs=[0.3], cv=3, **TIGHT), cross_entropy, 1 / 0.3),
    "softmax, L1": case(
        LogisticRegression(l1_ratio=1, C=0.2, **SAGA, **L1),
        *(cross_entropy, 5.0, WEIGHTS, WEIGHTS, 1.0),
    ),
    "softmax, elastic net": case(
        LogisticRegression(l1_ratio=0.5, C=0.2, **SAGA, **{**L1, **NET}), cross_entropy, 5.0, l1=0.5
    ),
    "squares": case(RidgeClassifier(alpha=2.0), squared_labels, 2.0, WEIGHTS, WEIGHTS),
    "squares, CV": case(RidgeClassifierCV(alphas=[0.7]), squared_labels, 0.7),
}


@cache
def fitted(case):
    """Problem of a case and its objective, written down here."""
    model, weights, loss, total, factor, l1 = CASES[case]
    model.fit(X, LABELS, **({} if weights is None else {"sample_weight": weights}))
    problem = m.penalised_problem(model, X, LABELS, sample_weight=weights)

    def of_parts(parts):
        up, down = parts.reshape(2, 3, 3)
        theta, sizes = up - down, up + down
        scores = X @ theta[:, :-1].T + theta[:, -1]
        penalty = (1 - l1) * (theta[:, :-1] ** 2).sum() / 2 + l1 * sizes[:, :-1].sum()
        return (total @ loss(scores) + factor * penalty) / total.sum()

    return model, problem, of_parts


def parts_of(theta):
    return np.concatenate([np.maximum(theta, 0), np.maximum(-theta, 0)])


def furthest(of_parts, level, direction, start):
    """Largest direction·θ among models up to a level."""
    goal, bounds = np.append(direction, -direction), [(0, 30)] * 18
    return largest_below(of_parts, level, goal, parts_of(start), bounds, maxiter=300, ftol=1e-9)


@pytest.mark.parametrize("case", CASES)
def test_minimum_and_ranges_are_those_of_another_optimiser(case):
    _, problem, of_parts = fitted(case)
    best = problem.minimum
    assert best.gap < 1e-9
    assert of_parts(parts_of(best.theta)) == pytest.approx(best.value, rel=1e-9)
    options = {"ftol": 1e-14, "maxfun": 10**6, "maxiter": 10**4}
    how = {"method": "L-BFGS-B", "bounds": [(0, None)] * 18, "options": options}
    least = minimize(of_parts, parts_of(best.theta) + 0.05, **how).fun
    assert best.value == pytest.approx(least, abs=1e-6) and best.value <= least + 1e-9
    psi = 0.02
    coefficients = m.exact_coefficient_ranges(problem, psi)
    scores = m.exact_score_ranges(problem, psi, X[:1])
    centre = np.eye(3) - 1 / 3 if "softmax" in case else np.eye(3)
    first = np.kron(np.eye(3) if "L1" in case or "net" in case else centre, np.eye(3))
    checked = [
        (coefficients.iloc[4], first[4]),
        (scores.iloc[2], np.kron(centre[2], np.append(X[0], 1.0))),
    ]
    for row, direction in checked:
        width = row["high"] - row["low"]
        assert row["high_outer"] - row["low_outer"] <= width * (1 + 1e-5)
        high = furthest(of_parts, best.value + psi, direction, best.theta)
        low = -furthest(of_parts, best.value + psi, -direction, best.theta)
        assert [low, high] == pytest.approx([row["low"], row["high"]], abs=2e-4 * width)


@pytest.mark.parametrize("case", ["softmax", "squares"])
def test_best_scores_are_those_of_the_model_and_names_are_its_classes(case):
    model, problem, _ = fitted(case)
    table = m.exact_score_ranges(problem, 0.02, X[:5])
    assert table.index.tolist() == [(i, name) for i in range(5) for name in NAMES]
    scores = model.decision_function(X[:5])
    np.testing.assert_allclose(table["best"].to_numpy().reshape(5, 3), scores, atol=1e-4)
    names = m.exact_coefficient_ranges(problem, 0.02).index
    assert list(names[:4]) == ["high: x0", "high: x1", "high: intercept", "low: x0"]
    gap = m.exact_group_gap(problem, 0.02, X, X[:, 0] > 0)
    every = model.decision_function(X)
    difference = every[X[:, 0] <= 0].mean(axis=0) - every[X[:, 0] > 0].mean(axis=0)
    np.testing.assert_allclose(gap["best"], difference, atol=1e-4)
    assert gap.index.tolist() == [("False - True", name) for name in NAMES]


@pytest.mark.parametrize(
    "case", ["softmax, weights", pytest.param("softmax, L1", marks=pytest.mark.law), "squares"]
)
def test_a_label_flips_where_another_class_can_win(case):
    """Pair by pair by another optimiser, for a person on either side of the share that flips."""
    model, problem, of_parts = fitted(case)
    psi = 0.004
    flips = m.exact_flips(problem, psi, X)
    assert flips["decided"].all() and 0 < flips["flips"].mean() < 1
    assert (NAMES[flips["label"]] == model.predict(X)).all()
    share = m.exact_ambiguity(problem, psi, X)
    assert share.lower == share.upper == flips["flips"].mean()
    scores = np.sort(model.decision_function(X), axis=1)
    order = np.argsort(scores[:, -1] - scores[:, -2])
    edge = int(flips["flips"].sum())
    for i in (order[max(edge - 3, 0)], order[min(edge + 3, N - 1)]):
        row, own = np.append(X[i], 1.0), int(flips["label"][i])
        wins = [
            furthest(
                of_parts,
                problem.minimum.value + psi,
                np.kron(np.eye(3)[other] - np.eye(3)[own], row),
                problem.minimum.theta,
            )
            for other in range(3)
            if other != own
        ]
        assert flips["flips"][i] == (max(wins) > 0)
    found = m.flip_psi(problem, X[order[:2]])
    for i, least, most in zip(order[:2], found.lower, found.upper, strict=True):
        assert least <= most <= 1.02 * least + 1e-6
        assert m.exact_flips(problem, most * 1.001 + 1e-9, X[[i]])["flips"].item()
        assert least == 0 or not m.exact_flips(problem, least * 0.999, X[[i]])["flips"].item()


def test_two_softmax_classes_with_twice_the_penalty_are_logistic():
    """With w_1 = −w_0 = w/2 the penalties of both classes sum to ¼‖w‖² a unit of ridge."""
    from rashomon_explorer.measures.ranges.penalised import PenalisedProblem
    from rashomon_explorer.problem.losses.scikit_learn import SymmetricSoftmaxLoss

    y = (CODES > 0).astype(int)
    one = m.penalised_problem(LogisticRegression(C=2, **TIGHT).fit(X, y), X, y)
    ridges = np.tile([2 * one.ridges[0], 2 * one.ridges[0], 0.0], 2)
    several = PenalisedProblem(
        rows=one.rows,
        targets=y.astype(float),
        loss=SymmetricSoftmaxLoss(2),
        ridges=ridges,
        intercept=True,
        feature_names=("a", "b"),
        classes=(0, 1),
    )
    assert several.minimum.value == pytest.approx(one.minimum.value, rel=1e-12)
    a, b = (m.exact_score_ranges(p, 0.01, X[:9]) for p in (one, several))
    np.testing.assert_allclose(2 * b.loc[(slice(None), 1), :].to_numpy(), a, atol=1e-5)
    a, b = (m.exact_flips(p, 0.01, X)["flips"] for p in (one, several))
    np.testing.assert_array_equal(a, b)


def test_weights_and_penalties_of_others_are_refused_and_so_are_models_one_for_each_class():
    model = copy(fitted("softmax, weights")[0])
    for other in (None, WEIGHTS[::-1]):
        with pytest.raises(ValueError, match="above the minimum"):
            m.penalised_problem(model, X, LABELS, sample_weight=other)
    model.C *= 1.05
    with pytest.raises(ValueError, match="above the minimum"):
        m.penalised_problem(model, X, LABELS, sample_weight=WEIGHTS)


def test_flat_designs_of_three_classes_keep_their_score_ranges():
    level = RNG.integers(0, 3, N)
    rows = np.column_stack([X, OneHotEncoder(sparse_output=False).fit_transform(level[:, None])])
    few = rows[:, :-1]
    one, other = (
        m.penalised_problem(LogisticRegression(C=np.inf, **TIGHT).fit(t, LABELS), t, LABELS)
        for t in (rows, few)
    )
    a, b = m.exact_score_ranges(one, 0.01, rows[:9]), m.exact_score_ranges(other, 0.01, few[:9])
    np.testing.assert_allclose(a, b, atol=1e-5)
    signs = m.exact_coefficient_ranges(one, 0.01)["sign"]
    assert signs["low: x2"] == "not identified" != signs["low: x0"]


def test_separated_classes_are_refused_by_name():
    rows = np.column_stack([X, CODES == 2])
    model = LogisticRegression(C=np.inf, max_iter=10**4).fit(rows, LABELS)
    with pytest.raises(DataError, match=r"along .*'x2'.*quasi-complete separation"):
        m.penalised_problem(model, rows, LABELS)


@pytest.mark.parametrize("kind", ["softmax", "softmax, weights"])
def test_reliance_of_softmax_models_is_the_rise_of_their_loss_and_rows_count_once(kind):
    model, problem, _ = fitted(kind)
    table = m.model_reliance(problem)
    swapped, losses = X.copy(), []
    for shift in range(1, N):  # every other row's value of the first column
        swapped[:, 0] = np.roll(X[:, 0], shift)
        losses.append(cross_entropy(model.decision_function(swapped)).mean())
    rise = np.mean(losses) - cross_entropy(model.decision_function(X)).mean()
    assert table["x0"].item() == pytest.approx(rise, rel=1e-4)
