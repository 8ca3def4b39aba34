"""Private centres and spreads beside the draws: one price, and models that carry the map."""

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

from rashomon_explorer import DPClassifier, RashomonClassifier, RashomonRegressor
from rashomon_explorer.exceptions import RowsClippedWarning
from rashomon_explorer.measures.ranges import declared_problem
from rashomon_explorer.mechanisms.planning.registry import MECHANISMS
from rashomon_explorer.mechanisms.planning.scaling import STATED, ColumnsPlan, with_scaling_cost
from rashomon_explorer.privacy import Ledger, compose
from rashomon_explorer.sets import RashomonSet, ReleasedSet

pytestmark = pytest.mark.filterwarnings("ignore")

N, D = 4_000, 6


@pytest.fixture(scope="module")
def table() -> tuple[np.ndarray, np.ndarray]:
    """Columns far from the middle of their bounds, of which little is used."""
    rng = np.random.default_rng(0)
    inner = rng.standard_normal((N, D))
    labels = np.where(inner @ np.array([2, -1, 1, 0, 0, 0]) + rng.logistic(size=N) > 0, "yes", "no")
    return 0.3 + inner * np.array([0.02, 0.02, 0.05, 0.1, 0.02, 0.05]), labels


def _made(**settings: Any) -> RashomonClassifier:
    given = {"epsilon": 1.0, "classes": ["no", "yes"], "random_state": 0, "row_norm": 2.0}
    return RashomonClassifier(**{**given, **settings})


@pytest.mark.law
def test_auto_pays_for_them_and_wins(table: Any) -> None:
    X, y = table
    plain, fitted = _made(standardize=None).fit(X, y), _made().fit(X, y)
    assert plain.scale_ is None and plain.plan_.columns is None
    assert fitted.plan_.columns is not None and fitted.rashomon_set_.scale is fitted.scale_
    assert fitted.score(X, y) > plain.score(X, y) + 0.02
    assert "private centres" in str(fitted.plan_)


def test_auto_leaves_sets_named_ways_and_few_rows_alone() -> None:
    assert _made(n_draws=20).plan(N, D).columns is None
    assert _made(mechanism="langevin_average").plan(N, D).columns is None
    assert _made().plan(400, D).columns is None
    assert _made(standardize="private", n_draws=20).plan(N, D).columns is not None


@pytest.mark.parametrize("delta", [1e-6, 0.0])
@pytest.mark.parametrize("mechanism", ["exact", "langevin_average"])
def test_all_together_cost_what_was_asked(mechanism: str, delta: float) -> None:
    if delta == 0 and mechanism != "exact":
        return
    wanted = _made(standardize="private", mechanism=mechanism, delta=delta, radius=2.0)
    planned = wanted.plan(N, 2)
    paid = planned.columns
    assert 0.98 < planned.guarantee.epsilon(delta) <= 1.0
    # The draws are those of a plan at a smaller ε; both add up to what is stated.
    alone = _made(mechanism=mechanism, delta=delta, radius=2.0, epsilon=paid.left, standardize=None)
    draws = alone.plan(N, 2).guarantee
    both = compose([paid.guarantee, draws]).epsilon(delta)
    if np.isfinite(draws.mu) or delta == 0:
        assert planned.guarantee.epsilon(delta) == pytest.approx(both, rel=1e-6)
    else:  # prices that do not add up alike
        assert both >= 1.0


def test_a_grid_of_models_pays_for_both() -> None:
    planned = _made(standardize="private", mechanism="finite_grid", radius=2.0, delta=0.0).plan(
        N, 1
    )
    stated = MECHANISMS["finite_grid"].for_plan(planned).guarantee(planned)
    assert stated.epsilon(0.0) == pytest.approx(1.0) and STATED in stated.assumptions


def test_the_guarantee_says_both_parts_and_what_it_assumes(table: Any) -> None:
    fitted = _made().fit(*table)
    assert STATED in fitted.guarantee_.assumptions
    assert fitted.guarantee_.requested == (1.0, 1e-6)
    paid = fitted.plan_.columns
    alone = _made(standardize=None, epsilon=paid.left).plan(N, D).guarantee
    assert fitted.guarantee_.mu == pytest.approx(np.hypot(paid.guarantee.mu, alone.mu))
    assert fitted.plan_.guarantee.mu == fitted.guarantee_.mu
    assert fitted.guarantee_.epsilon(1e-6) <= 1.0 + 1e-9


