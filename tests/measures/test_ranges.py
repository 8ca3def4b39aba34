"""Exact ranges against closed forms, brute force and draws, for every loss and domain."""

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest

from rashomon_explorer import RashomonClassifier
from rashomon_explorer.measures import (
    ambiguity,
    declared_problem,
    draws_in_range,
    exact_ambiguity,
    exact_coefficient_ranges,
    exact_flips,
    exact_group_gap,
    exact_ranges,
    exact_score_ranges,
    relative_psi,
)
from rashomon_explorer.measures.ranges.level_set import least_shifted_norm
from rashomon_explorer.measures.ranges.search import _axes, furthest_point
from rashomon_explorer.mechanisms.rejection.envelope import Shifted
from rashomon_explorer.mechanisms.samplers.hit_and_run import HitAndRunSampler
from rashomon_explorer.mechanisms.target import GibbsTarget
from rashomon_explorer.problem.domains import Ball, Intersection
from rashomon_explorer.problem.losses import LOSSES, get_loss
from rashomon_explorer.problem.losses.kinked import SmoothedHingeLoss
from rashomon_explorer.problem.losses.softmax import SoftmaxLoss
from rashomon_explorer.problem.losses.squared import SquaredLoss
from rashomon_explorer.problem.problem import Problem

DOMAINS = {
    "small ball": Ball(1.2),
    "large ball": Ball(6.0),
    "intersection": Intersection(Shifted(Ball(1.5), (0.5, -0.4)), Ball(1.2)),
}
SCALAR = sorted(set(LOSSES) - {"softmax"})
KINKED = {"hinge", "absolute"}
DIRECTIONS = np.array([[1.0, 0.0], [-0.4, 1.3]])


