"""The rule for open settings: what it minimises, by brute force, and that it is public."""

import math

import numpy as np
import pytest

from benchmarks import rule as simulation
from benchmarks.simulated import simulate
from rashomon_explorer import Ledger, RashomonClassifier, RashomonRegressor
from rashomon_explorer.mechanisms.langevin.plan import plan_path
from rashomon_explorer.mechanisms.planning import options
from rashomon_explorer.mechanisms.planning.options import resolve_auto
from rashomon_explorer.mechanisms.planning.planner import plan
from rashomon_explorer.mechanisms.planning.registry import MECHANISMS

ROWS = {"n": 4_000, "p": 21, "psi": 0.02, "row_norm": 1.5}
FEW = {**ROWS, "n": 400, "psi": 0.0, "epsilon": 1.0}
TWO = pytest.mark.parametrize("mechanism", ["exact", "langevin"])


def excess_of(mechanism, **settings):
    planned = MECHANISMS[mechanism].plan_for(resolve_auto(mechanism, **settings))
    return planned.excess_bound + planned.ridge * planned.radius**2 / 2


@TWO
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_the_radius_has_the_least_bound_and_worth_of_a_larger_ball(mechanism, epsilon):
    delta, worth, make = (1e-6, 30, plan_path) if mechanism == "langevin" else (0.0, 6, plan)
    numbers = {**FEW, "epsilon": epsilon, "delta": delta}
    best = resolve_auto(mechanism, **numbers)
    radii = options.RADII
    costs = [make(**numbers, radius=R).excess_bound + worth * math.log(2) / R for R in radii]
    assert best.radius == radii[int(np.argmin(costs))]
    assert best.ridge == 0.0 and 1 < best.radius < 32


def test_a_ball_is_made_smaller_where_that_guarantees_several_hits():
    settings = {"p": 11, "psi": 0.02, "row_norm": 1.5, "epsilon": 4.0}
    few, some, many = (resolve_auto("exact", n=n, **settings) for n in (5_000, 70_000, 10**7))
    hits = [plan(**one.numbers).hit_rate_bound >= options.LEAST_HITS for one in (few, some, many)]
    assert hits == [False, True, True]
    assert [one.n_draws for one in (few, some, many)] == [1, 5, options.MOST_DRAWS]
    assert few.radius > 8 > some.radius >= 4 and many.radius > 8
    wider = {**some.numbers, "radius": some.radius * 1.5}
    assert plan(**wider).hit_rate_bound < options.LEAST_HITS


def test_more_rows_and_budget_allow_a_larger_ball_and_more_parameters_a_smaller_one():
    def radius(mechanism="langevin", **changed):
        settings = {**FEW, "epsilon": 0.5, "delta": 1e-6, **changed}
        return resolve_auto(mechanism, **settings).radius

    assert radius(n=100) < radius() < radius(n=4_000)
    assert radius(epsilon=0.1) < radius() < radius(epsilon=4.0)
    assert radius(p=200) < radius() < radius(p=2)
    assert radius("exact", loss="squared") < radius("exact")  # a regression needs the length


def test_draws_around_a_centre_are_weighed_by_the_centre_and_cost_nothing_more():
    settings = {**ROWS, "epsilon": 4.0, "delta": 1e-6, "ridge": 0.0}
    many, few = (resolve_auto("ellipsoid", **{**settings, "n": n}) for n in (200_000, 2_000))
    assert many.n_draws == options.MOST_DRAWS and few.n_draws == 1
    around = MECHANISMS["ellipsoid"].plan_for(many)
    assert around.centre_excess <= ROWS["psi"] and options.guarantees_the_set(around)
    assert around.weighed_excess == around.centre_excess


@pytest.mark.parametrize(
    "settings",
    [
        {"radius": 3.0, "ridge": 0.2, "n_draws": 7},
        {"psi": 0.0, "n": 10**7, "epsilon": 9.0, "n_draws": "auto"},  # without width, one draw
        # A ridge helps only where a certificate may use it.
        {"radius": 4.0, "n_draws": 1, "delta": 0.0},
        {"radius": 4.0, "n_draws": 1, "delta": 1e-6, "ledger": True},
    ],
)
def test_declared_settings_stay_and_others_are_plain_where_nothing_is_gained(settings):
    found = resolve_auto("exact", **{**ROWS, "epsilon": 1.0, **settings})
    expected = {"ridge": 0.0, **settings, **({"n_draws": 1} if "psi" in settings else {})}
    assert {name: getattr(found, name) for name in expected} == expected


