"""The rule for what is left open: what it minimises, by brute force, and that it is public."""

import math

import numpy as np
import pytest

from benchmarks import rule as settling
from benchmarks.simulated import simulate
from rashomon_explorer import Ledger, RashomonClassifier, RashomonRegressor
from rashomon_explorer.measures.ranges import declared_problem
from rashomon_explorer.mechanisms.langevin.plan import plan_path
from rashomon_explorer.mechanisms.planning.options import (
    LEAST_HITS,
    MOST_DRAWS,
    RADII,
    cost,
    guarantees_the_set,
    resolve_auto,
)
from rashomon_explorer.mechanisms.planning.planner import plan
from rashomon_explorer.mechanisms.planning.registry import MECHANISMS
from rashomon_explorer.mechanisms.planning.select import cached_plan
from rashomon_explorer.mechanisms.request import Request

ROWS = {"n": 4_000, "p": 21, "psi": 0.02, "row_norm": 1.5}


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
@pytest.mark.parametrize("way", ["exact", "langevin"])
def test_the_radius_has_the_least_promise_and_worth_of_a_larger_ball(way, epsilon):
    delta, worth = (1e-6, 30) if way == "langevin" else (0.0, 6)
    numbers = {**ROWS, "n": 400, "psi": 0.0, "epsilon": epsilon, "delta": delta}
    chosen = resolve_auto(way, **numbers)
    make = plan_path if way == "langevin" else plan
    costs = [make(**numbers, radius=R).excess_bound + worth * math.log(2) / R for R in RADII]
    assert chosen.radius == RADII[int(np.argmin(costs))]
    assert chosen.ridge == 0.0 and 1 < chosen.radius < 32


def test_a_ball_is_made_smaller_where_that_promises_several_hits():
    asked = {"p": 11, "psi": 0.02, "row_norm": 1.5, "epsilon": 4.0}
    few, some, many = (resolve_auto("exact", n=n, **asked) for n in (5_000, 70_000, 10**7))
    assert few.radius > 8 and plan(**few.numbers).hit_rate_bound < LEAST_HITS
    assert few.n_draws == 1
    assert 4 <= some.radius < 8 and plan(**some.numbers).hit_rate_bound >= LEAST_HITS
    assert some.n_draws == 5
    wider = {**some.numbers, "radius": some.radius * 1.5}
    assert plan(**wider).hit_rate_bound < LEAST_HITS
    assert many.radius > 8 and many.n_draws == MOST_DRAWS


def test_more_rows_and_budget_allow_a_larger_ball_and_more_parameters_a_smaller_one():
    def radius(n=400, p=21, epsilon=0.5):
        asked = {"psi": 0.0, "row_norm": 1.5, "delta": 1e-6}
        return resolve_auto("langevin", n=n, p=p, epsilon=epsilon, **asked).radius

    assert radius(n=100) < radius() < radius(n=4_000)
    assert radius(epsilon=0.1) < radius() < radius(epsilon=4.0)
    assert radius(p=200) < radius() < radius(p=2)


def test_a_regression_is_settled_by_its_own_loss():
    asked = {**ROWS, "epsilon": 1.0, "n": 400}
    assert (
        resolve_auto("exact", **asked, loss="squared").radius
        < resolve_auto("exact", **asked).radius
    )


def test_draws_around_a_centre_are_weighed_by_the_centre_and_cost_nothing_more():
    asked = {**ROWS, "epsilon": 4.0, "delta": 1e-6, "ridge": 0.0}
    many, few = (resolve_auto("ellipsoid", **{**asked, "n": n}) for n in (200_000, 2_000))
    assert many.n_draws == MOST_DRAWS and few.n_draws == 1
    around = MECHANISMS["ellipsoid"].plan_for(many)
    assert around.centre_excess <= ROWS["psi"] and guarantees_the_set(around)
    assert around.weighed_excess == around.centre_excess


def test_what_is_given_is_kept():
    given = {"radius": 3.0, "ridge": 0.2, "n_draws": 7}
    settled = resolve_auto("exact", **ROWS, epsilon=1.0, **given)
    assert {name: getattr(settled, name) for name in given} == given


@pytest.mark.parametrize(("n", "epsilon"), [(4_000, 1.0), (10**6, 1.0), (10**6, 2.0)])
def test_there_are_as_many_draws_as_are_promised_to_hit(n, epsilon):
    settled = resolve_auto("exact", **{**ROWS, "n": n}, epsilon=epsilon, radius=4.0)
    promised = plan(**settled.numbers).hit_rate_bound
    if settled.n_draws > 1:
        assert promised >= LEAST_HITS
    if settled.n_draws < MOST_DRAWS:
        more = {**settled.numbers, "n_draws": settled.n_draws * 2.5}
        assert plan(**{**more, "n_draws": math.ceil(more["n_draws"])}).hit_rate_bound < LEAST_HITS
    assert (settled.n_draws == 1) == (n == 4_000)


def test_without_width_there_is_one_draw():
    assert resolve_auto("exact", **{**ROWS, "psi": 0.0, "n": 10**7}, epsilon=9.0).n_draws == 1


