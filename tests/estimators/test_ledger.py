"""Estimators charge every fit of every worker, and never for draws without a guarantee."""

from typing import Any

import pytest
from sklearn.model_selection import GridSearchCV, cross_val_score

from rashomon_explorer import Ledger, RashomonClassifier
from rashomon_explorer.exceptions import BudgetExceededError, FitError, SamplerError
from rashomon_explorer.mechanisms.base import Batch
from rashomon_explorer.mechanisms.planning.registry import MECHANISMS
from rashomon_explorer.mechanisms.samplers.exponential import ExactSampler


def classifier(ledger, **settings):
    known: dict[str, Any] = {"classes": (0, 1), "n_draws": 2, "random_state": 0}
    return RashomonClassifier(**known, **settings, ledger=ledger.path)


def test_a_sampler_that_fails_leaves_its_charge_spent(X, labels, tmp_path, monkeypatch):
    class Failing(ExactSampler):
        def batches(self, *args):
            batch = next(super().batches(*args))
            yield Batch(batch.theta[:, :1], batch.losses[:1], batch.evaluated)
            raise SamplerError("out of luck")

    monkeypatch.setitem(MECHANISMS, "exact", Failing)
    ledger = Ledger.create(tmp_path / "data.ledger")
    with pytest.raises(FitError) as caught:
        classifier(ledger, mechanism="exact").fit(X, labels)
    assert caught.value.detail == "SamplerError: out of luck"
    assert [entry.state for entry in ledger.entries()] == ["started"]


def test_searches_charge_every_fit_of_every_worker_until_the_budget_ends(X, labels, tmp_path):
    ledger = Ledger.create(tmp_path / "data.ledger", epsilon=5.5)
    model = classifier(ledger, epsilon=1.0, delta=0.0)
    search = GridSearchCV(model, {"psi": [0.01, 0.05]}, cv=2, n_jobs=2).fit(X, labels)
    entries = ledger.entries()
    assert [entry.state for entry in entries] == ["committed"] * 5
    assert ledger.spent(0.0) == pytest.approx(5.0)
    assert {entry.parameters["psi"] for entry in entries} == {0.01, 0.05}
    assert len({entry.who for entry in entries}) >= 2
    with pytest.raises(BudgetExceededError):
        cross_val_score(search.best_estimator_, X, labels, cv=3, error_score="raise")
    assert len(ledger.entries()) == 5
