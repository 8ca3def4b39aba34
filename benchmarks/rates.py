"""Measured excess of one private model against n, p and ε, beside what was promised and theory.

Three tables whose best model is known. *Linear*: rows e₁ of a loss that is linear in the ball, so
that all of the excess is in one direction. *Quadratic*: rows e₁, …, e_p in turn, of squared loss.
*Kinked*: the same of absolute loss. Three sweeps by doubling; slopes are of straight lines through
logarithms.
"""

import json
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.machine import machine
from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer._utils.randomness import generator
from rashomon_explorer.exceptions import SamplerError
from rashomon_explorer.mechanisms.base import collect
from rashomon_explorer.mechanisms.planning.registry import MECHANISMS
from rashomon_explorer.mechanisms.planning.suggestions import suppress_weak_warnings
from rashomon_explorer.mechanisms.request import Request
from rashomon_explorer.mechanisms.target import GibbsTarget
from rashomon_explorer.papers.instances import (
    least_excess,
    least_huber_barrier,
    many_wells,
    nonconvex_excess,
)
from rashomon_explorer.papers.theorems import RATES, bilevel_instance_excess
from rashomon_explorer.problem.losses.kinked import SmoothedHingeLoss
from rashomon_explorer.problem.problem import Problem

RESULTS = Path(__file__).parent / "results" / "rates.json"
DELTA = 1e-6
FLOOR = 1e-9  # below it an excess is nothing but rounding: the best model itself was found
SWEEPS: dict[str, tuple[tuple[int, int, float], ...]] = {
    "n": tuple((n, 6, 8.0) for n in (500, 1_000, 2_000, 4_000)),
    "p": tuple((4_000, p, 16.0) for p in (3, 6, 12, 24)),
    "ε": tuple((2_000, 6, epsilon) for epsilon in (2.0, 4.0, 8.0, 16.0)),
}
_OF_DELTA = (
    "objective_perturbation",
    "moments",
    "langevin_average",
    "noisy_descent",
    "last_iterate",
    "noisy_sgd",
    "localised_gaussian",
    "output_perturbation",
)
_SLOW = {"langevin_average": 4, "noisy_sgd": 4}  # a draw in so many: thousands of steps each
_LINEAR = SmoothedHingeLoss(smoothing=0.5)
_SIZES = {"linear": (0.5, _LINEAR), "quadratic": (2.0, "squared"), "kinked": (2.0, "absolute")}
MAP_N, MAP_P, MAP_EPSILON = (300, 3_000, 30_000, 300_000), (5, 20, 80), (0.1, 1.0, 10.0)


def linear(n: int, p: int, ridge: float) -> Problem:
    """−θ₁ up to a constant, on the ball of radius ½."""
    rows = np.zeros((n, p))
    rows[:, 0] = 1.0
    return Problem(rows, np.ones(n), loss=_LINEAR, radius=0.5, intercept=False, ridge=ridge)


def quadratic(n: int, p: int, ridge: float) -> Problem:
    """Curvature 1/p in every direction, on the ball of radius 2."""
    return _in_turn(n, p, ridge, "squared")


def kinked(n: int, p: int, ridge: float) -> Problem:
    """Slope 1/p to both sides in every direction, on the ball of radius 2."""
    return _in_turn(n, p, ridge, "absolute")


def _in_turn(n: int, p: int, ridge: float, loss: str) -> Problem:
    rows = np.zeros((n, p))
    rows[np.arange(n), np.arange(n) % p] = 1.0
    targets = np.full(n, 0.3)
    return Problem(rows, targets, loss=loss, radius=2.0, intercept=False, ridge=ridge)


TABLES: dict[str, Callable[[int, int, float], Problem]] = {
    "linear": linear,
    "quadratic": quadratic,
    "kinked": kinked,
}
_METHODS = (
    "objective_perturbation",
    "unthresholded",
    "langevin_average",
    *(name for name, kind in MECHANISMS.items() if kind.traits.one_model),
)


