"""On a real cluster of two processes: workers die, and nothing is drawn or charged twice."""

import os
import pickle
import re
import signal
import time
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from hashlib import sha256
from pathlib import Path
from textwrap import dedent
from threading import Event, Thread, Timer
from weakref import ref

import numpy as np
import pytest

from rashomon_explorer import Ledger, RashomonClassifier
from rashomon_explorer.exceptions import (
    ClusterError,
    DataError,
    FitError,
    RowsChangedError,
    RowsGoneError,
)
from rashomon_explorer.privacy import pure
from rashomon_explorer.problem.problem import Problem
from rashomon_explorer.rows import ChunkedRows, chunk_rows, reduction, workers
from rashomon_explorer.rows.parquet import ParquetRows, RowGroup
from rashomon_explorer.rows.steps import NumericStep
from rashomon_explorer.rows.workers import ClusterWatch, ThreadWorkers
from tests.sums import counted, moments

dask = pytest.importorskip("dask")
distributed = pytest.importorskip("distributed")

pytestmark = [
    pytest.mark.filterwarnings("ignore"),  # of the cluster's own, when workers die
    pytest.mark.timeout(1800),
]

RNG = np.random.default_rng(5)
X = RNG.normal(size=(70_000, 2)) * 0.3
Y = np.where(X[:, 0] > 0.1 * RNG.normal(size=len(X)), 1.0, -1.0)
KILLS = 100
EXACT = {"mechanism": "exact", "epsilon": 1.0, "n_draws": 2, "radius": 2.0, "classes": [-1, 1]}
THETA = np.array([[1.0], [-0.5], [0.2]])


@contextmanager
def _cluster(config=None, **options):
    options = {"dashboard_address": None, "silence_logs": 50, **options}
    with (
        dask.config.set(config or {}, scheduler="threads"),  # put back: a dead client does not
        distributed.LocalCluster(**options) as local,
        distributed.Client(local) as client,
    ):
        yield client


TWO = {"n_workers": 2, "threads_per_worker": 1}


@pytest.fixture
def cluster(tmp_path):
    # With Dask's own timeouts: 15 seconds after a death it gives a worker up that is dead again.
    with _cluster(**TWO, processes=True, local_directory=str(tmp_path)) as client:
        yield client


def _kill_one(client, pick=0, how=signal.SIGKILL):
    """Kill a worker that is up; whether there was one.

    A process that is still starting is left alone: its nanny gives it up if it dies then.
    """
    local = client.cluster
    for nanny in [*local.workers.values()][pick:] + [*local.workers.values()][:pick]:
        process = nanny.process
        if (
            process is not None
            and process.status == distributed.core.Status.running
            and process.worker_address in local.scheduler.workers
        ):
            os.kill(process.pid, how)
            return True
    return False


