"""Threads, joblib and clusters that run the work on chunks."""

import asyncio
import math
import platform
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import BrokenExecutor, CancelledError, ThreadPoolExecutor, wait
from copy import copy
from dataclasses import dataclass, field, replace
from importlib.metadata import PackageNotFoundError, version
from pickle import PickleError
from typing import Any, ClassVar, Protocol

from rashomon_explorer._utils.threads import cores
from rashomon_explorer.exceptions import ClusterError, DataError, RowsGoneError
from rashomon_explorer.rows.dask import DaskRows
from rashomon_explorer.rows.reduction import LoadedRows, Part, Span
from rashomon_explorer.rows.source import RowSource

_PATIENCE_SECONDS = 120.0  # without progress, such as a worker that joins or rejoins
_STEADY_SECONDS = 40.0  # a worker that runs longer counts as working, not restarting


class ClusterWatch:
    """Time since the last progress of a cluster, over all attempts of a pass."""

    def __init__(self) -> None:
        self._workers: dict[str, tuple[float, float]] = {}  # first look, and last heartbeat
        self._finished = 0
        self._last = time.monotonic()
        self.met = False

    def look(self, beats: Mapping[str, float], finished: int = 0) -> None:
        """Record the heartbeats of running workers, and how many tasks an attempt has finished."""
        now = time.monotonic()
        workers = {}
        for address, beat in beats.items():
            start, last = self._workers.get(address, (now, beat))
            workers[address] = start, beat
            if beat != last and now - start >= _STEADY_SECONDS:
                self.reset()
        self._workers = workers
        self.met |= bool(workers)
        if finished > self._finished:  # more than any attempt before
            self._finished = finished
            self.reset()

    def reset(self) -> None:
        """Record that the cluster has just made progress."""
        self._last = time.monotonic()

    @property
    def left(self) -> float:
        """Remaining seconds to wait; negative once the time is over."""
        return self._last + _PATIENCE_SECONDS - time.monotonic()


Task = Callable[[Any, Any, Any], Any]
"""Pure function of the rows (or a reference to them), the work and the part: repeated calls
return the same result."""

_TRIES = 10
_REST_SECONDS = 0.05  # before the second attempt, doubled before each later one up to 1.6
_LOOK_SECONDS = 5.0  # between checks of the workers
_ANSWER_SECONDS = 30.0  # for an answer of the scheduler
_NOBODY = "the cluster has no worker, and none joined: start one"
_PAUSED = (
    "all workers of the cluster are paused, because their memory is short and no more data can "
    "be spilled to their disks: give them more of either, or rows in Parquet files, which they "
    "read in chunks"
)
_RESTARTED = (
    "the workers of the cluster stopped or restarted before they finished a task, for example "
    "because imports and a few chunks need more memory than they may use: raise their memory_limit"
)
_LOST = ("cancelled", "lost", "error")
_NO_CHARGE = "no noise was drawn there, and nothing was charged by them"


class Workers(Protocol):
    """Protocol of workers that run tasks, with retries.

    Examples
    --------
    >>> workers: Workers = ThreadWorkers(2)
    >>> workers.count, workers.assumption
    (2, '')
    """

    assumption: ClassVar[str]
    """Assumption about the connection to the workers; empty for threads of this process."""

    @property
    def count(self) -> int:
        """Approximate number of concurrent tasks."""
        ...

    def run(self, task: Task, source: Any, work: Any, spans: Sequence[Any]) -> Iterator[Any]:
        """Yield results of the task for each span, in the order of the spans."""
        ...


@dataclass(frozen=True)
class ThreadWorkers:
    """Threads of this process; NumPy and Arrow release the interpreter lock."""

    count: int = field(default_factory=lambda: min(4, cores()))
    assumption: ClassVar[str] = ""

    def run(self, task: Task, source: Any, work: Any, spans: Sequence[Any]) -> Iterator[Any]:
        if self.count == 1 or len(spans) == 1:
            for span in spans:
                yield task(source, work, span)
            return
        with ThreadPoolExecutor(self.count, thread_name_prefix="rashomon-blocks") as pool:
            yield from pool.map(lambda span: task(source, work, span), spans)


@dataclass(frozen=True)
class JoblibWorkers:
    """joblib's workers, with the backend of ``joblib.parallel_config``."""

    n_jobs: int
    assumption: ClassVar[str] = "nobody else sees what passes between this process and joblib's"

    @property
    def count(self) -> int:
        from joblib import effective_n_jobs

        return int(effective_n_jobs(self.n_jobs))

    def run(self, task: Task, source: Any, work: Any, spans: Sequence[Any]) -> Iterator[Any]:
        from sklearn.utils.parallel import Parallel, delayed

        try:
            parts = (part.with_own_rows() if isinstance(part, Part) else part for part in spans)
            yield from Parallel(self.n_jobs)(delayed(task)(source, work, part) for part in parts)
        except BrokenExecutor as error:
            raise ClusterError(_loss_message(error)) from error


