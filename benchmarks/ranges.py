"""Exact ranges of a thousand people's scores, and who can flip, against twenty seconds."""

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.problems import logistic_problem
from rashomon_explorer.measures import exact_flips, exact_ranges, exact_score_ranges
from rashomon_explorer.problem.problem import Problem

ROWS, PARAMETERS, PEOPLE = 5_000, 30, 1_000
LIMIT_SECONDS = 20.0
PSI = 0.02


def measure(seconds: float) -> list[dict[str, Any]]:
    """One entry a measure and place of the minimum; ``fraction_of_limit`` is of twenty seconds.

    Each is run once, whatever ``seconds``: a first run is what a user waits for.
    """
    entries = []
    for place in ("inside", "sphere"):
        problem = logistic_problem(ROWS, PARAMETERS, place)
        works = _works(problem)
        entries += [_entry(place, name, work) for name, work in works.items()]
    return entries


def _works(problem: Problem) -> dict[str, Callable[[], Any]]:
    people = np.random.default_rng(4).standard_normal((PEOPLE, PARAMETERS))
    return {
        "coefficients": lambda: exact_ranges(problem, PSI),
        "scores": lambda: exact_score_ranges(problem, PSI, people),
        "flips": lambda: exact_flips(problem, PSI, people),
    }


def _entry(place: str, name: str, work: Callable[[], Any]) -> dict[str, Any]:
    start = time.perf_counter()
    found = work()
    taken = time.perf_counter() - start
    return {
        "measure": name,
        "minimum": place,
        "n": ROWS,
        "p": PARAMETERS,
        "asked": len(found),
        "seconds": round(taken, 3),
        "fraction_of_limit": round(taken / LIMIT_SECONDS, 4),
        "widest_bracket": _bracket(found),
    }


def _bracket(found: Any) -> float | None:
    """Largest share of an outer range that inner and outer ends leave open."""
    if "low" not in found:
        return None
    outer = found["high_outer"] - found["low_outer"]
    return float(((outer - (found["high"] - found["low"])) / outer).max())
