"""With a ledger every estimator looks at shapes, reserve, start, and only then at a value."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV, cross_val_score

from rashomon_explorer import (
    DPClassifier,
    Ledger,
    RashomonClassifier,
    RashomonRegressor,
    TableSchema,
)
from rashomon_explorer.data import Numeric, YesNo
from rashomon_explorer.exceptions import BudgetExceededError, DataError, FitError, SamplerError
from rashomon_explorer.mechanisms.base import Batch
from rashomon_explorer.mechanisms.exact import Exact
from rashomon_explorer.mechanisms.registry import MECHANISMS
from rashomon_explorer.privacy import pure
from tests.estimators.charged import ESTIMATORS, PRIVATE_TABLE
from tests.estimators.traps import LOOKS, SubArray, TrapArray, TrapFrame, TrapList, TrapSeries

COLUMNS = [Numeric("age", (-1, 1)), Numeric("debt", (-1, 1))]
LABELS = TableSchema([*COLUMNS, YesNo("y", (0, 1), role="target")])
NUMBERS = TableSchema([*COLUMNS, Numeric("y", (0, 1), role="target")])
KINDS: dict[str, Callable[..., Any]] = {  # protected memory notices whoever else looks
    "RashomonClassifier": ESTIMATORS["RashomonClassifier"],
    "a schema of labels": partial(RashomonClassifier, schema=LABELS, n_draws=1),
    "a schema of numbers": partial(RashomonRegressor, schema=NUMBERS, n_draws=1),
}
X = np.random.default_rng(0).uniform(-0.5, 0.5, (40, 2))
Y = (X[:, 0] > 0).astype(int)


def frame(*names):
    return TrapFrame(X, columns=names or ["age", "debt"])


TRAPS: dict[str, Callable[[], tuple[Any, Any]]] = {
    "X like an array": lambda: (TrapArray(40, 2), Y),
    "X an array": lambda: (X.copy().view(SubArray), Y),
    "X a frame": lambda: (frame(), Y),
    "X lists": lambda: (TrapList([TrapList([0.0, 0.0]) for _ in range(40)]), Y),
    "y like an array": lambda: (X, TrapArray(40)),
    "y an array": lambda: (X, Y.copy().view(SubArray)),
    "y a series": lambda: (X, TrapSeries(Y)),
    "y a frame": lambda: (X, TrapFrame({"label": Y})),
    "y a list": lambda: (X, TrapList(Y.tolist())),
    "X with a column called leak": lambda: (frame("leak", "attrs"), Y),
    "y with a row called leak": lambda: (X, TrapSeries(Y, index=["leak", *range(39)])),
    "both": lambda: (frame(), TrapSeries(Y)),
}
SOME_TRAPS = ("X like an array", "X a frame", "y a series", "y a list")
EVERY = {**ESTIMATORS, "PrivateTable": PRIVATE_TABLE}
every_kind = pytest.mark.parametrize("kind", EVERY.values(), ids=EVERY)


@pytest.fixture
def ledger(tmp_path):
    return Ledger.create(tmp_path / "data.ledger", epsilon=1.0, delta=1e-6)


@pytest.mark.filterwarnings("ignore:A column-vector y")
@pytest.mark.parametrize("name", KINDS)
def test_no_trap_springs_before_the_charge_has_started(name, tmp_path):
    """An exhausted ledger refuses without a look; the first look comes under a started charge."""
    for number, trap in enumerate(TRAPS if name == "RashomonClassifier" else SOME_TRAPS):
        rows, targets = TRAPS[trap]()
        spent, fresh = (
            Ledger.create(tmp_path / f"{number}.{kind}", epsilon=1.0, delta=1e-6)
            for kind in ("spent", "fresh")
        )
        spent.reserve(pure(1.0))
        LOOKS.clear()
        with pytest.raises(BudgetExceededError):
            KINDS[name](epsilon=0.5, ledger=spent).fit(rows, targets)
        assert LOOKS == [] and len(spent.entries()) == 1, trap
        with pytest.raises(FitError):
            KINDS[name](epsilon=0.5, ledger=fresh).fit(rows, targets)
        assert LOOKS != [] and [entry.state for entry in fresh.entries()] == ["started"], trap


SHAPES: list[tuple[tuple[int, ...], tuple[int, ...] | None, str]] = [
    ((40,), (40,), "Expected 2D array, got 1D array"),
    ((40, 2, 2), (40,), "dim 3"),
    ((40, 2), (39,), r"inconsistent numbers of samples: \[40, 39\]"),
    ((40, 2), (40, 2), r"1d array.* shape \(40, 2\)"),
    ((40, 2), None, "requires y to be passed|target y is None"),
    ((0, 2), (0,), "0 sample"),
    ((40, 0), (40,), "0 feature"),
    ((), (40,), "Expected 2D array, got 0D array"),
]


@every_kind
def test_shapes_alone_are_refused_for_nothing(kind, ledger):
    for rows, targets, message in SHAPES:
        LOOKS.clear()
        with pytest.raises(ValueError, match=message) as caught:
            y = None if targets is None else TrapArray(*targets)
            kind(epsilon=0.5, ledger=ledger).fit(TrapArray(*rows), y)
        assert not isinstance(caught.value, FitError)
        assert LOOKS == [] and ledger.entries() == []


def test_parameters_and_columns_alone_are_refused_for_nothing(ledger):
    wide, y = TrapArray(40, 4), TrapArray(40)
    LOOKS.clear()
    for model, rows, error, message in (
        (RashomonClassifier(), wide, ValueError, "classes must be declared"),
        (RashomonClassifier(classes=[0]), wide, ValueError, "at least two labels"),
        (RashomonRegressor(target_bounds=(1, 0)), wide, ValueError, "low < high"),
        (
            RashomonRegressor(target_bounds=(-1, 1), mechanism="finite_grid"),
            wide,
            SamplerError,
            "at most 3 parameters",
        ),
        (
            RashomonRegressor(target_bounds=(-1, 1), mechanism="langevin", delta=0.0),
            wide,
            SamplerError,
            "delta > 0",
        ),
        (RashomonRegressor(schema=NUMBERS), TrapArray(40, 7), DataError, "an array of 7 columns"),
        (RashomonRegressor(schema=NUMBERS), TrapFrame({"age": X[:, 0]}), DataError, "lacks 'debt'"),
    ):
        with pytest.raises(error, match=message):
            model.set_params(ledger=ledger).fit(rows, y)
    assert LOOKS == [] and ledger.entries() == []


@pytest.mark.parametrize("name", ["X", "y"])
def test_what_cannot_be_measured_is_not_converted_under_a_ledger(name, ledger):
    class Opaque:
        def __array__(self, *args, **options):
            LOOKS.append("__array__")
            return X if name == "X" else Y

    table = {"X": X, "y": Y} | {name: Opaque()}
    LOOKS.clear()
    model = RashomonClassifier(classes=(0, 1), epsilon=0.5, ledger=ledger)
    with pytest.raises(TypeError, match=f"{name} has no shape"):
        model.fit(**table)
    assert LOOKS == [] and ledger.entries() == []
    assert model.set_params(ledger=None, epsilon=20.0).fit(**table).n_features_in_ == 2


def test_memory_that_runs_out_is_not_the_rows(ledger, monkeypatch):
    def full(*args, **options):
        raise MemoryError

    monkeypatch.setattr("rashomon_explorer.estimators.base.Problem", full)
    with pytest.raises(MemoryError):
        RashomonRegressor(target_bounds=(-1, 1), epsilon=0.5, ledger=ledger).fit(X, Y)
    assert [entry.state for entry in ledger.entries()] == ["started"]


def charged_classifier(ledger, **settings):
    known: dict[str, Any] = {"classes": (0, 1), "n_draws": 2, "random_state": 0}
    return RashomonClassifier(**known, **settings, ledger=ledger.path)


def test_a_sampler_that_fails_leaves_its_charge_spent(X, labels, tmp_path, monkeypatch):
    class Failing(Exact):
        def batches(self, target, plan, rng):
            batch = next(super().batches(target, plan, rng))
            yield Batch(batch.theta[:, :1], batch.losses[:1], batch.evaluated)
            raise SamplerError("out of luck")

    monkeypatch.setattr(MECHANISMS["exact"], "batches", Failing().batches)
    ledger = Ledger.create(tmp_path / "data.ledger")
    with pytest.raises(FitError) as caught:
        charged_classifier(ledger, mechanism="exact").fit(X, labels)
    assert caught.value.detail == "SamplerError: out of luck"
    assert [entry.state for entry in ledger.entries()] == ["started"]


@pytest.mark.law  # two processes of joblib start
def test_searches_charge_every_fit_of_every_worker_until_the_budget_ends(X, labels, tmp_path):
    ledger = Ledger.create(tmp_path / "data.ledger", epsilon=5.5)
    model = charged_classifier(ledger, epsilon=1.0, delta=0.0)
    search = GridSearchCV(model, {"psi": [0.01, 0.05]}, cv=2, n_jobs=2).fit(X, labels)
    entries = ledger.entries()
    assert [entry.state for entry in entries] == ["committed"] * 5
    assert ledger.spent(0.0) == pytest.approx(5.0)
    assert {entry.parameters["psi"] for entry in entries} == {0.01, 0.05}
    assert len({entry.who for entry in entries}) >= 2
    with pytest.raises(BudgetExceededError):
        cross_val_score(search.best_estimator_, X, labels, cv=3, error_score="raise")
    assert len(ledger.entries()) == 5


@pytest.mark.parametrize(
    ("loss", "standardize"),
    [
        ("logistic", None),
        ("logistic", "private"),
        pytest.param("hinge", "private", marks=pytest.mark.law),
    ],
)
def test_a_new_ledger_shows_no_more_than_the_epsilon_of_a_fit(loss, standardize, tmp_path):
    """Whatever the ledger's budget is, and by the mechanism that is taken without a ledger."""
    for budget in (0.5, 8.0):
        ledger = Ledger.create(tmp_path / f"{budget}.ledger", epsilon=budget, delta=1e-6)
        settings = {"epsilon": 0.5, "loss": loss, "standardize": standardize, "classes": [0, 1]}
        planned = DPClassifier(**settings, ledger=ledger).plan(4_000, 4)
        assert planned.mechanism == DPClassifier(**settings).plan(4_000, 4).mechanism
        ledger.reserve(planned.guarantee, note="a fit").start()
        assert 0.45 < ledger.spent() <= 0.5
