"""Estimators charge before they look, once a fit, and never for what has no guarantee."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from sklearn.model_selection import GridSearchCV, cross_val_score

from rashomon_explorer import Ledger, RashomonClassifier, RashomonRegressor
from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer.exceptions import (
    BudgetExceededError,
    FitError,
    LedgerWarning,
    SamplerError,
)
from rashomon_explorer.mechanisms.base import Batch
from rashomon_explorer.mechanisms.planning.registry import MECHANISMS
from rashomon_explorer.mechanisms.samplers.exponential import ExactSampler

Estimator = RashomonClassifier | RashomonRegressor


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "data.ledger"


def declared(**settings: Any) -> RashomonClassifier:
    """A classifier whose classes are declared, as a ledger asks for."""
    return RashomonClassifier(classes=(0, 1), **settings)


@pytest.mark.parametrize("kind", [declared, RashomonRegressor])
class TestCharge:
    def test_a_sampler_that_fails_leaves_its_charge_spent(
        self,
        kind: Callable[..., Estimator],
        X: FloatArray,
        labels: FloatArray,
        path: Path,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        class Failing(ExactSampler):
            def batches(self, *args: Any) -> Iterator[Batch]:
                batch = next(super().batches(*args))
                yield Batch(batch.theta[:, :1], batch.losses[:1], batch.evaluated)
                raise SamplerError("out of luck")

        monkeypatch.setitem(MECHANISMS, "exact", Failing)
        Ledger.create(path)
        with pytest.raises(FitError) as caught:
            kind(n_draws=2, ledger=path, mechanism="exact").fit(X, labels)
        assert caught.value.detail == "SamplerError: out of luck"
        assert [entry.state for entry in Ledger(path).entries()] == ["started"]

    def test_the_curators_look_is_not_charged(
        self, kind: Callable[..., Estimator], X: FloatArray, labels: FloatArray, path: Path
    ) -> None:
        Ledger.create(path, epsilon=1e-9)
        look = kind(mechanism="hit_and_run", n_draws=3, ledger=path, random_state=0)
        with pytest.warns(LedgerWarning, match="curator only: .* the ledger is not charged"):
            look.fit(X, labels)
        assert Ledger(path).entries() == []


def test_a_grid_search_charges_every_fit_of_every_worker(
    X: FloatArray, labels: FloatArray, path: Path
) -> None:
    ledger = Ledger.create(path, epsilon=100.0, delta=1e-6)
    search = GridSearchCV(
        declared(epsilon=1.0, delta=0.0, n_draws=2, ledger=path, random_state=0),
        {"psi": [0.01, 0.05]},
        cv=2,
        n_jobs=2,
    )
    search.fit(X, labels)
    assert [entry.state for entry in ledger.entries()] == ["committed"] * 5
    assert ledger.spent(0.0) == pytest.approx(5.0)
    assert {entry.parameters["psi"] for entry in ledger.entries()} == {0.01, 0.05}
    assert len({entry.who for entry in ledger.entries()}) >= 2


def test_a_cross_validation_stops_where_the_budget_ends(
    X: FloatArray, labels: FloatArray, path: Path
) -> None:
    ledger = Ledger.create(path, epsilon=2.5)
    model = declared(epsilon=1.0, delta=0.0, n_draws=2, ledger=ledger, random_state=0)
    with pytest.raises(BudgetExceededError):
        cross_val_score(model, X, labels, cv=3, error_score="raise")
    assert len(ledger.entries()) == 2
