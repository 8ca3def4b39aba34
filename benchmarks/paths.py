"""One Langevin path beside a private ellipsoid and exact draws: share in the set, width, time.

Each line is a fit with one seed: the guaranteed and the measured share of the models within ψ, the
width (mean over 5,000 rows of the standard deviation of a row's score over the models, relative to
that of uniform draws of the set without privacy) and the processor seconds of plan and fit, as a
ratio to those of a loop of ten lines that takes the same noisy steps.
"""

import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.declared import Declared, loaders
from benchmarks.machine import machine
from benchmarks.measured import write_result
from rashomon_explorer import RashomonClassifier
from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer.exceptions import SamplerError
from rashomon_explorer.mechanisms.langevin.states import StatesDetails

RESULTS = Path(__file__).parent / "results" / "paths.json"
TABLES = ("lending", "adult", "default_credit", "compas", "titanic")
EPSILONS, DELTA, PSI, ROW_NORM = (0.25, 1.0, 4.0), 1e-6, 0.02, 1.0
WAYS: dict[str, dict[str, Any]] = {
    "auto": {},
    "langevin": {"mechanism": "langevin", "n_draws": 400},
    "ellipsoid": {"mechanism": "ellipsoid", "n_draws": 400},
    "exact": {"mechanism": "exact", "n_draws": 20, "patience": 200_000},
}
_UNIFORM: dict[str, Any] = {"mechanism": "hit_and_run", "n_draws": 400}


def measure(folder: str = "", tables: tuple[str, ...] = ()) -> dict[str, Any]:
    """Measure every way on the tables that are there."""
    found = loaders(folder)
    lines = []
    for name in tables or TABLES:
        if name in found:
            lines += list(_of_table(found[name]()))
    return {"machine": machine(), "psi": PSI, "delta": DELTA, "lines": lines}


def lines(measured: dict[str, Any]) -> Iterator[str]:
    """Lay out a fit a line."""
    for line in measured["lines"]:
        start = f"{line['table']:16}{line['epsilon']:>6g}  {line['way']:10}"
        if "refused" in line:
            yield f"{start} {line['refused']}"
            continue
        share = "none" if line["guaranteed"] is None else f"{line['guaranteed']:.2f}"
        yield (
            f"{start} {line['mechanism']:24}{line['models']:>4} models at ε = {line['cost']:.3g}, "
            f"share ≥ {share}, measured {line['share']:.3f}, width {line['width']:.2f}, "
            f"{line['seconds']:.1f} CPU s, {line['loop_ratio'] or float('nan'):.2f} of a loop"
        )


def write(measured: dict[str, Any], file: Path = RESULTS) -> None:
    """Write the measurements."""
    write_result(file, measured)


def _of_table(table: Declared) -> Iterator[dict[str, Any]]:
    rows, labels = table.rows, table.targets
    uniform, _ = _fitted(rows, labels, epsilon=1.0, **_UNIFORM)
    wide = _width(uniform.rashomon_set_.coef, rows)
    for epsilon in EPSILONS:
        for way, settings in WAYS.items():
            line: dict[str, Any] = {"table": table.name, "n": len(rows), "p": rows.shape[1] + 1}
            line |= {"epsilon": epsilon, "way": way}
            try:
                fitted, seconds = _fitted(rows, labels, epsilon=epsilon, **settings)
            except (SamplerError, ValueError) as error:
                yield line | {"refused": str(error).split(":")[0][:90]}
                continue
            plan, models = fitted.plan_, fitted.rashomon_set_
            loop = _loop_seconds(fitted, rows, labels)
            yield line | {
                "mechanism": plan.mechanism,
                "models": models.n_draws,
                "cost": plan.cost[0],
                "guaranteed": plan.hit_rate,
                "share": models.hit_rate,
                "excess": float(models.excess.mean()),
                "excess_bound": None if np.isinf(plan.excess_bound) else plan.excess_bound,
                "width": _width(models.coef, rows) / wide,
                "seconds": seconds,
                "loop_ratio": None if loop is None else seconds / loop,
            }


def _fitted(rows: FloatArray, labels: Any, **settings: Any) -> tuple[Any, float]:
    make = RashomonClassifier(psi=PSI, delta=DELTA, row_norm=ROW_NORM, random_state=0, **settings)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        begun = time.process_time()
        return make.fit(rows, labels), time.process_time() - begun


def _width(coef: FloatArray, rows: FloatArray) -> float:
    scores = rows[:5_000] @ coef[:, :-1].T + coef[:, -1]
    return float(scores.std(axis=1).mean())


def _loop_seconds(fitted: Any, rows: FloatArray, labels: Any) -> float | None:
    """Seconds of the same steps in ten lines of NumPy; None where there is no path."""
    plan = fitted.plan_
    if not isinstance(plan.details, StatesDetails):
        return None
    steps = min(plan.details.n_steps, 3_000)
    rng, h, rate = np.random.default_rng(0), plan.details.step_size, plan.details.rate
    signed = -np.where(labels == labels.max(), 1.0, -1.0)[:, None] * np.c_[rows, np.ones(len(rows))]
    theta, n = np.zeros(signed.shape[1]), len(rows)
    with threadpool_limits(1):
        begun = time.process_time()
        for _ in range(steps):
            batch = signed
            if rate < 1:
                batch = signed[rng.choice(n, rng.binomial(n, rate), replace=False, shuffle=False)]
            slope = 1 / (1 + np.exp(-(batch @ theta)))
            theta = theta - h * plan.beta * (slope @ batch) / (rate * n)
            theta = theta + np.sqrt(2 * h) * rng.standard_normal(len(theta))
            theta *= min(1.0, plan.radius / np.linalg.norm(theta))
        return (time.process_time() - begun) * plan.details.n_steps / steps
