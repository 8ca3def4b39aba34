"""Brackets of many people by shared models and tangents, and answers within a budget of work."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression, Ridge, RidgeClassifier
from sklearn.svm import LinearSVC

from rashomon_explorer import measures as m
from rashomon_explorer.measures.ranges import brackets
from rashomon_explorer.problem.problem import Problem

RNG = np.random.default_rng(3)
N = 700
LEVELS = np.eye(12)[np.minimum(RNG.geometric(0.3, N), 11)]  # of which some are rare
X = np.column_stack([RNG.normal(size=(N, 3)), LEVELS])
Y = (X[:, 0] + X[:, 3] - X[:, 5] + RNG.logistic(size=N) > 0).astype(int)
WEIGHTS = 1 + X[:, 1] ** 2
SMALL = X[:, :3] / 4
PROBLEMS = {
    "logistic": lambda: m.penalised_problem(LogisticRegression(tol=1e-9).fit(X, Y), X, Y),
    "weighted": lambda: m.penalised_problem(
        LogisticRegression(tol=1e-9).fit(X, Y, WEIGHTS), X, Y, sample_weight=WEIGHTS
    ),
    "l1": lambda: m.penalised_problem(
        LogisticRegression(l1_ratio=1, C=0.5, solver="saga", tol=1e-9, max_iter=9999).fit(X, Y),
        X,
        Y,
    ),
    "squared labels": lambda: m.penalised_problem(RidgeClassifier().fit(X, Y), X, Y),
    "squared hinge": lambda: m.penalised_problem(LinearSVC(tol=1e-9).fit(X, Y), X, Y),
    "ball": lambda: Problem(SMALL, 2 * Y - 1),
}
SLACK = 0.03


def case(name):
    problem = PROBLEMS[name]()
    rows = SMALL if name.startswith("ball") else X
    return problem, m.relative_psi(problem, SLACK), rows


@pytest.fixture
def at_once(monkeypatch):
    """Share models whatever the size of the table."""
    monkeypatch.setattr(brackets, "_AT_ONCE", 0.0)
    monkeypatch.setattr(brackets, "_MODELS", 16)


ALL_KINDS = sorted(PROBLEMS.keys() - {"logistic"})  # with weights it is the same search


@pytest.mark.parametrize("name", ALL_KINDS)
def test_shared_models_decide_as_searches_do(name, at_once):
    problem, psi, rows = case(name)
    found = m.exact_flips(problem, psi, rows, seconds=None)
    problem = PROBLEMS[name]()  # without a stored ellipsoid
    for place in range(0, len(rows), 20):  # one person is searched alone
        one = m.exact_flips(problem, psi, rows[place : place + 1])
        if one["decided"].iloc[0] and found["decided"].iloc[place]:
            assert one["flips"].iloc[0] == found["flips"].iloc[place]
    assert found["decided"].mean() > 0.99
    assert 0 < found["flips"].mean() < 1


@pytest.mark.parametrize("name", ALL_KINDS)
def test_few_searches_leave_valid_bounds(name, at_once, monkeypatch):
    problem, psi, rows = case(name)
    every = m.exact_flips(problem, psi, rows, seconds=None)
    exact = m.exact_score_ranges(problem, psi, rows, seconds=None)
    gaps = m.exact_group_gap(problem, psi, rows, np.arange(len(rows)) % 9, seconds=None)
    monkeypatch.setattr(brackets, "_LEAST", 1e9)
    few = m.exact_flips(problem, psi, rows, seconds=0.0)
    assert (every["flips"] | ~few["flips"] | ~every["decided"]).all()
    settled = few["decided"] & ~few["flips"]
    assert not (settled & every["flips"]).any()
    least, most = m.exact_ambiguity(problem, psi, rows, seconds=0.0)
    assert least <= every["flips"].mean() <= most
    some = m.exact_score_ranges(problem, psi, rows, seconds=0.0)
    other = m.exact_group_gap(problem, psi, rows, np.arange(len(rows)) % 9, seconds=0.0)
    for wide, narrow in ((some, exact), (other, gaps)):
        room = 1e-5 * (1 + (narrow["high_outer"] - narrow["low_outer"]))
        assert (wide["low_outer"] <= narrow["low"] + room).all()
        assert (wide["high_outer"] >= narrow["high"] - room).all()
        assert (wide["low"] >= narrow["low_outer"] - room).all()
        assert (wide["high"] <= narrow["high_outer"] + room).all()
        searched = (wide["low_outer"] >= narrow["low_outer"] - room).all()
        assert searched == (name == "squared labels")  # whose ellipsoid is exact


@pytest.mark.parametrize("name", ["logistic", "weighted", "l1"])
def test_the_ellipsoid_holds_the_set_and_a_smaller_one_does_not(name):
    problem, psi, _ = case(name)
    reach, first = problem.outer_reach(psi), problem.reach(psi)
    models = brackets.brackets(problem, psi, RNG.normal(size=(problem.p, 300)), 1e-3).points
    steps = models - problem.minimum.theta[:, None]
    lengths = np.linalg.norm(np.linalg.pinv(reach.whiten) @ steps, axis=0)
    assert lengths.max() <= reach.extent * (1 + 1e-9)
    assert (problem.value(models) > problem.minimum.value + 0.5 * psi).all()  # near the boundary
    assert name == "l1" or lengths.max() > 0.5 * reach.extent
    size = np.linalg.slogdet(reach.whiten.T @ reach.whiten)[1] / 2 + problem.p * np.log(
        reach.extent
    )
    usual = np.linalg.slogdet(first.whiten.T @ first.whiten)[1] / 2 + problem.p * np.log(
        first.extent
    )
    assert name == "l1" or size < usual - 2  # in volume; L1 alone does not curve


@pytest.mark.parametrize("share", [1.0, 0.7])
def test_bounds_by_shared_tangents_are_needed_in_full(share, at_once, monkeypatch):
    problem, psi, rows = case("logistic")
    exact = m.exact_score_ranges(problem, psi, rows, seconds=None)
    usual = brackets._least_bounds
    monkeypatch.setattr(brackets, "_least_bounds", lambda *a: share * usual(*a))
    monkeypatch.setattr(brackets, "_LEAST", 1e9)
    some = m.exact_score_ranges(problem, psi, rows, seconds=0.0)
    holds = (some["high_outer"] >= exact["high"] - 1e-9).all()
    assert holds == (share == 1.0)


def test_a_regression_has_ranges_within_a_budget():
    target = X[:, 0] + RNG.normal(size=N)
    problem = m.penalised_problem(Ridge().fit(X, target), X, target)
    few = m.exact_score_ranges(problem, 0.01, X, seconds=0.0)
    exact = m.exact_score_ranges(problem, 0.01, X)
    assert (few["high_outer"] >= exact["high"] - 1e-6).all()


def test_a_least_psi_within_a_budget_is_valid(monkeypatch):
    problem, _, rows = case("logistic")
    every = m.flip_psi(problem, rows[:60], seconds=None)
    monkeypatch.setattr(brackets, "_LEAST", 1e9)
    few = m.flip_psi(problem, rows[:60], seconds=0.0)
    assert (few.lower <= every.upper).all() and (few.upper >= every.lower).all()
    nearest = np.argsort(every.upper)[:5]
    np.testing.assert_allclose(few.upper[nearest], every.upper[nearest], rtol=0.02)
    assert (few.lower == 0).any()
