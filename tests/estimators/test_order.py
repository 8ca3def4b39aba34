"""With a ledger every estimator looks at shapes, reserve, start, and only then at a value."""

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rashomon_explorer import Ledger, RashomonClassifier, RashomonRegressor
from rashomon_explorer.estimators.tables import TableAdapter
from rashomon_explorer.exceptions import BudgetExceededError, FitError
from rashomon_explorer.privacy import pure
from tests.estimators.charged import ESTIMATORS
from tests.estimators.traps import LOOKS, SubArray, TrapArray, TrapFrame, TrapList, TrapSeries


def good_X() -> Any:
    return np.random.default_rng(0).uniform(-0.5, 0.5, (40, 2))


def good_y() -> Any:
    return (good_X()[:, 0] > 0).astype(int)


def frame() -> Any:
    return TrapFrame(good_X(), columns=["age", "debt"])


TRAPS: dict[str, Callable[[], tuple[Any, Any]]] = {
    "X like an array": lambda: (TrapArray(40, 2), good_y()),
    "X an array": lambda: (good_X().view(SubArray), good_y()),
    "X a frame": lambda: (frame(), good_y()),
    "X lists": lambda: (TrapList([TrapList([0.0, 0.0]) for _ in range(40)]), good_y()),
    "y like an array": lambda: (good_X(), TrapArray(40)),
    "y an array": lambda: (good_X(), good_y().view(SubArray)),
    "y a series": lambda: (good_X(), TrapSeries(good_y())),
    "y a frame": lambda: (good_X(), TrapFrame({"label": good_y()})),
    "y a list": lambda: (good_X(), TrapList(good_y().tolist())),
    "X with a column called leak": lambda: (
        TrapFrame(good_X(), columns=["leak", "attrs"]),
        good_y(),
    ),
    "y with a row called leak": lambda: (
        good_X(),
        TrapSeries(good_y(), index=["leak", *range(39)]),
    ),
    "both": lambda: (frame(), TrapSeries(good_y())),
}
every_kind = pytest.mark.parametrize("kind", ESTIMATORS.values(), ids=ESTIMATORS)
every_trap = pytest.mark.parametrize("trap", TRAPS.values(), ids=TRAPS)


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger.create(tmp_path / "data.ledger", epsilon=1.0, delta=1e-6)


@pytest.mark.filterwarnings("ignore:A column-vector y")
@every_kind
@every_trap
class TestOrder:
    def test_an_exhausted_ledger_refuses_without_a_look(
        self, kind: Callable[..., Any], trap: Callable[[], tuple[Any, Any]], ledger: Ledger
    ) -> None:
        ledger.reserve(pure(1.0))
        X, y = trap()
        LOOKS.clear()
        with pytest.raises(BudgetExceededError):
            kind(epsilon=0.5, ledger=ledger).fit(X, y)
        assert LOOKS == []
        assert len(ledger.entries()) == 1

    def test_the_first_look_comes_after_the_charge_has_started(
        self, kind: Callable[..., Any], trap: Callable[[], tuple[Any, Any]], ledger: Ledger
    ) -> None:
        X, y = trap()
        LOOKS.clear()
        with pytest.raises(FitError):
            kind(epsilon=0.5, ledger=ledger).fit(X, y)
        assert LOOKS != []
        assert [entry.state for entry in ledger.entries()] == ["started"]


@every_kind
@pytest.mark.parametrize("name", ["values", "leak"])
def test_what_the_rows_carry_is_looked_at_under_a_started_charge(
    kind: Callable[..., Any], name: str, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither a value nor what an array was made with is read before the price is spent."""
    states: list[list[str]] = []
    look = getattr(TableAdapter, name)

    def seen(table: TableAdapter) -> Any:
        states.append([entry.state for entry in ledger.entries()])
        return look.func(table) if name == "values" else look.fget(table)

    monkeypatch.setattr(TableAdapter, name, property(seen))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        kind(epsilon=0.9, ledger=ledger).fit(good_X(), good_y())
    assert states != [] and {tuple(one) for one in states} == {("started",)}


@every_kind
@pytest.mark.parametrize(
    ("X", "y", "message"),
    [
        ((40,), (40,), "Expected 2D array, got 1D array"),
        ((40, 2, 2), (40,), "dim 3"),
        ((40, 2), (39,), r"inconsistent numbers of samples: \[40, 39\]"),
        ((40, 2), (40, 2), r"1d array.* shape \(40, 2\)"),
        ((40, 2), None, "requires y to be passed|target y is None"),
        ((0, 2), (0,), "0 sample"),
        ((40, 0), (40,), "0 feature"),
        ((), (40,), "Expected 2D array, got 0D array"),
    ],
)
def test_shapes_alone_are_refused_for_nothing(
    kind: Callable[..., Any],
    X: tuple[int, ...],
    y: tuple[int, ...] | None,
    message: str,
    ledger: Ledger,
) -> None:
    rows, targets = TrapArray(*X), None if y is None else TrapArray(*y)
    LOOKS.clear()
    with pytest.raises(ValueError, match=message) as caught:
        kind(epsilon=0.5, ledger=ledger).fit(rows, targets)
    assert not isinstance(caught.value, FitError)
    assert LOOKS == [] and ledger.entries() == []


def test_parameters_alone_are_refused_for_nothing(ledger: Ledger) -> None:
    X, y = TrapArray(40, 4), TrapArray(40)
    LOOKS.clear()
    for make, error, message in (
        (lambda: RashomonClassifier(ledger=ledger), ValueError, "classes must be declared"),
        (lambda: RashomonClassifier(classes=[0], ledger=ledger), ValueError, "at least two labels"),
        (lambda: RashomonRegressor(target_bounds=(1, 0), ledger=ledger), ValueError, "low < high"),
        (
            lambda: RashomonRegressor(mechanism="finite_grid", ledger=ledger),
            RuntimeError,
            "at most 3 parameters, got 5",
        ),
    ):
        with pytest.raises(error, match=message):
            make().fit(X, y)
    assert LOOKS == [] and ledger.entries() == []


@pytest.mark.parametrize("name", ["X", "y"])
def test_what_cannot_be_measured_is_not_converted_under_a_ledger(name: str, ledger: Ledger) -> None:
    class Opaque:
        def __array__(self, *args: Any, **options: Any) -> Any:
            LOOKS.append("__array__")
            return good_X() if name == "X" else good_y()

    given = {"X": good_X(), "y": good_y()} | {name: Opaque()}
    LOOKS.clear()
    model = RashomonClassifier(classes=(0, 1), epsilon=0.5, ledger=ledger)
    with pytest.raises(TypeError, match=f"{name} has no shape"):
        model.fit(**given)
    assert LOOKS == [] and ledger.entries() == []
    assert model.set_params(ledger=None, epsilon=20.0).fit(**given).n_features_in_ == 2


def test_memory_that_runs_out_is_not_the_rows(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*args: object, **options: object) -> None:
        raise MemoryError

    monkeypatch.setattr("rashomon_explorer.estimators.base.Problem", full)
    with pytest.raises(MemoryError):
        RashomonRegressor(epsilon=0.5, ledger=ledger).fit(good_X(), good_y())
    assert [entry.state for entry in ledger.entries()] == ["started"]
