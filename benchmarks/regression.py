"""One private regression of two tables, beside AdaSSP and no privacy at all.

Diabetes, 442 rows, its columns standardised by their own means and spreads, which is outside any
guarantee, for all alike; and 20,000 simulated rows. Rows are divided by √p and shortened to norm 1,
targets mapped onto [−1, 1]; R² on the 30 % that a split keeps away.
"""

import json
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.linear_model import LinearRegression
from sklearn.metrics import r2_score
from sklearn.model_selection import train_test_split

from benchmarks.adassp import adassp
from benchmarks.machine import machine
from rashomon_explorer import DPRegressor, load_dataset
from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer._utils.randomness import generator
from rashomon_explorer.problem.problem import add_intercept

RESULTS = Path(__file__).parent / "results" / "regression.json"
EPSILONS, DELTA = (1.0, 4.0), 1e-5


def tables() -> dict[str, tuple[FloatArray, FloatArray]]:
    """Rows (n, p) of norm at most 1 and targets (n,) in [−1, 1]."""
    data = load_dataset("diabetes")
    values = np.asarray(data.X, dtype=float)
    low, high = data.target_bounds
    real = 2 * (np.asarray(data.y, dtype=float) - low) / (high - low) - 1
    rng = np.random.default_rng(0)
    made = rng.standard_normal((20_000, 10))
    slopes = np.array([0.3, -0.2, 0.15, 0.1, 0.1, -0.05, 0.0, 0.0, 0.0, 0.0])
    simulated = np.clip(made @ slopes + 0.1 * rng.standard_normal(len(made)), -1, 1)
    return {
        "diabetes": (_short((values - values.mean(axis=0)) / values.std(axis=0)), real),
        "simulated": (_short(made), simulated),
    }


def _short(rows: FloatArray) -> FloatArray:
    rows = rows / np.sqrt(rows.shape[1])
    return rows / np.maximum(1.0, np.linalg.norm(rows, axis=1, keepdims=True))


def measure(splits: int = 20) -> dict[str, Any]:
    """Measure every way on every table."""
    ways = [
        _scored(name, way, epsilon, splits)
        for name in tables()
        for epsilon in EPSILONS
        for way in ("DPRegressor", "AdaSSP", "not private")
    ]
    return {"machine": machine(), "splits": splits, "delta": DELTA, "ways": ways}


def lines(measured: dict[str, Any]) -> Iterator[str]:
    """Lay out a way a line."""
    for one in measured["ways"]:
        told = f"{one['r2']:+.3f} ± {one['error']:.3f}"
        yield f"{one['table']:10} ε = {one['epsilon']:g}  {one['way']:12} {told}"


def write(measured: dict[str, Any], file: Path = RESULTS) -> None:
    """Write the measurements."""
    file.parent.mkdir(exist_ok=True)
    file.write_text(json.dumps(measured, indent=1) + "\n", encoding="utf-8")


def _scored(table: str, way: str, epsilon: float, splits: int) -> dict[str, Any]:
    rows, targets = tables()[table]
    scores = []
    for seed in range(splits):
        fit, test = train_test_split(np.arange(len(rows)), test_size=0.3, random_state=seed)
        said = _predicted(way, rows[fit], targets[fit], rows[test], epsilon, seed)
        scores.append(r2_score(targets[test], np.clip(said, -1, 1)))
    error = np.std(scores, ddof=1) / np.sqrt(splits)
    found = {"r2": round(float(np.mean(scores)), 4), "error": round(float(error), 4)}
    return {"table": table, "epsilon": epsilon, "way": way, **found}


def _predicted(
    way: str, rows: FloatArray, targets: FloatArray, test: FloatArray, epsilon: float, seed: int
) -> FloatArray:
    if way == "not private":
        return np.asarray(LinearRegression().fit(rows, targets).predict(test))
    if way == "AdaSSP":
        bounds = {"row_bound": np.sqrt(2), "target_bound": 1.0}
        budget = {"epsilon": epsilon, "delta": DELTA, "rng": generator(seed)}
        return add_intercept(test) @ adassp(add_intercept(rows), targets, **bounds, **budget)
    model = DPRegressor(epsilon=epsilon, delta=DELTA, random_state=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return np.asarray(model.fit(rows, targets).predict(test))
