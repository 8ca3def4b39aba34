"""Odd tables and settings: each works properly, or is refused in words that say what to change."""

import math
import warnings
from functools import partial

import numpy as np
import pytest

from rashomon_explorer import RashomonClassifier, RashomonRegressor
from rashomon_explorer.exceptions import LargeDeltaWarning
from rashomon_explorer.mechanisms.base import collect
from rashomon_explorer.mechanisms.certificates.catalogue import largest_beta
from rashomon_explorer.mechanisms.exact import ExactSampler
from rashomon_explorer.mechanisms.hit_and_run import HitAndRunSampler
from rashomon_explorer.mechanisms.objective_perturbation.plan import plan_objective_perturbation
from rashomon_explorer.mechanisms.penalties import PenaltyConstants, plan_stationary
from rashomon_explorer.mechanisms.penalties.plan import plan_tuning
from rashomon_explorer.mechanisms.planner import pareto_table, plan, plan_options
from rashomon_explorer.mechanisms.target import GibbsTarget
from rashomon_explorer.privacy import Ledger
from rashomon_explorer.problem.constants import Constants
from rashomon_explorer.problem.domains import Ball
from rashomon_explorer.problem.losses.softmax import SoftmaxLoss
from rashomon_explorer.problem.problem import Problem
from tests.crossing import crossed
from tests.mechanisms.builders import planned_trees, request_of

# Rows that no scaler has seen are what these tests are about.
pytestmark = pytest.mark.filterwarnings("ignore::rashomon_explorer.exceptions.RowsClippedWarning")

RNG = np.random.default_rng(0)
X = RNG.uniform(-0.5, 0.5, (60, 3))
Y = (X[:, 0] > 0).astype(int)
SIGNS = 2.0 * Y - 1

TABLES = {
    "more columns than rows": RNG.uniform(-0.2, 0.2, (6, 12)),
    "one row of each class": X[[0, 1, 2]], "a single row": X[:1],
    "constant columns": np.column_stack([X, np.full(60, 0.3), np.zeros(60)]),
    "the same column twice": X[:, [0, 0, 1]], "all zeros": np.zeros((60, 3)),
    "all rows equal": np.tile(X[:1], (60, 1)), "huge values": X * 1e300,
    "nearly the largest doubles": np.where(X > 0.3, 1e305, -1e305), "tiny values": X * 1e-300,
    "subnormal values": np.full((60, 2), 5e-324), "true and false": X > 0,
    "whole numbers": np.round(X * 10).astype(np.int8),
}  # fmt: skip
KINDS = {
    "two classes": (RashomonClassifier, {"classes": [0, 1]}),
    "three classes": (RashomonClassifier, {"classes": [0, 1, 2]}),
    "regression": (RashomonRegressor, {"target_bounds": (0, 2)}),
}


def fit(kind, rows, y, **settings):
    make, public = KINDS[kind]
    common = {"epsilon": 20.0, "n_draws": 4, "random_state": 0}
    return make(**{**common, **public, **settings}).fit(rows, y)


def targets_for(kind, n):
    return np.arange(n) % (2 if kind == "two classes" else 3)


def check_by_hand(model, rows, loss, y):
    """Losses, minimum and hit rate of a set, from a problem posed anew."""
    models = model.rashomon_set_
    domain = {"radius": model.plan_.radius, "ridge": model.plan_.ridge}
    problem = Problem(rows, y, loss=loss, row_norm=models.row_norm, **domain)
    assert np.allclose(models.losses, problem.value(models.coef.T), rtol=1e-4, atol=1e-4)
    assert models.minimum.value == pytest.approx(problem.minimum.value, abs=1e-8)
    assert (models.excess >= -models.minimum.gap - 1e-12).all()
    assert models.hit_rate == np.mean(models.losses <= problem.minimum.value + models.psi)


@crossed({"table": TABLES, "kind": KINDS})
def test_odd_tables_simply_work(kind, table):
    rows = TABLES[table]
    y = targets_for(kind, len(rows))
    model = fit(kind, rows, y)
    loss = SoftmaxLoss(3) if kind == "three classes" else model._loss_for(None)
    coded = {"two classes": 2.0 * y - 1, "three classes": 1.0 * y}.get(kind, y - 1.0)
    check_by_hand(model, np.asarray(rows, dtype=float), loss, coded)
    assert model.predict(rows).shape == (len(rows),)
    assert np.isfinite(model.rashomon_set_.margins(rows)).all()
    if isinstance(model, RashomonClassifier):
        assert np.allclose(model.predict_proba(rows).sum(axis=1), 1.0)
        assert np.isfinite(model.decision_function(rows)).all()