@pytest.mark.parametrize(("delta", "ledger"), [(0.0, False), (1e-6, True)])
def test_a_ridge_is_of_use_only_where_a_certificate_may_take_it(delta, ledger):
    asked = {**ROWS, "epsilon": 1.0, "radius": 4.0, "n_draws": 1}
    assert resolve_auto("exact", **asked, delta=delta, ledger=ledger).ridge == 0.0


def test_a_ridge_is_chosen_with_what_it_biases():
    asked = {**ROWS, "psi": 0.0, "n": 700, "p": 101, "epsilon": 1.0, "delta": 1e-6}
    asked |= {"radius": 4.0, "n_draws": 1}
    settled = resolve_auto("exact", **asked)

    def cost(ridge):
        tried = resolve_auto("exact", **asked, ridge=ridge)
        planned = MECHANISMS["exact"].plan_for(tried)
        return planned.excess_bound + ridge * 4.0**2 / 2

    assert settled.ridge > 0
    # The shares were tried at radius 1: they hold at others nearly.
    assert cost(settled.ridge) < min(cost(0.0), cost(10 * settled.ridge))


def test_estimators_plan_by_the_rule_before_a_row_is_read(tmp_path):
    X = np.random.default_rng(0).uniform(-0.5, 0.5, (600, 3))
    y = (X[:, 0] > 0).astype(int)
    ledger = Ledger.create(tmp_path / "rule.ledger", epsilon=20.0, delta=1e-6)
    open_ = {"radius": "auto", "ridge": "auto", "n_draws": "auto"}
    clf = RashomonClassifier(
        **open_, epsilon=8.0, delta=0.0, classes=[0, 1], ledger=ledger, random_state=0
    )
    planned = clf.plan(600, 3)
    clf.fit(X, y)
    assert clf.plan_ is planned
    settled = resolve_auto("exact", n=600, p=4, psi=0.02, row_norm=2**0.5, epsilon=8.0, ledger=True)
    assert (planned.radius, planned.ridge) == (settled.radius, settled.ridge)
    assert clf.rashomon_set_.n_draws == planned.n_draws == settled.n_draws
    (entry,) = ledger.entries()
    assert entry.parameters["radius"] == planned.radius
    assert clf.constants(600, 3).charged_oscillation == pytest.approx(planned.oscillation)
    assert declared_problem(clf, X, y).domain.radius == planned.radius
    assert clf.get_params()["radius"] == "auto"


def test_a_regressor_plans_by_it_too():
    reg = RashomonRegressor(radius="auto", mechanism="langevin", psi=0.0, n_draws=1)
    assert (
        reg.plan(5_000, 4).radius
        == resolve_auto(
            "langevin",
            n=5_000,
            p=5,
            psi=0.0,
            row_norm=2**0.5,
            epsilon=1.0,
            delta=1e-6,
            loss="squared",
        ).radius
    )


@pytest.mark.parametrize("way", ["exact", "langevin"])
def test_of_two_balls_the_rule_expects_less_of_its_own(way):
    asked = {**ROWS, "n": 400, "psi": 0.0, "epsilon": 1.0, "delta": 1e-6, "n_draws": 1}
    own, *others = (
        cost(way, MECHANISMS[way].plan_for(resolve_auto(way, **{**asked, **fixed}, ridge=0.0)))
        for fixed in ({}, *({"radius": R} for R in RADII))
    )
    assert own == pytest.approx(min(others))


def test_a_plan_that_was_made_for_given_numbers_knows_no_rule():
    asked = {**ROWS, "loss": "logistic", "radius": 4.0, "ridge": 0.0, "epsilon": 1.0, "delta": 0.0}
    made = cached_plan("exact", **asked, n_draws=1)
    assert made == MECHANISMS["exact"].plan_for(Request(**asked, n_draws=1))


@pytest.mark.parametrize("kind", ["numeric", "mixed", "coded"])
def test_simulated_tables_keep_their_bounds_and_have_both_labels(kind):
    table = simulate(300, 12, kind, seed=3)
    assert table.rows.shape == (300, 12) and np.abs(table.rows).max() <= 1
    assert set(np.unique(table.labels)) == {-1.0, 1.0}
    again = simulate(300, 12, kind, seed=3)
    np.testing.assert_array_equal(again.rows, table.rows)


@pytest.mark.law
def test_what_settled_the_rule_runs(monkeypatch):
    monkeypatch.setattr(settling, "BUDGETS", (4.0,))
    monkeypatch.setattr(settling, "_REPEATS", 1)
    monkeypatch.setattr(settling, "_CHAIN_STEPS", 20)
    monkeypatch.setattr(settling, "COUNTS", (1, 2))
    measured = settling.measure(((150, 3),))
    assert {entry["way"] for entry in measured["worth"]} == {"exact", "langevin"}
    for entry in measured["worth"]:
        assert entry["best in hindsight"] <= entry["worth 6"]
    assert len(measured["draws"]) == 2
