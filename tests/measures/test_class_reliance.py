"""Model class reliance against grids over the whole set, and what certifies it."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression, Ridge

from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer.estimators import RashomonClassifier
from rashomon_explorer.measures import (
    declared_problem,
    model_class_reliance,
    model_reliance,
    penalised_problem,
)
from rashomon_explorer.measures.reliance import switching_loss
from rashomon_explorer.measures.reliance.class_reliance import SquareClass
from rashomon_explorer.measures.reliance.level_set import (
    Quadratic,
    least_on_ellipsoid,
    least_on_intersection,
    project_to_level_set,
)
from rashomon_explorer.measures.reliance.logistic import (
    LogisticClass,
    SwitchedLogistic,
    outer_ellipsoid,
)
from rashomon_explorer.measures.reliance.pair_losses import (
    ROW_LOSSES,
    SoftplusKernel,
    majorant,
    slope,
    softplus,
)
from rashomon_explorer.mechanisms.base import collect
from rashomon_explorer.mechanisms.rejection.envelope import Shifted
from rashomon_explorer.mechanisms.samplers.hit_and_run import HitAndRunSampler
from rashomon_explorer.mechanisms.target import GibbsTarget
from rashomon_explorer.problem.domains import Ball, Intersection
from rashomon_explorer.problem.problem import Problem

RNG = np.random.default_rng(0)
X = RNG.uniform(-0.7, 0.7, (40, 2))
X[:, 1] = 0.5 * X[:, 0] + 0.4 * X[:, 1]
NOISE = RNG.standard_normal(40)


def a_problem(loss: str, n_features: int, **options: Any) -> Problem:
    score = 0.8 * X[:, 0] - 0.4 * X[:, 1] + 0.2 * NOISE
    y = np.clip(score, -1, 1) if loss == "squared" else np.where(score > 0, 1.0, -1.0)
    return Problem(X[:, :n_features], y, loss=loss, **options)


def by_pairs(problem: Problem, theta: FloatArray, column: int) -> tuple[FloatArray, FloatArray]:
    """e_switch and e_orig (K,) of models (p, K), from every pair of rows."""
    rows, n = problem.rows, problem.n
    moving = rows[:, [column]] * theta[column]
    base = rows @ theta - moving
    each = (base[:, None] + moving[None])[..., None]
    targets = problem.targets if problem.loss.name == "squared" else problem.targets > 0
    loss = ROW_LOSSES[problem.loss.name](each.transpose(2, 0, 1, 3), targets[None, :, None])
    own = np.trace(loss, axis1=1, axis2=2)
    return (loss.sum(axis=(1, 2)) - own) / (n * (n - 1)), own / n


def grid_of(problem: Problem, psi: float, steps: int) -> FloatArray:
    """Models of the whole set: rays from the best model to its rim, every third at 21 shares."""
    p = problem.p
    angle = np.linspace(0, 2 * np.pi, steps)
    rays = np.array([[-1.0, 1.0]]) if p == 1 else np.stack([np.cos(angle), np.sin(angle)])
    level = problem.minimum.value + psi
    ends = project_to_level_set(problem, level, problem.minimum.theta[:, None] + 40 * rays)
    move = ends - problem.minimum.theta[:, None]
    share = np.linspace(0, 1, 2001 if p == 1 else 21)
    within = move if p == 1 else move[:, ::3]
    inside = problem.minimum.theta[:, None, None] + within[:, :, None] * share
    return np.concatenate([ends, inside.reshape(p, -1)], axis=1)


def measured(problem: Problem, theta: FloatArray, column: int, form: str) -> FloatArray:
    parts = [by_pairs(problem, block, column) for block in np.array_split(theta, 20, axis=1)]
    switched, original = (np.concatenate(one) for one in zip(*parts, strict=True))
    return switched / original if form == "ratio" else switched - original


CASES = [
    {"n_features": 1, "intercept": False},
    {"n_features": 1, "intercept": False, "ridge": 0.05},
    {"n_features": 2, "intercept": False},
    {"n_features": 2, "intercept": False, "ridge": 0.02},
    {"n_features": 1, "intercept": True},
    {"n_features": 2, "intercept": False, "radius": 0.6},
    {
        "n_features": 2,
        "intercept": False,
        "domain": Intersection(Shifted(Ball(0.8), (0.3, 0.0)), Ball(0.6)),
    },
]


def both_forms(*cases: dict[str, Any]) -> list[Any]:
    """Differences and ratios of cases; the ratio of the first takes longest, and is a law."""
    return [
        pytest.param(case, form, marks=[pytest.mark.law] * (case is cases[0] and form == "ratio"))
        for case in cases
        for form in ("difference", "ratio")
    ]


@pytest.mark.parametrize(("case", "form"), both_forms(*CASES[::-1]))
def test_squared_class_reliance_is_the_grid_s(case: dict[str, Any], form: str) -> None:
    problem = a_problem("squared", **case)
    table = model_class_reliance(problem, psi=0.02, form=form)
    theta = grid_of(problem, 0.02, 361)
    for column in range(case["n_features"]):
        values, row = measured(problem, theta, column, form), table.iloc[column]
        assert row["lower"] <= values.min() + 1e-10
        assert row["upper"] >= values.max() - 1e-10
        assert row["lower"] <= row["lower_attained"] <= row["best"]
        assert row["best"] <= row["upper_attained"] <= row["upper"]
        cut = "domain" in case or "radius" in case  # corners, which rays miss
        near = 1e-3 * np.abs(values).max() + (0.02 * np.ptp(values) if cut else 0)
        assert row["lower_attained"] == pytest.approx(values.min(), abs=near)
        assert row["upper_attained"] == pytest.approx(values.max(), abs=near)
        if "domain" not in case:
            # Two constraints leave a gap; one leaves none.
            gap = 0.1 * np.ptp(values) if "radius" in case else 1e-7
            assert row["upper"] - row["upper_attained"] < gap
            assert row["lower_attained"] - row["lower"] < gap


@pytest.mark.parametrize(("case", "form"), both_forms(CASES[1], CASES[4], CASES[5]))
@pytest.mark.law
def test_logistic_brackets_hold_the_grid(case: dict[str, Any], form: str) -> None:
    problem = a_problem("logistic", **{"radius": 6.0, **case})
    table = model_class_reliance(problem, psi=0.01, form=form, features=[0])
    values = measured(problem, grid_of(problem, 0.01, 181), 0, form)
    row = table.iloc[0]
    assert row["lower"] <= values.min() + 1e-9
    assert row["upper"] >= values.max() - 1e-9
    assert row["lower_attained"] <= values.min() + 1e-3
    assert row["upper_attained"] >= values.max() - 1e-3
    width = row["upper_attained"] - row["lower_attained"]
    assert row["upper"] - row["upper_attained"] < 0.15 * width
    assert row["lower_attained"] - row["lower"] < 0.15 * width


def test_least_logistic_reliance_is_exact_where_the_loss_is_active() -> None:
    problem = a_problem("logistic", 2, radius=20.0)
    for ratio in (False, True):
        least = LogisticClass.of(problem, 0.01, np.array([0]), ratio=ratio).extreme(-1)
        assert least.bound - least.attained < 1e-7


def test_more_parameters_certify_themselves() -> None:
    """Attained and bound come by different ways and meet; the model found is in the set."""
    rng = np.random.default_rng(1)
    rows = 0.2 * rng.normal(size=(60, 7)) + 0.2 * rng.normal(size=(60, 1))
    y = np.clip(0.4 * rows @ rng.normal(size=7) + 0.2 * rng.normal(size=60), -1, 1)
    problem, psi = Problem(rows, y, loss="squared", radius=9.0), 0.01
    for ratio in (False, True):
        for sign in (-1, 1):
            found = SquareClass.of(problem, psi, np.array([2]), ratio=ratio).extreme(sign)
            assert problem.value(found.theta[:, None])[0] <= problem.minimum.value + psi
            switched, original = by_pairs(problem, found.theta[:, None], 2)
            value = switched / original - 1 if ratio else switched - original
            assert sign * value[0] == pytest.approx(found.attained, abs=1e-12)
            assert 0 <= found.bound - found.attained < 1e-8


@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_no_draw_is_outside_and_the_shortfall_is_stated(loss: str) -> None:
    problem, psi = a_problem(loss, 2), 0.02
    target = GibbsTarget(problem, problem.p / psi, psi)
    draws = collect(HitAndRunSampler(), target, 300, np.random.default_rng(0)).coef
    far = np.full((2, problem.p), 2.0)
    row = model_class_reliance(
        problem, psi=psi, features=["x0"], draws=np.vstack([draws, far])
    ).iloc[0]
    values = np.concatenate([measured(problem, draws.T, 0, "difference")])
    inside = problem.value(draws.T) <= problem.minimum.value + psi
    assert row["n_inside"] == inside.sum()
    assert row["drawn_upper"] == pytest.approx(values[inside].max(), abs=1e-12)
    assert row["lower_attained"] <= row["drawn_lower"]
    assert row["drawn_upper"] <= row["upper_attained"]
    width = row["upper_attained"] - row["lower_attained"]
    drawn = row["drawn_upper"] - row["drawn_lower"]
    assert row["shortfall"] == pytest.approx(1 - drawn / width)


@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_ranges_grow_with_psi(loss: str) -> None:
    problem = a_problem(loss, 2)
    narrow, wide = (model_class_reliance(problem, psi=psi, features=[1]) for psi in (0.005, 0.02))
    assert wide.iloc[0]["upper_attained"] > narrow.iloc[0]["upper_attained"]
    assert wide.iloc[0]["lower"] < narrow.iloc[0]["lower"]


def test_the_order_of_rows_says_nothing() -> None:
    problem, order = a_problem("squared", 2), np.random.default_rng(0).permutation(40)
    again = Problem(X[order], problem.targets[order], loss="squared")
    tables = [model_class_reliance(one, psi=0.005) for one in (problem, again)]
    pd.testing.assert_frame_equal(*tables, rtol=1e-7, atol=1e-9)


def test_a_group_of_everything_is_bracketed_too() -> None:
    for loss in ("squared", "logistic"):
        row = model_class_reliance(
            a_problem(loss, 2, radius=2.0), psi=0.01, features={"all": [0, 1]}
        ).loc["all"]
        assert row["lower"] <= row["best"] <= row["upper"]


def test_a_smaller_ellipsoid_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """Negative control: half the certified radius no longer holds the grid."""
    problem = a_problem("logistic", 2, radius=20.0, intercept=False)
    best = measured(problem, grid_of(problem, 0.01, 181), 0, "difference").max()
    models = LogisticClass.of(problem, 0.01, np.array([0]), ratio=False)
    theta = models.extreme(1).theta
    assert models._touching_bound(1, theta, best) >= best
    smaller = models._outer
    centre = problem.minimum.theta[:, None]
    models.__dict__["_outer"] = smaller.shifted(-0.75 * float(smaller(centre)[0]))
    assert models._touching_bound(1, theta, best) < best


@pytest.mark.parametrize("columns", [[0], [1, 2], [0, 1, 2]])
def test_switched_logistic_against_pairs_and_differences(columns: list[int]) -> None:
    rng = np.random.default_rng(3)
    rows, codes = rng.normal(size=(30, 4)), rng.integers(0, 2, 30).astype(float)
    one, theta = SwitchedLogistic(rows, codes, np.array(columns)), rng.normal(size=4)

    def pairs(weight: Any) -> FloatArray:
        total = np.zeros((4, 4))
        for i in range(30):
            for j in range(30):
                mixed = rows[i].copy()
                mixed[columns] = rows[j][columns]
                total += (i != j) * weight(mixed @ theta) * np.outer(mixed, mixed)
        return total / (30 * 29)

    mixed = np.repeat(rows[:, None], 30, axis=1)
    mixed[..., columns] = rows[None][..., columns]
    margins = mixed @ theta
    each = softplus(margins) - codes[:, None] * margins
    assert one.value(theta[:, None])[0] == pytest.approx(
        (each.sum() - np.trace(each)) / (30 * 29), abs=1e-12
    )
    gradient = one.value_and_gradient(theta[:, None])[1][:, 0]
    step = 1e-5 * np.eye(4)
    numeric = (one.value(theta[:, None] + step) - one.value(theta[:, None] - step)) / 2e-5
    assert gradient == pytest.approx(numeric, abs=1e-9)
    assert np.allclose(one.hessian(theta), pairs(lambda s: slope(s) * slope(-s)), atol=1e-12)
    assert np.allclose(one.weighted(theta, majorant), pairs(majorant), atol=1e-12)


@pytest.mark.parametrize("tiny", [5e-324, 1e-310, 1e-300, 1e-160, 1e-30])
def test_scores_that_hardly_differ_are_summed(tiny: float) -> None:
    """The ellipse of an interval of subnormal width is infinite: one node is exact there."""
    b = np.array([0.0, tiny, -tiny, tiny])
    for a in (b, np.array([0.5, -2.0, 0.3, 0.0])):
        kernel, ones = SoftplusKernel.of(b, a), np.ones((4, 1))
        exact = np.logaddexp(0, b[:, None] + a).sum()
        assert kernel.between(softplus, ones, ones)[0, 0] == pytest.approx(exact, rel=1e-14)
        assert SoftplusKernel.nodes(b, a) < 60


def test_the_majorant_touches_and_never_crosses() -> None:
    s, t = np.meshgrid(np.linspace(-30, 30, 241), np.linspace(-30, 30, 241))

    def above(weight: FloatArray) -> FloatArray:
        return softplus(s) + slope(s) * (t - s) + weight * (t - s) ** 2 / 2 - softplus(t)

    assert above(majorant(s)).min() > -1e-12
    assert above(0.99 * majorant(s)).min() < -1e-3  # negative control


@pytest.mark.parametrize("loss", ["squared", "logistic"])
@pytest.mark.parametrize("radius", [0.7, 20.0])
def test_segments_end_at_the_level_or_at_the_ball(loss: str, radius: float) -> None:
    problem = a_problem(loss, 2, radius=radius)
    far = problem.minimum.theta[:, None] + np.random.default_rng(0).normal(size=(3, 40)) * 9
    level = problem.minimum.value + 0.02
    ends = project_to_level_set(problem, level, far)
    assert (problem.value(ends) <= level).all()
    assert (np.linalg.norm(ends, axis=0) <= radius * (1 + 1e-12)).all()
    beyond = ends + 1e-6 * (far - ends)
    out = (problem.value(beyond) > level) | ~problem.domain.contains(beyond)
    assert out.all()


def test_quadratics_on_ellipses_against_their_rims() -> None:
    rng = np.random.default_rng(0)
    angle = np.linspace(0, 2 * np.pi, 20_001)
    disc = np.concatenate([r * np.stack([np.cos(angle), np.sin(angle)]) for r in (0, 0.5, 1)], 1)
    for case in range(60):
        matrix = rng.normal(size=(2, 2))
        objective = Quadratic(matrix + matrix.T, rng.normal(size=2) * (case % 3 > 0), 0.3)
        shape = rng.normal(size=(2, 2))
        ellipse = Quadratic(shape @ shape.T + 0.2 * np.eye(2), 0.2 * rng.normal(size=2), -1.0)
        least = least_on_ellipsoid(objective, ellipse)
        centre = -np.linalg.solve(ellipse.matrix, ellipse.vector)
        size = np.sqrt(1 - ellipse.vector @ centre)
        root = np.linalg.cholesky(np.linalg.inv(ellipse.matrix))
        values = objective(centre[:, None] + size * root @ disc)
        assert least.bound <= values.min() + 1e-9
        assert objective(least.points).min() == pytest.approx(least.bound, abs=1e-9)
        assert ellipse(least.points).max() < 1e-9
        both = least_on_intersection(objective, ellipse, Quadratic(np.eye(2), np.zeros(2), -0.3))
        inside = (theta := centre[:, None] + size * root @ disc)[:, (theta**2).sum(axis=0) <= 0.3]
        assert both.bound <= objective(inside).min(initial=np.inf) + 1e-9


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"psi": 0.0}, "psi must be finite and > 0, got 0.0"),
        ({"psi": float("nan")}, "psi must be finite and > 0, got nan"),
        ({"form": "gap"}, "form must be one of"),
        ({"features": ["x9"]}, "unknown feature 'x9'"),
        ({"feature_names": ["age"]}, "feature_names must hold 2 names, got 1"),
        ({"draws": [[1.0]]}, r"coef must have shape \(n_models, 3\), got \(1, 1\)"),
        ({"draws": [[9.0, 9.0, 9.0]]}, "none of the 1 draws lies in the Rashomon set"),
        (
            {"models_or_problem": Problem(X, np.sign(NOISE), loss="hinge")},
            "needs .* loss, got 'hinge'",
        ),
        ({"models_or_problem": Problem([[0.5]], [1])}, "at least two rows, got 1"),
    ],
)
def test_what_has_no_class_reliance_is_refused(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        model_class_reliance(
            **{"models_or_problem": a_problem("squared", 2), "psi": 0.01, **change}
        )


def test_a_ratio_to_no_loss_is_refused() -> None:
    problem = Problem(X, X[:, 0], loss="squared")
    with pytest.raises(ValueError, match="fits these rows with zero loss"):
        model_class_reliance(problem, psi=0.01, form="ratio")
    assert model_class_reliance(problem, psi=0.01)["upper"].gt(0).all()


@pytest.mark.parametrize("options", [{"radius": 20.0}, {"radius": 0.7}, {"ridge": 0.02}])
def test_the_outer_ellipsoid_holds_the_set_and_is_not_idle(options: dict[str, Any]) -> None:
    problem = a_problem("logistic", 2, intercept=False, **options)
    outer, rim = outer_ellipsoid(problem, 0.02), grid_of(problem, 0.02, 361)
    assert outer(rim).max() <= 1e-9
    centre = float(outer(problem.minimum.theta[:, None])[0])
    assert outer(rim).max() > 0.15 * centre  # of −1 at the centre: the rim is close
    assert outer.shifted(-0.75 * centre)(rim).max() > 0  # negative control: half the axes


def test_estimators_problems_and_sets_are_asked_alike() -> None:
    rows = pd.DataFrame(X, columns=["age", "debt"])
    labels = (X[:, 0] > 0).astype(int)
    fitted = RashomonClassifier(epsilon=50.0, n_draws=5, psi=0.05, random_state=0)
    fitted.fit(rows, labels)
    table = model_class_reliance(fitted, rows, labels, features={"both": ["age", "debt"]})
    problem = declared_problem(fitted, rows, labels)
    groups = {"both": ["x0", "x1"]}
    pd.testing.assert_frame_equal(table, model_class_reliance(problem, psi=0.05, features=groups))
    each = model_reliance(fitted, rows, labels)
    pd.testing.assert_frame_equal(each, model_reliance(fitted.rashomon_set_, rows, labels))
    best = model_reliance(problem, features=groups)
    assert best.loc[0, "both"] == pytest.approx(table.loc["both", "best"])


@pytest.mark.parametrize("kind", [LogisticRegression, Ridge])
def test_a_fitted_scikit_learn_model_has_its_own_reliance(kind: Any) -> None:
    targets = (X[:, 0] > 0).astype(int) if kind is LogisticRegression else X[:, 0] + X[:, 1]
    model = kind().fit(X, targets)
    problem = penalised_problem(model, X, targets)
    table = model_reliance(model, X, targets)
    pd.testing.assert_frame_equal(table, model_reliance(problem))

    def loss(scores: Any, given: Any) -> Any:
        if kind is Ridge:
            return (scores - given) ** 2 / 2
        return np.logaddexp(0, np.where(given == 1, -scores, scores))

    scores = model.predict if kind is Ridge else model.decision_function
    expected = switching_loss(scores, X, targets, features=0, loss=loss)
    expected -= float(np.mean(loss(scores(X), targets)))
    assert table.loc[0, "x0"] == pytest.approx(expected, rel=1e-3, abs=1e-5)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda p: model_class_reliance(p, 0.01), r"pass psi by name: psi=0\.01"),
        (lambda p: model_class_reliance(LogisticRegression(), X, X), "Use model_reliance"),
        (lambda p: model_class_reliance("a set"), "pass the fitted estimator with X and y"),
    ],
)
def test_what_has_no_class_is_refused_with_what_answers(call: Any, words: str) -> None:
    with pytest.raises(TypeError, match=words):
        call(a_problem("squared", 2))


def test_rows_are_asked_for_where_nothing_holds_them_and_only_there() -> None:
    problem = a_problem("squared", 2)
    with pytest.raises(ValueError, match="psi is required"):
        model_class_reliance(problem)
    with pytest.raises(ValueError, match="a problem has its own rows"):
        model_reliance(problem, X, X[:, 0])
    with pytest.raises(ValueError, match="X is required"):
        model_reliance(Ridge().fit(X, X[:, 0]))