EXTREME = [
    {"psi": 0.0}, {"psi": 1e-300}, {"psi": 1e300}, {"epsilon": 1e8}, {"epsilon": 1e-2},
    {"epsilon": 1e-8, "delta": 0.0}, {"radius": 1e-6}, {"radius": 1e12}, {"row_norm": 1e-300},
    {"row_norm": 1e12}, {"ridge": 1e6}, {"delta": 0.0}, {"delta": 1e-300},
]  # fmt: skip


@crossed({"kind": KINDS, "setting": EXTREME})
def test_extreme_settings_simply_work(kind, setting):
    model = fit(kind, X, targets_for(kind, 60), **setting)
    models = model.rashomon_set_
    assert np.isfinite(models.losses).all()
    assert models.hit_rate == np.mean(models.losses <= models.minimum.value + models.psi)
    assert (np.linalg.norm(models.coef, axis=1) <= model.plan_.radius * (1 + 1e-9) + 1e-5).all()
    assert np.isfinite(model.predict(X)).all()
    if isinstance(model, RashomonClassifier):
        assert np.isfinite(model.decision_function(X)).all()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("rows", "y", "setting", "message"),
    [
        (X, np.where(Y == 1, np.nan, 0.0), {}, "Input y contains NaN"),
        (X, np.where(Y == 1, np.inf, 0.0), {}, "Input y contains infinity"),
        ([["a"], ["b"]], [0, 1], {}, "could not convert string to float: 'a'"),
        (X + 1j, Y, {}, "Complex data not supported"),
        (X, Y, {"radius": 1e300}, "scores could reach .* lower radius or row_norm"),
        (X, Y, {"row_norm": 1e300}, "scores could reach .* lower radius or row_norm"),
    ],
)
def test_tables_and_settings_that_cannot_be_used_are_refused(kind, rows, y, setting, message):
    with pytest.raises(ValueError, match=message):
        fit(kind, rows, y, **setting)


LAW = {"n": 5000, "p": 4, "psi": 0.05, "radius": 4.0, "row_norm": 1.5}


def classifier(y):
    return RashomonClassifier().fit(X, y)


def target(beta=1.0, psi=0.1, **settings):
    return GibbsTarget(Problem(X, SIGNS), beta, psi, **settings)


