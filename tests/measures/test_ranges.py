"""Exact ranges against closed forms, brute force and draws, for every loss and domain."""

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from rashomon_explorer import RashomonClassifier, RashomonRegressor
from rashomon_explorer import measures as m
from rashomon_explorer.measures.ranges.brackets import brackets
from rashomon_explorer.measures.ranges.declared import set_problem
from rashomon_explorer.measures.ranges.exact import score_directions
from rashomon_explorer.measures.ranges.people import people_ranges, proved_people
from rashomon_explorer.mechanisms.hit_and_run import HitAndRunSampler
from rashomon_explorer.mechanisms.target import GibbsTarget
from rashomon_explorer.problem.domains import Ball
from rashomon_explorer.problem.losses import LOSSES, get_loss
from rashomon_explorer.problem.losses.kinked import SmoothedHingeLoss
from rashomon_explorer.problem.losses.softmax import SoftmaxLoss
from rashomon_explorer.problem.problem import Problem
from tests.crossing import crossed
from tests.measures.rays import edge_of_set

DOMAINS = {"small ball": Ball(1.2), "large ball": Ball(6.0)}
SMOOTH = sorted(set(LOSSES) - {"softmax", "hinge", "absolute"})
DIRECTIONS = np.array([[1.0, 0.0], [-0.4, 1.3]])


