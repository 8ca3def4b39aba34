"""Progress and Stop through scikit-learn's callbacks."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import BaseEstimator

from rashomon_explorer import Ledger, RashomonClassifier, RashomonRegressor
from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer.exceptions import FitError
from rashomon_explorer.mechanisms.base import Batch
from rashomon_explorer.mechanisms.planning.registry import MECHANISMS
from rashomon_explorer.mechanisms.samplers.exponential import ExactSampler

Estimator = RashomonClassifier | RashomonRegressor


def declared(kind: type[Estimator]) -> dict[str, Any]:
    """Public classes, where a ledger asks for them."""
    return {"classes": (0, 1)} if kind is RashomonClassifier else {}


KINDS = [RashomonClassifier, RashomonRegressor]


class Watcher:
    """Remembers what it is told, and asks to stop when told to."""

    def __init__(self, stop_at: int | None = None, task: str = "draw") -> None:
        self.stop_at, self.task = stop_at, task
        self.seen: list[tuple[str, Any]] = []
        self.begun: list[str] = []

    def setup(self, estimator: BaseEstimator, context: Any) -> None: ...

    def teardown(self, estimator: BaseEstimator, context: Any) -> None:
        self.torn_down = True

    def on_fit_task_begin(self, estimator: BaseEstimator, context: Any) -> None:
        self.begun.append(context.task_name)

    def on_fit_task_end(
        self, estimator: BaseEstimator, context: Any, *, fitted_estimator: Any
    ) -> bool:
        self.seen.append((context.task_name, fitted_estimator))
        return self.stop_at is not None and self.count(self.task) >= self.stop_at

    def count(self, task: str) -> int:
        return sum(name == task for name, _ in self.seen)


class Refusing(ExactSampler):
    """Every second batch is empty, the first two as well."""

    def batches(self, *args: Any) -> Iterator[Batch]:
        for number, batch in enumerate(super().batches(*args)):
            empty = Batch(batch.theta[:, :0], batch.losses[:0], batch.evaluated)
            yield empty
            yield empty if number == 0 else Batch(batch.theta[:, :2], batch.losses[:2], 2)


@pytest.mark.parametrize("kind", KINDS)
class TestDraws:
    def test_every_draw_is_reported_with_a_usable_estimator(
        self, kind: type[Estimator], X: FloatArray, labels: FloatArray
    ) -> None:
        watcher = Watcher()
        model = kind(n_draws=4, epsilon=20.0, random_state=0).set_callbacks(watcher).fit(X, labels)
        drawn = [fitted for name, fitted in watcher.seen if name == "draw"]
        assert [fitted.rashomon_set_.n_draws for fitted in drawn] == [1, 2, 3, 4]
        for number, fitted in enumerate(drawn, start=1):
            assert fitted.predict_each(X).shape == (number, len(X))
            assert np.array_equal(fitted.rashomon_set_.coef, model.rashomon_set_.coef[:number])
            promised = fitted.guarantee_
            assert promised.epsilon(1e-6) == model.guarantee_.epsilon(1e-6)
            kept = [one for one in promised.assumptions if "draws were kept" in one]
            assert len(kept) == (number < 4)
        assert watcher.begun.count("draw") == 4
        assert watcher.torn_down

    def test_watching_changes_no_draw(
        self, kind: type[Estimator], X: FloatArray, labels: FloatArray
    ) -> None:
        alone, watched = (kind(n_draws=4, epsilon=20.0, random_state=0) for _ in range(2))
        watched.set_callbacks(Watcher())
        assert np.array_equal(
            alone.fit(X, labels).rashomon_set_.coef, watched.fit(X, labels).rashomon_set_.coef
        )

    def test_a_stop_keeps_the_draws_so_far_and_costs_the_whole(
        self, kind: type[Estimator], X: FloatArray, labels: FloatArray, tmp_path: Path
    ) -> None:
        path, other = tmp_path / "data.ledger", tmp_path / "elsewhere" / "other.ledger"
        other.parent.mkdir()
        settings: dict[str, Any] = {"n_draws": 20, "epsilon": 2.0, "random_state": 0}
        settings |= declared(kind)
        whole = kind(**settings, ledger=Ledger.create(other)).fit(X, labels)
        Ledger.create(path)
        model = kind(**settings, ledger=path).set_callbacks(Watcher(stop_at=3)).fit(X, labels)
        assert model.rashomon_set_.n_draws == 3
        assert np.array_equal(model.rashomon_set_.coef, whole.rashomon_set_.coef[:3])
        assert len(model.rashomon_set_.losses) == 3
        assert model.predict(X).shape == (len(X),)
        stated = "3 of 20 draws were kept, a number chosen without regard to private rows"
        assert model.guarantee_.assumptions == (*whole.guarantee_.assumptions, stated)
        assert replace(model.guarantee_, assumptions=()) == replace(
            whole.guarantee_, assumptions=()
        )
        assert model.rashomon_set_.release().guarantee == model.guarantee_
        ledger = Ledger(path)
        assert [entry.state for entry in ledger.entries()] == ["committed"]
        assert ledger.spent(1e-6) == pytest.approx(2.0)

    def test_refused_proposals_are_reported_and_no_model_is_given(
        self,
        kind: type[Estimator],
        X: FloatArray,
        labels: FloatArray,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        monkeypatch.setitem(MECHANISMS, "exact", Refusing)
        watcher = Watcher()
        model = (
            kind(n_draws=4, epsilon=20.0, mechanism="exact").set_callbacks(watcher).fit(X, labels)
        )
        names = [name for name, _ in watcher.seen]
        assert names[:2] == ["proposals", "proposals"]
        assert all(fitted is None for name, fitted in watcher.seen if name == "proposals")
        assert watcher.count("draw") == model.rashomon_set_.n_draws == 4

    def test_a_stop_before_the_first_draw_keeps_nothing_and_costs_the_whole(
        self,
        kind: type[Estimator],
        X: FloatArray,
        labels: FloatArray,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        monkeypatch.setitem(MECHANISMS, "exact", Refusing)
        path = tmp_path / "data.ledger"
        Ledger.create(path)
        watcher = Watcher(stop_at=2, task="proposals")
        asked = {"n_draws": 4, "epsilon": 2.0, "ledger": path, "mechanism": "exact"}
        model = kind(**asked, **declared(kind)).set_callbacks(watcher)
        with pytest.raises(FitError) as caught:
            model.fit(X, labels)
        assert "stopped before the first draw" in caught.value.detail
        assert not hasattr(model, "rashomon_set_")
        assert watcher.count("draw") == 0
        assert Ledger(path).spent(1e-6) == pytest.approx(2.0)

    def test_a_stop_during_proposals_keeps_the_draws_before(
        self,
        kind: type[Estimator],
        X: FloatArray,
        labels: FloatArray,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        monkeypatch.setitem(MECHANISMS, "exact", Refusing)
        watcher = Watcher(stop_at=4, task="proposals")
        model = (
            kind(n_draws=50, epsilon=20.0, mechanism="exact").set_callbacks(watcher).fit(X, labels)
        )
        assert model.rashomon_set_.n_draws == watcher.count("draw") == 2

    def test_without_callbacks_again(
        self, kind: type[Estimator], X: FloatArray, labels: FloatArray
    ) -> None:
        model = kind(n_draws=5, epsilon=20.0, random_state=0).set_callbacks(Watcher(stop_at=1))
        assert model.fit(X, labels).rashomon_set_.n_draws == 1
        assert model.set_callbacks().fit(X, labels).rashomon_set_.n_draws == 5

    def test_a_callback_that_fails_leaves_the_charge_spent(
        self, kind: type[Estimator], X: FloatArray, labels: FloatArray, tmp_path: Path
    ) -> None:
        class Broken(Watcher):
            def on_fit_task_end(self, *args: Any, fitted_estimator: Any) -> bool:
                raise RuntimeError("the screen fell over")

        path = tmp_path / "data.ledger"
        Ledger.create(path)
        model = kind(n_draws=5, ledger=path, **declared(kind)).set_callbacks(Broken())
        with pytest.raises(FitError) as caught:
            model.fit(X, labels)
        assert caught.value.detail == "RuntimeError: the screen fell over"
        assert [entry.state for entry in Ledger(path).entries()] == ["started"]


class ByLoss(Watcher):
    """Stops at the first draw whose loss, computed from private rows, is small."""

    def on_fit_task_end(
        self, estimator: BaseEstimator, context: Any, *, fitted_estimator: Any
    ) -> bool:
        return context.task_name == "draw" and fitted_estimator.rashomon_set_.losses[-1] <= 0.62


def test_a_stop_by_losses_tells_them_which_the_guarantee_takes_for_excluded() -> None:
    """The control for the assumption: neighbours at ε < 0.5 are told apart by the number kept."""
    rows, stopped = np.full((4, 1), 0.5), []
    for labels in ([1, 1, 1, 0], [1, 1, 0, 0]):
        for seed in range(20):
            asked = {"n_draws": 20, "epsilon": 0.2, "psi": 0.0, "mechanism": "exact"}
            model = RashomonClassifier(**asked, radius=4.0, ridge=0.0, random_state=seed)
            found = model.set_callbacks(ByLoss()).fit(rows, labels).rashomon_set_
            stopped.append(found.n_draws < 20)
            assert found.guarantee.pure_epsilon < 0.5
            stated = any("draws were kept" in one for one in found.guarantee.assumptions)
            assert stated == stopped[-1]
    assert sum(stopped[:20]) >= 17
    assert not any(stopped[20:])