def planned(**change):
    return plan(**{**LAW, "epsilon": 1.0, **change})


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: classifier(Y * 0.0), r"one class, 0.0: two classes are needed.*classes=\[...\]"),
        (lambda: classifier(X[:, 0]), "continuous"),
        *(
            (lambda b=b: RashomonRegressor(target_bounds=b).fit(X, Y), "target_bounds must be")
            for b in ((-1e308, 1e308), (0, 0), (1, 0), (0, math.nan), (0, 1, 2))
        ),
        (lambda: Problem([["a"], ["b"]], [1, -1]), "X must hold numbers: .*'a'.*Encode text"),
        (lambda: Problem(X + 1j, SIGNS), "X must hold numbers: got complex128"),
        (lambda: Problem(np.array([["2020-01-01"]], "M8[D]"), [1]), "numbers: got datetime64"),
        (lambda: Problem(X, ["no"] * 60), "y must hold numbers"),
        (lambda: Problem(X, SIGNS, row_norm=None), "row_norm must be finite and > 0, got None"),
        (lambda: Problem(X, SIGNS, radius=1e300), "scores could reach 1.4.*e\\+300"),
        (lambda: Problem(X, SIGNS, loss=None), "loss must be one of"),
        (lambda: Problem(X, SIGNS, domain="ball"), "domain must be a set of models"),
        (lambda: Problem(X, SIGNS, intercept="no"), "intercept must be True or False"),
        (lambda: planned(n=1.5), "n must be a whole number, at least 1, got 1.5"),
        (lambda: planned(radius=1e300), "scores could reach 1.*e\\+300"),
        # With a hit rate the search for a budget ends, too.
        (lambda: planned(epsilon=1e300, hit_rate=0.5), r"epsilon must be from 1e-12 to 1e\+09"),
        *(
            (lambda b=b: target(beta=b), f"beta must be finite and > 0, got {b!r}")
            for b in ("a", 0.0, math.inf)
        ),
        (lambda: target(psi=-0.1), "psi must be finite and >= 0, got -0.1"),
        (lambda: target(threshold=3), "threshold must be one of"),
        (lambda: collect(ExactSampler(), target(), -1, RNG), "n_draws must be a whole number"),
    ],
)
def test_what_cannot_be_used_is_refused_by_name(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_a_loss_is_computed_of_numbers_in_any_clothes():
    plain = Problem(X, SIGNS).minimum.value
    assert Problem(X.tolist(), SIGNS.astype(int)).minimum.value == plain
    assert Problem(X.astype(object), SIGNS.astype(object)).minimum.value == plain


@crossed(
    {
        "sampler": [ExactSampler(), HitAndRunSampler()],
        "beta, psi": [(1e-6, 0.1), (1e6, 0.1), (20.0, 0.0), (20.0, 100.0)],
    }
)
def test_a_sampler_stays_in_the_ball_at_every_temperature(sampler, beta, psi):
    target = GibbsTarget(Problem(X, SIGNS, radius=2.0), beta, psi)
    draws = collect(sampler, target, 3, np.random.default_rng(0))
    assert (np.linalg.norm(draws.coef, axis=1) <= 2.0 + 1e-5).all()
    assert np.allclose(draws.losses, target.problem.value(draws.coef.T), atol=1e-4)


@pytest.mark.parametrize("loss", ["logistic", "squared", SoftmaxLoss(4), "hinge", "absolute"])
def test_constants_of_huge_scores_are_refused_and_of_large_ones_finite(loss):
    settings = {"n": 10, "p": 6, "row_bound": 1.0}
    large = Constants.from_loss(loss, domain=Ball(1e99), **settings)
    assert all(math.isfinite(value) for value in (large.L, large.osc, large.m))
    with pytest.raises(ValueError, match="scores could reach"):
        Constants.from_loss(loss, domain=Ball(1e101), **settings)


PENALTIES = PenaltyConstants("logistic", 1.5, 0.5, 10.0, 20_000, 10_000)
PLANNERS = {
    "plan": partial(plan, **LAW),
    "plan for a ledger": partial(plan, **LAW, ledger=True),
    "plan_options": partial(plan_options, **LAW),
    "pareto_table": lambda epsilon, delta, n_draws: pareto_table(
        **LAW, epsilons=[epsilon], delta=delta, n_draws=[n_draws]
    ),
    "plan_objective_perturbation": lambda **budget: plan_objective_perturbation(
        request_of(**{**LAW, **budget})
    ),
    "plan_trees": partial(planned_trees, 5000, log_size=14.6, most_leaves=5, psi=0.02),
    "plan_tuning": partial(plan_tuning, PENALTIES, 1),
    "plan_stationary": partial(plan_stationary, PENALTIES, 2, "hypergradient", spacing=1.1),
    "largest_beta": partial(
        largest_beta,
        Constants.from_loss("logistic", n=5000, p=4, domain=Ball(4.0), row_bound=1.5, ridge=0.1),
        Ball(4.0),
        psi=0.05,
    ),
}
ABSURD = {
    "epsilon": [0, -1, 1e-300, 1e300, math.inf, math.nan, True, "a", 10**400],
    "delta": [-1, 1, math.nan, True, "a", None],
    "n_draws": [0, True, 2.5, -1, "a"],
}


@pytest.mark.parametrize("name", PLANNERS)
@pytest.mark.parametrize("setting", ABSURD)
def test_every_planner_refuses_an_absurd_budget_by_name(name, setting):
    good = {"epsilon": 1.0, "delta": 1e-6, "n_draws": 3}
    for value in ABSURD[setting]:
        with pytest.raises(ValueError, match=f"^{setting} must be .*, got "):
            PLANNERS[name](**{**good, setting: value})


@pytest.mark.parametrize("name", ["plan", pytest.param("plan_options", marks=pytest.mark.law)])
def test_a_planner_warns_once_of_a_delta_of_one_in_n(name):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        PLANNERS[name](epsilon=8.0, delta=1 / 5000)
        PLANNERS[name](epsilon=8.0, delta=1 / 5001)
    large = [one for one in caught if one.category is LargeDeltaWarning]
    assert [one.filename for one in large] == [__file__]
    with pytest.warns(LargeDeltaWarning, match="such as 2e-09, or 0"):  # below one in n
        plan(**{**LAW, "n": 5_000_000}, epsilon=8.0, delta=1e-6)


@pytest.mark.parametrize("epsilon", [-1, *ABSURD["epsilon"][2:-1]])
def test_an_absurd_budget_makes_no_ledger(epsilon, tmp_path):
    path = tmp_path / "a.ledger"
    for budget in ({"epsilon": epsilon}, {"delta": 1e-6}, {"epsilon": 1.0, "delta": 1.0}):
        with pytest.raises(ValueError, match=r"epsilon must be |both epsilon|delta must be"):
            Ledger.create(path, **budget)
        with pytest.raises(TypeError, match=r"create a new one with Ledger\.create\(path"):
            Ledger.open(path, **budget)
        assert not path.exists()
    assert Ledger.create(tmp_path / "c.ledger", epsilon=0, delta=0.0).remaining == 0
