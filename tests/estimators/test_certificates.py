"""Estimators pay by the best certificate where one is proved, and by bounded range elsewhere."""

from typing import Any

import numpy as np
import pytest

from rashomon_explorer import RashomonClassifier
from rashomon_explorer.mechanisms.langevin.sampler import PlannedPath
from rashomon_explorer.mechanisms.planning.planner import plan
from rashomon_explorer.mechanisms.samplers.finite_grid import FiniteGridSampler

SETTINGS: dict[str, Any] = {"ridge": 0.2, "delta": 1e-6, "epsilon": 2.0, "n_draws": 4}
RNG = np.random.default_rng(1)
X = RNG.normal(size=(2000, 2)) / 4
Y = (X[:, 0] + 0.2 * RNG.normal(size=2000) > 0).astype(int)


def test_a_grid_claims_its_range_whatever_paid_for_the_plan():
    grid = RashomonClassifier(**SETTINGS, mechanism="finite_grid").fit(X, Y)
    assert grid.guarantee_.pure_epsilon == pytest.approx(4 * grid.plan_.eta)
    sizes = {"radius": 4.0, "row_norm": 1.0, "ridge": 0.2}
    best = plan(2000, 3, 0.02, **sizes, epsilon=2.0, delta=1e-6, certificate="best")
    assert best.certificate == "localised"
    assert FiniteGridSampler().guarantee(best).pure_epsilon == best.eta > 2.0
    with pytest.raises(TypeError, match="make it with plan_path"):
        PlannedPath(best)