def test_beside_what_is_not_gaussian_dp_delta_is_halved() -> None:
    planned = DPClassifier(standardize="private", radius=4.0, delta=1e-6).plan(N, D)
    assert planned.mechanism == "objective_perturbation"
    assert planned.columns.halved and 0.99 < planned.guarantee.epsilon(1e-6) <= 1.0


@pytest.mark.parametrize("d", [2, 90])
def test_auto_pays_for_them_beside_a_tilt_of_either_noise(d: int) -> None:
    planned = _made(delta=1e-6, n_draws=1).plan(6_000, d)
    assert planned.mechanism == "objective_perturbation" and planned.gaussian == (d == 90)
    assert planned.columns.halved and planned.delta == 1e-6
    assert 0.99 < planned.guarantee.epsilon(1e-6) <= 1.0
    assert (planned.guarantee.epsilon(0.9e-6) > 1) == planned.gaussian


def test_draws_without_a_guarantee_get_none(table: Any) -> None:
    fitted = _made(standardize="private", mechanism="hit_and_run", n_draws=4).fit(*table)
    assert not fitted.guarantee_.holds


def test_one_charge_in_the_ledger(table: Any, tmp_path: Path) -> None:
    ledger = Ledger.create(tmp_path / "a.ledger", epsilon=1.0, delta=1e-6)
    _made(ledger=ledger).fit(*table)
    assert len(ledger.entries()) == 1
    assert 0.98 < ledger.spent(1e-6) <= 1.0 + 1e-9


def test_a_set_carries_its_map(table: Any, tmp_path: Path) -> None:
    X, y = table
    fitted = _made(standardize="private", mechanism="ellipsoid", n_draws=5, radius=4.0).fit(X, y)
    models = fitted.rashomon_set_
    by_hand = 1 / (1 + np.exp(-(models.rows(X) @ models.coef[:, :-1].T + models.coef[:, -1])))
    np.testing.assert_allclose(models.scores(X), by_hand.T)
    models.save(tmp_path / "curator")
    models.release().save(tmp_path / "public")
    for read in (RashomonSet.load(tmp_path / "curator"), ReleasedSet.load(tmp_path / "public")):
        np.testing.assert_array_equal(read.scores(X), models.scores(X))
        assert read.plan.columns == fitted.plan_.columns
    np.testing.assert_allclose(
        models.to_sklearn(1).predict_proba(X)[:, 1], models.scores(X)[1], rtol=1e-9
    )
    problem = declared_problem(fitted, X, y)
    np.testing.assert_allclose(problem.value(models.coef.T), models.losses, atol=1e-5)


def test_coefficients_are_of_the_columns_as_they_were(table: Any) -> None:
    X, y = table
    one = DPClassifier(
        standardize="auto", row_norm=2.0, classes=["no", "yes"], random_state=0, delta=1e-6
    ).fit(X, y)
    assert one.plan_.columns is not None
    mapped = (X - one.scale_.centre) / one.scale_.spread
    short = np.linalg.norm(mapped, axis=1) <= 2.0
    np.testing.assert_allclose(
        one.decision_function(X)[short], (X @ one.encoded_coef_[0] + one.encoded_intercept_)[short]
    )
    assert one.score(X, y) > 0.7
    again = _made().fit(X, y)
    assert again.encoded_coef_.shape == (1, D)


def test_regressions_too(table: Any) -> None:
    X, _ = table
    y = 10 * X[:, 0] - 3
    fitted = RashomonRegressor(row_norm=2.0, target_bounds=(-1, 1), random_state=0).fit(X, y)
    assert fitted.scale_ is not None
    assert clone(fitted).get_params()["standardize"] == "auto"
    assert np.isfinite(fitted.predict(X)).all()


def test_rows_longer_than_declared_are_told_of_and_mapped_ones_are_not(table: Any) -> None:
    X, y = table
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        _made().fit(X, y)
    assert not [one for one in heard if issubclass(one.category, RowsClippedWarning)]


def test_without_columns_nothing_changes() -> None:
    planned = _made(standardize=None).plan(N, D)
    assert with_scaling_cost(planned.columns, planned.guarantee) is planned.guarantee
    assert not ColumnsPlan(999, 2, 1.0, 1.0, 1e-6).improves_the_plan
    assert ColumnsPlan(1000, 2, 1.0, 1.0, 1e-6).improves_the_plan
