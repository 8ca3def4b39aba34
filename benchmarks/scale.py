"""Tables in blocks: seconds and memory against the number of rows, here and on a cluster."""

import resource
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.machine import machine
from benchmarks.measured import write_result
from rashomon_explorer import RashomonClassifier, RashomonTreeClassifier
from rashomon_explorer.measures import multiplicity_table
from rashomon_explorer.measures.ranges import exact_score_ranges
from rashomon_explorer.problem.problem import Problem
from rashomon_explorer.rows import ChunkedRows, chunk_rows
from rashomon_explorer.rows.workers import ThreadWorkers

RESULTS = Path(__file__).parent / "results" / "scale.json"
COLUMNS, MODELS = 20, 16
OF_CORES = ", all cores"  # seconds that do not grow with what else the machine has to do
ASKED = 6  # columns that trees ask
MEASURED = ("pass", "models", "minimum", "fit", "tables", "ranges", "trees")
ROWS = (10_000, 100_000, 1_000_000)
_AT_ONCE = 100_000


def measure(rows: tuple[int, ...] = ROWS) -> dict[str, Any]:
    """Time passes, minima and fits of mapped tables, and sums on a cluster where one can be had."""
    return {"machine": machine(), "sizes": [_size(n) for n in rows], "cluster": _on_a_cluster()}


def write(measured: dict[str, Any]) -> None:
    """Write the figures beside the others."""
    write_result(RESULTS, measured)


def lines(measured: dict[str, Any]) -> Iterator[str]:
    """Print figures: seconds by size, and slopes in the number of rows."""
    sizes = measured["sizes"]
    for size in sizes:
        told = ", ".join(f"{name} {value:.3g}" for name, value in size.items() if name != "n")
        yield f"n = {size['n']:,}: {told}"
    for name in MEASURED:
        if len(sizes) > 1:
            steps = np.log([size[f"{name}{OF_CORES}"] for size in sizes])
            slope = np.polyfit(np.log([size["n"] for size in sizes]), steps, 1)[0]
            yield f"{name}: seconds of all cores grow as n^{slope:.2f}"
    for name, value in measured["cluster"].items():
        yield f"cluster, {name}: {value:.3g}"


def _size(n: int) -> dict[str, float]:
    with _mapped(n) as table:
        problem = Problem(table)
        theta = np.random.default_rng(0).normal(size=(problem.p, MODELS)) / 4
        one_thread = Problem(replace(table, workers=ThreadWorkers(1)))
        drawn: list[Any] = []
        people = np.array(table.source.X[:2])  # type: ignore[attr-defined]
        work: dict[str, Callable[[], Any]] = {
            "pass": lambda: problem.value_and_gradient(theta[:, :1]),
            "pass on one thread": lambda: one_thread.value_and_gradient(theta[:, :1]),
            "models": lambda: problem.value(theta),
            "minimum": lambda: problem.minimum,
            "fit": lambda: drawn.append(_fit(table)),
            "tables": lambda: multiplicity_table(drawn[0].rashomon_set_, table),
            "ranges": lambda: exact_score_ranges(problem, 0.02, people),
            "trees": lambda: _counted(table),
        }
        found: dict[str, float] = {"n": n}
        for name, made in work.items():
            before = time.process_time()
            found[name] = _seconds(made)
            found[f"{name}{OF_CORES}"] = time.process_time() - before
    # The most that this process has held at any time so far: sizes grow.
    scale = 2**20 if sys.platform != "darwin" else 2**30
    return {**found, "GiB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / scale}


def _counted(table: ChunkedRows) -> int:
    source: Any = table.source
    asked = RashomonTreeClassifier(thresholds=0.0, max_leaves=4, classes=[-1, 1])
    return asked.counted(chunk_rows(source.X[:, :ASKED], source.y)).size(psi=0.02)


def _fit(table: ChunkedRows) -> RashomonClassifier:
    asked: dict[str, Any] = {"mechanism": "exact", "radius": 4.0, "psi": 0.02, "epsilon": 4.0}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return RashomonClassifier(**asked, n_draws=5, classes=[-1, 1], random_state=0).fit(table)


def _on_a_cluster(n: int = 200_000) -> dict[str, float]:
    try:
        from distributed import Client, LocalCluster
    except ImportError:
        return {}
    quiet: dict[str, Any] = {"dashboard_address": None, "silence_logs": 50}
    found: dict[str, float] = {}
    theta = np.zeros((COLUMNS + 1, 1))
    with _mapped(n) as table, LocalCluster(2, threads_per_worker=1, **quiet) as local:
        with Client(local) as client:
            for name, size in (("small table", 1_000), ("table", n)):
                X, y = table.source.X[:size], table.source.y[:size]  # type: ignore[attr-defined]
                problem = Problem(chunk_rows(np.array(X), np.array(y), executor=client))
                found[name] = _seconds(lambda: problem.value_and_gradient(theta))  # noqa: B023
    return found


def _seconds(work: Callable[[], Any]) -> float:
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


@contextmanager
def _mapped(n: int) -> Iterator[ChunkedRows]:
    """Simulate a table in a file, which is written and read a part at a time."""
    rng = np.random.default_rng(n)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "rows.npy")
        rows = np.lib.format.open_memmap(path, mode="w+", dtype=float, shape=(n, COLUMNS))
        labels = np.empty(n)
        for low in range(0, n, _AT_ONCE):
            part = rng.normal(size=(min(_AT_ONCE, n - low), COLUMNS)) * 0.15
            noise = 0.2 * rng.standard_normal(len(part))
            rows[low : low + len(part)] = part
            labels[low : low + len(part)] = np.where(part[:, 0] - part[:, 1] + noise > 0, 1.0, -1.0)
            rows.flush()
        del rows
        yield chunk_rows(np.load(path, mmap_mode="r"), labels)
