"""Estimators charge before they look, once a fit, and never for what has no guarantee."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score

from rashomon_explorer import Ledger, RashomonClassifier, RashomonRegressor
from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer.estimators import base
from rashomon_explorer.exceptions import (
    BudgetExceededError,
    FitError,
    LedgerError,
    LedgerWarning,
    SamplerError,
)
from rashomon_explorer.mechanisms.samplers.base import Batch
from rashomon_explorer.mechanisms.samplers.exponential import ExactSampler
from rashomon_explorer.mechanisms.samplers.registry import SAMPLERS

Estimator = RashomonClassifier | RashomonRegressor


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "data.ledger"


def declared(**settings: Any) -> RashomonClassifier:
    """A classifier whose classes are declared, as a ledger asks for."""
    return RashomonClassifier(classes=(0, 1), **settings)


def explode(*args: object, **options: object) -> None:
    raise AssertionError("the rows were read")


@pytest.mark.parametrize("kind", [declared, RashomonRegressor])
class TestCharge:
    def test_every_fit_is_charged_and_committed(
        self, kind: Callable[..., Estimator], X: FloatArray, labels: FloatArray, path: Path
    ) -> None:
        ledger = Ledger.create(path, epsilon=10.0, delta=1e-6)
        model = kind(epsilon=2.0, n_draws=3, ledger=path, random_state=0).fit(X, labels)
        assert ledger.spent() == pytest.approx(2.0)
        model.fit(X, labels)
        clone(model).fit(X, labels)
        entries = ledger.entries()
        assert [entry.state for entry in entries] == ["committed"] * 3
        assert entries[0].guarantee == model.guarantee_
        assert entries[0].parameters["beta"] == model.plan_.beta
        assert entries[0].note.startswith(f"{type(model).__name__}, 3 draws")

    def test_predicting_is_free(
        self, kind: Callable[..., Estimator], X: FloatArray, labels: FloatArray, path: Path
    ) -> None:
        Ledger.create(path)
        model = kind(n_draws=3, ledger=path, random_state=0).fit(X, labels)
        model.predict(X), model.predict_each(X), model.decision_spread(X), model.score(X, labels)
        model.plan(1000, 3)
        assert len(Ledger(path).entries()) == 1

    def test_past_the_budget_no_row_is_read(
        self,
        kind: Callable[..., Estimator],
        X: FloatArray,
        labels: FloatArray,
        path: Path,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        monkeypatch.setattr(base, "Problem", explode)
        ledger = Ledger.create(path, epsilon=1.0, delta=1e-6)
        model = kind(epsilon=1.5, ledger=path)
        with pytest.raises(BudgetExceededError, match="ε=1 is left"):
            model.fit(X, labels)
        assert ledger.entries() == []
        assert not hasattr(model, "rashomon_set_")

    def test_the_charge_is_written_before_the_rows_are_read(
        self,
        kind: Callable[..., Estimator],
        X: FloatArray,
        labels: FloatArray,
        path: Path,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        monkeypatch.setattr(base, "Problem", explode)
        Ledger.create(path)
        with pytest.raises(FitError) as caught:
            kind(epsilon=1.5, delta=1e-6, ledger=path, mechanism="exact").fit(X, labels)
        assert caught.value.detail == "AssertionError: the rows were read"
        (entry,) = Ledger(path).entries()
        assert entry.state == "started"
        assert entry.guarantee.epsilon(1e-6) == pytest.approx(1.5)

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

        monkeypatch.setitem(SAMPLERS, "exact", Failing)
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

    @pytest.mark.parametrize("given", [str, Path, Ledger.open])
    def test_a_ledger_by_path_or_by_itself(
        self,
        kind: Callable[..., Estimator],
        X: FloatArray,
        labels: FloatArray,
        path: Path,
        given: Callable[[Path], Any],
    ) -> None:
        Ledger.create(path)
        kind(n_draws=2, ledger=given(path), random_state=0).fit(X, labels)
        assert len(Ledger(path).entries()) == 1

    @pytest.mark.parametrize("given", [str, Path])
    def test_a_path_without_a_ledger_is_refused_and_none_is_made(
        self,
        kind: Callable[..., Estimator],
        X: FloatArray,
        labels: FloatArray,
        path: Path,
        monkeypatch: pytest.MonkeyPatch,
        given: Callable[[Path], Any],
    ) -> None:
        monkeypatch.setattr(base, "Problem", explode)
        Ledger.create(path, epsilon=1.0, delta=1e-6)
        misspelt = path.with_name("date.ledger")
        with pytest.raises(LedgerError, match=r"no ledger at .*date\.ledger.*Ledger\.create"):
            kind(n_draws=2, ledger=given(misspelt), random_state=0).fit(X, labels)
        assert not misspelt.exists()
        assert Ledger(path).entries() == []

    def test_another_file_is_refused_before_the_rows_are_read(
        self,
        kind: Callable[..., Estimator],
        X: FloatArray,
        labels: FloatArray,
        path: Path,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        monkeypatch.setattr(base, "Problem", explode)
        path.write_text("not a ledger " * 100)
        with pytest.raises(LedgerError):
            kind(ledger=path).fit(X, labels)


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