class DaskWorkers:
    """Workers of a Dask cluster, which read files, compute partitions, or receive parts of rows."""

    assumption: ClassVar[str] = (
        "nobody else sees what passes between this process, the cluster's scheduler and workers, "
        "nor what they spill to disk (rows and sums go there, keys and noise do not)"
    )

    def __init__(self, client: Any) -> None:
        self.client = client
        self._sent: tuple[Any, dict[Any, Any]] | None = None  # rows, and references to parts
        self._address = str(getattr(client.scheduler, "address", "of this client"))

    def check(self, source: RowSource) -> None:
        """Raise an error if a worker has other versions or cannot open the files; reads no row."""
        if self._workers() == {}:  # a task makes an adaptive cluster start a worker
            probe = self.client.submit(_state, pure=False)
            try:
                probe.result(timeout=_PATIENCE_SECONDS)
            except _connection_errors() as error:
                raise ClusterError(f"{_NOBODY}. Nothing was read or charged") from error
        (expected, _), first = _state(), source.part(0, 1)[0]
        files = first if first.root is None else None
        for address, answer in self.client.run(_state, files, on_error="return").items():
            if isinstance(answer, OSError):  # the worker was lost, and others do its work
                continue
            if isinstance(answer, BaseException):
                problem = f"cannot load rashomon-explorer ({type(answer).__name__}: {answer})"
                advice = "install on every worker what this process has"
            elif answer[0] != expected:
                different = [name for name in expected if answer[0][name] != expected[name]]
                there, here = (
                    ", ".join(f"{name} {versions[name]}" for name in different)
                    for versions in (answer[0], expected)
                )
                problem = f"has {there}, this process {here}"
                advice = "use one environment or image for client, scheduler and workers"
            elif answer[1]:
                problem = f"cannot open the files of the rows ({answer[1]})"
                advice = "every worker needs the same path or address, and the right to read it"
            else:
                continue
            raise DataError(
                f"the worker {address} {problem}: {advice}. Nothing was read or charged"
            )

    @property
    def count(self) -> int:
        """Threads of all workers, 1 if unknown."""
        return max(1, sum(worker["nthreads"] for worker in (self._workers() or {}).values()))

    def run(self, task: Task, source: Any, work: Any, spans: Sequence[Any]) -> Iterator[Any]:
        watch = ClusterWatch()
        for trial in range(1, _TRIES + 1):
            try:
                yield from self._gathered(task, source, work, spans, watch)
                return
            except FileNotFoundError as error:
                raise RowsGoneError(
                    f"{error}. Every machine of a cluster needs the files of the rows under the "
                    "same path"
                ) from error
            except Exception as error:
                if self._running and not isinstance(error, _connection_errors()):
                    raise
                self._sent = None  # the rows may have been on a lost worker
                if trial == _TRIES or not self._has_worker(watch):
                    message = self._lost_scheduler if self._workers() is None else _loss_message
                    raise ClusterError(message(error, trial)) from error
                time.sleep(_REST_SECONDS * 2 ** min(trial - 1, 5))  # others may be failing too

    def _has_worker(self, watch: ClusterWatch) -> bool:
        """Wait for a worker while there is a scheduler that may start one."""
        workers = self._workers()
        if workers is None or watch.left <= 0:
            return False
        watch.look(_heartbeats(workers))
        self._replace_workers()
        try:
            self.client.wait_for_workers(1, timeout=max(watch.left, _REST_SECONDS))
        except _connection_errors():
            return False
        return self._running

    def _replace_workers(self) -> None:
        """Start workers that a cluster of this process has given up: it restarts none by itself."""
        cluster = self.client.cluster
        n_workers = len(getattr(cluster, "worker_spec", ()))
        if n_workers > len(getattr(cluster, "workers", ())):
            cluster.scale(n_workers)

    def _workers(self) -> dict[str, dict[str, Any]] | None:
        """Workers by address; None if the scheduler does not answer."""
        if not self._running:  # a client notices the end of a scheduler with a delay
            return None
        options = {"n_workers": -1, "callback_timeout": _ANSWER_SECONDS}
        try:
            return dict(self.client.sync(self.client.scheduler.identity, **options)["workers"])
        except _connection_errors():
            return None

    def _lost_scheduler(self, error: BaseException, trial: int) -> str:
        return (
            f"the connection to the Dask scheduler at {self._address} was lost: the scheduler "
            f"ended or cannot be reached, or the client was closed ({type(error).__name__}: "
            f"{error}). Restart it, and create a new client; {_NO_CHARGE}"
        )

    @property
    def _running(self) -> bool:
        return bool(self.client.status == "running")

    def _gathered(
        self, task: Task, source: Any, work: Any, spans: Sequence[Any], watch: ClusterWatch
    ) -> list[Any]:
        shared = None if source is None else self._shared(source, watch)
        parts, data = self._placed(spans, watch)
        # No task is bound to a worker, not even with allow_other_workers: if all workers are lost
        # for a moment, Dask does not give such a task to new ones. One call sends what all tasks
        # share once.
        futures = self.client.map(
            _on_worker, parts, data, task=task, shared=shared, work=work, pure=False
        )
        # Gather all before the first is used: a second attempt would yield it again.
        try:
            gathered = self.client.gather(futures, asynchronous=True)
            return list(self._wait_for(gathered, watch, futures))
        except (ClusterError, MemoryError):
            raise
        except Exception as error:
            # Dask raises errors of many classes where it loses a worker while it gathers.
            if any(future.status == "error" for future in futures):
                raise
            raise ConnectionError(f"no task failed, but {type(error).__name__}: {error}") from error

    def _shared(self, source: Any, watch: ClusterWatch) -> Any:
        """Return a source that each task needs whole, sent once."""
        if self._sent is None or self._sent[0] is not source:
            self._sent = source, {None: self._scattered(source, watch)}
        return self._sent[1][None]

    def _placed(self, parts: Sequence[Any], watch: ClusterWatch) -> tuple[list[Any], list[Any]]:
        """Describe parts of the rows, and refer to those of their rows that are on workers."""
        if isinstance(parts[0], Part) and parts[0].on_workers is not None:
            light = [replace(part, source=None, on_workers=None) for part in parts]
            return light, self._loaded_rows(parts, watch)
        placed = [self._place(part, watch) for part in parts]
        lazy = [rows for _, rows in placed if hasattr(rows, "dask")]
        futures = iter(self.client.compute(lazy))  # partitions, where their data are
        data = [next(futures) if hasattr(rows, "dask") else rows for _, rows in placed]
        return [part for part, _ in placed], data

    def _place(self, part: Any, watch: ClusterWatch) -> tuple[Any, Any]:
        if not isinstance(part, Part):
            return part, None
        root, separate = part.source.root, part.with_own_rows()
        if root is None:  # files, which workers read themselves
            return separate, None
        if self._sent is None or self._sent[0] is not root:
            self._sent = root, {}
        sent, key = self._sent[1], separate.source.root.span
        if isinstance(root, DaskRows):
            rows = root.delayed(*key)
        else:
            if key not in sent:  # a copy reads a mapped file here, where its end is an error
                sent[key] = self._scattered(copy(separate.source.root), watch)
            rows = sent[key]
        return replace(separate, source=separate.source.rebased(None)), rows

    def _loaded_rows(self, parts: Sequence[Any], watch: ClusterWatch) -> list[Any]:
        """Refer to the chunks of parts that workers keep; load those that are not there."""
        on_workers = parts[0].on_workers
        futures = {
            span: future
            for span, future in on_workers.futures.items()
            if future.status not in _LOST
        }
        missing = [part for part in parts if part.span not in futures]
        if missing:
            unloaded = [replace(part, on_workers=None, checksums=None) for part in missing]
            light, rows = self._placed(unloaded, watch)
            self._sent = None  # a worker needs them once
            loaded = self.client.map(
                _on_worker, light, rows, task=on_workers.load, shared=None, work=None, pure=False
            )
            futures |= {part.span: future for part, future in zip(missing, loaded, strict=True)}
        on_workers.futures = {
            span: future for span, future in futures.items() if span[1] <= on_workers.limit
        }
        return [futures[part.span] for part in parts]

    def keep(self, load: Task, parts: Sequence[Any], chunk_bytes: int) -> "RowsOnWorkers":
        """Parts of a table that workers load once and keep in half of their memory at most."""
        memory = [worker["memory_limit"] or math.inf for worker in (self._workers() or {}).values()]
        return RowsOnWorkers(self, load, parts, sum(memory) / 2 / chunk_bytes)

    def _scattered(self, source: RowSource, watch: ClusterWatch) -> Any:
        """Send rows to one worker; a scheduler that loses it may raise any error."""
        try:
            return self._wait_for(self.client.scatter(source, hash=False, asynchronous=True), watch)
        except (TypeError, PickleError, ClusterError, MemoryError):  # rows that cannot be sent
            raise
        except Exception as error:  # no row was read yet: the cause is the connection
            raise ConnectionError(f"{type(error).__name__}: {error}") from error

    def _wait_for(self, result: Any, watch: ClusterWatch, futures: Sequence[Any] = ()) -> Any:
        """Wait while the cluster makes progress; Dask itself would wait indefinitely."""
        pending = asyncio.run_coroutine_threadsafe(result, self.client.loop.asyncio_loop)
        try:
            while not wait([pending], timeout=min(_LOOK_SECONDS, _PATIENCE_SECONDS)).done:
                if self.client.status == "closed":
                    raise ConnectionError("the client was closed")
                if not self._running:
                    watch.reset()  # a client without a scheduler closes itself
                    continue
                workers = self._workers()
                if workers is None:
                    raise ConnectionError(f"no answer within {_ANSWER_SECONDS:g} seconds")
                running = _heartbeats(workers)
                watch.look(running, sum(future.status == "finished" for future in futures))
                if watch.left < 0:
                    paused = workers and not running
                    raise ClusterError(_PAUSED if paused else _RESTARTED if watch.met else _NOBODY)
                self._replace_workers()
            return pending.result()
        finally:
            pending.cancel()

    def __reduce__(self) -> Any:
        """Pickle as threads, without the cluster."""
        return ThreadWorkers, ()


