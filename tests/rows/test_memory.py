"""Parquet files larger than what a process may take: fitted, or refused in words."""

import json
import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from rashomon_explorer import Ledger, RashomonClassifier
from rashomon_explorer._utils import memory_limits
from rashomon_explorer._utils.memory_limits import (
    MemoryLimit,
    memory_shortage,
    out_of_memory,
    threads_within,
)
from rashomon_explorer.exceptions import MemoryLimitError
from rashomon_explorer.rows import chunk_rows, parquet, reduction
from rashomon_explorer.rows.chunked import keep_chunks
from rashomon_explorer.rows.steps import NumericStep
from rashomon_explorer.rows.workers import ThreadWorkers

COLUMNS = 20
MIB = 2**20


GROUPS = [
    ("memory.max", "memory.current", "inactive_file", "0::/user.slice/run-7.scope\n"),
    (
        *("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
        "9:cpu:/other\n4:memory:/user.slice/run-7.scope\n",
    ),
]


@pytest.mark.parametrize(("most", "current", "file", "member"), GROUPS)
def test_limits_of_a_group_and_of_the_group_around_it_hold(
    most, current, file, member, tmp_path, monkeypatch
):
    """As ``systemd-run -p MemoryMax=`` sets them; what others take is no limit of ours."""
    inner = tmp_path / "user.slice" / "run-7.scope"
    inner.mkdir(parents=True)
    for folder, limit, used in ((inner, 700 * MIB, 650 * MIB), (inner.parent, 800 * MIB, 100)):
        (folder / most).write_text(f"{limit}\n")
        (folder / current).write_text(f"{used}\n")
        (folder / "memory.stat").write_text(f"anon 5\n{file} {50 * (folder == inner)}\n")
    monkeypatch.setattr(memory_limits, "_GROUPS", ((str(tmp_path), most, current, (file,)),))
    monkeypatch.setattr(memory_limits, "_MEMBER", tmp_path / "cgroup")
    (tmp_path / "cgroup").write_text(member)
    found = [limit for limit in memory_limits.memory_limits() if not limit.is_process]
    assert [limit.allowed for limit in found] == [700 * MIB, 800 * MIB]
    assert found[0].left == 50 * MIB + 50
    assert threads_within(4, MIB) == 1  # and the same digits
    rows = chunk_rows(np.eye(64), np.ones(64))
    made = [replace(rows, rows=4, workers=ThreadWorkers(count)) for count in (1, 4)]
    np.testing.assert_array_equal(*(table.reduce(_sums)[0] for table in made))
    for folder in (inner, inner.parent):
        for nobody_says in ("max", str(2**63 - 4096)):
            (folder / most).write_text(nobody_says)
    assert all(limit.is_process for limit in memory_limits.memory_limits())


def _only(monkeypatch, *limits):
    monkeypatch.setattr("rashomon_explorer._utils.memory_limits.memory_limits", lambda: [*limits])


def test_threads_are_begun_where_each_has_room_and_words_name_the_limit_and_what_suffices(
    monkeypatch,
):
    for left, most in ((0, 1), (345 * MIB, 1), (347 * MIB, 2), (691 * MIB, 3), (2**40, 4)):
        _only(monkeypatch, MemoryLimit("ulimit -v", left + 5, 5, is_process=True))
        assert threads_within(4, MIB) == most
    _only(monkeypatch, MemoryLimit("ulimit -v", 700 * MIB, 690 * MIB, is_process=True))
    short = memory_shortage(20 * MIB, "work")
    assert re.search(r"ulimit -v leaves .* 700 MiB .*: allow \d{3} MiB", short)
    _only(monkeypatch, MemoryLimit("the container", 700 * MIB, 690 * MIB, is_process=False))
    assert not memory_shortage(20 * MIB, "work")  # which others may give back
    assert "the container leaves less" in out_of_memory(20 * MIB, "work")
    _only(monkeypatch)
    assert threads_within(4, MIB) == 4
    assert "this machine" in out_of_memory(20 * MIB, "work")


def _table():
    rows = np.random.default_rng(0).normal(size=(64, 3))
    return replace(chunk_rows(rows, rows[:, 0]), rows=8, workers=ThreadWorkers(2))


def test_what_is_kept_gives_way_before_work_fails(monkeypatch):
    table, _ = keep_chunks(_table(), NumericStep(), _sums, 3)
    short = {"left": 1}

    def hungry(rows, targets):
        if table.source.cache or short["left"]:
            short["left"] = 0
            raise MemoryError("Unable to allocate what a row says")
        return (rows.sum(axis=0),)

    np.testing.assert_array_equal(table.reduce(hungry)[0], _table().reduce(_sums)[0])
    assert not table.source.cache
    short["left"] = 2

    def starved(rows, targets):
        raise MemoryError("Unable to allocate what a row says")

    with pytest.raises(MemoryLimitError) as caught:
        table.reduce(starved)
    assert "what a row says" not in str(caught.value)
    assert caught.value.__context__ is None


def _sums(rows, targets):
    return (rows.sum(axis=0),)


@pytest.mark.filterwarnings("ignore")
def test_nothing_is_charged_for_rows_that_have_no_room(tmp_path, monkeypatch):
    ledger = Ledger.create(tmp_path / "clinic.ledger", epsilon=9.0, delta=1e-6)
    rows = np.random.default_rng(0).normal(size=(500, 2)) * 0.2
    table = chunk_rows(rows, np.sign(rows[:, 0]))
    model = RashomonClassifier(mechanism="objective_perturbation", classes=[-1, 1], ledger=ledger)
    with monkeypatch.context() as patched:
        _only(patched, MemoryLimit("ulimit -v", 700 * MIB, 699 * MIB, is_process=True))
        with pytest.raises(MemoryLimitError, match="chunks of 500 rows"):
            model.fit(table)
    assert not ledger.entries()

    def starved(*given):
        raise MemoryError

    monkeypatch.setattr(reduction, "branch_sum", starved)
    with pytest.raises(MemoryLimitError):  # and not FitError: it is no word about the rows
        model.fit(table)
    assert [entry.state for entry in ledger.entries()] == ["started"]


_PROCESS = """
import json, resource, sys, warnings
from functools import partial

KIND = getattr(resource, sys.argv[1])
allowed = resource.getrlimit(KIND)[1]
resource.setrlimit(KIND, (2**33, allowed))  # before Arrow is imported
warnings.simplefilter("ignore")
import numpy as np
from rashomon_explorer import Ledger, RashomonClassifier
from rashomon_explorer.problem.problem import Problem
from rashomon_explorer.rows import parquet, chunk_rows
from rashomon_explorer.exceptions import MemoryLimitError
from rashomon_explorer._utils.memory_limits import memory_limits

folder, ledger, more = sys.argv[2], sys.argv[3], int(sys.argv[4])
rows = chunk_rows(folder, target="label")
taken = next(limit for limit in memory_limits() if limit.is_process).used
allow = lambda more: resource.setrlimit(KIND, (taken + more * 2**20, allowed))
asked = {"mechanism": "objective_perturbation", "n_draws": 1, "radius": 2.0, "random_state": 0}
asked |= {"classes": [-1, 1], "ledger": ledger}
told = {}
allow(60)
try:
    RashomonClassifier(**asked).fit(rows)
except MemoryLimitError as error:
    told["refused"] = str(error), len(Ledger(ledger).entries())
allow(more)
told["coef"] = RashomonClassifier(**asked).fit(rows).rashomon_set_.coef.tolist()
told["states"] = [entry.state for entry in Ledger(ledger).entries()]
if len(sys.argv) > 5:
    from pyarrow.parquet import ParquetFile

    large = Problem(chunk_rows(sys.argv[5], target="label"))
    told["large"] = float(large.value(np.zeros((21, 1)))[0])
    parquet._open_file = partial(ParquetFile, pre_buffer=True)
    try:
        told["control"] = float(large.value(np.zeros((21, 1)))[0])
    except MemoryLimitError as error:
        told["control"] = str(error)
print(json.dumps(told))
"""


def _simulated(file, n, seed):
    import pyarrow as pa
    from pyarrow.parquet import write_table

    rows = np.zeros((n, COLUMNS))
    if seed is not None:
        rows = np.random.default_rng(seed).normal(size=(n, COLUMNS)) * 0.15
    columns = {f"x{j}": rows[:, j] for j in range(COLUMNS)}
    table = pa.table({**columns, "label": np.where(rows[:, 0] > rows[:, 1], 1, -1)})
    write_table(table, file, row_group_size=n, compression="none", use_dictionary=False)


def _in_a_process(kind, folder, more, *control):
    ledger = Ledger.create(folder.parent / "clinic.ledger", epsilon=99.0, delta=1e-6)
    asked = [sys.executable, "-c", _PROCESS, kind, str(folder), str(ledger.path), str(more)]
    asked += control
    # Addresses that threads reserve as they come would be the larger part of what is measured.
    ones = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "ARROW_IO_THREADS", "MALLOC_ARENA_MAX")
    alone = {**os.environ, **dict.fromkeys(ones, "1")}
    done = subprocess.run(asked, capture_output=True, text=True, check=False, env=alone)
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)


