"""Measured excess of one private model against n, p and ε, beside what was promised and theory.

Tables whose best model is known. *Linear*: rows e₁ of a loss that is linear in the ball, so that
all of the excess is in one direction. *Ridged*: the same and a ridge whose minimum is inside, of a
smooth loss and, *hinged*, of one with a kink outside the ball. *Quadratic*: rows e₁, …, e_p in
turn, of squared loss. *Kinked*: the same of absolute loss. Three sweeps by doubling; slopes are of
straight lines through logarithms, with the standard error that the draws leave.
"""

import math
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.instances import least_excess, least_huber_barrier, many_wells, nonconvex_excess
from benchmarks.machine import machine
from benchmarks.measured import write_result
from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer._utils.randomness import generator
from rashomon_explorer.exceptions import SamplerError
from rashomon_explorer.mechanisms.plans import Plan, Rejected
from rashomon_explorer.mechanisms.registry import MECHANISMS
from rashomon_explorer.mechanisms.request import Request
from rashomon_explorer.papers import Regularised  # noqa: F401  # registers all of them
from rashomon_explorer.papers.theorems import RATES, bilevel_instance_excess
from rashomon_explorer.problem.losses import Loss
from rashomon_explorer.problem.losses.kinked import SmoothedHingeLoss
from rashomon_explorer.problem.problem import Problem

RESULTS = Path(__file__).parent / "results" / "rates.json"
DELTA = 1e-6
FLOOR = 1e-9  # below it an excess is nothing but rounding: the best model itself was found
Sweeps = dict[str, tuple[tuple[int, int, float], ...]]
SWEEPS: Sweeps = {
    "n": tuple((n, 24, 8.0) for n in (500, 1_000, 2_000, 4_000)),
    "p": tuple((4_000, p, 16.0) for p in (12, 24, 48, 96)),
    "ε": tuple((2_000, 24, epsilon) for epsilon in (2.0, 4.0, 8.0, 16.0)),
}
_NOISY: Sweeps = {  # where 8,000 steps leave less than the noise
    "n": tuple((n, 24, 0.25) for n in (125, 250, 500, 1_000)),
    "p": tuple((250, p, 0.5) for p in (12, 24, 48, 96)),
    "ε": tuple((250, 24, epsilon) for epsilon in (0.125, 0.25, 0.5, 1.0)),
}
_OF_DELTA = (
    "objective_perturbation",
    "moments",
    "langevin",
    "noisy_descent",
    "last_iterate",
    "noisy_sgd",
    "localised_gaussian",
    "output_perturbation",
)
MAP_N, MAP_P, MAP_EPSILON = (300, 3_000, 30_000, 300_000), (5, 20, 80), (0.1, 1.0, 10.0)
_PATIENCE = 200_000  # proposals of an exact draw, which kinks need without end


@dataclass(frozen=True)
class Table:
    """Rows whose best model is known by hand, on a ball."""

    radius: float
    loss: str | Loss
    in_turn: bool  # rows e₁, …, e_p in turn and targets of 0.3, or rows e₁ alone and labels of 1
    best: Callable[[int], FloatArray]  # (p,)
    ridge: float = 0.0
    sweeps: Sweeps = field(default_factory=lambda: SWEEPS)

    def posed(self, n: int, p: int, ridge: float) -> Problem:
        """Problem of n rows and p parameters under a ridge."""
        rows = np.zeros((n, p))
        rows[np.arange(n), np.arange(n) % p if self.in_turn else 0] = 1.0
        targets = np.full(n, 0.3 if self.in_turn else 1.0)
        known: Any = {"loss": self.loss, "radius": self.radius, "ridge": ridge}
        return Problem(rows, targets, intercept=False, **known)


def _along_first(size: float) -> Callable[[int], FloatArray]:
    return lambda p: size * np.eye(p)[0]


