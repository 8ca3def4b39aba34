"""Recourse over the exact set, against enumeration and sampled models."""

import itertools

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from rashomon_explorer.measures import exact_flips, exact_score_ranges, penalised_problem, recourse
from rashomon_explorer.problem.problem import Problem
from tests.measures.rays import edge_of_set

RNG = np.random.default_rng(0)
N, PSI = 200, 0.03
X = RNG.normal(size=(N, 3))
Y = (X @ [1.5, -1.0, 0.5] + RNG.logistic(size=N) > 0).astype(int)
PROBLEM = penalised_problem(LogisticRegression(C=1.0, tol=1e-10).fit(X, Y), X, Y)
REFUSED = np.flatnonzero(X @ PROBLEM.minimum.theta[:3] + PROBLEM.minimum.theta[3] < 0)[:6]
NO = [-1.0, 1.0, 0.0]  # a person whom the best model refuses
WIDE = {"bounds": {0: (-3, 3), 1: (-3, 3)}}


def sampled(problem, psi, n_models=2_000):
    """Models (K, p) of the set, on rays from the best one, many of them near the boundary."""
    rng, best = np.random.default_rng(1), problem.minimum.theta[:, None]
    curvature, axes = np.linalg.eigh(problem.hessian(best[:, 0]))
    bent = curvature > 1e-12 * curvature[-1]  # all scores of a softmax model may shift together
    ray = axes[:, bent] / np.sqrt(curvature[bent]) @ rng.normal(size=(bent.sum(), n_models))
    ray *= np.sqrt(2 * psi) / np.linalg.norm(ray, axis=0)
    steps = edge_of_set(problem, psi, ray, 9.0) - best
    return (best + rng.uniform(0.9, 1.0, n_models) * steps).T


def worst(problem, rows, psi=PSI):
    """Worst score of the set: a proved bound, and one that a model attains."""
    found = exact_score_ranges(problem, psi, rows)
    return found["low_outer"].to_numpy(), found["low"].to_numpy()


def test_no_change_on_a_grid_is_cheaper_and_accepted():
    found = recourse(PROBLEM, PSI, [NO], [0, 1], costs={1: 2.0}, **WIDE).people.iloc[0]
    grid = np.array(list(itertools.product(np.linspace(-3, 3, 61), repeat=2)))
    rows = np.column_stack([grid, np.zeros(len(grid))])
    cost = np.abs(grid - NO[:2]) @ [1.0, 2.0]
    proved, attained = worst(PROBLEM, rows)
    assert found["status"] == "found"
    assert found["cost"] <= 1.001 * found["cost_at_least"] + 1e-9
    assert cost[proved >= 0].min() >= found["cost_at_least"]
    assert cost[proved >= 0].min() <= found["cost"] + 0.3  # the width of the grid
    assert (attained[cost < found["cost_at_least"]] < 0).all()


def test_every_sampled_model_accepts_and_some_refuse_what_is_enough_for_the_best_one():
    found = recourse(PROBLEM, PSI, X[REFUSED], [0, 1, 2])
    models = sampled(PROBLEM, PSI)
    assert (found.people["status"] == "found").all()
    accepted = np.column_stack([found.rows, np.ones(len(REFUSED))])
    scores = models @ accepted.T
    assert (scores >= 0).all()
    assert (scores.min(axis=0) >= found.people["worst_score"]).all()
    one = pd.DataFrame(X[REFUSED].copy())
    for change in found.changes.itertuples():
        one.loc[change.person, int(change.feature[1:])] = change.new_for_one
    assert (np.column_stack([one, np.ones(len(one))]) @ PROBLEM.minimum.theta >= -1e-9).all()
    refusing = models @ np.column_stack([one, np.ones(len(one))]).T
    assert (refusing.min(axis=0) < 0).all()  # the control
    assert (found.people["one_worst_score"] < 0).all()
    assert (found.people["one_cost"] < found.people["cost"]).all()
    # A slightly smaller change is refused by some model.
    assert (worst(PROBLEM, found.rows.to_numpy())[0] >= 0).all()
    less = X[REFUSED] + 0.99 * (found.rows.to_numpy() - X[REFUSED])
    assert (worst(PROBLEM, less)[1] < 0).all()


def test_changes_stay_within_bounds_and_values_outside_may_stay():
    bounds = dict.fromkeys(range(3), (-0.8, 0.8))
    found = recourse(PROBLEM, 0.01, X[REFUSED], [0, 1, 2], bounds=bounds)
    old, new = X[REFUSED], found.rows.to_numpy()
    assert (found.people["status"] == "found").any()
    reached = np.isnan(new) | ((new >= np.minimum(old, -0.8)) & (new <= np.maximum(old, 0.8)))
    assert reached.all()
    known = found.people["status"].to_numpy() == "found"
    assert (worst(PROBLEM, new[known], 0.01)[0] >= 0).all()
    assert found.people["cost"][known].to_numpy() == pytest.approx(
        np.abs(new - old).sum(axis=1)[known]
    )