@pytest.mark.parametrize(("n", "epsilon"), [(4_000, 1.0), (10**6, 1.0), (10**6, 2.0)])
def test_there_are_as_many_draws_as_are_guaranteed_to_hit(n, epsilon):
    found = resolve_auto("exact", **{**ROWS, "n": n}, epsilon=epsilon, radius=4.0)
    least, bound = options.LEAST_HITS, plan(**found.numbers).hit_rate_bound
    if found.n_draws > 1:
        assert bound >= least
    if found.n_draws < options.MOST_DRAWS:
        more = {**found.numbers, "n_draws": math.ceil(found.n_draws * 2.5)}
        assert plan(**more).hit_rate_bound < least
    assert (found.n_draws == 1) == (n == 4_000)


def test_a_ridge_is_chosen_with_what_it_biases():
    settings = {**FEW, "n": 700, "p": 101, "delta": 1e-6, "radius": 4.0, "n_draws": 1}
    ridge = resolve_auto("exact", **settings).ridge
    # The shares were tried at radius 1: they hold at others nearly.
    others = [excess_of("exact", **settings, ridge=one) for one in (0.0, 10 * ridge)]
    assert ridge > 0 and excess_of("exact", **settings) < min(others)


@TWO
def test_of_two_balls_the_rule_expects_less_of_its_own(mechanism):
    settings = {**FEW, "delta": 1e-6, "n_draws": 1, "ridge": 0.0}

    def cost(**fixed):
        request = resolve_auto(mechanism, **settings, **fixed)
        return options.cost(mechanism, MECHANISMS[mechanism].plan_for(request))

    assert cost() == pytest.approx(min(cost(radius=R) for R in options.RADII))


def test_estimators_plan_by_the_rule_before_a_row_is_read(tmp_path):
    X = np.random.default_rng(0).uniform(-0.5, 0.5, (600, 3))
    y = (X[:, 0] > 0).astype(int)
    ledger = Ledger.create(tmp_path / "rule.ledger", epsilon=20.0, delta=1e-6)
    settings = {"epsilon": 8.0, "delta": 0.0, "classes": [0, 1], "ledger": ledger}
    clf = RashomonClassifier(**settings, random_state=0)
    planned = clf.plan(600, 3)
    clf.fit(X, y)
    assert clf.plan_ is planned
    found = resolve_auto("exact", n=600, p=4, psi=0.02, row_norm=2**0.5, epsilon=8.0, ledger=True)
    assert (planned.radius, planned.n_draws) == (found.radius, found.n_draws)
    assert ledger.entries()[0].parameters["radius"] == planned.radius
    assert clf.constants(600, 3).charged_oscillation == pytest.approx(planned.oscillation)
    # A regression by its own loss.
    found = RashomonRegressor(mechanism="langevin", psi=0.0, n_draws=1).plan(5_000, 4)
    numbers = {"n": 5_000, "p": 5, "psi": 0.0, "row_norm": 2**0.5, "epsilon": 1.0, "delta": 1e-6}
    assert found.radius == resolve_auto("langevin", **numbers, loss="squared").radius


@pytest.mark.parametrize("kind", ["numeric", "mixed", "coded"])
def test_simulated_tables_keep_their_bounds_and_have_both_labels(kind):
    table, again = (simulate(300, 12, kind, seed=3) for _ in range(2))
    assert table.rows.shape == (300, 12) and np.abs(table.rows).max() <= 1
    assert set(np.unique(table.labels)) == {-1.0, 1.0}
    np.testing.assert_array_equal(again.rows, table.rows)


@pytest.mark.law
def test_the_simulation_behind_the_rule_runs(monkeypatch):
    small = {"BUDGETS": (4.0,), "_REPEATS": 1, "_CHAIN_STEPS": 20, "COUNTS": (1, 2)}
    for name, value in small.items():
        monkeypatch.setattr(simulation, name, value)
    measured = simulation.measure(((150, 3),))
    assert {entry["way"] for entry in measured["worth"]} == {"exact", "langevin"}
    for entry in measured["worth"]:
        assert entry["best in hindsight"] <= entry["worth 6"]
    assert len(measured["draws"]) == 2