_needs_limits = pytest.mark.skipif(
    not Path("/proc/self/status").exists(), reason="no other system tells how much was taken"
)


@_needs_limits
@pytest.mark.filterwarnings("ignore")
@pytest.mark.law
@pytest.mark.parametrize("kind", ["RLIMIT_AS", "RLIMIT_DATA"])
def test_a_row_group_larger_than_left_text_is_fitted(kind, tmp_path):
    pytest.importorskip("pyarrow")
    folder = tmp_path / "rows"
    folder.mkdir()
    _simulated(folder / "part.parquet", 200_000, 0)
    own = kind == "RLIMIT_AS"
    large = tmp_path / "large.parquet"
    _simulated(large, 1_200_000 if own else 1, None)  # 200 MB, in one row group
    told = _in_a_process(kind, folder, 160, *[str(large)] * own)  # 129 asked for, 72 by two BLAS
    words, entries = told["refused"]
    assert f"ulimit -{'v' if own else 'd'} leaves less" in words and entries == 0
    assert told["states"] == ["committed"]
    whole = chunk_rows(folder, target="label")
    asked = {"mechanism": "objective_perturbation", "n_draws": 1, "radius": 2.0}
    asked |= {"classes": [-1, 1], "ledger": tmp_path / "clinic.ledger", "random_state": 0}
    here = RashomonClassifier(**asked).fit(whole)
    np.testing.assert_array_equal(here.rashomon_set_.coef, told["coef"])
    if own:  # and it is not if the row group is read ahead, whole
        assert told["large"] == pytest.approx(np.log(2))
        assert "or more, or take fewer columns" in told["control"]


def test_a_thread_that_cannot_be_started_is_a_lack_of_memory(tmp_path, monkeypatch):
    """Arrow has no error of its own for it: the pass is tried again with one thread."""
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    pq.write_table(pa.table({"a": np.arange(10.0)}), tmp_path / "rows.parquet")
    table, failures = chunk_rows(tmp_path, labelled=False), [1]
    read = parquet._open_file

    def refused(path, filesystem):
        if failures:
            failures.pop()
            raise pa.ArrowException("Unknown error: Failed to launch worker thread: no resources")
        return read(path, filesystem)

    monkeypatch.setattr(parquet, "_open_file", refused)
    assert table.reduce(lambda rows, targets: (rows.sum(),)) == (45.0,) and not failures