def rows(n=40, p=2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    X /= np.maximum(1, np.linalg.norm(X, axis=1, keepdims=True))
    return X, X @ np.resize([2.0, -1.0], p) + 0.7 * rng.normal(size=n)


def problem_of(name, n=40, p=2, seed=0, **settings):
    X, score = rows(n, p, seed)
    loss = get_loss(name)
    y = np.where(score > 0, 1.0, -1.0) if loss.labels else np.clip(score / 3, -1, 1)
    if name == "softmax":
        y = np.digitize(score, [-0.5, 0.5]).astype(float)
    return Problem(X, y, loss=loss, **{"intercept": False, **settings})


def edge_of_set(problem, psi, angles=1001):
    """Furthest models of the set along rays from the minimum, by halving: (2, angles)."""
    best = problem.minimum
    turn = np.linspace(0, 2 * np.pi, angles)
    ray, low, high = np.vstack([np.cos(turn), np.sin(turn)]), np.zeros(angles), np.full(angles, 20)
    for _ in range(34):
        middle = (low + high) / 2
        theta = best.theta[:, None] + middle * ray
        inside = (problem.value(theta) <= best.value + psi) & problem.domain.contains(theta)
        low, high = np.where(inside, middle, low), np.where(inside, high, middle)
    return best.theta[:, None] + low * ray


@pytest.mark.parametrize("radius", [np.inf, 2.0])
def test_the_step_in_shared_axes_is_the_step_by_each_inverse(radius):
    rng = np.random.default_rng(0)
    root = rng.normal(size=(5, 5))
    metric = _axes(root @ root.T, 0.0)
    direction, theta, gradient = rng.normal(size=(3, 5, 7)) * [[[1]], [[0.2]], [[0.1]]]
    room, stiff = rng.uniform(0.1, 3.0, 7), rng.uniform(1.0, 4.0, 7)
    shared = metric.furthest(direction, theta, gradient, room, stiff, radius)
    inverse = np.linalg.inv(root @ root.T) / stiff[:, None, None]
    each = furthest_point(direction, theta, gradient, room, inverse, radius)
    np.testing.assert_allclose(shared, each, rtol=1e-6, atol=1e-8)
    if np.isfinite(radius):
        assert (np.linalg.norm(shared, axis=0) > radius * (1 - 1e-9)).any()


def widths(table):
    outer = table["high_outer"] - table["low_outer"]
    return outer, table["high"] - table["low"]


def cases():
    """Every loss on every domain; those that take a second each are slow."""
    for name in SCALAR:
        for domain in DOMAINS:
            slow = name in KINKED
            yield pytest.param(name, domain, marks=[pytest.mark.law] if slow else [])


@pytest.mark.parametrize(("name", "domain"), list(cases()))
def test_ranges_are_those_of_a_fine_scan(name, domain):
    problem = problem_of(name, domain=DOMAINS[domain])
    table = exact_ranges(problem, 0.03, DIRECTIONS)
    values = DIRECTIONS @ edge_of_set(problem, 0.03)
    outer, inner = widths(table)
    assert (table["low_outer"] <= values.min(axis=1) + 1e-11).all()
    assert (table["high_outer"] >= values.max(axis=1) - 1e-11).all()
    # A scan of 1,001 rays misses a corner of the set by a few thousandths of its width.
    assert (inner <= np.ptp(values, axis=1) * 1.03 + 1e-12).all()
    assert (outer - inner <= (3e-4 if name in KINKED else 3e-6) * outer).all()


@pytest.mark.parametrize("name", sorted(set(SCALAR) - KINKED))
def test_ranges_of_half_the_threshold_are_too_narrow(name):
    """The control of the scan above."""
    problem = problem_of(name, radius=6.0)
    table = exact_ranges(problem, 0.015, DIRECTIONS)
    values = DIRECTIONS @ edge_of_set(problem, 0.03)
    assert (table["high_outer"] < values.max(axis=1)).all()
    assert (table["low_outer"] > values.min(axis=1)).all()


@pytest.mark.parametrize("ridge", [0.0, 0.3])
def test_squared_loss_in_a_large_ball_is_an_ellipsoid(ridge):
    problem = problem_of("squared", p=5, n=200, radius=50.0, ridge=ridge, intercept=True)
    directions = np.random.default_rng(1).normal(size=(20, problem.p))
    inverse = np.linalg.inv(problem.hessian(problem.minimum.theta))
    half = np.sqrt(2 * 0.02 * np.einsum("ij,jk,ik->i", directions, inverse, directions))
    table = exact_ranges(problem, 0.02, directions)
    for end, sign in (("low_outer", -1), ("low", -1), ("high", 1), ("high_outer", 1)):
        np.testing.assert_allclose(table[end], table["best"] + sign * half, atol=1e-6 * half.max())


def test_a_level_that_binds_nowhere_leaves_the_domain():
    problem = problem_of("logistic", radius=0.7)
    table = exact_ranges(problem, 50.0, DIRECTIONS)
    reach = 0.7 * np.linalg.norm(DIRECTIONS, axis=1)
    np.testing.assert_allclose(table["high"], reach, rtol=1e-6)
    np.testing.assert_allclose(table["low_outer"], -reach, rtol=1e-6)


@pytest.mark.parametrize("place", ["inside", "sphere"])
@pytest.mark.parametrize("name", ["logistic", "smoothed_hinge", "softmax"])
def test_ends_are_attained_and_proved_in_higher_dimensions(name, place):
    """Every end's optimality conditions: a model of the set inside, a tangent's proof outside."""
    problem = problem_of(name, n=300, p=6, radius=20.0 if place == "inside" else 1.0)
    table = exact_coefficient_ranges(problem, 0.02)
    outer, inner = widths(table)
    assert len(table) == problem.p
    assert (outer - inner <= 2e-6 * outer).all()
    assert (table["low"] < table["best"]).all() or place == "sphere"


def test_ranges_grow_with_psi_and_their_ends_stay_in_order():
    problem = problem_of("logistic", p=4)
    tables = [exact_ranges(problem, psi) for psi in (1e-4, 1e-3, 1e-2, 1e-1)]
    for small, large in pairwise(tables):
        assert (large["low"] <= small["low_outer"]).all()
        assert (large["high"] >= small["high_outer"]).all()
    for table in tables:
        assert (table.diff(axis=1).iloc[:, 1:] >= 0).all(axis=None)
        assert table.attrs["view"] == "curator: not private"


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
    outer, inner = widths(exact_ranges(Problem(X, y, loss=loss, **settings), 0.02, np.eye(7)[:2]))
    assert (outer - inner <= 2e-3 * outer).all()


def test_order_and_sign_of_directions_do_not_matter():
    problem = problem_of("logistic", p=4)
    directions = np.random.default_rng(2).normal(size=(6, 4))
    table, turned = (exact_ranges(problem, 0.02, a) for a in (directions, -directions[::-1]))
    np.testing.assert_allclose(table["high"], -turned["low"][::-1], rtol=1e-5)


def draws_of(problem, psi, n=400, n_chains=100):
    target = GibbsTarget(problem, 1e6, psi)
    batches = HitAndRunSampler(n_chains).batches(target, np.random.default_rng(0))
    kept = []
    while sum(theta.shape[1] for theta in kept) < n:
        kept.append(next(batches).theta)
    return np.hstack(kept).T[:n]


@pytest.fixture(scope="module")
def drawn():
    problem = problem_of("logistic", n=300, p=3, radius=5.0, intercept=True)
    return problem, draws_of(problem, 0.02)


def test_every_draw_lies_in_the_exact_range_and_the_shortfall_is_said(drawn):
    problem, coef = drawn
    table = draws_in_range(coef, exact_ranges(problem, 0.02))
    assert (table["shortfall"] > 0).all() and (table["shortfall"] < 0.6).all()
    expected = 1 - np.ptp(coef, axis=0) / (table["exact_high"] - table["exact_low"])
    np.testing.assert_allclose(table["shortfall"], expected)
    assert "inner bounds" in table.attrs["note"]


def test_ranges_of_another_psi_or_loss_are_found_out(drawn):
    problem, coef = drawn
    with pytest.raises(ValueError, match=r"outside the exact range .* same rows, loss and psi"):
        draws_in_range(coef, exact_ranges(problem, 0.002))
    other = problem_of("smoothed_hinge", n=300, p=3, radius=5.0, intercept=True)
    with pytest.raises(ValueError, match="outside the exact range"):
        draws_in_range(coef, exact_ranges(other, 0.02))


def test_draws_outside_the_set_do_not_count(drawn):
    problem, coef = drawn
    exact = exact_ranges(problem, 0.02)
    with_far = np.vstack([coef, np.full(problem.p, 99.0)])
    inside = np.arange(len(with_far)) < len(coef)
    pd.testing.assert_frame_equal(
        draws_in_range(with_far, exact, inside=inside), draws_in_range(coef, exact)
    )


def test_flips_are_the_signs_of_the_score_ranges(drawn):
    problem, coef = drawn
    X, _ = rows(200, 3, seed=5)
    flips = exact_flips(problem, 0.02, X)
    table = exact_score_ranges(problem, 0.02, X)
    crosses = np.sign(table["low"]) != np.sign(table["high"])
    assert flips["decided"].all()
    np.testing.assert_array_equal(flips["flips"], crosses)
    assert 0 < flips["flips"].mean() < 1
    share = exact_ambiguity(problem, 0.02, X)
    assert share == (crosses.mean(), crosses.mean())
    labels = (np.column_stack([X, np.ones(200)]) @ coef.T > 0).T.astype(int)
    assert ambiguity(labels, flips["label"].to_numpy()) <= share.lower


def test_several_classes_flip_where_another_score_can_win():
    problem = problem_of("softmax", n=80, p=2, radius=5.0)
    X, _ = rows(80, 2, seed=6)
    flips = exact_flips(problem, 0.004, X)
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
    a, b = (exact_score_ranges(problem, 0.01, X[:20]) for problem in (two, logistic))
    np.testing.assert_allclose(a.to_numpy(), b.to_numpy(), atol=1e-5)
    pairs = [exact_flips(problem, 0.01, X) for problem in (two, logistic)]
    np.testing.assert_array_equal(pairs[0]["flips"], pairs[1]["flips"])


def test_a_person_decides_soon():
    """Flips need fewer looks at the rows than ranges do."""
    problem = problem_of("logistic", n=300, p=4, radius=5.0)
    looks = []

    def counted(theta, evaluate=problem.value_and_gradient):
        looks.append(theta.shape[1])
        return evaluate(theta)

    problem.value_and_gradient = counted
    X, _ = rows(200, 4, seed=7)
    exact_flips(problem, 0.01, X)
    few = sum(looks)
    looks.clear()
    exact_score_ranges(problem, 0.01, X)
    assert few < 0.5 * sum(looks)


def test_group_gap_is_the_range_of_the_difference_of_means(drawn):
    problem, coef = drawn
    X, _ = rows(90, 3, seed=8)
    groups = np.resize(["a", "b", "c"], 90)
    table = exact_group_gap(problem, 0.02, X, groups)
    assert list(table.index) == ["a - b", "a - c", "b - c"]
    scores = coef @ np.column_stack([X, np.ones(90)]).T
    gaps = np.column_stack(
        [
            scores[:, groups == a].mean(axis=1) - scores[:, groups == b].mean(axis=1)
            for a, b in ("ab", "ac", "bc")
        ]
    )
    assert (draws_in_range(gaps, table)["shortfall"] < 0.7).all()


def test_rows_are_shortened_as_the_problem_shortens_its_own():
    problem = problem_of("logistic", intercept=True)
    long, short = (
        exact_score_ranges(problem, 0.01, [[3.0, 4.0]]),
        exact_score_ranges(problem, 0.01, [[0.6, 0.8]]),
    )
    np.testing.assert_allclose(long, short)
    frame = pd.DataFrame([[0.1, 0.2]] * 2, index=["ann", "ann"], columns=["u", "v"])
    assert list(exact_score_ranges(problem, 0.01, frame).index) == ["ann", "ann"]
    assert list(exact_flips(problem_of("softmax", intercept=True), 0.01, frame).index) == [
        *("ann", "ann")
    ]
    several = exact_score_ranges(problem_of("softmax", intercept=True), 0.01, frame)
    assert several.index.tolist() == [("ann", 1), ("ann", 2)] * 2


def test_a_tangent_bound_is_the_least_over_its_multipliers():
    rng = np.random.default_rng(3)
    a, g, price = rng.normal(size=(4, 50)), rng.normal(size=(4, 50)), rng.uniform(0, 3, 50)
    grid = np.linspace(0, 30, 30_001)[:, None]
    for radius in (0.3, 2.0):
        length = np.linalg.norm(a[:, None] - grid * g[:, None], axis=0)
        brute = (grid * price + radius * length).min(axis=0)
        found = least_shifted_norm(a, g, price, radius)
        assert (found <= brute + 1e-12).all()
        np.testing.assert_allclose(found, brute, atol=1e-4)


BAD = {
    "psi": (lambda p: exact_ranges(p, 0.0), "psi must be finite and > 0"),
    "tolerance": (lambda p: exact_ranges(p, 0.1, tolerance=-1), "tolerance must be finite"),
    "shape": (lambda p: exact_ranges(p, 0.1, [[1.0]]), r"shape \(k, 2\), got \(1, 1\)"),
    "text": (lambda p: exact_ranges(p, 0.1, [["a", "b"]]), "directions must be numbers"),
    "nan": (lambda p: exact_ranges(p, 0.1, [[np.nan, 1]]), "directions must be finite"),
    "names": (
        lambda p: exact_ranges(p, 0.1, names=["a"]),
        "must have one per direction, got 1 for 2",
    ),
    "features": (
        lambda p: exact_coefficient_ranges(p, 0.1, feature_names=["a"]),
        "feature_names must hold 2 names, got 1",
    ),
    "no rows": (lambda p: exact_flips(p, 0.1, np.empty((0, 2))), r"shape \(n_rows, 2\)"),
    "row nan": (lambda p: exact_flips(p, 0.1, [[0.1, np.nan]]), r"NaN or infinity at \(0, 1\)"),
    "one group": (lambda p: exact_group_gap(p, 0.1, [[0.1, 0.2]], ["a"]), "at least two groups"),
    "groups": (lambda p: exact_group_gap(p, 0.1, [[0.1, 0.2]], ["a", "b"]), "one per row"),
    "group gap": (
        lambda p: exact_group_gap(p, 0.1, [[0.1, 0.2]] * 2, ["a", None]),
        "missing value at row 1",
    ),
    "slack": (lambda p: relative_psi(p, -0.1), "slack must be finite and > 0"),
    "columns": (lambda p: draws_in_range([[1.0]], exact_ranges(p, 0.1)), "1 columns of models"),
    "none inside": (
        lambda p: draws_in_range([[0.0, 0.0]], exact_ranges(p, 0.1), inside=[False]),
        "no model lies in the Rashomon set",
    ),
    "mask": (
        lambda p: draws_in_range([[0.0, 0.0]], exact_ranges(p, 0.1), inside=[1.0]),
        "inside must hold True or False",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_told_what_to_change(case):
    ask, words = BAD[case]
    with pytest.raises(ValueError, match=words):
        ask(problem_of("logistic"))


def test_a_row_of_zeros_never_flips():
    flips = exact_flips(problem_of("logistic"), 0.05, [[0.0, 0.0]])
    assert flips.to_numpy().tolist() == [[0, False, True]]


def test_labels_are_refused_for_a_regression():
    X, score = rows()
    problem = Problem(X, score, loss=SquaredLoss(4.0))
    with pytest.raises(TypeError, match="need a classification loss"):
        exact_flips(problem, 0.1, X)


def test_draws_give_their_ranges_the_names_of_their_features() -> None:
    rng = np.random.default_rng(5)
    X = pd.DataFrame(rng.normal(size=(300, 2)) / 3, columns=["age", "income"])
    y = (X["age"] > 0).astype(int)
    model = RashomonClassifier(n_draws=20, epsilon=50.0, random_state=0).fit(X, y)
    problem = declared_problem(model, X, y)
    exact = exact_coefficient_ranges(problem, model.psi)
    table = draws_in_range(model.rashomon_set_, exact)
    assert list(exact.index) == ["age", "income", "intercept"]
    assert list(table.index) == ["age", "income", "intercept"]
