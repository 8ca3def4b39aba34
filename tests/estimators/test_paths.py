"""Estimators whose draws are the time averages of Langevin chains."""

import numpy as np
import pytest

from rashomon_explorer import Ledger, RashomonClassifier, RashomonRegressor
from rashomon_explorer.exceptions import SamplerError
from rashomon_explorer.mechanisms.langevin.plan import PathPlan
from rashomon_explorer.mechanisms.langevin.sampler import PlannedPath


def rows(n=3000, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-0.7, 0.7, (n, 2))
    return X, X @ [1.0, -0.5]


def test_a_classifier_draws_one_model_a_chain_for_the_price_of_the_paths():
    X, score = rows()
    clf = RashomonClassifier(mechanism="langevin", psi=0.05, epsilon=8.0, n_draws=4, random_state=0)
    planned = clf.plan(*X.shape)
    assert isinstance(planned, PathPlan)
    clf.fit(X, score > 0)
    assert clf.rashomon_set_.coef.shape == (4, 3)
    assert clf.guarantee_.notion == "gdp"
    assert clf.guarantee_.epsilon(1e-6) <= 8.0
    assert clf.guarantee_.reproducible
    assert clf.rashomon_set_.mechanism == "langevin"
    assert clf.score(X, score > 0) > 0.8


def test_a_ledger_takes_the_whole_budget_of_a_path(tmp_path):
    X, score = rows(500)
    ledger = Ledger.create(tmp_path / "paths.ledger", epsilon=2.0, delta=1e-6)
    reg = RashomonRegressor(
        mechanism="langevin", epsilon=2.0, n_draws=2, ledger=ledger, random_state=0
    )
    reg.fit(X, score)
    assert 1.9 < ledger.spent() <= 2.0
    (entry,) = ledger.entries()
    assert entry.state == "committed" and entry.mechanism == "gdp"
    assert "eta" not in entry.parameters


def test_pure_privacy_is_refused_before_anything_is_spent(tmp_path):
    X, score = rows(50)
    ledger = Ledger.create(tmp_path / "paths.ledger", epsilon=2.0, delta=1e-6)
    clf = RashomonClassifier(mechanism="langevin", delta=0.0, classes=[0, 1], ledger=ledger)
    with pytest.raises(SamplerError, match="needs delta > 0"):
        clf.fit(X, score > 0)
    assert ledger.entries() == []


def test_a_chain_needs_a_plan_with_steps():
    planned = RashomonClassifier(mechanism="exact").plan(100, 2)
    with pytest.raises(TypeError, match="make it with plan_path"):
        PlannedPath(planned)
