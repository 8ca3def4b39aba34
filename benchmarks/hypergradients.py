"""Gradients of a validation loss where mechanisms that promise small ones stop, against rows.

Squared loss of four columns of unlike worth, a penalty each (two for draws by gradient norms),
within (½, 10), ε = 1 and δ = 10⁻⁶. By doubling rows; slopes are of lines through logarithms.
"""

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.machine import machine
from benchmarks.measured import write_result
from benchmarks.rates import DELTA, slope_of
from rashomon_explorer._utils.randomness import generator
from rashomon_explorer.mechanisms.finite_grid import FiniteGridSampler
from rashomon_explorer.mechanisms.penalties import (
    PenaltyConstants,
    PenaltyLandscape,
    drawn_where_level,
    plan_stationary,
)
from rashomon_explorer.mechanisms.penalties.landscape import InnerProblem, OuterLoss, PenaltyBox
from rashomon_explorer.mechanisms.penalties.stationary import (
    GradientLandscape,
    StationaryPlan,
    gradient_mapping,
)

RESULTS = Path(__file__).parent / "results" / "hypergradients.json"
BOUNDS, EPSILON = (0.5, 10.0), 1.0
ROWS = (10_000, 40_000, 160_000)
PENALTIES = {"hypergradient": 4, "warm_hypergradient": 4, "gradient_norm": 2}
_WORTH = np.array([1.0, 0.5, 0.1, 0.0])


def landscape(n: int, d: int) -> tuple[PenaltyLandscape, PenaltyConstants]:
    """Pose the choice for n rows of norm 1 at most, seven tenths of which are fitted."""
    rng, train = generator(n), 7 * n // 10
    rows = rng.standard_normal((n, d))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    targets = np.clip(rows @ _WORTH[:d] + 0.2 * rng.standard_normal(n), -1, 1)
    inner = InnerProblem(rows[:train], targets[:train], "ridge")
    outer = OuterLoss(rows[train:], targets[train:], "ridge", None)
    known = PenaltyConstants("ridge", 1.0, *BOUNDS, train, n - train)
    return PenaltyLandscape(inner, outer, PenaltyBox(tuple(range(d)), *BOUNDS), 1e-11), known


def measure(draws: int = 4, rows: Sequence[int] = ROWS) -> list[dict[str, Any]]:
    """Mean size of the gradient where a draw is, what it is in the middle, and the promise.

    Of draws by gradient norms what it exceeds the grid's least by.
    """
    found = []
    for mechanism, d in PENALTIES.items():
        reached, promised, middle = [], [], []
        for n in rows:
            here, known = landscape(n, d)
            asked = {"epsilon": EPSILON, "delta": DELTA, "spacing": math.exp(0.2), "n_draws": 1}
            planned = plan_stationary(known, d, mechanism, **asked)
            if planned.on_grid:
                reached.append(_excess(here, planned))
            else:
                rng = generator([n, d])
                drawn = [drawn_where_level(here, planned, rng)[0][:, 0] for _ in range(draws)]
                reached.append(float(np.mean([_size(here, x) for x in drawn])))
            promised.append(float(planned.gradient_bound))
            middle.append(_size(here, np.zeros(d)))
        found.append(
            {
                "mechanism": mechanism,
                "rows": list(rows),
                "reached": reached,
                "promised": promised,
                "middle": middle,
                "slope": slope_of(rows, reached),
                "promised_slope": slope_of(rows, promised),
            }
        )
    return found


def write(measured: list[dict[str, Any]], file: Path = RESULTS) -> None:
    """Write the measurements."""
    write_result(file, {"machine": machine(), "sizes": measured})


def lines(measured: list[dict[str, Any]]) -> Iterator[str]:
    """Lay out a mechanism a line."""
    for one in measured:
        sizes = " ".join(f"{size:.2g}" for size in one["reached"])
        slopes = f"{one['slope']:+.2f} measured, {one['promised_slope']:+.2f} promised"
        yield f"{one['mechanism']:20}{sizes}  {slopes}"


def _excess(here: PenaltyLandscape, planned: StationaryPlan) -> float:
    """Mean over the exact law on the grid of what a size exceeds the least by."""
    points = FiniteGridSampler(spacing=planned.spacing).points(here.p, here.domain)
    sizes = GradientLandscape(here, planned.constants.gradient_tolerance).value(points)
    weights = np.exp(-planned.beta * (sizes - sizes.min()))
    return float(weights @ (sizes - sizes.min()) / weights.sum())


def _size(here: PenaltyLandscape, x: np.ndarray[Any, Any]) -> float:
    return float(np.linalg.norm(gradient_mapping(here, x, 1e-11)))