def test_directions_bounds_and_integers_are_kept():
    options = {"directions": {0: "up", 1: "up"}, "integers": [0], "bounds": {2: (-0.25, 0.25)}}
    found = recourse(PROBLEM, PSI, [NO], [0, 1, 2], **options)
    new = found.rows.iloc[0].to_numpy()
    assert new[0] in {0.0, 1.0, 2.0, 3.0}
    assert new[1] == NO[1]  # a rise of x1 helps nobody
    assert abs(new[2]) <= 0.25
    grid = np.array(list(itertools.product(np.arange(-1.0, 4.0), np.linspace(-0.25, 0.25, 101))))
    accepted = worst(PROBLEM, np.insert(grid, 1, NO[1], axis=1))[0] >= 0
    best = np.abs(grid[accepted] - [-1, 0]).sum(axis=1).min()
    assert found.people["cost"][0] == pytest.approx(best, abs=0.006)


def test_people_without_recourse_are_said_to_be_so():
    found = recourse(PROBLEM, PSI, [NO], [2], bounds={2: (-0.1, 0.1)}).people.iloc[0]
    assert (found["status"], found["cost"]) == ("impossible", np.inf)
    rows = np.column_stack([np.tile(NO[:2], (21, 1)), np.linspace(-0.1, 0.1, 21)])
    assert worst(PROBLEM, rows)[1].max() <= found["worst_score"] + 1e-6 < 0
    assert recourse(PROBLEM, 1e-6, [NO], [0]).people["status"][0] == "found"  # the control


def test_somebody_whom_all_models_accept_changes_nothing():
    found = recourse(PROBLEM, PSI, [[3.0, -3.0, 0.0]], [0, 1])
    assert found.people["cost"][0] == 0
    assert found.changes.empty


def levels_table(drop):
    """A number and a category, scaled behind a map as a pipeline's encoders do."""
    home = RNG.integers(0, 3, N)
    raw = np.column_stack([10 * X[:, 0] + 40, np.eye(3)[home]])[:, : 4 - drop]
    y = (X[:, 0] + np.array([0.0, 1.0, 2.0])[home] + RNG.logistic(size=N) > 1).astype(int)
    scaler = StandardScaler().fit(raw)
    scaled = scaler.transform(raw)
    model = LogisticRegression(C=1.0, tol=1e-10).fit(scaled, y)
    problem = penalised_problem(model, scaled, y)
    design = np.diag(1 / scaler.scale_), -scaler.mean_ / scaler.scale_
    return problem, design, raw


@pytest.mark.parametrize("drop", [False, True], ids=["all levels", "a level without a column"])
def test_levels_change_one_at_a_time_in_the_units_of_the_table(drop):
    problem, design, raw = levels_table(drop)
    columns = ["rent", "own"] if drop else ["rent", "own", "other"]
    names = ["age", *columns]
    group = {"home": [*columns, None] if drop else columns}
    people = pd.DataFrame(raw, columns=names).iloc[:40]
    score = problem.minimum.theta[:-1] @ (design[0] @ people.T.to_numpy() + design[1][:, None])
    people = people[score + problem.minimum.theta[-1] < 0][:4]
    costs = {"home": 3.0, "age": 0.2}
    options = {"levels": group, "costs": costs, "design": design, "bounds": {"age": (18, 90)}}
    found = recourse(problem, PSI, people, ["age", "home"], **options)
    assert (found.rows[columns].sum(axis=1) <= 1).all()
    assert set(np.unique(found.rows[columns])) <= {0.0, 1.0}
    ages = np.linspace(18, 90, 361)
    every = np.vstack([np.eye(len(columns)), np.zeros(2 + (not drop))])
    for person, answer in zip(people.to_numpy(), found.people.itertuples(), strict=True):
        best = np.inf
        for level in every:
            rows = np.column_stack([ages, np.tile(level, (len(ages), 1))])
            cost = 0.2 * abs(ages - person[0]) + 3.0 * (level != person[1:]).any()
            accepted = worst(problem, rows @ design[0].T + design[1])[0] >= 0
            best = min(best, cost[accepted].min(initial=np.inf))
        assert answer.status == ("found" if np.isfinite(best) else "impossible")
        assert answer.cost == pytest.approx(best, abs=0.045)


def three_classes(penalised):
    """Problem of three classes, and a map from its scores to those of all classes."""
    noise = np.random.default_rng(2).normal(size=N)
    y = np.digitize(X[:, 0] + 0.5 * noise, [-0.5, 0.5])
    if penalised:
        model = LogisticRegression(C=2.0, tol=1e-10).fit(X / 4, y)
        return penalised_problem(model, X / 4, y), np.eye(3)
    problem = Problem(X / 4, y, loss="softmax", ridge=0.01, row_norm=4.0, radius=20.0)
    return problem, np.vstack([np.zeros(2), np.eye(2)])


def common_labels(problem, psi, rows):
    """Label that every model of the set gives, proved for each row; -1 if there is none."""
    found = exact_flips(problem, psi, rows)
    return found["label"].where(found["decided"] & ~found["flips"], -1).to_numpy()


