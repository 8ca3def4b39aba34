"""Progress and Stop through scikit-learn's callbacks."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

import rashomon_explorer as rx
from rashomon_explorer.exceptions import FitError
from rashomon_explorer.mechanisms.base import Batch
from rashomon_explorer.mechanisms.exact import Exact
from rashomon_explorer.mechanisms.registry import MECHANISMS


class Watcher:
    """Remembers what it is told, and asks to stop when told to."""

    def __init__(self, stop_at=None, task="draw"):
        self.stop_at, self.task = stop_at, task
        self.seen: list[tuple[str, Any]] = []
        self.begun: list[str] = []

    def setup(self, estimator, context): ...

    def teardown(self, estimator, context):
        self.torn_down = True

    def on_fit_task_begin(self, estimator, context):
        self.begun.append(context.task_name)

    def on_fit_task_end(self, estimator, context, *, fitted_estimator):
        self.seen.append((context.task_name, fitted_estimator))
        return self.stop_at is not None and self.count(self.task) >= self.stop_at

    def count(self, task):
        return sum(name == task for name, _ in self.seen)


class Refusing(Exact):
    """Every second batch is empty, the first two as well."""

    def batches(self, target, plan, rng):
        for number, batch in enumerate(super().batches(target, plan, rng)):
            empty = Batch(batch.theta[:, :0], batch.losses[:0], batch.evaluated)
            yield empty
            yield empty if number == 0 else Batch(batch.theta[:, :2], batch.losses[:2], 2)


@pytest.fixture
def make(X, labels):
    """Fit an estimator with a callback."""

    def fit(watcher=None, **settings):
        known = {"epsilon": 20.0, "n_draws": 4, "random_state": 0, "classes": (0, 1)}
        model = rx.RashomonClassifier(**{**known, **settings})
        return (model if watcher is None else model.set_callbacks(watcher)).fit(X, labels)

    return fit


@pytest.fixture
def ledger(tmp_path):
    return rx.Ledger.create(tmp_path / "data.ledger")


def test_every_draw_is_reported_with_a_usable_estimator(make, X):
    watcher = Watcher()
    model = make(watcher)
    assert np.array_equal(make().rashomon_set_.coef, model.rashomon_set_.coef)
    drawn = [fitted for name, fitted in watcher.seen if name == "draw"]
    assert [fitted.rashomon_set_.n_draws for fitted in drawn] == [1, 2, 3, 4]
    for number, fitted in enumerate(drawn, start=1):
        assert fitted.predict_each(X).shape == (number, len(X))
        assert np.array_equal(fitted.rashomon_set_.coef, model.rashomon_set_.coef[:number])
        guarantee = fitted.guarantee_
        assert guarantee.epsilon(1e-6) == model.guarantee_.epsilon(1e-6)
        stated = [one for one in guarantee.assumptions if "draws were kept" in one]
        assert len(stated) == (number < 4)
    assert watcher.begun.count("draw") == 4
    assert watcher.torn_down


def test_a_stop_keeps_the_draws_so_far_and_costs_the_whole(make, ledger, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    other = rx.Ledger.create(tmp_path / "elsewhere" / "other.ledger")
    settings: dict[str, Any] = {"n_draws": 20, "epsilon": 2.0}
    whole = make(**settings, ledger=other)
    model = make(Watcher(stop_at=3), **settings, ledger=ledger)
    assert model.rashomon_set_.n_draws == len(model.rashomon_set_.losses) == 3
    assert np.array_equal(model.rashomon_set_.coef, whole.rashomon_set_.coef[:3])
    stated = "3 of 20 draws were kept, a number chosen without regard to private rows"
    assert model.guarantee_.assumptions == (*whole.guarantee_.assumptions, stated)
    assert replace(model.guarantee_, assumptions=()) == replace(whole.guarantee_, assumptions=())
    assert model.rashomon_set_.release().guarantee == model.guarantee_
    assert [entry.state for entry in ledger.entries()] == ["committed"]
    assert ledger.spent(1e-6) == pytest.approx(2.0)


def test_refused_proposals_are_reported_without_a_model(make, monkeypatch):
    monkeypatch.setattr(MECHANISMS["exact"], "batches", Refusing().batches)
    watcher = Watcher()
    model = make(watcher, mechanism="exact")
    assert [name for name, _ in watcher.seen][:2] == ["proposals", "proposals"]
    assert all(fitted is None for name, fitted in watcher.seen if name == "proposals")
    assert watcher.count("draw") == model.rashomon_set_.n_draws == 4
    watcher = Watcher(stop_at=4, task="proposals")
    model = make(watcher, mechanism="exact", n_draws=50)
    assert model.rashomon_set_.n_draws == watcher.count("draw") == 2
    # Callbacks can be taken off again.
    assert model.set_callbacks().set_params(n_draws=3).fit([[0.1], [0.2]], [0, 1]).plan_.n == 2


def test_a_stop_before_the_first_draw_or_a_broken_callback_costs_the_whole(
    make, ledger, monkeypatch
):
    class Broken(Watcher):
        def on_fit_task_end(self, *args, fitted_estimator):
            raise RuntimeError("the screen fell over")

    monkeypatch.setattr(MECHANISMS["exact"], "batches", Refusing().batches)
    stopping = Watcher(stop_at=2, task="proposals")
    for watcher, detail in (
        (stopping, "stopped before the first draw"),
        (Broken(), "RuntimeError: the screen fell over"),
    ):
        with pytest.raises(FitError) as caught:
            make(watcher, epsilon=0.4, ledger=ledger, mechanism="exact")
        assert detail in caught.value.detail
    assert stopping.count("draw") == 0
    assert [entry.state for entry in ledger.entries()] == ["started", "started"]


class ByLoss(Watcher):
    """Stops at the first draw whose loss, computed from private rows, is small."""

    def on_fit_task_end(self, estimator, context, *, fitted_estimator):
        return context.task_name == "draw" and fitted_estimator.rashomon_set_.losses[-1] <= 0.62


def test_a_stop_by_losses_tells_them_which_the_guarantee_takes_for_excluded():
    """The control for the assumption: neighbours at ε < 0.5 are told apart by the number kept."""
    rows, stopped = np.full((4, 1), 0.5), []
    for labels in ([1, 1, 1, 0], [1, 1, 0, 0]):
        for seed in range(10):
            asked = {"n_draws": 20, "epsilon": 0.2, "psi": 0.0, "mechanism": "exact"}
            model = rx.RashomonClassifier(**asked, radius=4.0, ridge=0.0, random_state=seed)
            found = model.set_callbacks(ByLoss()).fit(rows, labels).rashomon_set_
            stopped.append(found.n_draws < 20)
            assert found.guarantee.pure_epsilon < 0.5
            stated = any("draws were kept" in one for one in found.guarantee.assumptions)
            assert stated == stopped[-1]
    assert sum(stopped[:10]) >= 8
    assert not any(stopped[10:])


class Tree(Watcher):
    """Checks what scikit-learn's ``ProgressBar`` relies on: no task without its parent's task."""

    def on_fit_task_begin(self, estimator, context):
        super().on_fit_task_begin(estimator, context)
        assert context.parent is None or context.parent in self.open
        self.open.append(context)

    def on_fit_task_end(self, estimator, context):
        assert context is self.open.pop()

    open: list[Any]

    def setup(self, estimator, context):
        self.open, self.root = [], context


ESTIMATORS = [
    rx.RashomonClassifier(epsilon=20.0, n_draws=3, classes=[0, 1]),
    rx.RashomonClassifier(mechanism="hit_and_run", n_draws=40, classes=[0, 1]),
    rx.RashomonRegressor(epsilon=20.0, n_draws=3, target_bounds=(0, 1)),
    rx.RashomonTreeClassifier(epsilon=20.0, n_draws=3, classes=[0, 1], thresholds=0.0),
    rx.DPClassifier(classes=[0, 1]),
    rx.DPClassifier(classes=[0, 1], family="trees"),
    rx.DPRegressor(target_bounds=(0, 1)),
]


@pytest.mark.filterwarnings("ignore::rashomon_explorer.exceptions.WeakGuaranteeWarning")
@pytest.mark.parametrize("model", ESTIMATORS, ids=lambda one: f"{type(one).__name__}")
def test_the_fit_is_the_first_task_to_begin_and_the_last_to_end(model, X, labels):
    tree = Tree()
    clone(model).set_params(random_state=0).set_callbacks(tree).fit(X, labels)
    assert tree.begun[0] == tree.root.task_name == "fit" and tree.begun.count("fit") == 1
    assert tree.open == [] and "draw" in tree.begun


def test_the_progress_bar_of_scikit_learn_shows_the_fit(X, labels, capsys):
    callback = pytest.importorskip("sklearn.callback")
    pytest.importorskip("rich")
    clone(ESTIMATORS[0]).set_callbacks(callback.ProgressBar()).fit(X, labels)
    assert "RashomonClassifier - fit" in capsys.readouterr().out
