"""Nothing is read before a charge is started: every estimator, every source of rows.

Each source here raises, or ends the process, unless a charge was started, and gives good rows from
then on. An exhausted ledger refuses without a look, and a good one ends in a committed charge.
"""

import json
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from rashomon_explorer import DPClassifier, Ledger
from rashomon_explorer.estimators import tables
from rashomon_explorer.exceptions import BudgetExceededError, DataError, FitError
from rashomon_explorer.privacy import Charge, gdp, pure, zcdp
from rashomon_explorer.privacy.conversions import gdp_mu, zcdp_rho
from rashomon_explorer.privacy.ledger import totals
from rashomon_explorer.rows import ChunkedRows, chunk_rows, parquet
from rashomon_explorer.rows.source import RowSource
from tests.crossing import crossed
from tests.estimators.charged import CHARGED, EPSILON, IN_CHUNKS, N, public_rows
from tests.estimators.charged import CHUNKED as CHUNKED_ESTIMATORS

pytestmark = pytest.mark.filterwarnings(
    "ignore::rashomon_explorer.exceptions.RowsClippedWarning",
    "ignore:The inplace keyword",  # in Dask's own calls of pandas
)
ROOT = Path(__file__).resolve().parents[2]


class Gate:
    """Whether a charge was started, what is to be done then, and who came too early."""

    def __init__(self):
        self.open = False
        self.early: list[str] = []
        self.at_start: list[Callable[[], object]] = []

    def start(self):
        self.open = True
        while self.at_start:
            self.at_start.pop()()

    def pass_(self, what):
        if not self.open:
            self.early.append(what)
            raise AssertionError(f"{what} was read before a charge was started: HIV")


GATE = Gate()


@pytest.fixture(autouse=True)
def gate(monkeypatch):
    start = Charge.start

    def started(charge):
        start(charge)
        GATE.start()

    monkeypatch.setattr(Charge, "start", started)
    GATE.__init__()  # type: ignore[misc]
    yield GATE


def _frame():
    X, y = public_rows()
    return pd.DataFrame(X, columns=["a", "b"]).assign(y=y)


class GatedSource(RowSource):
    """A source of rows that anybody could have written."""

    shape, names, may_change, labelled = (N, 2), None, True, True  # type: ignore[assignment]

    def pieces(self, low, high):
        GATE.pass_("pieces")
        X, y = public_rows()
        yield X[low:high], y[low:high]


def _gated(part):
    if len(part):
        GATE.pass_("a partition")
    return part