def measure(draws: int = 16, methods: Sequence[str] = _METHODS) -> dict[str, Any]:
    """Measure every sweep of every method that applies, and what theory has beside it.

    With δ only what is another mechanism then: exact draws are what they were.
    """
    found = []
    for table in TABLES:
        for delta in (0.0, DELTA):
            for method in methods if delta == 0 else _OF_DELTA:
                found += [_sweep(table, delta, method, axis, draws) for axis in SWEEPS]
    kept = [one for one in found if one is not None]
    return {
        "machine": machine(),
        "draws": draws,
        "sweeps": kept,
        "theory": theory(),
        "map": method_map(),
    }


def write(measured: dict[str, Any], file: Path = RESULTS) -> None:
    """Write the measurements."""
    file.parent.mkdir(exist_ok=True)
    file.write_text(json.dumps(measured, indent=1) + "\n", encoding="utf-8")


def lines(measured: dict[str, Any]) -> Iterator[str]:
    """Lay out a sweep a line, and the map."""
    for one in measured["sweeps"]:
        found = "the best itself" if one["slope"] is None else f"{one['slope']:+.2f} measured"
        slopes = f"{found}, {one['promised_slope']:+.2f} promised"
        yield f"{one['table']:10}{one['delta']:>7g}  {one['method']:23}{one['axis']}  {slopes}"
    for cell in measured["map"]:
        where = f"n {cell['n']:>7,} p {cell['p']:>3} ε {cell['epsilon']:>4}, δ {cell['delta']:g}"
        yield f"{where}: {cell['method']} {cell['excess']:.3g}"


def slope_of(places: Sequence[float], values: Sequence[float]) -> float:
    """Slope of the straight line through logarithms."""
    return round(float(np.polyfit(np.log(places), np.log(values), 1)[0]), 3)


def request_of(table: str, n: int, p: int, epsilon: float, delta: float) -> Request:
    """Ask a method, in public numbers."""
    radius, loss = _SIZES[table]
    return Request(n, p, 0.0, loss, radius, 1.0, 0.0, epsilon, delta, 1)


def _sweep(table: str, delta: float, method: str, axis: str, draws: int) -> dict[str, Any] | None:
    points = SWEEPS[axis]
    measured = [_point(table, delta, method, point, draws) for point in points]
    if any(one is None for one in measured):
        return None
    excess, promised = ([one[place] for one in measured if one is not None] for place in (0, 1))
    places = [point["npε".index(axis)] for point in points]
    return {
        "table": table,
        "delta": delta,
        "method": method,
        "axis": axis,
        "places": places,
        "excess": excess,
        "promised": promised,
        "slope": None if FLOOR in excess else slope_of(places, excess),
        "promised_slope": slope_of(places, promised),
    }


def _point(
    table: str, delta: float, method: str, point: tuple[int, int, float], draws: int
) -> tuple[float, float] | None:
    """Mean excess and its bound; None where a method does not apply or does not come."""
    n, p, epsilon = point
    way, request = MECHANISMS[method], request_of(table, n, p, epsilon, delta)
    with warnings.catch_warnings(), suppress_weak_warnings():
        warnings.simplefilter("ignore")
        offer = way.offer(request)
        if not offer.applies:
            return None
        posed, plain = TABLES[table](n, p, offer.plan.ridge), TABLES[table](n, p, 0.0)
        target = GibbsTarget.of(posed, offer.plan)
        rng = generator([n, p, round(1000 * epsilon)])
        try:
            drawn = np.column_stack(
                [
                    collect(way.for_plan(offer.plan), target, 1, rng).coef[0]
                    for _ in range(draws // _SLOW.get(method, 1))
                ]
            )
        except SamplerError:
            return None
    least = float(plain.value(_best(table, p)[:, None])[0])
    return max(float(plain.value(drawn).mean()) - least, FLOOR), float(offer.excess)


def _best(table: str, p: int) -> FloatArray:
    """Return the best model of the ball (p,), known by hand."""
    return 0.5 * np.eye(p)[0] if table == "linear" else np.full(p, 0.3)


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
    with suppress_weak_warnings():
        offers = [MECHANISMS[name].offer(request) for name in _METHODS]
    best = min(offers, key=lambda one: one.excess)
    return {
        "n": n,
        "p": p,
        "epsilon": epsilon,
        "delta": delta,
        "method": best.name,
        "excess": float(best.excess),
    }
