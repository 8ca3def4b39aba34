"""Langevin steps on a device, against their two matrix products there and NumPy on two cores."""

import json
import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.langevin import PSI, seconds_a_step
from benchmarks.machine import machine
from benchmarks.problems import logistic_problem
from benchmarks.timing import median_seconds
from rashomon_explorer._utils.arrays import ArrayBackend, FloatArray, array_backend, to_host
from rashomon_explorer._utils.randomness import generator
from rashomon_explorer.mechanisms.langevin.sampler import LangevinSampler
from rashomon_explorer.mechanisms.target import GibbsTarget
from rashomon_explorer.problem.losses.tables import DeviceRows

RESULTS = Path(__file__).parent / "results" / "accelerator.json"
SIZES = [(6_000, 12, 256), (30_000, 100, 64), (10**6, 128, 1_000), (10**7, 20, 1_000)]
_COMPARED = (6_000, 12, 256)
_BETA, _STEP_SIZE = 100.0, 1e-6
_CORES = 2
_MOST_AT_ONCE = 10**12  # operations of a step, above which NumPy takes a tenth of the rows


def device_at_hand(library: str) -> str | None:
    """Device of a library to measure, None where it has none."""
    for device in ("cuda", None):
        try:
            found = ArrayBackend(library, device)
        except (ImportError, ValueError):
            continue
        if found.accelerated:
            return device or "default"
    return None


def measure(library: str, device: Any, seconds: float, *, host: bool = True) -> dict[str, Any]:
    """All sizes on one device; ``host`` says whether NumPy is measured beside it."""
    backend = ArrayBackend(library, None if device == "default" else device)
    sizes = [_measure(backend, *size, seconds=seconds, host=host) for size in SIZES]
    return {
        "machine": machine(),
        "device": str(backend),
        "card": _card(),
        "sizes": sizes,
        "largest_difference": largest_difference(backend),
    }


def write(measured: dict[str, Any]) -> None:
    """Keep the figures of each device."""
    kept = json.loads(RESULTS.read_text("utf-8")) if RESULTS.exists() else {}
    kept[measured["device"]] = measured
    RESULTS.write_text(json.dumps(kept, indent=2) + "\n", encoding="utf-8")


def largest_difference(backend: ArrayBackend, steps: int = 200) -> float:
    """Between states on a device and on the host, after so many steps with the same noise."""
    n, p, chains = _COMPARED
    sampler = LangevinSampler(1e-4, n_steps=steps, n_chains=chains, thin=steps, lazy=False)
    ends = []
    for library, device in (("numpy", None), (backend.library, backend.device)):
        with array_backend(library, device=device):
            target = _target(n, p)
        [batch] = sampler.batches(target, np.random.default_rng(0))
        ends.append(batch.theta)
    return float(np.abs(ends[0] - ends[1]).max())


def _card() -> str:
    """Name of the card, where NVIDIA's tool tells it."""
    tool = shutil.which("nvidia-smi")
    if tool is None:
        return "unknown"
    asked = [tool, "--query-gpu=name", "--format=csv,noheader"]
    return subprocess.run(asked, capture_output=True, text=True, check=False).stdout.strip()


def _measure(
    backend: ArrayBackend, n: int, p: int, chains: int, *, seconds: float, host: bool
) -> dict[str, Any]:
    first = np.zeros((p, chains))
    rng = generator()
    noise = median_seconds(lambda: rng.standard_normal(first.shape), seconds=seconds / 8)
    with array_backend(backend.library, device=backend.device):
        began = time.perf_counter()
        target = _target(n, p)
        posed = time.perf_counter() - began
    step = _seconds_a_device_step(target, first, seconds)
    products = seconds_of_products(backend, target.problem.rows, first, seconds)
    measured = {
        "n": n,
        "p": p,
        "K": chains,
        "seconds_posed_and_minimised": round(posed, 2),
        "step_ms": round(1e3 * step, 3),
        "products_ms": round(1e3 * products, 3),
        "step_over_products": round(step / products, 2),
        "noise_ms": round(1e3 * noise, 3),
        "chain_steps_per_second": round(chains / step),
    }
    if host:
        measured |= _host(n, p, chains, step, seconds)
    return measured