@pytest.mark.parametrize("penalised", [False, True], ids=["a reference class", "a score each"])
def test_several_classes_need_the_lead_over_each_other(penalised):
    problem, classes = three_classes(penalised)
    models = sampled(problem, 0.003, 400).reshape(400, problem.loss.outputs, -1)
    grid = np.array(list(itertools.product(np.linspace(-1, 1, 13), repeat=2)))
    cost, grid = np.abs(grid - NO[:2]).sum(axis=1), np.column_stack([grid, np.zeros(len(grid))])
    labels, status = common_labels(problem, 0.003, grid), []
    for wanted in range(3):
        box = {0: (-1, 1), 1: (-1, 1)}
        found = recourse(problem, 0.003, [NO], [0, 1], wanted=wanted, bounds=box)
        answer = found.people.iloc[0]
        status.append(answer["status"])
        assert cost[labels == wanted].min(initial=np.inf) >= answer["cost_at_least"]
        if answer["status"] == "found":
            row = np.append(found.rows.to_numpy()[0], 1.0)
            scores = np.einsum("co,kow,w->kc", classes, models, row)
            assert (scores.argmax(axis=1) == wanted).all()
            assert answer["cost"] <= 1.001 * answer["cost_at_least"] + 1e-9
    assert status == ["found", "found" if penalised else "impossible", "found"]


def test_three_classes_with_whole_units_and_levels_against_every_change():
    rng = np.random.default_rng(4)
    home, years = np.eye(3)[rng.integers(0, 3, N)], rng.integers(0, 9, N)
    raw = np.column_stack([years, home])
    y = np.digitize(years + 4 * home[:, 1] + rng.logistic(size=N), [3, 6])
    model = LogisticRegression(C=1.0, max_iter=1_000, tol=1e-10).fit(raw, y)
    problem = penalised_problem(model, raw, y)
    people = raw[model.predict(raw) == 0][:5]
    options = {"integers": [0], "bounds": {0: (0, 8)}, "levels": {"home": [1, 2, 3]}}
    found = recourse(problem, 0.01, people, [0, "home"], costs={"home": 2.5}, wanted=2, **options)
    every = np.array([[n, *level] for n in range(9) for level in np.eye(3)])
    accepted = common_labels(problem, 0.01, every) == 2
    for person, answer in zip(people, found.people.itertuples(), strict=True):
        cost = abs(every[:, 0] - person[0]) + 2.5 * (every[:, 1:] != person[1:]).any(axis=1)
        assert answer.cost == pytest.approx(cost[accepted].min())
        assert answer.one_cost < answer.cost  # the control: the best model asks for less


def test_collinear_columns_without_a_penalty_leave_recourse_among_identified_rows():
    home = np.eye(2)[RNG.integers(0, 2, N)]
    rows = np.column_stack([X[:, :1], home])
    y = (X[:, 0] + home[:, 0] + RNG.logistic(size=N) > 0.5).astype(int)
    problem = penalised_problem(LogisticRegression(C=np.inf, tol=1e-10).fit(rows, y), rows, y)
    person = [[-1.0, 0.0, 1.0]]
    found = recourse(problem, PSI, person, [0, "home"], levels={"home": [1, 2]})
    assert found.people["status"][0] == "found"
    assert worst(problem, found.rows.to_numpy())[0][0] >= 0
    alone = recourse(problem, PSI, person, [0, 1])  # x1 cannot rise while x2 stays
    assert alone.rows.iloc[0, 1] == 0.0


def test_a_problem_with_clipped_rows_keeps_changes_within_their_norm():
    problem = Problem(X / 4, np.where(Y == 1, 1.0, -1.0), ridge=0.05, row_norm=0.8, radius=20.0)
    found = recourse(problem, 0.01, [[-0.2, 0.3, 0.0]], [0, 1])
    assert np.linalg.norm(found.rows) <= 0.8 * (1 + 1e-8)
    assert worst(problem, found.rows.to_numpy(), 0.01)[0][0] >= 0
    with pytest.raises(ValueError, match="person 0 has a row longer"):
        recourse(problem, 0.01, [[-0.9, 0.3, 0.0]], [0])


BAD = [
    ({"changeable": []}, "at least one feature"),
    ({"changeable": ["x9"]}, "unknown feature 'x9'"),
    ({"changeable": [0, 0]}, "named twice"),
    ({"bounds": {0: (1, 0)}}, r"bounds of 0 must be \(low, high\)"),
    ({"costs": {0: 0.0}}, "the cost of 0 must be finite and > 0"),
    ({"directions": {0: "left"}}, "'up' or 'down', got 'left'"),
    ({"changeable": ["g"], "levels": {"g": [0, 1]}}, "one indicator of 'g' must be 1"),
    ({"design": (np.eye(2), np.zeros(2))}, "a matrix of 3 rows"),
    ({"wanted": 2}, "the code of a class, got 2"),
]


@pytest.mark.parametrize(("options", "message"), BAD)
def test_bad_declarations_are_named(options, message):
    arguments = {"changeable": [0], **options}
    people = [[1.0, 1.0]] if "design" in options else [NO]
    with pytest.raises(ValueError, match=message):
        recourse(PROBLEM, PSI, people, **arguments)