_OTHERS = ("boosted", "smooth_sgd", "last_sampled_state")  # runs of the rest, or dominated by it
_LINEAR, _RIDGE = SmoothedHingeLoss(smoothing=0.5), 8.0
TABLES = {
    "linear": Table(0.5, _LINEAR, False, _along_first(0.5)),
    "ridged": Table(0.5, _LINEAR, False, _along_first(1 / _RIDGE), _RIDGE),
    "hinged": Table(0.5, "hinge", False, _along_first(1 / _RIDGE), _RIDGE, _NOISY),
    "quadratic": Table(2.0, "squared", True, lambda p: np.full(p, 0.3)),
    "kinked": Table(2.0, "absolute", True, lambda p: np.full(p, 0.3)),
}
_METHODS = (
    "objective_perturbation",
    "unthresholded",
    "langevin",
    *(name for name, kind in MECHANISMS.items() if kind.traits.one_model and name not in _OTHERS),
)
TIGHT = {
    ("linear", 0.0, "unthresholded"): ("convex", "pure", "rows"),
    ("linear", DELTA, "langevin"): ("convex", "(ε, δ)", "rows"),
    ("ridged", 0.0, "output_perturbation"): ("strongly convex", "pure", "rows"),
    ("ridged", DELTA, "localised_gaussian"): ("strongly convex", "(ε, δ)", "rows"),
    ("ridged", DELTA, "noisy_descent"): ("strongly convex", "(ε, δ)", "rows"),
    ("hinged", DELTA, "noisy_sgd"): ("strongly convex", "(ε, δ)", "rows"),
}
"""Row of :data:`RATES` whose promise the excess on a table attains, up to a constant."""


def measure(draws: int = 64, methods: Sequence[str] = _METHODS) -> dict[str, Any]:
    """Measure every sweep of every method that applies, and what theory has beside it.

    With δ only what is another mechanism then: exact draws are what they were. Rows that are not
    tight, and sampled steps, of which a model takes thousands, have a quarter of the draws.
    """
    start, found = time.process_time(), []
    for table, known in TABLES.items():
        for delta in (0.0, DELTA):
            for method in methods if delta == 0 else _OF_DELTA:
                tight = (table, delta, method) in TIGHT and method != "noisy_sgd"
                many = draws if tight else draws // 4
                found += [sweep(table, delta, method, axis, many) for axis in known.sweeps]
    return {
        "machine": machine(),
        "draws": draws,
        "sweeps": [one for one in found if one is not None],
        "theory": theory(),
        "map": method_map(),
        "cpu_minutes": round((time.process_time() - start) / 60, 1),
    }


def write(measured: dict[str, Any], file: Path = RESULTS) -> None:
    """Write the measurements."""
    write_result(file, measured)


def lines(measured: dict[str, Any]) -> Iterator[str]:
    """Lay out the table of measured slopes, and the map."""
    rows: dict[tuple[str, float, str], list[str]] = {}
    for one in measured["sweeps"]:
        found = "best found"
        if one["slope"] is not None:
            found = f"{one['slope']:+.2f} ± {one['slope_error']:.2f}"
        cell = f"{found} ({one['promised_slope']:+.2f})"
        rows.setdefault((one["table"], one["delta"], one["method"]), []).append(cell)
    yield "| table | δ | method | row of Table 1 | n | p | ε |\n|---|---|---|---|---|---|---|"
    for (table, delta, method), cells in rows.items():
        row = ", ".join(TIGHT.get((table, delta, method), ()))
        yield " | ".join(["", table, f"{delta:g}", f"`{method}`", row, *cells, ""]).strip()
    for cell in measured["map"]:
        where = f"n {cell['n']:>7,} p {cell['p']:>3} ε {cell['epsilon']:>4}, δ {cell['delta']:g}"
        yield f"{where}: {cell['method']} {cell['excess']:.3g}"
    yield f"{measured['cpu_minutes']} CPU minutes"


def slope_of(places: Sequence[float], values: Sequence[float]) -> float:
    """Slope of the straight line through logarithms."""
    return fitted_slope(places, values, [0.0] * len(places))[0]


def fitted_slope(
    places: Sequence[float], means: Sequence[float], errors: Sequence[float]
) -> tuple[float, float]:
    """Slope of the straight line through logarithms, and the standard error that means leave it.

    Least squares are Σ c_j log y_j with c_j ∝ log x_j − their mean, and log y_j has about the
    standard error of y_j over y_j.
    """
    centred = np.log(places) - np.log(places).mean()
    shares = centred / (centred @ centred)
    error = np.linalg.norm(shares * np.asarray(errors) / means)
    return round(float(shares @ np.log(means)), 3), round(float(error), 3)