def _host(n: int, p: int, chains: int, step: float, seconds: float) -> dict[str, Any]:
    """Measure NumPy's step on two cores; of a tenth of the rows, times ten, where it is long."""
    tenth = 4 * n * p * chains > _MOST_AT_ONCE or n * chains > 10**9
    with _two_cores():
        target = _target(n // 10 if tenth else n, p)
        first = np.zeros((p, chains))
        asked: dict[str, Any] = {"dtype": "float64", "lazy": False, "step_size": _STEP_SIZE}
        took = seconds_a_step(target, first, **asked, seconds=seconds)
    took *= 10 if tenth else 1
    return {
        "numpy_step_ms": round(1e3 * took, 2),
        "numpy_extrapolated": tenth,
        "speedup": round(took / step, 1),
    }


def _target(n: int, p: int) -> GibbsTarget:
    return GibbsTarget(logistic_problem(n, p, "sphere"), _BETA, PSI, threshold="smooth")


def _seconds_a_device_step(target: GibbsTarget, first: FloatArray, seconds: float) -> float:
    """Mean time of a step of many that nobody looks at, noise and its transport included."""
    sampler = LangevinSampler(_STEP_SIZE, n_steps=10**9, n_chains=first.shape[1], lazy=False)
    steps = sampler._chains(sampler._drift(target)).states(generator(), first)

    def run(count: int) -> float:
        began = time.perf_counter()
        for _ in range(count):
            state = next(steps)
        to_host(state)
        return time.perf_counter() - began

    run(3)
    count = max(3, int(seconds / max(run(3) / 3, 1e-6)))
    return min(run(count) for _ in range(3)) / count


def seconds_of_products(
    backend: ArrayBackend, rows: FloatArray, theta: FloatArray, seconds: float
) -> float:
    """Time of X@θ and Xᵀ@R alone, scores either way round, whole or in the pieces of a step.

    The least of all these, so that a step is measured against the best.
    """
    there = DeviceRows.of(backend, rows)
    models = backend.put(theta)
    if rows.shape[0] * theta.shape[1] * 8 > 2**35:  # scores of all rows do not fit beside others
        pieces: tuple[int, ...] = (there.cells,)
    else:
        pieces = (there.cells, 2**40)
    return min(
        _timed(_products(DeviceRows(backend, there.rows, there.n, cells), models, last), seconds)
        for cells in pieces
        for last in (True, False)
    )


def _products(there: DeviceRows, models: Any, rows_last: bool) -> Callable[[], Any]:
    def piece(part: slice) -> tuple[Any]:
        rows = there.rows[part, :]
        if rows_last:
            return ((models.T @ rows.T) @ rows,)
        return (rows.T @ (rows @ models),)

    return lambda: there.total(piece, models.shape[1])[0]


def _timed(work: Callable[[], Any], seconds: float) -> float:
    def run(count: int) -> float:
        began = time.perf_counter()
        for _ in range(count):
            found = work()
        to_host(found[:1, :1])
        return time.perf_counter() - began

    run(2)
    count = max(3, int(seconds / 4 / max(run(2) / 2, 1e-6)))
    return min(run(count) for _ in range(3)) / count


@contextmanager
def _two_cores() -> Iterator[None]:
    own = os.sched_getaffinity(0)
    os.sched_setaffinity(0, set(sorted(own)[:_CORES]))
    try:
        yield
    finally:
        os.sched_setaffinity(0, own)


def lines(measured: dict[str, Any]) -> list[str]:
    """Print a line a size."""
    found = [f"{measured['device']}; states differ by {measured['largest_difference']:.1e}"]
    return found + ["  ".join(f"{k}={v}" for k, v in size.items()) for size in measured["sizes"]]