def spoilt_parquet(folder):
    """Files whose pages are noise until the charge; their footers are good."""
    pytest.importorskip("pyarrow")
    folder.mkdir()
    for number, low in enumerate((0, N // 2)):
        file = folder / f"part-{number}.parquet"
        _frame().iloc[low : low + N // 2].to_parquet(file, index=False)
        good = file.read_bytes()
        footer = len(good) - 8 - int.from_bytes(good[-8:-4], "little")
        file.write_bytes(b"\xff" * footer + good[footer:])
        GATE.at_start.append(lambda file=file, good=good: file.write_bytes(good))  # type: ignore[misc]
    return folder


def dask_frame():
    dd = pytest.importorskip("dask.dataframe")
    frame = dd.from_pandas(_frame(), npartitions=3)
    return frame.map_partitions(_gated, meta=frame._meta)


def of_dask_frame(folder):
    return chunk_rows(dask_frame(), target="y", lengths=[N // 3] * 3), None


def of_dask_array(folder):
    da = pytest.importorskip("dask.array")
    X, y = (da.from_array(values, chunks=(20, *values.shape[1:])) for values in public_rows())
    return X.map_blocks(_gated, dtype=X.dtype), y.map_blocks(_gated, dtype=y.dtype)


def of_dask_parquet(folder):
    dd = pytest.importorskip("dask.dataframe")
    frame = dd.read_parquet(spoilt_parquet(folder / "rows"))
    return frame[["a", "b"]], frame["y"]


CHUNKED: dict[str, Callable[[Path], tuple[Any, Any]]] = {
    "a source": lambda folder: (ChunkedRows(GatedSource()), None),
    "Parquet": lambda folder: (chunk_rows(spoilt_parquet(folder / "rows"), target="y"), None),
    "a Dask array": of_dask_array,
    "a Dask frame with lengths": of_dask_frame,
    "a Dask frame of Parquet": of_dask_parquet,
}


FIRST = "RashomonClassifier"
PAIRS = [(FIRST, kind) for kind in CHUNKED] + [(name, "a source") for name in IN_CHUNKS]


@pytest.mark.parametrize(("name", "kind"), sorted({*PAIRS}))
def test_an_exhausted_ledger_refuses_without_a_look_and_rows_are_read_under_a_charge(
    name, kind, gate, tmp_path
):
    spent = Ledger.create(tmp_path / "spent.ledger", epsilon=1.0, delta=1e-5)
    spent.reserve(pure(1.0))
    X, y = CHUNKED[kind](tmp_path)
    with pytest.raises(BudgetExceededError):
        CHARGED[name](spent, X, y)
    assert gate.early == [] and not gate.open
    assert len(spent.entries()) == 1
    ledger = Ledger.create(tmp_path / "data.ledger", epsilon=9.0, delta=1e-5)
    CHARGED[name](ledger, X, y)
    assert gate.early == [] and gate.open
    assert [entry.state for entry in ledger.entries()] == ["committed"]


def _part(folder, kind):
    """Files of one kind, of which one record shapes names or footers, and an unusable folder."""
    low, high = _frame().iloc[: N // 2], _frame().iloc[N // 2 :]
    parts: dict[str, dict[str, pd.DataFrame]] = {
        "good": {"p": low, "q": high},
        "a ward of one record": {"ward=1/p": low, "ward=HIV/q": high},
        "a record in no ward": {"ward=1/p": low, "ward=__HIVE_DEFAULT_PARTITION__/q": high},
        "a ward for some": {"ward=1/p": low, "q": high},
        "a cell of text": {"p": low, "q": high.assign(a=["HIV", *high.a.astype(str)[1:]])},
        "a column known of one": {"p": low, "q": high.assign(HIV=1.0)},
        "no column of a name": {"p": low.rename(columns={"a": "HIV"})},
        "no Parquet": {},
    }
    for name, frame in parts[kind].items():
        file = folder / f"{name}.parquet"
        file.parent.mkdir(parents=True, exist_ok=True)
        frame.to_parquet(file, index=False)
    if not parts[kind]:
        folder.mkdir()
        (folder / "p.parquet").write_text("HIV")
    return folder


_SHAPED = ("a ward of one record", "a ward for some", "a cell of text", "a column known of one")


@pytest.mark.parametrize("name", [FIRST, "RashomonTreeClassifier"])
def test_names_and_footers_are_not_looked_at_for_an_exhausted_ledger(name, tmp_path, monkeypatch):
    pytest.importorskip("pyarrow")
    spent = Ledger.create(tmp_path / "spent.ledger", epsilon=EPSILON, delta=1e-5)
    spent.reserve(pure(0.6 * EPSILON))  # what is left is less than half of a fit
    answers = set()
    for kind in (*_SHAPED, "good", "a record in no ward", "no column of a name", "no Parquet"):
        for paths in (_part(tmp_path / kind, kind), tmp_path / kind / "**"):
            rows = chunk_rows(paths, target="y", columns=["a", "b"])
            with pytest.raises(BudgetExceededError) as caught:
                CHARGED[name](spent, rows, None)
            answers.add(str(caught.value))
    assert len(answers) == 1 and len(spent.entries()) == 1
    monkeypatch.setattr(parquet, "parquet_dataset", lambda paths: GATE.pass_("a name"))
    with pytest.raises(BudgetExceededError):
        CHARGED[name](spent, chunk_rows(tmp_path, target="y"), None)
    with pytest.raises(AssertionError, match="a name was read"):  # negative control
        chunk_rows(tmp_path, target="y").n  # noqa: B018


@pytest.mark.parametrize("kind", [*_SHAPED, "no column of a name", "no Parquet"])
def test_what_names_and_footers_hold_is_not_quoted_before_a_charge(kind, tmp_path):
    pytest.importorskip("pyarrow")
    ledger = Ledger.create(tmp_path / "data.ledger", epsilon=9.0, delta=1e-5)
    rows = chunk_rows(_part(tmp_path / "rows", kind), target="y")
    if kind == "no column of a name":
        rows = chunk_rows(tmp_path / "rows", target="y", columns=["a"])
    make = DPClassifier(classes=[0, 1], ledger=ledger)
    with pytest.raises(DataError) as caught:
        make.fit(rows)
    assert str(caught.value) == tables._UNSEEN and ledger.entries() == []
    assert caught.value.__context__ is None
    with pytest.raises(DataError) as curator:  # negative control: who may look
        make.check_rows(rows)
    assert str(curator.value) != tables._UNSEEN


LEDGERS: dict[str, dict[str, Any]] = {
    "the usual rule": {"epsilon": 1.0, "delta": 1e-6},
    "a large budget": {"epsilon": 30.0, "delta": 1e-9},
    "pure DP": {"epsilon": 1.0},
    "Gaussian DP": {"epsilon": 5.0, "delta": 1e-6, "accounting": "gdp"},
    "Renyi DP": {"epsilon": 5.0, "delta": 1e-6, "accounting": "rdp"},
}


@crossed({"name": CHUNKED_ESTIMATORS, "kind": LEDGERS})
def test_no_plan_costs_less_than_what_an_early_refusal_assumes(name, kind, tmp_path):
    """In every notion that the ledger sums, so that no fit is refused that it would admit."""
    ledger = Ledger.create(tmp_path / "data.ledger", **LEDGERS[kind])
    empty = ledger.totals
    for epsilon, delta, n in (
        (0.05, 1e-6, 200),
        (1.0, 1e-6, 5_000),
        (30.0, 1e-4, 900),
        (2.0, 0, N),
    ):
        fit = CHUNKED_ESTIMATORS[name](ledger=ledger)
        fit.set_params(epsilon=epsilon, delta=delta)
        if delta == 0 and "mechanism" in fit.get_params():
            fit.set_params(mechanism="auto")
        cost = fit._guarantee(fit.plan(n, 2))
        least, charged = totals.least_charge(empty, epsilon, delta), empty.plus(cost)
        for notion in ("pure_epsilon", "rho"):
            assert float(least.sums[notion]) <= float(charged.sums[notion])
        assert float(least.divergences) <= float(charged.divergences)
        assert ledger.may_admit(epsilon, delta) or not ledger.can_afford(cost)


@pytest.mark.parametrize("kind", LEDGERS)
def test_a_ledger_is_looked_through_until_the_least_cost_does_not_fit(kind, tmp_path):
    ledger = Ledger.create(tmp_path / "data.ledger", **LEDGERS[kind])
    delta, budget = LEDGERS[kind].get("delta", 0.0), LEDGERS[kind]["epsilon"]
    assert ledger.may_admit(budget, delta) and not ledger.may_admit(3 * budget, delta)
    cost = gdp(gdp_mu(budget, delta)) if delta else pure(budget)  # which proves zCDP, too
    if kind not in ("pure DP", "Gaussian DP"):
        cost = zcdp(zcdp_rho(budget, delta))
    while ledger.can_afford(cost):
        ledger.reserve(cost)
    assert not ledger.may_admit(budget, delta) and not ledger.may_admit(budget, 0.0)
    assert Ledger.create(tmp_path / "free.ledger").may_admit(9.0, 0.0)


@crossed({"kind": CHUNKED, "name": ["PrivateSearch", "DPBilevelSearch"]})
def test_who_takes_no_chunks_refuses_them_without_a_look(name, kind, gate, tmp_path):
    ledger = Ledger.create(tmp_path / "data.ledger", epsilon=9.0, delta=1e-5)
    X, y = CHUNKED[kind](tmp_path)
    with pytest.raises(TypeError, match="Nothing was read or charged"):
        CHARGED[name](ledger, X, y)
    assert gate.early == [] and ledger.entries() == []


@crossed({"name": CHARGED, "form": ("X and y", "y alone", "filtered", "by an index")})
def test_dask_partitions_of_unknown_lengths_are_refused_without_a_computation(
    name, form, gate, tmp_path
):
    """Counting them would compute the rows, and show their errors, for nothing."""
    frame = dask_frame()
    if form == "filtered":
        frame = frame[frame.a > -9]
    elif form == "by an index":  # of which even the number of partitions is computed
        frame = frame.set_index("a", drop=False)
    X, y = (public_rows()[0] if form == "y alone" else frame[["a", "b"]]), frame["y"]
    for epsilon in (1.0, 9.0):
        ledger = Ledger.create(tmp_path / f"{epsilon}.ledger", epsilon=epsilon, delta=1e-5)
        if epsilon < 9:
            ledger.reserve(pure(epsilon))
        before = len(ledger.entries())
        with pytest.raises((DataError, TypeError, BudgetExceededError)) as caught:
            CHARGED[name](ledger, X, y)
        assert "charged" in str(caught.value) or "not looked at" in str(caught.value)
        assert "HIV" not in str(caught.value) and not isinstance(caught.value, FitError)
        assert gate.early == [] and len(ledger.entries()) == before


def test_opening_a_dask_frame_computes_nothing_and_counting_it_is_a_step_of_its_own(gate):
    """Negative control: the same partitions do raise for who counts them, or fits uncharged."""
    frame = dask_frame()
    rows = chunk_rows(frame, target="y")
    assert not rows.is_counted and gate.early == []
    with pytest.raises(AssertionError, match="a partition was read"):
        chunk_rows(frame, target="y", lengths=True)
    with pytest.raises(AssertionError, match="a partition was read"):
        DPClassifier(classes=[0, 1]).fit(rows)
    assert gate.early
    gate.start()
    counted = chunk_rows(frame, target="y", lengths=True)
    assert counted.is_counted and counted.n == N


FITS = [f"{name} of arrays" for name in CHARGED] + ["RashomonClassifier of a frame"]
FITS += [f"{name} of chunked arrays" for name in IN_CHUNKS]


@pytest.fixture(scope="module")
def protected(tmp_path_factory):
    if not sys.platform.startswith("linux"):
        pytest.skip("memory is protected by the C library of Linux")
    program = [sys.executable, "-m", "tests.estimators.protected_memory"]
    folder = str(tmp_path_factory.mktemp("ledgers"))
    return subprocess.run(
        [*program, folder, "--negative-control"], cwd=ROOT, capture_output=True, text=True
    )


@pytest.mark.law  # a process fits every estimator
@pytest.mark.parametrize("fit", FITS)
def test_no_code_in_any_language_reads_protected_memory_before_the_charge(fit, protected):
    lines = [json.loads(line) for line in protected.stdout.splitlines()]
    found = [line for line in lines if line.get("fit") == fit]
    assert found == [{"fit": fit, "refused": 1, "states": ["committed"]}], (
        f"begun last: {lines[-1:]}, {protected.stderr[-2000:]}"
    )


@pytest.mark.law
def test_protected_memory_ends_who_reads_it(protected):
    """Negative control, after the last fit."""
    assert protected.returncode == -signal.SIGSEGV