class RowsOnWorkers:
    """Chunks that workers of a cluster keep after all steps of a table, by part."""

    def __init__(self, workers: DaskWorkers, load: Task, parts: Sequence[Any], limit: float):
        self.workers, self.load, self.limit = workers, load, limit
        self._parts = list(parts)
        self.futures: dict[Span, Any] = {}

    @property
    def parts(self) -> list[Any]:
        """Parts that refer to this object; it refers to none of them, so that both end at once."""
        return [replace(part, on_workers=self) for part in self._parts]

    def load_all(self) -> list[Any]:
        """Load all parts; return their checksums and counts, without the rows."""
        loaded = list(self.workers.run(_summary, None, None, self.parts))
        checksums = [rows.checksums for rows in loaded]
        pairs = zip(self._parts, checksums, strict=True)
        self._parts = [replace(part, checksums=sums) for part, sums in pairs]
        return loaded

    def __reduce__(self) -> Any:
        """Pickle as None: other processes have no connection to the cluster."""
        return type(None), ()


def _on_worker(part: Any, rows: Any, task: Task, shared: Any, work: Any) -> Any:
    """Do a task of a part, whose rows are on this worker or described by the part."""
    if isinstance(rows, LoadedRows):
        rows.check(part)
        part = replace(part, source=rows, offset=part.rows.start, checksums=None)
    elif rows is not None:
        source = rows if part.source is None else part.source.rebased(rows)
        part = replace(part, source=source)
    return task(shared, work, part)