def request_of(table: str, n: int, p: int, epsilon: float, delta: float) -> Request:
    """Ask a method, in public numbers."""
    known = TABLES[table]
    return Request(n, p, 0.0, known.loss, known.radius, 1.0, known.ridge, epsilon, delta, 1)


def sweep(table: str, delta: float, method: str, axis: str, draws: int) -> dict[str, Any] | None:
    """Measure one mechanism along an axis of a table; None where it does not apply."""
    points = TABLES[table].sweeps[axis]
    measured = [_point(table, delta, method, point, draws) for point in points]
    if any(one is None for one in measured):
        return None
    excess, errors, promised = zip(*(one for one in measured if one is not None), strict=True)
    places = [point["npε".index(axis)] for point in points]
    slope, error = fitted_slope(places, excess, errors)
    return {
        "table": table,
        "delta": delta,
        "method": method,
        "axis": axis,
        "places": places,
        "excess": excess,
        "errors": errors,
        "promised": promised,
        "slope": None if FLOOR in excess else slope,
        "slope_error": error,
        "promised_slope": slope_of(places, promised),
    }


def _point(
    table: str, delta: float, method: str, point: tuple[int, int, float], draws: int
) -> tuple[float, float, float] | None:
    """Mean excess, its standard error and its bound; None without a plan or a draw."""
    n, p, epsilon = point
    kind, known = MECHANISMS[method], TABLES[table]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        request = replace(request_of(table, n, p, epsilon, delta), patience=_PATIENCE)
        planned = kind.plan(request)
        if isinstance(planned, Rejected):
            return None
        posed, plain = known.posed(n, p, planned.ridge), known.posed(n, p, known.ridge)
        rng = generator([n, p, round(1000 * epsilon)])
        try:
            drawn = [kind.draw(posed, planned, rng).coef[0] for _ in range(draws)]
        except SamplerError:
            return None
    losses = plain.value(np.column_stack([known.best(p), *drawn]))
    excess = losses[1:] - losses[0]
    error = excess.std(ddof=1) / math.sqrt(draws)
    return max(float(excess.mean()), FLOOR), float(error), float(planned.excess_bound)


def theory() -> dict[str, Any]:
    """Compute what has a closed form: packing, a smoothed kink, and the choice of penalties."""
    n, p = (10**3, 10**4, 10**5, 10**6), (4, 8, 16, 32, 64)
    wells = {"radius": 1.0, "width": 0.05}
    packing = [least_excess(many_wells(10, **wells), m, 1.0) for m in n]
    upper = [nonconvex_excess(10, m, 1.0, slope=20.0, diameter=2.0) for m in n]
    by_p = [least_excess(many_wells(k, **wells), 10**6, 1.0) for k in p]
    huber = [least_huber_barrier(m, 1.0, DELTA) / m for m in n]
    penalties = [bilevel_instance_excess(m / 8, np.ones(2)) for m in n]
    return {
        "n": n,
        "p": p,
        "packing": packing,
        "packing_upper": upper,
        "packing_by_p": by_p,
        "huber": huber,
        "penalties": penalties,
        "slopes": {
            "packing, n": slope_of(n, packing),
            "packing, p": slope_of(p, by_p),
            "smoothed kink, n": slope_of(n, huber),
            "penalties, n": slope_of(n, penalties),
        },
        "printed": {", ".join(key): one.upper for key, one in RATES.items()},
    }


def method_map() -> list[dict[str, Any]]:
    """Who promises least over (n, p, ε), of logistic loss in the ball of radius 4."""
    cells = []
    for delta in (0.0, DELTA):
        for n in MAP_N:
            for p in MAP_P:
                for epsilon in MAP_EPSILON:
                    cells.append(_cell(n, p, epsilon, delta))
    return cells


def _cell(n: int, p: int, epsilon: float, delta: float) -> dict[str, Any]:
    request = replace(
        request_of("quadratic", n, p, epsilon, delta), loss="logistic", radius=4.0, row_norm=1.5
    )
    outcomes = [MECHANISMS[name].plan(request) for name in _METHODS]
    plans = [outcome for outcome in outcomes if isinstance(outcome, Plan)]
    best = min(plans, key=lambda planned: planned.excess_bound)
    return {
        "n": n,
        "p": p,
        "epsilon": epsilon,
        "delta": delta,
        "method": best.mechanism,
        "excess": float(best.excess_bound),
    }
