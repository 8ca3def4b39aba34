"""Private centres and spreads beside the draws: one cost, and models that carry the map."""

import numpy as np
import pytest

from rashomon_explorer import DPRegressor, RashomonClassifier
from rashomon_explorer.measures.ranges import declared_problem
from rashomon_explorer.mechanisms import private_scaling as scaling
from rashomon_explorer.privacy import Ledger, compose
from rashomon_explorer.sets import RashomonSet, ReleasedSet

pytestmark = pytest.mark.filterwarnings("ignore")

N, D = 4_000, 6
RNG = np.random.default_rng(0)
INNER = RNG.standard_normal((N, D))
Y = np.where(INNER @ np.array([2, -1, 1, 0, 0, 0]) + RNG.logistic(size=N) > 0, "yes", "no")
# Columns far from the middle of their bounds, of which little is used.
X = 0.3 + INNER * np.array([0.02, 0.02, 0.05, 0.1, 0.02, 0.05])


def classifier(**settings):
    known = {"epsilon": 1.0, "classes": ["no", "yes"], "random_state": 0, "row_norm": 2.0}
    return RashomonClassifier(**{**known, **settings})


@pytest.fixture(scope="module")
def fitted():
    return classifier().fit(X, Y)


@pytest.mark.law
def test_auto_pays_for_them_and_wins(fitted):
    plain = classifier(standardize=None).fit(X, Y)
    assert plain.scale_ is None and plain.plan_.columns is None
    assert fitted.plan_.columns is not None and fitted.rashomon_set_.scale is fitted.scale_
    assert fitted.score(X, Y) > plain.score(X, Y) + 0.02
    assert "private centres" in str(fitted.plan_)


def test_auto_leaves_sets_named_mechanisms_and_few_rows_alone():
    assert classifier(n_draws=20).plan(N, D).columns is None
    assert classifier(mechanism="langevin").plan(N, D).columns is None
    assert classifier().plan(200, D).columns is None
    assert classifier(standardize="private", n_draws=20).plan(N, D).columns is not None
    for n in (999, 1000):
        paid = scaling.ColumnsPlan(n, 2, 1.0, 4.0, 1e-6)
        assert paid.improves(regression=True, shares=None) == (n == 1000)
        # Numbers with typical ranges need no scaling; of classes neither do categories.
        assert paid.improves(regression=False, shares=(0.4, 0.3))
        assert not paid.improves(regression=False, shares=(0.5, 0.3))
        assert not paid.improves(regression=False, shares=(0.0, 0.2))
        assert paid.improves(regression=True, shares=(0.0, 0.2)) == (n == 1000)
    # A class needs less where nothing says how much of the ball the rows use.
    few = scaling.ColumnsPlan(400, D, 1.0, 1.0, 1e-6)
    assert few.improves(regression=False, shares=None)
    assert not few.improves(regression=False, shares=(0.0, 1.0))
    planned = classifier(standardize=None).plan(N, D)
    assert scaling.with_scaling_cost(None, planned.guarantee) is planned.guarantee


@pytest.mark.parametrize(
    ("mechanism", "delta"), [("exact", 1e-6), ("exact", 0.0), ("langevin", 1e-6)]
)
def test_both_parts_together_cost_what_was_requested(mechanism, delta):
    settings = {"mechanism": mechanism, "delta": delta, "radius": 2.0}
    planned = classifier(standardize="private", **settings).plan(N, 2)
    assert 0.98 < planned.guarantee.epsilon(delta) <= 1.0
    # The draws are those of a plan at a smaller ε; both add up to what is stated.
    paid = planned.columns
    draws = classifier(epsilon=paid.left, standardize=None, **settings).plan(N, 2).guarantee
    both = compose([paid.guarantee, draws]).epsilon(delta)
    if np.isfinite(draws.mu) or delta == 0:
        assert planned.guarantee.epsilon(delta) == pytest.approx(both, rel=1e-6)
    else:  # costs that do not add up alike
        assert both >= 1.0


def test_a_grid_of_models_pays_for_both():
    grid = {"mechanism": "finite_grid", "radius": 2.0, "delta": 0.0}
    planned = classifier(standardize="private", **grid).plan(N, 1)
    stated = planned.guarantee
    assert stated.epsilon(0.0) == pytest.approx(1.0) and scaling.STATED in stated.assumptions


def test_the_guarantee_states_both_parts_and_is_one_charge(fitted, tmp_path):
    guarantee, paid = fitted.guarantee_, fitted.plan_.columns
    assert scaling.STATED in guarantee.assumptions and guarantee.requested == (1.0, 1e-6)
    alone = classifier(standardize=None, epsilon=paid.left).plan(N, D).guarantee
    assert guarantee.mu == pytest.approx(np.hypot(paid.guarantee.mu, alone.mu))
    assert fitted.plan_.guarantee.mu == guarantee.mu
    assert guarantee.epsilon(1e-6) <= 1.0 + 1e-9
    ledger = Ledger.create(tmp_path / "a.ledger", epsilon=1.0, delta=1e-6)
    classifier(ledger=ledger).fit(X, Y)
    assert len(ledger.entries()) == 1 and 0.96 < ledger.spent(1e-6) <= 1.0 + 1e-9
    curator = classifier(standardize="private", mechanism="hit_and_run", n_draws=4).fit(X, Y)
    assert not curator.guarantee_.holds


@pytest.mark.parametrize("d", [2, 90])
def test_delta_is_halved_beside_objective_perturbation_of_either_noise(d):
    planned = classifier(delta=1e-6, n_draws=1).plan(6_000, d)
    assert planned.mechanism == "objective_perturbation" and planned.details.gaussian == (d == 90)
    assert planned.columns.halved and planned.delta == 1e-6
    assert 0.99 < planned.guarantee.epsilon(1e-6) <= 1.0
    assert (planned.guarantee.epsilon(0.9e-6) > 1) == planned.details.gaussian


def test_a_set_carries_its_map(tmp_path):
    settings = {"mechanism": "ellipsoid", "n_draws": 5, "radius": 4.0}
    fitted = classifier(standardize="private", **settings).fit(X, Y)
    models = fitted.rashomon_set_
    by_hand = 1 / (1 + np.exp(-(models.rows(X) @ models.coef[:, :-1].T + models.coef[:, -1])))
    np.testing.assert_allclose(models.scores(X), by_hand.T)
    models.save(tmp_path / "curator")
    models.release().save(tmp_path / "public")
    for read in (RashomonSet.load(tmp_path / "curator"), ReleasedSet.load(tmp_path / "public")):
        np.testing.assert_array_equal(read.scores(X), models.scores(X))
        assert read.plan.columns == fitted.plan_.columns
    one = models.to_sklearn(1).predict_proba(X)[:, 1]
    np.testing.assert_allclose(one, models.scores(X)[1], rtol=1e-9)
    problem = declared_problem(fitted, X, Y)
    np.testing.assert_allclose(problem.value(models.coef.T), models.losses, atol=1e-5)


def test_one_model_is_compared_at_the_share_that_is_left_to_any_mechanism():
    planned = DPRegressor(epsilon=2.0, target_bounds=(0, 1)).plan(3_000, 4)
    assert planned.mechanism == "objective_perturbation" and planned.columns.halved
