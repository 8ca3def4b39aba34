"""How long counting sparse trees takes, and what private ones are worth, on tables of your own.

Tables are CSV files of 0 and 1 in one folder; those that are not there are left out and said.
"""

import json
import resource
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.machine import machine
from rashomon_explorer.trees import CountedTrees

RESULTS = Path(__file__).parent / "results" / "trees.json"
_PENALTY = 0.005

# File, its target, most leaves, most depth, ψ.
TASKS = [
    ("compas_binary_treefarms.csv", "recidivate-within-two-years:1", 7, None, 1.0),
    ("compas_binary_treefarms.csv", "recidivate-within-two-years:1", 9, None, 0.02),
    ("default_credit_binary.csv", "DEFAULT_PAYEMENT", 6, None, 0.02),
    ("adult_coded.csv", "income", 8, 3, 0.02),
]


def measure(folder: str | Path, draws: int = 10_000) -> dict[str, Any]:
    """Count, draw and time every table that is in the folder."""
    found = [_one(Path(folder), draws, *task) for task in TASKS]
    return {"machine": machine(), "counted": found}


def write(measured: dict[str, Any]) -> None:
    """Write the results."""
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps(measured, indent=2) + "\n", encoding="utf-8")


def lines(measured: dict[str, Any]) -> Iterator[str]:
    """One line a task."""
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


def _one(
    folder: Path, draws: int, name: str, target: str, leaves: int, depth: int | None, psi: float
) -> dict[str, Any]:
    path = folder / name
    if not path.exists():
        return {"table": name, "missing": f"not in {folder}"}
    X, y = _binary(pd.read_csv(path), target)
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
        "draws_per_cpu_s": round(draws / drawing),
        "peak_mib": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
    }


def _binary(frame: pd.DataFrame, target: str) -> tuple[pd.DataFrame, np.ndarray[Any, Any]]:
    """Columns of 0 and 1 as they are; of others, public cuts and codes, forty in all."""
    y = frame[target].to_numpy()
    X = frame.drop(columns=[target, "test"], errors="ignore")
    if X.isin((0, 1)).all().all():
        return X, y
    cuts = {
        "age": (25, 30, 35, 40, 45, 50, 60),
        "education_num": (8, 9, 10, 12, 13),
        "hours_per_week": (20, 35, 40, 45, 50),
        "capital_gain": (0, 5000, 7000),
        "capital_loss": (0, 1800),
    }
    columns = {f"{c}>{t}": X[c] > t for c, values in cuts.items() for t in values}
    codes = {"marital_status": 6, "relationship": 5, "race": 3, "sex": 1, "workclass": 3}
    columns |= {f"{c}={k}": X[c] == k for c, most in codes.items() for k in range(most)}
    return pd.DataFrame(columns).astype(int).iloc[:, :40], y