@pytest.mark.law
def test_three_dead_workers_change_no_digit_and_a_dead_cluster_says_so(
    cluster, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    cluster.run(os.chdir, "/")  # workers stand elsewhere than where the folder is named
    assert _digest(_in_files(Path("rows"), cluster)) == _digest(chunk_rows(X, Y))
    here = Problem(chunk_rows(X, Y)).value_and_gradient(THETA)
    problem = Problem(chunk_rows(X, Y, executor=cluster))
    late = Timer(0.02, _kill_one, (cluster, 1))
    for kill in (
        lambda: _kill_one(cluster),  # its part of earlier sums was made, and with it go the rows
        late.start,  # in the middle
        lambda: _kill_one(cluster),  # after that
    ):
        kill()
        there = problem.value_and_gradient(THETA)
        assert [part.tobytes() for part in there] == [part.tobytes() for part in here]
    late.join()
    cluster.close()
    with pytest.raises(ClusterError, match="no noise was drawn there"):
        problem.value_and_gradient(THETA)


@pytest.fixture
def threads():
    """Two workers that are threads of this process: its scheduler can be made to fail."""
    # Without a limit of memory nobody is paused, or set free, but by a test.
    soon = {"distributed.comm.timeouts.connect": "1s"}
    with _cluster(soon, **TWO, processes=False, memory_limit=None) as client:
        yield client


@pytest.mark.parametrize("losses", [1, 10])
def test_a_worker_that_is_lost_while_rows_are_sent_is_no_error_of_the_rows(
    threads, losses, monkeypatch
):
    """The scheduler answers with a bare KeyError: the worker's address."""
    monkeypatch.setattr("rashomon_explorer.rows.workers._REST_SECONDS", 0.0)
    send, left = distributed.scheduler.scatter_to_workers, [losses]

    async def lose(*given, **named):
        if left[0]:
            left[0] -= 1
            raise KeyError(f"inproc://gone/{left[0]}")
        return await send(*given, **named)

    monkeypatch.setattr(distributed.scheduler, "scatter_to_workers", lose)
    table = chunk_rows(X[:20_000], Y[:20_000], executor=threads)
    if losses == 1:
        assert table.reduce(counted) == (20_000,)
    else:
        with pytest.raises(ClusterError, match=r"KeyError.*gone/0"):
            table.reduce(counted)
    assert left == [0]


def test_an_error_that_no_task_raised_is_a_lost_worker_and_an_error_of_a_task_is_raised(
    threads, monkeypatch
):
    """Dask fails with many classes of errors if it loses a worker while it gathers results."""
    gather = threads.gather
    raised = [KeyError("inproc://gone/1"), AttributeError("'NoneType' has no 'with_traceback'")]

    def lose(*given, **named):
        if raised:
            raise raised.pop()
        return gather(*given, **named)

    monkeypatch.setattr(threads, "gather", lose)
    table = chunk_rows(X[:20_000], Y[:20_000], executor=threads)
    assert table.reduce(counted) == (20_000,)

    raised.append(MemoryError("of this process"))
    with pytest.raises(MemoryError, match="of this process"):
        table.reduce(counted)

    def fail(X, y):
        raise KeyError("income")

    with pytest.raises(KeyError, match="income"):
        table.reduce(fail)


@pytest.mark.parametrize("sent", [True, False])
def test_work_for_which_nobody_comes_ends_in_words(sent, tmp_path, monkeypatch):
    """Dask waits for ever: for somebody to send rows to, and for somebody to work on files."""
    monkeypatch.setattr("rashomon_explorer.rows.workers._PATIENCE_SECONDS", 0.2)
    with _cluster(n_workers=0, processes=False) as client:
        table = chunk_rows(X, Y, executor=client) if sent else _in_files(tmp_path / "r", client)
        with pytest.raises(ClusterError, match="has no worker"):
            table.reduce(counted)


def test_work_waits_for_paused_workers_and_not_for_ever(threads, monkeypatch):
    """Memory and disk of both are full: Dask gives them no work, and says nothing."""
    monkeypatch.setattr("rashomon_explorer.rows.workers._LOOK_SECONDS", 0.05)
    local = threads.cluster

    def all_are(status):
        async def change():
            for worker in local.workers.values():
                worker.status = distributed.core.Status[status]

        local.sync(change)
        while {worker.status.name for worker in local.scheduler.workers.values()} != {status}:
            time.sleep(0.01)

    table = chunk_rows(X, Y, executor=threads)
    all_are("paused")
    Timer(0.2, all_are, ("running",)).start()
    assert table.reduce(counted) == (len(X),)
    all_are("paused")
    monkeypatch.setattr("rashomon_explorer.rows.workers._PATIENCE_SECONDS", 0.2)
    with pytest.raises(ClusterError, match=r"are paused, .* give them more"):
        table.reduce(counted)


def test_workers_that_a_cluster_has_given_up_are_started_again_during_a_pass(monkeypatch):
    """Dask's own clusters give up a worker that does not come back within 15 seconds."""
    monkeypatch.setattr("rashomon_explorer.rows.workers._LOOK_SECONDS", 0.05)
    config = {"distributed.deploy.lost-worker-timeout": "10ms"}
    with _cluster(config, **TWO, processes=False) as client:
        table, local = chunk_rows(X, Y, executor=client), client.cluster
        gather = client.gather

        def lose(*given, **named):  # once, and then no attempt fails: the tasks wait
            monkeypatch.setattr(client, "gather", gather)
            for worker in [*local.workers.values()]:
                local.sync(worker.close)
            while local.workers:
                time.sleep(0.01)
            return gather(*given, **named)

        monkeypatch.setattr(client, "gather", lose)
        assert table.reduce(counted) == (len(X),)
        assert len(local.workers) == len(local.worker_spec) == 2


def test_workers_that_restart_are_given_up_as_nobody_is_and_those_at_work_never(monkeypatch):
    """Each start has another address: that is all by which they are told from one at work."""
    clock = [0.0]
    monkeypatch.setattr("rashomon_explorer.rows.workers.time.monotonic", lambda: clock[0])
    steady, busy, again, nobody, *restarting = (ClusterWatch() for _ in range(7))
    for second in range(1, 1_000):
        clock[0] = float(second)
        steady.look({"tcp://same": clock[0]})  # one task may take hours
        busy.look({f"tcp://{second}": 0.0}, finished=second // 50)
        again.look({f"tcp://{second}": 0.0}, finished=second % 50)  # the same tasks each time
        nobody.look({})
        for lives, watch in zip((1, 20, 39), restarting, strict=True):
            watch.look({f"tcp://{second // lives}": clock[0]})
            assert (watch.left >= 0) == (second <= 120)
        assert steady.left > 0 and busy.left > 0
        assert (nobody.left >= 0) == (second <= 120) and (again.left >= 0) == (second <= 169)


def test_a_full_disk_on_spill_changes_no_digit_and_no_charge(tmp_path):
    resource = pytest.importorskip("resource")
    ledger = Ledger.create(tmp_path / "clinic.ledger", epsilon=50.0, delta=1e-5)
    options = {"n_workers": 2, "processes": False, "memory_limit": 2**34}
    want, allowed = _digest(chunk_rows(X, Y)), resource.getrlimit(resource.RLIMIT_FSIZE)
    for full in (False, True):
        with _cluster(**options, local_directory=str(tmp_path)) as client:
            table = chunk_rows(X, Y, executor=client)
            table.reduce(counted)  # rows are there
            if full:  # to a worker this is an OSError as of a disk without room
                resource.setrlimit(resource.RLIMIT_FSIZE, (2**16, allowed[1]))
            try:
                held = [
                    worker.data for worker in client.cluster.workers.values() if worker.data.fast
                ]
                assert held and all((data.evict() == -1) == full for data in held)
                charge = ledger.reserve(pure(0.1), note="sums", parameters={"n": len(X)})
                assert charge.run(partial(_digest, table)) == want
            finally:
                resource.setrlimit(resource.RLIMIT_FSIZE, allowed)
    assert [entry.state for entry in ledger.entries()] == ["committed"] * 2


@pytest.mark.law
def test_a_hundred_kills_at_random_instants_leave_a_charge_each_and_the_same_digest(
    cluster, tmp_path
):
    """Before a task, in it, after its part was made, and after the commit."""
    ledger = Ledger.create(tmp_path / "clinic.ledger", epsilon=50.0, delta=1e-5)
    rng, want, late, states = np.random.default_rng(0), _digest(chunk_rows(X, Y)), 0, []
    # Rows that are sent, and rows that workers read for themselves.
    tables = [chunk_rows(X, Y, executor=cluster), _in_files(tmp_path / "rows", cluster)]
    for number in range(KILLS):
        _wait_for_two(cluster)
        charge = ledger.reserve(pure(0.01), note=f"sums {number}", parameters={"n": len(X)})
        # From far sooner to far later than a task takes, on a quick machine and on a busy one.
        instant, whom = 10 ** rng.uniform(-2.5, 0.3), int(rng.integers(2))
        killer = Timer(instant, _kill_one, (cluster, whom))
        killer.start()
        try:
            found = charge.run(partial(_digest, tables[number % 2]))
        except FitError as error:  # a charge that is spent, and says why
            assert "ClusterError: workers were lost" in error.detail
            states.append("started")
        else:
            assert found == want
            states.append("committed")
        late += killer.is_alive()
        killer.join()
        assert [entry.state for entry in ledger.entries()] == states
    print(f"{states.count('committed')} of {KILLS} committed, {late} before the kill")
    assert states.count("committed") >= 0.9 * KILLS
    assert 0 < late < KILLS


def _wait_for_two(client):
    """Ask for workers until there are two: Dask gives one up 15 seconds after its end."""
    for _ in range(12):
        client.cluster.scale(2)
        with suppress(TimeoutError):
            return client.wait_for_workers(2, timeout=10)
    pytest.fail("no two workers in two minutes")


def _in_files(folder, client, change=0.0):
    """Return the same rows, in three row groups of a Parquet file."""
    pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    folder.mkdir()
    table = pa.table({"one": X[:, 0], "two": X[:, 1], "y": Y})
    if change:
        two = np.where(np.arange(len(X)) == 50_000, X[:, 1] + change, X[:, 1])
        table = table.set_column(1, "two", pa.array(two))
    parquet.write_table(table, folder / "part.parquet", row_group_size=30_000)
    return chunk_rows(folder, target="y", executor=client)


def _digest(table):
    return sha256(b"".join(part.tobytes() for part in table.reduce(moments))).hexdigest()


@pytest.mark.law
def test_dead_and_stopped_workers_during_fits_leave_one_charge_each_and_the_same_draws(tmp_path):
    ledger = Ledger.create(tmp_path / "clinic.ledger", epsilon=50.0, delta=1e-5)
    asked = {**EXACT, "random_state": 0, "ledger": ledger}
    want = RashomonClassifier(**asked).fit(chunk_rows(X, Y)).rashomon_set_.coef
    done = Event()

    def kill(client):
        rng = np.random.default_rng(0)
        while not done.wait(rng.uniform(1.0, 8.0)):
            if len(client.cluster.scheduler.workers) == 2:
                _kill_one(client, how=signal.SIGSTOP if rng.uniform() < 0.3 else signal.SIGKILL)

    config = {"distributed.scheduler.worker-ttl": "10s"}  # after which it restarts a stopped one
    with _cluster(config, **TWO, processes=True, local_directory=str(tmp_path)) as client:
        client.run(os.chdir, "/")  # a worker stands in another folder
        killer = Thread(target=kill, args=(client,))
        killer.start()
        try:
            for fits in (2, 3):
                try:
                    found = RashomonClassifier(**asked).fit(chunk_rows(X, Y, executor=client))
                except FitError as error:
                    pytest.fail(error.detail)
                np.testing.assert_array_equal(found.rashomon_set_.coef, want)
                states = [entry.state for entry in ledger.entries()]
                assert states == ["committed"] * fits
        finally:
            done.set()
            killer.join()
    assert any("scheduler" in said for said in found.guarantee_.assumptions)


@pytest.mark.parametrize("passes", [0, 3])
def test_a_lost_scheduler_leaves_a_charge_that_is_started_and_says_why(
    threads, tmp_path, monkeypatch, passes
):
    """Before the first pass over the rows, and in the midst of them."""
    ledger = Ledger.create(tmp_path / "clinic.ledger", epsilon=50.0, delta=1e-5)
    gather, left = threads.gather, [passes]

    def lose(*given, **named):
        left[0] -= 1
        if left[0] < 0:
            threads.cluster.loop.add_callback(threads.cluster.scheduler.close)
        return gather(*given, **named)

    monkeypatch.setattr(threads, "gather", lose)
    with pytest.raises(FitError) as caught:
        RashomonClassifier(**EXACT, ledger=ledger).fit(chunk_rows(X, Y, executor=threads))
    assert "ClusterError: the connection to the Dask scheduler at inproc://" in caught.value.detail
    assert "workers were lost" not in caught.value.detail
    assert [entry.state for entry in ledger.entries()] == ["started"]


def _digest_of_passes(table):
    problem = Problem(table.then(NumericStep()))
    sums = [problem.value_and_gradient(THETA), problem.value_and_gradient(THETA)]
    return sha256(b"".join(part.tobytes() for one in sums for part in one)).hexdigest()


def _on_dask(kind, client):
    da = pytest.importorskip("dask.array")
    if kind == "array":
        return chunk_rows(X, Y, executor=client)
    lazy = [da.from_array(array, chunks=(17_001, 2)[: array.ndim]) for array in (X, Y)]
    if kind == "persisted":
        lazy = [array.persist() for array in lazy]
    table = chunk_rows(*lazy)  # on the active client
    assert table.workers.client is client
    return table


@pytest.mark.parametrize("kind", ["files", "array", "collection", "persisted"])
def test_rows_are_read_once_and_stay_on_the_workers(kind, threads, tmp_path, monkeypatch):
    """Every chunk is loaded once for all passes of a fit, by the worker that has its rows."""
    table = _in_files(tmp_path / "rows", threads) if kind == "files" else _on_dask(kind, threads)
    want = _digest_of_passes(chunk_rows(X, Y))
    loaded, load = [], reduction.Load.__call__
    monkeypatch.setattr(
        reduction.Load, "__call__", lambda *given: loaded.append(given[-1].span) or load(*given)
    )
    assert _digest_of_passes(table) == want
    assert sorted(loaded) == [(at, at + 1) for at in range(5)]
    kept = ref(Problem(table.then(NumericStep())).data.table.source.on_workers)
    assert kept() is None  # with the problem go the rows on the workers


def test_chunks_of_a_lost_worker_are_made_again_to_the_same_digits(threads, tmp_path):
    """From files, and from rows that are sent again; changed files are noticed."""
    threads.cluster.scale(4)
    threads.wait_for_workers(4, timeout=30)
    workers = list(threads.cluster.workers.values())
    files = _in_files(tmp_path / "rows", threads)
    for table in (files, _on_dask("array", threads), _on_dask("collection", threads)):
        problem = Problem(table.then(NumericStep()))
        before = problem.value_and_gradient(THETA)
        assert len(problem.data.table.source.on_workers.futures) == 5
        worker = next(one for one in workers if len(one.data) and one.status.name == "running")
        threads.cluster.sync(worker.close)
        after = problem.value_and_gradient(THETA)
        assert [one.tobytes() for one in before] == [one.tobytes() for one in after]
    problem = Problem(_in_files(tmp_path / "other", threads).then(NumericStep()))
    os.replace(tmp_path / "other" / "part.parquet", tmp_path / "old")
    _in_files(tmp_path / "new", threads, change=1e-9)
    os.replace(tmp_path / "new" / "part.parquet", tmp_path / "other" / "part.parquet")
    problem.value_and_gradient(THETA)  # of chunks that are kept
    kept = problem.data.table.source.on_workers
    kept.futures.clear()
    with pytest.raises(RowsChangedError, match=r"rows 49152 to 65535, from .*part.parquet, row gr"):
        problem.value_and_gradient(THETA)
    os.truncate(tmp_path / "other" / "part.parquet", 100_000)
    kept.futures.clear()
    with pytest.raises(RowsGoneError, match=r"part.parquet was readable .* under the same path"):
        problem.value_and_gradient(THETA)


def test_a_pass_over_a_billion_rows_sends_little():
    """A task carries its span's checksums, and files only when they are read."""
    groups = tuple(RowGroup(f"/claims/part-{k}.parquet", 0, 2**17) for k in range(7_630))
    source = ParquetRows(tuple(f"x{j}" for j in range(20)), "y", groups, False, None, ())
    checksums = tuple(range(2**31, 2**31 + -(-source.shape[0] // 2**14)))
    table = ChunkedRows(source, checksums=checksums)
    parts = table.parts(ThreadWorkers(60))
    assert len(checksums) > 61_000 and 200 < len(parts) < 260
    light = [replace(part, source=None) for part in parts]
    first = [part.with_own_rows() for part in parts]
    assert len(pickle.dumps(light)) < 5e5 and sum(len(pickle.dumps(one)) for one in first) < 3e6


@pytest.mark.slow
def test_a_worker_without_the_package_is_found_before_the_charge(tmp_path):
    def forget():
        import sys

        for name in [name for name in sys.modules if name.startswith("rashomon_explorer")]:
            del sys.modules[name]
        sys.modules["rashomon_explorer"] = None

    ledger = Ledger.create(tmp_path / "a.ledger", epsilon=5.0, delta=1e-6)
    with _cluster(n_workers=1, threads_per_worker=1, processes=True) as client:
        fit = RashomonClassifier(**EXACT, ledger=ledger)
        table = chunk_rows(X[:2_000], Y[:2_000], executor=client)
        table.workers.check(table.source)
        client.run(forget)
        with pytest.raises(DataError, match="cannot load rashomon-explorer"):
            fit.fit(table)
    assert not ledger.entries()


def test_other_versions_and_files_out_of_reach_are_found_before_the_charge(threads, tmp_path):
    """As in an image that was rebuilt for the client only, and a folder that is not mounted."""
    ledger = Ledger.create(tmp_path / "a.ledger", epsilon=5.0, delta=1e-6)
    fit = RashomonClassifier(**EXACT, ledger=ledger)
    table = _in_files(tmp_path / "rows", threads)
    table.workers.check(table.source)
    versions, _ = workers._state()
    with pytest.MonkeyPatch.context() as patch:
        other = iter([(versions, ""), *[(versions | {"numpy": "1.0"}, "")] * 2])
        patch.setattr(workers, "_state", lambda files=None: next(other))
        with pytest.raises(DataError, match=r"has numpy 1.0, this process numpy \d.*one environ"):
            fit.fit(table)
    os.rename(tmp_path / "rows", tmp_path / "elsewhere")
    with pytest.raises(DataError, match=r"cannot open the files .*FileNotFoundError.*same path"):
        fit.fit(table)
    assert not ledger.entries()


def test_a_cluster_that_starts_workers_when_they_are_needed_is_asked_first(monkeypatch):
    with _cluster(n_workers=0, threads_per_worker=1, processes=False) as client:
        table = chunk_rows(X[:200], Y[:200], executor=client)
        monkeypatch.setattr(workers, "_PATIENCE_SECONDS", 0.2)
        with pytest.raises(ClusterError, match="no worker, and none joined"):
            table.workers.check(table.source)
        monkeypatch.setattr(workers, "_PATIENCE_SECONDS", 60.0)
        client.cluster.adapt(minimum=0, maximum=1, interval="100ms")
        table.workers.check(table.source)


def test_the_page_of_clusters_encrypts_for_dask_and_never_repeats_a_fit():
    yaml = pytest.importorskip("yaml")
    page = (Path(__file__).parents[2] / "docs" / "cluster.md").read_text(encoding="utf-8")
    settings, job = (
        yaml.safe_load(dedent(block))
        for block in re.findall(r"\n\n((?:    .*\n)+)", page)
        if block.startswith(("    distributed:", "    apiVersion:"))
    )
    with dask.config.set(dask.config.merge(dask.config.config, settings)):
        security = distributed.Security()
    assert security.require_encryption and security.tls_worker_key == "/tls/tls.key"
    assert security.tls_ca_file == "/tls/ca.crt"
    assert job["spec"]["backoffLimit"] == 0
    assert job["spec"]["template"]["spec"]["restartPolicy"] == "Never"