def _state(files: RowSource | None = None) -> tuple[dict[str, str], str]:
    """Versions that a cluster must share, and why the first file cannot be opened, if so."""
    versions, error = {"Python": ".".join(platform.python_version_tuple()[:2])}, ""
    for name in ("rashomon-explorer", "numpy", "pyarrow"):
        try:
            versions[name] = version(name)
        except PackageNotFoundError:
            versions[name] = "none"
    try:
        if files is not None:
            files.open_first()
    except Exception as failure:  # object stores raise classes of their own
        error = f"{type(failure).__name__}: {failure}"
    return versions, error


def _summary(shared: Any, work: Any, part: Any) -> Any:
    return replace(part.source, chunks=[])


def resolve_workers(n_jobs: int | None = None, executor: Any = None) -> Workers:
    """Workers for scikit-learn's ``n_jobs``, or a Dask client."""
    if executor is None:
        return ThreadWorkers() if n_jobs is None else JoblibWorkers(n_jobs)
    if n_jobs is not None:
        raise TypeError("give n_jobs or an executor, not both")
    if hasattr(executor, "scheduler_info"):
        return DaskWorkers(executor)
    raise TypeError(
        f"executor must be a dask.distributed.Client, got {type(executor).__name__}: for processes "
        "of this machine use n_jobs"
    )


def _heartbeats(workers: dict[str, dict[str, Any]]) -> dict[str, float]:
    """Last heartbeats of workers that accept work; one without memory and disk is paused."""
    running = {
        address: worker for address, worker in workers.items() if worker["status"] == "running"
    }
    return {address: worker["last_seen"] for address, worker in running.items()}


def _connection_errors() -> tuple[type[BaseException], ...]:
    """Errors of a cluster that has lost workers, results or its scheduler."""
    from dask import distributed

    return (
        distributed.KilledWorker,
        distributed.CancelledError,
        CancelledError,
        OSError,
        TimeoutError,
    )


def _loss_message(error: BaseException, trial: int = 1) -> str:
    often = f" {trial} times" if trial > 1 else ""
    return (
        f"workers were lost during the work on the rows{often} ({type(error).__name__}: {error}); "
        f"{_NO_CHARGE}"
    )