def rows(n=40, p=2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    X /= np.maximum(1, np.linalg.norm(X, axis=1, keepdims=True))
    return X, X @ np.resize([2.0, -1.0], p) + 0.7 * rng.normal(size=n)


def problem_of(name, n=40, p=2, **settings):
    X, score = rows(n, p)
    loss = get_loss(name)
    y = np.where(score > 0, 1.0, -1.0) if loss.labels else np.clip(score / 3, -1, 1)
    if name == "softmax":
        y = np.digitize(score, [-0.5, 0.5]).astype(float)
    return Problem(X, y, loss=loss, **{"intercept": False, **settings})


def widths(table):
    return table["high_outer"] - table["low_outer"], table["high"] - table["low"]


@pytest.mark.parametrize("domain", DOMAINS)
@pytest.mark.parametrize("name", SMOOTH)
def test_ranges_are_those_of_a_fine_scan(name, domain):
    problem = problem_of(name, domain=DOMAINS[domain])
    table = m.exact_ranges(problem, 0.03, DIRECTIONS)
    turn = np.linspace(0, 2 * np.pi, 1001)
    values = DIRECTIONS @ edge_of_set(problem, 0.03, np.vstack([np.cos(turn), np.sin(turn)]), 20.0)
    outer, inner = widths(table)
    assert (table["low_outer"] <= values.min(axis=1) + 1e-11).all()
    assert (table["high_outer"] >= values.max(axis=1) - 1e-11).all()
    # A scan of 1,001 rays misses a corner of the set by a few thousandths of its width.
    assert (inner <= np.ptp(values, axis=1) * 1.03 + 1e-12).all()
    assert (outer - inner <= 3e-6 * outer).all()
    if domain == "large ball":  # control: half the threshold is too narrow
        half = m.exact_ranges(problem, 0.015, DIRECTIONS)
        assert (half["high_outer"] < values.max(axis=1)).all()
        assert (half["low_outer"] > values.min(axis=1)).all()


@pytest.mark.parametrize("ridge", [0.0, 0.3])
def test_squared_loss_in_a_large_ball_is_an_ellipsoid(ridge):
    problem = problem_of("squared", p=5, n=200, radius=50.0, ridge=ridge, intercept=True)
    directions = np.random.default_rng(1).normal(size=(20, problem.p))
    inverse = np.linalg.inv(problem.hessian(problem.minimum.theta))
    half = np.sqrt(2 * 0.02 * np.einsum("ij,jk,ik->i", directions, inverse, directions))
    table = m.exact_ranges(problem, 0.02, directions)
    for end, sign in (("low_outer", -1), ("low", -1), ("high", 1), ("high_outer", 1)):
        np.testing.assert_allclose(table[end], table["best"] + sign * half, atol=1e-6 * half.max())


def test_a_level_that_binds_nowhere_leaves_the_domain():
    table = m.exact_ranges(problem_of("logistic", radius=0.7), 50.0, DIRECTIONS)
    reach = 0.7 * np.linalg.norm(DIRECTIONS, axis=1)
    np.testing.assert_allclose(table["high"], reach, rtol=1e-6)
    np.testing.assert_allclose(table["low_outer"], -reach, rtol=1e-6)


@crossed({"name": ["logistic", "smoothed_hinge", "softmax"], "radius": [20.0, 1.0]})
def test_ends_are_attained_and_proved_in_higher_dimensions(name, radius):
    """Every end's optimality conditions: a model of the set inside, a tangent's proof outside."""
    table = m.exact_coefficient_ranges(problem_of(name, n=300, p=6, radius=radius), 0.02)
    outer, inner = widths(table)
    assert (outer - inner <= 2e-6 * outer).all()
    assert (table["low"] < table["best"]).all() or radius == 1.0


def test_ranges_grow_with_psi_and_turn_with_their_directions():
    problem = problem_of("logistic", p=4)
    tables = [m.exact_ranges(problem, psi) for psi in (1e-4, 1e-3, 1e-2, 1e-1)]
    for small, large in pairwise(tables):
        assert (large["low"] <= small["low_outer"]).all()
        assert (large["high"] >= small["high_outer"]).all()
    for table in tables:
        assert (table.diff(axis=1).iloc[:, 1:] >= 0).all(axis=None)
        assert table.attrs["view"] == "curator: not private"
    turned = m.exact_ranges(problem, 1e-2, -np.eye(4)[::-1])
    np.testing.assert_allclose(tables[2]["high"], -turned["low"][::-1], rtol=1e-5)


FLAT = {
    "fewer rows than parameters": ("logistic", 5, {}),
    "a flat minimum": ("smoothed_hinge", 5, {}),
    "a narrow parabola": (SmoothedHingeLoss(smoothing=0.02), 40, {}),
    "a huge ball": ("logistic", 40, {"radius": 1000.0}),
}


@pytest.mark.parametrize("case", FLAT)
@pytest.mark.law
def test_flat_and_nearly_kinked_losses_are_bracketed(case):
    loss, n, settings = FLAT[case]
    rng = np.random.default_rng(4)
    X = rng.normal(size=(n, 6))
    y = np.where(X[:, 0] + 0.5 * rng.normal(size=n) > 0, 1.0, -1.0)
    problem = Problem(X, y, loss=loss, **settings)
    outer, inner = widths(m.exact_ranges(problem, 0.02, np.eye(7)[:2]))
    assert (outer - inner <= 2e-3 * outer).all()


def draws_of(problem, psi, n=300, n_chains=100):
    target = GibbsTarget(problem, 1e6, psi)
    batches = HitAndRunSampler(n_chains).batches(target, np.random.default_rng(0))
    drawn = []
    while sum(theta.shape[1] for theta in drawn) < n:
        drawn.append(next(batches).theta)
    return np.hstack(drawn).T[:n]


@pytest.fixture(scope="module")
def drawn():
    problem = problem_of("logistic", n=300, p=3, radius=5.0, intercept=True)
    return problem, draws_of(problem, 0.02)


def test_every_draw_lies_in_the_exact_range_and_the_shortfall_is_stated(drawn):
    problem, coef = drawn
    exact = m.exact_ranges(problem, 0.02)
    table = m.draws_in_range(coef, exact)
    assert (table["shortfall"] > 0).all() and (table["shortfall"] < 0.6).all()
    expected = 1 - np.ptp(coef, axis=0) / (table["exact_high"] - table["exact_low"])
    np.testing.assert_allclose(table["shortfall"], expected)
    with_far = np.vstack([coef, np.full(problem.p, 99.0)])  # a draw outside does not count
    inside = np.arange(len(with_far)) < len(coef)
    pd.testing.assert_frame_equal(m.draws_in_range(with_far, exact, inside=inside), table)
    other = problem_of("smoothed_hinge", n=300, p=3, radius=5.0, intercept=True)
    for ranges in (m.exact_ranges(problem, 0.002), m.exact_ranges(other, 0.02)):
        with pytest.raises(ValueError, match=r"outside the exact range .* same rows, loss and psi"):
            m.draws_in_range(coef, ranges)


def test_flips_are_the_signs_of_the_score_ranges(drawn):
    problem, coef = drawn
    X, _ = rows(200, 3, seed=5)
    flips = m.exact_flips(problem, 0.02, X)
    table = m.exact_score_ranges(problem, 0.02, X)
    crosses = np.sign(table["low"]) != np.sign(table["high"])
    assert flips["decided"].all() and 0 < crosses.mean() < 1
    np.testing.assert_array_equal(flips["flips"], crosses)
    share = m.exact_ambiguity(problem, 0.02, X)
    assert share == (crosses.mean(), crosses.mean())
    loose = m.exact_flips(problem, 0.02, X, tolerance=9.0)  # undecided people are no flips
    assert (loose["flips"] <= crosses).all() and not loose["decided"].all()
    labels = (np.column_stack([X, np.ones(200)]) @ coef.T > 0).T.astype(int)
    assert m.ambiguity(labels, flips["label"].to_numpy()) <= share.lower
    zero = m.exact_flips(problem_of("logistic"), 0.05, [[0.0, 0.0]])  # a tie of all models
    assert zero.to_numpy().tolist() == [[0, False, True]]


def test_several_classes_flip_where_another_score_can_win():
    problem = problem_of("softmax", n=80, p=2, radius=5.0)
    X, _ = rows(80, 2, seed=6)
    flips = m.exact_flips(problem, 0.004, X)
    coef = draws_of(problem, 0.004, n=100, n_chains=50)
    scores = np.einsum("kcj,nj->knc", coef.reshape(-1, 2, 2), X)
    labels = np.concatenate([np.zeros((*scores.shape[:2], 1)), scores], axis=2).argmax(axis=2)
    seen = (labels != flips["label"].to_numpy()).any(axis=0)
    assert flips["decided"].all()
    assert not (seen & ~flips["flips"]).any()
    assert 0.3 * flips["flips"].sum() < seen.sum() < len(X)


def test_two_classes_of_softmax_are_logistic():
    X, score = rows(100, 3)
    two = Problem(X, (score > 0).astype(float), loss=SoftmaxLoss(2), radius=5.0)
    logistic = Problem(X, np.where(score > 0, 1.0, -1.0), radius=5.0)
    a, b = (m.exact_score_ranges(problem, 0.01, X[:20]) for problem in (two, logistic))
    np.testing.assert_allclose(a.to_numpy(), b.to_numpy(), atol=1e-5)
    a, b = (m.exact_flips(problem, 0.01, X)["flips"] for problem in (two, logistic))
    np.testing.assert_array_equal(a, b)


def test_group_gap_is_the_range_of_the_difference_of_means(drawn):
    problem, coef = drawn
    X, _ = rows(90, 3, seed=8)
    groups, pairs = np.resize(["a", "b", "c"], 90), ("ab", "ac", "bc")
    table = m.exact_group_gap(problem, 0.02, X, groups)
    assert list(table.index) == ["a - b", "a - c", "b - c"]
    scores = coef @ np.column_stack([X, np.ones(90)]).T
    means = {group: scores[:, groups == group].mean(axis=1) for group in "abc"}
    gaps = np.column_stack([means[a] - means[b] for a, b in pairs])
    assert (m.draws_in_range(gaps, table)["shortfall"] < 0.7).all()


def test_rows_are_clipped_as_the_problem_clips_its_own_and_keep_their_names():
    problem, several = (problem_of(name, intercept=True) for name in ("logistic", "softmax"))
    long, short = (m.exact_score_ranges(problem, 0.01, [x]) for x in ([3.0, 4.0], [0.6, 0.8]))
    np.testing.assert_allclose(long, short)
    frame = pd.DataFrame([[0.1, 0.2]] * 2, index=["ann", "ann"], columns=["u", "v"])
    assert list(m.exact_score_ranges(problem, 0.01, frame).index) == ["ann", "ann"]
    assert list(m.exact_flips(several, 0.01, frame).index) == ["ann", "ann"]
    table = m.exact_score_ranges(several, 0.01, frame)
    assert table.index.tolist() == [("ann", 1), ("ann", 2)] * 2


@pytest.fixture(scope="module")
def people():
    """More directions than one part has."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 2)) / 4
    y = np.where(4 * X @ [2.0, -1.0] + rng.normal(size=80) > 0, 1.0, -1.0)
    return Problem(X, y, ridge=0.01), 0.02, rng.normal(size=(600, 2)) / 4


def test_nobody_sees_in_which_parts_and_by_whom_ranges_are_computed(people):
    problem, psi, X = people
    table, flips = m.exact_score_ranges(*people), m.exact_flips(*people)
    directions, _ = score_directions(problem, X)
    whole = brackets(problem, psi, np.vstack([directions, -directions]).T, 1e-6)
    best = directions @ problem.minimum.theta
    ends = np.concatenate([table["high_outer"] - best, best - table["low_outer"]])
    np.testing.assert_allclose(ends, whole.outer, rtol=1e-9)
    assert 0 < flips["flips"].mean() < 1
    assert m.exact_ambiguity(*people).lower == flips["flips"].mean()


def test_equal_rows_are_searched_once_and_each_gets_the_result(monkeypatch):
    problem, people = problem_of("logistic"), rows(3, seed=1)[0]
    each, searched = m.exact_score_ranges(problem, 0.05, people), []

    def counted(*what):
        searched.append(what[2].shape[1])
        return brackets(*what)

    monkeypatch.setattr("rashomon_explorer.measures.ranges.brackets.brackets", counted)
    order = [2, 0, 2, 1, 0]
    several = m.exact_score_ranges(problem, 0.05, people[order])
    np.testing.assert_allclose(several, each.iloc[order], rtol=1e-12)
    flips = m.exact_flips(problem, 0.05, people[order])["flips"]
    assert flips.tolist() == [m.exact_flips(problem, 0.05, people[[i]])["flips"][0] for i in order]
    assert searched == [6, 3, 1, 1, 1, 1, 1]


@pytest.fixture(scope="module")
def one_feature():
    rng = np.random.default_rng(3)
    x = rng.uniform(-0.9, 0.9, 60)
    return Problem(x[:, None], np.where(x + 0.2 + rng.normal(0, 0.5, 60) > 0, 1.0, -1.0), radius=3)


@pytest.mark.parametrize("x", [-0.8, -0.25, 0.6])
def test_the_least_psi_of_a_flip_is_that_of_the_models_between_both_labels(one_feature, x):
    found = m.flip_psi(one_feature, [x], tolerance=0.05)
    slopes = np.linspace(-3, 3, 20_001)  # convexity puts the least excess where the score is 0
    theta = np.array([slopes, -x * slopes])
    theta = theta[:, one_feature.domain.contains(theta)]
    least = one_feature.value(theta).min() - one_feature.minimum.value
    assert found.lower <= least <= found.upper * (1 + 1e-6) <= 1.052 * found.lower
    flips = [m.exact_flips(one_feature, psi, [[x]])["flips"].item() for psi in found]
    assert flips == [False, True]
    slope, intercept = one_feature.minimum.theta
    on_the_line = m.flip_psi(one_feature, [-intercept / slope])
    assert on_the_line.lower == 0 and on_the_line.upper < 1e-6


@pytest.mark.parametrize(
    ("name", "radius"),
    [
        *(("logistic", 1.5), ("softmax", 1.5), ("smoothed_hinge", 20.0), ("scikit-learn", 1.5)),
        *(pytest.param(name, 20.0, marks=pytest.mark.law) for name in ("logistic", "softmax")),
    ],
)
def test_labels_of_a_table_flip_at_the_upper_psi_and_not_at_the_lower_one(name, radius):
    people, score = rows(12, seed=1)
    if name == "scikit-learn":
        model = LogisticRegression(C=radius).fit(people, score > 0)
        problem = m.penalised_problem(model, people, score > 0)
    else:
        problem = problem_of(name, n=80, radius=radius)
    found = m.flip_psi(problem, people[[*range(12), 3, 3]])
    assert (found.upper <= 1.01 * found.lower).all()
    assert found.lower[3] == found.lower[12] == found.lower[13]
    for i, (lower, upper) in enumerate(zip(*found, strict=True)):
        row = people[[i if i < 12 else 3]]
        ends = [m.exact_flips(problem, psi, row) for psi in (0.98 * lower, upper)]
        assert [end["flips"].item() for end in ends] == [False, True]
        assert ends[0]["decided"].item()


SETTINGS = {"psi": 0.05, "epsilon": 60.0, "n_draws": 30, "random_state": 0}
SETTINGS |= {"mechanism": "exact", "radius": 4.0}


@pytest.fixture(scope="module", params=[RashomonClassifier, RashomonRegressor])
def fitted(request):
    rng = np.random.default_rng(1)
    X = pd.DataFrame(rng.uniform(-0.5, 0.5, (300, 2)), columns=["age", "income"])
    score = X["age"] + rng.normal(0, 0.3, 300)
    if request.param is RashomonClassifier:
        return RashomonClassifier(**SETTINGS).fit(X, score > 0), X, score > 0
    y = 10 + 5 * score.clip(-1, 1)
    return RashomonRegressor(**SETTINGS, target_bounds=(5.0, 15.0)).fit(X, y), X, y


def test_the_problem_of_a_set_is_that_of_its_estimator(fitted):
    estimator, X, y = fitted
    models = estimator.rashomon_set_
    own, known = set_problem(models, X, y), m.declared_problem(estimator, X, y)
    theta = models.coef.T
    np.testing.assert_array_equal(own.value(theta), known.value(theta))
    np.testing.assert_allclose(own.value(theta), models.losses, rtol=1e-5)
    exact = m.exact_coefficient_ranges(known, models.psi)
    assert list(m.draws_in_range(models, exact).index) == ["age", "income", "intercept"]
    assert set_problem(models, X[:7], y[:7], resampled=True).n == 7
    for rows, words in ((X[:100], "pass the rows"), (X[["age"]], "must have the columns")):
        with pytest.raises(ValueError, match=words):
            m.declared_problem(estimator, rows, y[: len(rows)])
    if models.task == "classification":
        with pytest.raises(ValueError, match=r"y holds the class 5, which is not in"):
            m.declared_problem(estimator, X, np.full(300, 5))


def test_draws_lie_inside_what_is_proved_of_people_and_flips_agree(fitted):
    estimator, X, y = fitted
    models, few = estimator.rashomon_set_, X[:40]
    problem = set_problem(models, X, y)
    found, scores = people_ranges(models, few, problem), models.inside().scores(few)
    best = models.best_scores(few)
    np.testing.assert_allclose(found["drawn_low"], scores.min(axis=0))
    np.testing.assert_allclose(found["best"], best)  # in the units of the target
    assert (found["exact_low"] <= found["drawn_low"] + 1e-9).all()
    assert (found["exact_high"] >= found["drawn_high"] - 1e-9).all()
    proved = proved_people(problem, models.psi, few, target_bounds=models.target_bounds)
    np.testing.assert_allclose(proved["best"], best)
    if models.task == "regression":
        assert "flips" not in found and "drawn_flips" not in found
        return
    # Whom a draw inside flips, the set flips; a range across 1/2 and a flip are one thing.
    share = ((scores > 0.5) != (best > 0.5)).mean(axis=0)
    np.testing.assert_allclose(found["drawn_flips"], share)
    assert (found.loc[share > 0, "flips"] == "yes").all()
    known = m.exact_flips(problem, models.psi, few)["flips"].to_numpy()
    assert ((found["flips"] == "yes") == known).all() and 0 < known.mean() < 1
    crosses = (found["exact_low"] < 0.5) & (found["exact_high"] > 0.5)
    assert (crosses == known).mean() > 0.9


def test_people_of_a_loss_without_probabilities_have_ranges_of_labels():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2))
    y = (X[:, 0] + rng.normal(size=200) > 0).astype(int)
    model = LinearSVC(tol=1e-10, max_iter=100_000).fit(X, y)
    found = proved_people(m.penalised_problem(model, X, y), 0.02, X)
    assert (found["best"] == model.predict(X)).all()
    either = (found["exact_low"] == 0) & (found["exact_high"] == 1)
    assert 0 < either.sum() < 200 and (either == (found["flips"] == "yes")).all()
