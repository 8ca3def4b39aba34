"""What private tuning costs: expected excess of a drawn penalty, beside a blind and a leaking pick.

Nothing is sampled: the law on the grid is computed, and its mean excess over the grid's least
validation loss with it. A split is a rotation of the rows, of which every third validates.
"""

import warnings
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.linear_model import RidgeCV

from benchmarks.declared import Declared, loaders
from benchmarks.machine import machine
from benchmarks.measured import write_result
from rashomon_explorer import DPBilevelSearch
from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer.exceptions import WeakGuaranteeWarning
from rashomon_explorer.mechanisms.finite_grid import FiniteGridSampler
from rashomon_explorer.mechanisms.penalties import PenaltyLandscape
from rashomon_explorer.mechanisms.penalties.landscape import (
    InnerProblem,
    OuterLoss,
    PenaltyBox,
    column_groups,
)
from rashomon_explorer.mechanisms.penalties.mechanisms import validation_rows
from rashomon_explorer.mechanisms.penalties.plan import MECHANISMS, TuningPlan
from rashomon_explorer.problem.problem import add_intercept

RESULTS = Path(__file__).parent / "results" / "tuning.json"
BUDGETS = (0.1, 1.0, 10.0)
TABLES = ("diabetes", "lending", "adult")
BOUNDS = {"strong": (0.1, 10.0), "usual": (0.01, 1.0), "wide": (0.001, 10.0)}
_SHARE = 1 / 3


def measure(splits: int = 5, names: tuple[str, ...] = TABLES) -> dict[str, Any]:
    """Measure all tables that are there, or those that are named."""
    found = loaders()
    entries: list[dict[str, Any]] = []
    for name in names:
        if name in found:
            for bounds in BOUNDS.values():
                entries += measure_table(found[name](), splits, bounds)
    return {"machine": machine(), "tables": entries}


def measure_table(
    table: Declared, splits: int, bounds: tuple[float, float]
) -> list[dict[str, Any]]:
    """One entry a budget: means over the splits."""
    kind = "logistic" if table.classes else "ridge"
    targets = 2.0 * table.targets - 1 if table.classes else table.targets.astype(float)
    landscapes = [
        _landscape(kind, np.roll(table.rows, k, axis=0), np.roll(targets, k), bounds)
        for k in range(splits)
    ]
    points = np.linspace(-1, 1, 33)[None, :] * landscapes[0].domain.radius
    found = [landscape.value(points) for landscape in landscapes]
    shared = {
        "table": table.name,
        "kind": kind,
        "n": len(targets),
        "columns": table.rows.shape[1],
        "bounds": list(bounds),
        "uniform": _mean([values.mean() - values.min() for values in found]),
        "least": _mean([values.min() for values in found]),
        "worst": _mean([np.ptp(values) for values in found]),
        "ridge_cv": _ridge_cv(landscapes, points, found) if kind == "ridge" else None,
    }
    return [
        {**shared, **_bought(_plan(kind, len(targets), bounds, *asked), landscapes, found)}
        for asked in product(BUDGETS, MECHANISMS)
    ]


def lines(measured: dict[str, Any]) -> list[str]:
    """Rows of a table for the page."""
    names = ("table", "bounds", "least", "uniform", "ridge_cv", "mechanism", "epsilon")
    names += ("promised", "drawn", "share")
    return [
        " | ".join(f"{entry[name]:.3g}" if isinstance(entry[name], float) else f"{entry[name]}"
                   for name in names)
        for entry in measured["tables"]
    ]  # fmt: skip


def write(measured: dict[str, Any]) -> None:
    """Keep what was measured beside the other results."""
    write_result(RESULTS, measured)


def _bought(
    planned: TuningPlan, landscapes: list[PenaltyLandscape], found: list[FloatArray]
) -> dict[str, Any]:
    drawn = []
    sampler = FiniteGridSampler(spacing=planned.spacing)
    for landscape, values in zip(landscapes, found, strict=True):
        excess = values - values.min()
        law = np.exp(-planned.target(landscape, sampler).energy(excess))
        drawn.append(law @ excess / law.sum())
    blind = _mean([values.mean() - values.min() for values in found])
    return {
        "epsilon": planned.epsilon,
        "mechanism": planned.mechanism,
        "beta": round(planned.beta, 3),
        "promised": planned.excess_bound,
        "drawn": _mean(drawn),
        "share": _mean(drawn) / blind,  # of a random choice's excess that is left
        "weak": planned.weakness != "",
    }


def _plan(
    kind: str, n: int, bounds: tuple[float, float], epsilon: float, mechanism: str
) -> TuningPlan:
    options = {"refit": None, "val_fraction": _SHARE, "mechanism": mechanism}
    search = DPBilevelSearch(kind, bounds=bounds, epsilon=epsilon, delta=0.0, **options)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", WeakGuaranteeWarning)
        return search.plan(n, 1)


def _landscape(
    kind: str, rows: FloatArray, targets: FloatArray, bounds: tuple[float, float]
) -> PenaltyLandscape:
    held_out = validation_rows(len(rows), _SHARE)
    whole = add_intercept(rows)
    clip = 1.0 if kind == "ridge" else 4.0
    return PenaltyLandscape(
        InnerProblem(whole[~held_out], targets[~held_out], kind),
        OuterLoss(whole[held_out], targets[held_out], kind, clip),
        PenaltyBox(column_groups("scalar", rows.shape[1]), *bounds),
    )


def _ridge_cv(
    landscapes: list[PenaltyLandscape], points: FloatArray, found: list[FloatArray]
) -> float:
    """Excess of what scikit-learn chooses by leaving out one training row after the other."""
    excess = []
    for landscape, values in zip(landscapes, found, strict=True):
        inner = landscape.inner
        alphas = landscape.box.group_penalties(points)[0] * inner.n
        theirs = RidgeCV(alphas=alphas).fit(inner.rows[:, :-1], inner.targets)
        excess.append(values[int(np.argmin(np.abs(alphas - theirs.alpha_)))] - values.min())
    return _mean(excess)


def _mean(values: list[Any]) -> float:
    return float(np.mean(values))
