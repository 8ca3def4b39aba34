"""How long counting sparse trees takes, beside others' programs, and what private ones are worth.

Tables are CSV files in one folder; those that are not there are left out and said.
"""

import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import private_trees
from benchmarks.binary_tables import FILES, binary_table
from benchmarks.declared import FOLDER
from benchmarks.machine import machine
from benchmarks.measured import write_result
from benchmarks.peers import PYTHON, ROOT
from rashomon_explorer.trees import CountedTrees

RESULTS = Path(__file__).parent / "results" / "trees.json"
_PENALTY = 0.005
_PEER_SECONDS = 300
_RUNS = 3  # of each program; the median is written
_PEERS = ("treefarms", "arborenum", "tree-praxis")

# Table, most leaves, most depth, ψ; and the most seconds it may take.
TASKS = [
    ("COMPAS", 7, None, 1.0, 3),
    ("COMPAS", 9, None, 0.02, None),
    ("default credit", 6, None, 0.02, 30),
    ("adult", 8, 3, 0.02, 60),
]
# Table, penalty of a leaf, most depth, and ψ as a share of the least objective.
BESIDE = [
    ("COMPAS", 0.01, 4, 0.03),
    ("COMPAS", 0.01, 4, 0.1),
    ("COMPAS", 0.005, 5, 0.03),
    ("tic-tac-toe", 0.01, 4, 0.1),
    ("20 columns", 0.01, 4, 0.1),
    ("20 columns", 0.005, 5, 0.02),
    ("20 columns", 0.005, 6, 0.1),
    ("default credit", 0.005, 5, 0.05),
]
# treefarms takes more than five minutes, or more than this machine's memory, for the deeper ones.
_TREEFARMS = [("COMPAS", 4), ("COMPAS", 5), ("20 columns", 4)]


def measure(folder: str | Path = "", draws: int = 10_000, splits: int = 20) -> dict[str, Any]:
    """Count, draw and time every table that is in the folder; then the peers, then accuracy."""
    folder = folder or os.environ.get(FOLDER, ".")
    found = [_alone(folder, draws, place) for place in range(len(TASKS))]
    return {
        "machine": machine(),
        "counted": found,
        "beside": [one for task in BESIDE for one in _beside(folder, *task)],
        "private": private_trees.measure(folder, splits),
    }


def write(measured: dict[str, Any]) -> None:
    """Write the results; those of private trees have a file, and a commit, of their own."""
    write_result(RESULTS, {name: measured[name] for name in ("machine", "counted", "beside")})
    write_result(RESULTS.with_name("private_trees.json"), measured["private"])


def lines(measured: dict[str, Any]) -> Iterator[str]:
    """One line a task, a program, and a table and way."""
    for one in measured["counted"]:
        if "missing" in one:
            yield f"{one['table']}: {one['missing']}"
            continue
        yield (
            f"{one['table']} ({one['n']:,} x {one['features']}), <= {one['leaves']} leaves, depth "
            f"<= {one['depth']}: class {one['class']:,}, within psi={one['psi']:g} "
            f"{one['size']:,}; {one['count_cpu_s']:.1f} CPU s ({one['count_s']:.1f} s), "
            f"{one['peak_mib']:,.0f} MiB, {one['draws_per_cpu_s']:,.0f} draws a CPU second"
        )
    for one in measured["beside"]:
        yield (
            f"{one['table']}, lambda={one['penalty']}, depth <= {one['depth']}, "
            f"{one['share']:.0%} beyond the best: {one['program']} {one['said']}"
        )
    for one in measured["private"]:
        yield (
            f"{one['table']}, epsilon={one['epsilon']:g}: {one['way']} "
            f"{one['accuracy']:.3f} ± {one['error']:.3f}"
        )


def _alone(folder: str | Path, draws: int, place: int) -> dict[str, Any]:
    """One task in a process of its own, so that its memory is its own."""
    command = [sys.executable, "-m", "benchmarks.trees", str(folder), str(draws), str(place)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def one(folder: str | Path, draws: int, task: tuple[Any, ...]) -> dict[str, Any]:
    """Count a table's trees and draw from them."""
    import resource

    name, leaves, depth, psi, limit = task
    table = binary_table(folder, name)
    if table is None:
        return {"table": name, "missing": f"{FILES[name][0]} is not in {folder}"}
    X, y = table
    wall, cpu = time.perf_counter(), time.process_time()
    trees = CountedTrees(X, y, max_leaves=leaves, max_depth=depth, leaf_penalty=_PENALTY)
    size = trees.size(psi)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    within = min(psi, 0.02)
    drawing = time.process_time()
    trees.draw(draws, within, random_state=0)
    drawing = time.process_time() - drawing
    return {
        "table": name,
        "n": len(y),
        "features": X.shape[1],
        "leaves": leaves,
        "depth": trees.trees.depth,
        "class": trees.trees.size,
        "psi": psi,
        "size": size,
        "count_s": round(wall, 2),
        "count_cpu_s": round(cpu, 2),
        "most_s": limit,
        "draws_per_cpu_s": round(draws / drawing),
        "peak_mib": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
    }


def _beside(
    folder: str | Path, name: str, penalty: float, depth: int, share: float
) -> Iterator[dict[str, Any]]:
    """Ours, by TreeFARMS's conventions, and every program that is installed.

    Each runs in a process of its own, whose clock starts when the program is imported.
    """
    table = binary_table(folder, name)
    if table is None:
        return
    X, y = table
    task = {"penalty": penalty, "depth": depth, "share": share}
    with tempfile.TemporaryDirectory() as place:
        file = Path(place) / "table.npz"
        np.savez(file, rows=X.to_numpy(), targets=y)
        peers = [p for p in _PEERS if p != "treefarms" or (name, depth) in _TREEFARMS]
        for program in ["counted here", *(peers if PYTHON.exists() else ())]:
            found = _median_run(program, file, *task.values())
            yield {"table": name, **task, "program": program, **found}


def _median_run(program: str, file: Path, *task: float) -> dict[str, Any]:
    """Run a program; return what it found, and the medians of its times and memory."""
    ours = program == "counted here"
    python = sys.executable if ours else str(PYTHON)
    command = [python, "-m", "benchmarks.trees_peer", program, str(file), *map(str, task)]
    settings: dict[str, Any] = {"cwd": ROOT, "capture_output": True, "text": True}
    settings |= {"env": {**os.environ, "OMP_NUM_THREADS": "1"}, "timeout": _PEER_SECONDS}
    runs = []
    for _ in range(_RUNS):
        try:
            done = subprocess.run(command, **settings)
        except subprocess.TimeoutExpired:
            return {"said": f"stopped after {_PEER_SECONDS} s"}
        if done.returncode:
            return {"said": f"failed: {(done.stderr.strip().splitlines() or ['no word'])[-1]}"}
        runs.append(json.loads(done.stdout.splitlines()[-1]))
    times = ("s", "cpu_s", "peak_mib", "imported_mib")
    found = runs[0] | {name: statistics.median(run[name] for run in runs) for name in times}
    optimum = re.search(r'"model_objective": ([0-9.]+)', done.stdout)  # its library prints it
    if optimum:
        found["optimum"] = float(optimum[1])
    return {**found, "said": str(found)}


if __name__ == "__main__":
    print(json.dumps(one(sys.argv[1], int(sys.argv[2]), TASKS[int(sys.argv[3])])))
