"""Model class reliance against grids over the whole set, and what certifies it."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import Lasso, LogisticRegression, Ridge, RidgeClassifier

from rashomon_explorer.estimators import RashomonClassifier
from rashomon_explorer.measures import model_class_reliance, model_reliance
from rashomon_explorer.measures.ranges import declared_problem, penalised_problem
from rashomon_explorer.measures.ranges.level_set import curvature
from rashomon_explorer.measures.reliance import level_set, logistic, pair_losses
from rashomon_explorer.measures.reliance.class_reliance import SquareClass
from rashomon_explorer.measures.reliance.level_set import Quadratic, project_to_level_set
from rashomon_explorer.measures.reliance.pair_losses import majorant, softplus
from rashomon_explorer.measures.reliance.set_reliance import bounded_problem
from rashomon_explorer.mechanisms.base import collect
from rashomon_explorer.mechanisms.hit_and_run import HitAndRunSampler
from rashomon_explorer.mechanisms.target import GibbsTarget
from rashomon_explorer.problem.problem import Problem
from tests.measures.test_model_reliance import switched_loss

RNG = np.random.default_rng(0)
X = RNG.uniform(-0.7, 0.7, (40, 2))
X[:, 1] = 0.5 * X[:, 0] + 0.4 * X[:, 1]
NOISE = RNG.standard_normal(40)


def a_problem(loss, n_features=2, **options):
    score = 0.8 * X[:, 0] - 0.4 * X[:, 1] + 0.2 * NOISE
    y = np.clip(score, -1, 1) if loss == "squared" else np.where(score > 0, 1.0, -1.0)
    return Problem(X[:, :n_features], y, loss=loss, **options)


def reliance_by_pairs(problem, theta, column, form="difference"):
    """Reliance (K,) of models (p, K), from every pair of rows."""
    rows, n, found = problem.rows, problem.n, []
    for some in np.array_split(theta, 20, axis=1):
        moving = rows[:, [column]] * some[column]
        scores = (rows @ some - moving)[:, None] + moving[None]
        targets = problem.targets[:, None, None]
        if problem.loss.name == "squared":
            losses = (targets - scores) ** 2 / 2
        else:
            losses = np.logaddexp(0, -targets * scores)
        own = np.trace(losses)
        switched, original = (losses.sum(axis=(0, 1)) - own) / (n * (n - 1)), own / n
        found.append(switched / original if form == "ratio" else switched - original)
    return np.concatenate(found)


def grid_of(problem, psi, steps):
    """Models of the whole set: rays from the best model to its rim, every third at 21 shares."""
    p, angle = problem.p, np.linspace(0, 2 * np.pi, steps)
    rays = np.array([[-1.0, 1.0]]) if p == 1 else np.stack([np.cos(angle), np.sin(angle)])
    level = problem.minimum.value + psi
    ends = project_to_level_set(problem, level, problem.minimum.theta[:, None] + 40 * rays)
    move = ends - problem.minimum.theta[:, None]
    share = np.linspace(0, 1, 2001 if p == 1 else 21)
    within = move if p == 1 else move[:, ::3]
    inside = problem.minimum.theta[:, None, None] + within[:, :, None] * share
    return np.concatenate([ends, inside.reshape(p, -1)], axis=1)


def check_ends(row, values, near, gap):
    """Brackets of a row around the values over a grid of the whole set."""
    assert row["lower"] <= values.min() + 1e-9 and values.max() - 1e-9 <= row["upper"]
    assert row["lower_attained"] <= values.min() + near
    assert row["upper_attained"] >= values.max() - near
    gaps = row["upper"] - row["upper_attained"], row["lower_attained"] - row["lower"]
    assert min(gaps) >= 0 and max(gaps) < gap


CASES = [
    {"n_features": 1, "intercept": False}, {"n_features": 1, "intercept": False, "ridge": 0.05},
    {"n_features": 2, "intercept": False}, {"n_features": 2, "intercept": False, "ridge": 0.02},
    {"n_features": 1, "intercept": True}, {"n_features": 2, "intercept": False, "radius": 0.6},
]  # fmt: skip


@pytest.mark.parametrize("form", ["difference", pytest.param("ratio", marks=pytest.mark.law)])
@pytest.mark.parametrize("case", CASES)
def test_squared_class_reliance_is_the_grid_s(case, form):
    problem = a_problem("squared", **case)
    table = model_class_reliance(problem, psi=0.02, form=form)
    theta = grid_of(problem, 0.02, 361)
    for column in range(case["n_features"]):
        values, row = reliance_by_pairs(problem, theta, column, form), table.iloc[column]
        assert row[["lower_attained", "best", "upper_attained"]].is_monotonic_increasing
        # A small ball cuts corners, which rays miss; two constraints leave a gap, one leaves none.
        near = 1e-3 * np.abs(values).max() + ("radius" in case) * 0.02 * np.ptp(values)
        check_ends(row, values, near, 0.1 * np.ptp(values) if "radius" in case else 1e-7)


@pytest.mark.parametrize("form", ["difference", "ratio"])
@pytest.mark.parametrize("case", [CASES[1], CASES[4], CASES[5]])
@pytest.mark.law
def test_logistic_brackets_hold_the_grid(case, form):
    problem = a_problem("logistic", **{"radius": 6.0, **case})
    row = model_class_reliance(problem, psi=0.01, form=form, features=[0]).iloc[0]
    values = reliance_by_pairs(problem, grid_of(problem, 0.01, 181), 0, form)
    check_ends(row, values, 1e-3, 0.03 * (row["upper_attained"] - row["lower_attained"]))


SPARSE = {"solver": "saga", "max_iter": 100_000, "tol": 1e-10}
WEIGHTS = np.where(X[:, 0] > 0.2, 3.0, 0.5)
FITTED = {
    "L2": (LogisticRegression(C=2.0, tol=1e-10), None),
    "weights": (LogisticRegression(C=2.0, tol=1e-10), WEIGHTS),
    "class weights": (LogisticRegression(class_weight="balanced", tol=1e-10), None),
    "L1": (LogisticRegression(C=1.0, l1_ratio=1.0, **SPARSE), None),
    "elastic net": (LogisticRegression(C=1.0, l1_ratio=0.5, **SPARSE), WEIGHTS),
    "least squares with weights": (Ridge(0.5), WEIGHTS),
    "lasso": (Lasso(0.02, tol=1e-10), None),
}


@pytest.mark.filterwarnings("ignore::FutureWarning")
@pytest.mark.parametrize(
    ("kind", "columns"), [*((kind, 2) for kind in FITTED), ("weights", 1), ("elastic net", 1)]
)
def test_brackets_of_penalised_and_weighted_fits_hold_the_grid(kind, columns):
    model, weights = FITTED[kind]
    model.set_params(fit_intercept=columns == 1)
    y = a_problem("squared").targets
    y = (y + 0.3 * np.sin(9 * np.arange(len(y))) > 0) if hasattr(model, "C") else y
    fitted = model.fit(X[:, :columns], y, sample_weight=weights)
    problem = penalised_problem(fitted, X[:, :columns], y, sample_weight=weights)
    psi = 0.05 * problem.minimum.value
    row = model_class_reliance(problem, psi=psi, features=[0]).iloc[0]
    values = reliance_by_pairs(problem, grid_of(problem, psi, 121), 0)
    check_ends(row, values, 1e-3 * np.ptp(values), 0.05 * np.ptp(values))


@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_a_slope_that_is_no_subgradient_of_the_penalty_is_caught():
    """Negative control: three times the L1 penalty cuts off models of the set."""
    y = X @ [1.0, 0.5] + 0.3 * np.sin(9 * np.arange(40)) > 0
    model = LogisticRegression(C=1.0, l1_ratio=1.0, fit_intercept=False, **SPARSE).fit(X, y)
    problem = bounded_problem(penalised_problem(model, X, y), 0.02)
    models = logistic.LogisticClass.from_problem(problem, 0.02, np.array([0]), ratio=False)
    found = models.extreme(1)
    own = logistic._Lagrangian.at(models, 1, 1.0, found.theta)
    assert found.attained <= own.greatest(found.theta, -np.inf)
    wrong = replace(own, l1_slope=own.l1_slope + 2 * problem.l1 * np.sign(found.theta))
    assert wrong.greatest(found.theta, -np.inf) < found.attained


@pytest.mark.parametrize("ratio", [False, True])
def test_brackets_close_where_theory_says_so_and_at_models_of_the_set(ratio):
    """Attained and bound come by different ways and meet; the model found is in the set."""
    active = a_problem("logistic", radius=20.0)
    least = logistic.LogisticClass.from_problem(active, 0.01, np.array([0]), ratio=ratio).extreme(
        -1
    )
    assert least.bound - least.attained < 1e-7
    rng = np.random.default_rng(1)
    rows = 0.2 * rng.normal(size=(60, 7)) + 0.2 * rng.normal(size=(60, 1))
    y = np.clip(0.4 * rows @ rng.normal(size=7) + 0.2 * rng.normal(size=60), -1, 1)
    problem, psi = Problem(rows, y, loss="squared", radius=9.0), 0.01
    for sign in (-1, 1):
        found = SquareClass.from_problem(problem, psi, np.array([2]), ratio=ratio).extreme(sign)
        theta, form = found.theta[:, None], "ratio" if ratio else "difference"
        assert problem.value(theta)[0] <= problem.minimum.value + psi
        value = reliance_by_pairs(problem, theta, 2, form)[0] - ratio
        assert sign * value == pytest.approx(found.attained, abs=1e-12)
        assert 0 <= found.bound - found.attained < 1e-8


@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_no_draw_is_outside_and_ranges_grow_with_psi(loss):
    problem, psi = a_problem(loss), 0.02
    target = GibbsTarget(problem, problem.p / psi, psi)
    draws = collect(HitAndRunSampler(), target, 96, np.random.default_rng(0)).coef
    every = np.vstack([draws, np.full((2, problem.p), 2.0)])
    row = model_class_reliance(problem, psi=psi, features=["x0"], draws=every).iloc[0]
    inside = problem.value(draws.T) <= problem.minimum.value + psi
    values = reliance_by_pairs(problem, draws[inside].T, 0)
    assert row["n_inside"] == inside.sum()
    assert row["drawn_upper"] == pytest.approx(values.max(), abs=1e-12)
    assert row["lower_attained"] <= row["drawn_lower"] < row["drawn_upper"] <= row["upper_attained"]
    width = row["upper_attained"] - row["lower_attained"]
    drawn = row["drawn_upper"] - row["drawn_lower"]
    assert row["shortfall"] == pytest.approx(1 - drawn / width)
    narrow = model_class_reliance(problem, psi=psi / 4, features=["x0"]).iloc[0]
    assert row["lower"] < narrow["lower"] < narrow["upper_attained"] < row["upper_attained"]


def bound_by_slabs(models, theta, best):
    return logistic._Slabs(logistic._Lagrangian.at(models, 1, 1.0, theta), theta).greatest(-np.inf)


@pytest.mark.parametrize("bound", [lambda m, theta, best: m._bound(1, theta, best), bound_by_slabs])
def test_a_smaller_ellipsoid_is_caught(bound):
    """Negative control: half the certified radius no longer holds the grid."""
    problem = a_problem("logistic", radius=20.0, intercept=False)
    best = reliance_by_pairs(problem, grid_of(problem, 0.01, 181), 0).max()
    models = logistic.LogisticClass.from_problem(problem, 0.01, np.array([0]), ratio=False)
    theta = models.extreme(1).theta
    assert best <= bound(models, theta, best) <= best + 2e-3
    centre = problem.minimum.theta[:, None]
    smaller = models.outer.shifted(-0.75 * float(models.outer(centre)[0]))
    smaller = (1 / -float(smaller(centre)[0])) * smaller
    assert bound(replace(models, outer=smaller), theta, best) < best


@pytest.mark.parametrize("form", ["difference", "ratio"])
@pytest.mark.parametrize(
    "options",
    [pytest.param({"radius": 20.0}, marks=pytest.mark.law), {"radius": 20.0, "ridge": 0.01}],
)
def test_logistic_brackets_are_narrow_at_a_slack_of_a_twentieth(options, form):
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(200, 4))
    rows[:, 1] += rows[:, 0]
    rows /= np.linalg.norm(rows, axis=1).max()
    y = np.where(rows @ [6.0, -6.0, 4.0, 0.5] + 0.5 * rng.logistic(size=200) > 0, 1.0, -1.0)
    problem = Problem(rows, y, **options)
    table = model_class_reliance(problem, psi=0.05 * problem.minimum.value, form=form)
    gaps = table["upper"] - table["upper_attained"], table["lower_attained"] - table["lower"]
    of_one = 1.0 if form == "ratio" else problem.minimum.value
    assert max(gap.max() for gap in gaps) < 0.02 * of_one


@pytest.mark.parametrize(("sign", "kappa"), [(1, 1.3), (-1, -0.8), (-1, 0.2), (1, 0.0)])
def test_second_derivatives_are_bounded_on_intervals(sign, kappa):
    rng = np.random.default_rng(1)
    x, low = rng.normal(size=25), rng.normal(scale=3, size=25)
    high = low + rng.uniform(0, 4, 25)
    kappas = kappa * rng.uniform(0.0, 20.0, 25)  # by the weights of the rows
    found = logistic.largest_weights(x, 0.7, (low, high), sign, kappas)
    b = low + (high - low) * np.linspace(0, 1, 401)[:, None]
    each = curvature(b[:, :, None] + 0.7 * x)
    own = each[:, np.arange(25), np.arange(25)]
    exact = (sign * (each.sum(axis=2) - own) / 24 - kappas * own).max(axis=0)
    assert (found >= exact).all() and (found - exact).max() < 0.04 * (1 + np.ptp(kappas))
    narrow = logistic.largest_weights(x, 0.7, ((low + high) / 2, high), sign, kappas)
    assert (narrow < exact).any()  # negative control: half the interval misses the largest


@pytest.mark.parametrize("columns", [[0], [1, 2], [0, 1, 2]])
def test_switched_logistic_against_pairs_and_differences(columns):
    rng = np.random.default_rng(3)
    rows, codes = rng.normal(size=(30, 4)), rng.integers(0, 2, 30).astype(float)
    one, theta = logistic.SwitchedLogistic(rows, codes, np.array(columns)), rng.normal(size=4)
    own, other = np.nonzero(~np.eye(30, dtype=bool))
    mixed = rows[own]
    mixed[:, columns] = rows[np.ix_(other, columns)]
    margins = mixed @ theta
    mean = (softplus(margins) - codes[own] * margins).mean()
    assert one.value(theta[:, None])[0] == pytest.approx(mean, abs=1e-12)
    gradient = one.value_and_gradient(theta[:, None])[1][:, 0]
    step = 1e-5 * np.eye(4)
    numeric = (one.value(theta[:, None] + step) - one.value(theta[:, None] - step)) / 2e-5
    assert gradient == pytest.approx(numeric, abs=1e-9)
    for weight, found in (
        (curvature, one.hessian(theta)),
        (majorant, one.weighted(theta, majorant)),
    ):
        expected = (mixed * weight(margins)[:, None]).T @ mixed / len(own)
        np.testing.assert_allclose(found, expected, atol=1e-12)


@pytest.mark.parametrize("tiny", [5e-324, 1e-310, 1e-300, 1e-160, 1e-30])
def test_scores_that_hardly_differ_are_summed(tiny):
    """The ellipse of an interval of subnormal width is infinite: one node is exact there."""
    b = np.array([0.0, tiny, -tiny, tiny])
    for a in (b, np.array([0.5, -2.0, 0.3, 0.0])):
        kernel, ones = pair_losses.SoftplusKernel.from_scores(b, a), np.ones((4, 1))
        exact, values = np.logaddexp(0, b[:, None] + a).sum(), softplus(kernel.arguments)
        assert kernel.between(values, ones, ones)[0, 0] == pytest.approx(exact, rel=1e-14)
        assert kernel.cells(b, a) == kernel.arguments.size <= 16


def test_the_majorant_touches_and_never_crosses():
    s, t = np.meshgrid(np.linspace(-30, 30, 241), np.linspace(-30, 30, 241))

    def above(weight):
        line = softplus(s) + pair_losses.slope(s) * (t - s)
        return line + weight * (t - s) ** 2 / 2 - softplus(t)

    assert above(majorant(s)).min() > -1e-12
    assert above(0.99 * majorant(s)).min() < -1e-3  # negative control


def test_quadratics_on_ellipses_against_their_rims():
    rng, angle = np.random.default_rng(0), np.linspace(0, 2 * np.pi, 20_001)
    disc = np.concatenate([r * np.stack([np.cos(angle), np.sin(angle)]) for r in (0, 0.5, 1)], 1)
    for case in range(30):
        matrix, shape = rng.normal(size=(2, 2, 2))
        objective = Quadratic(matrix + matrix.T, rng.normal(size=2) * (case % 3 > 0), 0.3)
        ellipse = Quadratic(shape @ shape.T + 0.2 * np.eye(2), 0.2 * rng.normal(size=2), -1.0)
        least = level_set.least_on_ellipsoid(objective, ellipse)
        centre = -np.linalg.solve(ellipse.matrix, ellipse.vector)
        size = np.sqrt(1 - ellipse.vector @ centre)
        theta = centre[:, None] + size * np.linalg.cholesky(np.linalg.inv(ellipse.matrix)) @ disc
        values = objective(theta)
        assert least.bound <= values.min() + 1e-9
        assert objective(least.points).min() == pytest.approx(least.bound, abs=1e-9)
        assert ellipse(least.points).max() < 1e-9
        ball = Quadratic(np.eye(2), np.zeros(2), -0.3)
        both = level_set.least_on_intersection(objective, ellipse, ball)
        assert both.bound <= values[ball(theta) <= 0].min(initial=np.inf) + 1e-9


@pytest.mark.parametrize("options", [{"radius": 20.0}, {"radius": 0.7}, {"ridge": 0.02}])
def test_the_outer_ellipsoid_holds_the_set_and_is_not_idle(options):
    problem = a_problem("logistic", intercept=False, **options)
    outer, rim = logistic.outer_ellipsoid(problem, 0.02), grid_of(problem, 0.02, 361)
    assert outer(rim).max() <= 1e-9
    centre = float(outer(problem.minimum.theta[:, None])[0])
    assert outer(rim).max() > 0.15 * centre  # of −1 at the centre: the rim is close
    assert outer.shifted(-0.75 * centre)(rim).max() > 0  # negative control: half the axes


def test_estimators_problems_and_sets_are_asked_alike():
    rows, labels = pd.DataFrame(X, columns=["age", "debt"]), (X[:, 0] > 0).astype(int)
    fitted = RashomonClassifier(
        epsilon=50.0, n_draws=5, psi=0.05, radius=4.0, mechanism="exact", random_state=0
    )
    fitted.fit(rows, labels)
    table = model_class_reliance(fitted, rows, labels, features={"both": ["age", "debt"]})
    problem, groups = declared_problem(fitted, rows, labels), {"both": ["age", "debt"]}
    pd.testing.assert_frame_equal(table, model_class_reliance(problem, psi=0.05, features=groups))
    assert table.loc["both", ["lower", "best", "upper"]].is_monotonic_increasing
    each = model_reliance(fitted, rows, labels)
    pd.testing.assert_frame_equal(each, model_reliance(fitted.rashomon_set_, rows, labels))
    best = model_reliance(problem, features=groups)
    assert best.loc[0, "both"] == pytest.approx(table.loc["both", "best"])


def half_square(scores, targets):
    return (scores - targets) ** 2 / 2


def log_loss(scores, labels):
    return np.logaddexp(0, np.where(labels == 1, -scores, scores))


@pytest.mark.parametrize(("kind", "loss"), [(LogisticRegression, log_loss), (Ridge, half_square)])
def test_a_fitted_scikit_learn_model_has_its_own_reliance(kind, loss):
    targets = (X[:, 0] > 0).astype(int) if loss is log_loss else X[:, 0] + X[:, 1]
    model = kind().fit(X, targets)
    table = model_reliance(model, X, targets)
    pd.testing.assert_frame_equal(table, model_reliance(penalised_problem(model, X, targets)))
    scores = model.predict if kind is Ridge else model.decision_function
    expected = switched_loss(scores, X, targets, [0], loss)
    expected -= float(np.mean(loss(scores(X), targets)))
    assert table.loc[0, "x0"] == pytest.approx(expected, rel=1e-3, abs=1e-5)


def test_least_squares_of_scikit_learn_has_the_range_of_the_same_problem_in_a_ball():
    rng = np.random.default_rng(0)
    X = rng.uniform(-0.5, 0.5, (200, 4))
    y = X @ [1, 0.2, 0, -0.5] + 0.2 * rng.normal(size=200)
    fitted = penalised_problem(Ridge(alpha=2.0, fit_intercept=False).fit(X, y), X, y)
    settings = {"loss": "squared", "ridge": 2 / 200, "radius": 50.0, "row_norm": 5.0}
    own = Problem(X, y, intercept=False, **settings)
    features = {"x0": [0], "both": [1, 2]}
    one, other = (
        model_class_reliance(problem, psi=0.005, features=features) for problem in (fitted, own)
    )
    assert np.allclose(one, other, atol=1e-7)
    free = penalised_problem(Ridge(alpha=2.0).fit(X, y), X, y)
    table = model_class_reliance(free, psi=0.005)
    assert (table["upper"] - table["upper_attained"] < 1e-9).all()
    assert (table["lower"] < table["best"]).all() and (table["best"] < table["upper"]).all()
    sparse = penalised_problem(Lasso(0.01, tol=1e-9).fit(X, y), X, y)
    assert (model_class_reliance(sparse, psi=0.005)["upper"] >= 0).all()
    labels = RidgeClassifier().fit(X, y > 0)
    with pytest.raises(TypeError, match="only linear and logistic regressions are bounded"):
        model_class_reliance(penalised_problem(labels, X, y > 0), psi=0.005)


@pytest.mark.parametrize("form", ["difference", pytest.param("ratio", marks=pytest.mark.law)])
def test_quick_ranges_hold_the_searched_ones(form):
    rng = np.random.default_rng(5)
    rows = rng.normal(size=(60, 3))
    labels = (rows[:, 0] + rng.logistic(size=60) > 0).astype(int)
    problem = penalised_problem(LogisticRegression().fit(rows, labels), rows, labels)
    every, few, one = (
        model_class_reliance(problem, psi=0.02, form=form, seconds=seconds)
        for seconds in (None, 0.0, 0.02)
    )
    assert (few["lower"] <= every["lower_attained"] + 1e-9).all()
    assert (few["upper"] >= every["upper_attained"] - 1e-9).all()
    assert (few["lower_attained"] >= every["lower"] - 1e-9).all()
    assert (few["upper_attained"] <= every["upper"] + 1e-9).all()
    assert (few["upper"] - few["upper_attained"] > every["upper"] - every["upper_attained"]).any()
    first = (every["best"] - (form == "ratio")).abs().idxmax()
    searched = [name for name in every.index if not one.loc[name].equals(few.loc[name])]
    assert searched == [] or first in searched
