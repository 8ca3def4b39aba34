"""Estimators pay by the best certificate where one is proved, and by bounded range elsewhere."""

import numpy as np
import pytest

from rashomon_explorer import RashomonClassifier
from rashomon_explorer.mechanisms.planning.planner import plan
from rashomon_explorer.mechanisms.samplers.finite_grid import FiniteGridSampler
from rashomon_explorer.privacy import Ledger

SETTINGS = {"ridge": 0.2, "delta": 1e-6, "epsilon": 2.0, "n_draws": 4, "random_state": 0}


@pytest.fixture(scope="module")
def rows() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(1)
    X = rng.normal(size=(2000, 2)) / 4
    return X, (X[:, 0] + 0.2 * rng.normal(size=2000) > 0).astype(int)


@pytest.mark.law
def test_a_ridge_buys_a_colder_draw_for_the_same_price(rows) -> None:
    best = RashomonClassifier(**SETTINGS).fit(*rows)
    pure = RashomonClassifier(**{**SETTINGS, "delta": 0.0, "mechanism": "exact"}).fit(*rows)
    assert best.plan_.certificate == "localised" and "localised" in best.guarantee_.theorem
    assert pure.plan_.certificate == "oscillation"
    assert best.plan_.beta > 2 * pure.plan_.beta
    assert best.guarantee_.epsilon(1e-6) <= 2.0
    assert best.rashomon_set_.release().guarantee.epsilon(1e-6) <= 2.0


def test_a_ledger_and_a_grid_keep_to_bounded_range(rows, tmp_path) -> None:
    ledger = Ledger.create(tmp_path / "budget.ledger", epsilon=2.0, delta=1e-6)
    charged = RashomonClassifier(**SETTINGS, classes=[0, 1], ledger=ledger, mechanism="exact").fit(
        *rows
    )
    assert charged.plan_.certificate == "oscillation"
    assert ledger.spent() == pytest.approx(2.0)
    grid = RashomonClassifier(**SETTINGS, mechanism="finite_grid").fit(*rows)
    assert grid.guarantee_.pure_epsilon == pytest.approx(4 * grid.plan_.eta)


def test_a_grid_claims_its_range_whatever_paid_for_the_plan() -> None:
    sizes = {"radius": 4.0, "row_norm": 1.0, "ridge": 0.2}
    best = plan(2000, 3, 0.02, **sizes, epsilon=2.0, delta=1e-6, certificate="best")
    assert best.certificate == "localised"
    claimed = FiniteGridSampler().guarantee(best)
    assert claimed.pure_epsilon == best.eta > 2.0
