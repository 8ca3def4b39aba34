"""Exact draws a CPU second, against looking once at the loss of each draw, in turn."""

import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.problems import logistic_problem
from rashomon_explorer.mechanisms.exact import ExactSampler
from rashomon_explorer.mechanisms.target import GibbsTarget

PSI = 0.02
_MODELS = 64
SIZES = [
    (6_000, 10, "inside", 1.0),
    (50_000, 10, "inside", 1.0),
    (50_000, 20, "inside", 1.0),
    (50_000, 30, "inside", 1.0),
    (6_000, 10, "sphere", 1.0),
    (50_000, 10, "sphere", 1.0),
    (50_000, 20, "sphere", 1.0),
    (50_000, 30, "sphere", 1.0),
    (20_000, 50, "sphere", 4.0),
    (20_000, 100, "sphere", 4.0),
]


def measure(seconds: float) -> list[dict[str, Any]]:
    """One entry a size; ``fraction_of_limit`` is 1 when every loss looked at becomes a draw.

    It includes envelopes that are made after the first rejected models;
    ``steady_fraction_of_limit`` is of the second half of the time, which usually has them all.
    """
    return [_measure(*size, seconds=seconds) for size in SIZES]


def _measure(n: int, p: int, place: str, epsilon: float, *, seconds: float) -> dict[str, Any]:
    problem = logistic_problem(n, p, place)
    target = GibbsTarget(problem, epsilon / problem.constants.charged_oscillation, PSI)
    batches = ExactSampler().batches(target, np.random.default_rng(0))
    models = problem.domain.project(np.random.default_rng(2).standard_normal((p, _MODELS)))
    setup, batch = _cpu_seconds(lambda: next(batches))
    draws = evaluated = hits = 0
    drawing, looking, steps = 0.0, list[float](), list[tuple[float, int]]()
    while drawing < seconds:
        taken, batch = _cpu_seconds(lambda: next(batches))
        drawing += taken
        steps.append((taken, len(batch.losses)))
        looking.append(_cpu_seconds(lambda: problem.value(models))[0] / _MODELS)
        draws += len(batch.losses)
        evaluated += batch.evaluated
        hits += int((batch.losses - problem.minimum.value <= PSI).sum())
    look, late = statistics.median(looking), np.array(steps)
    late = late[late[:, 0].cumsum() > drawing / 2].sum(axis=0)
    return {
        "n": n,
        "p": p,
        "psi": PSI,
        "epsilon": epsilon,
        "boundary": place == "sphere",
        "draws_per_second": round(draws / drawing, 1),
        "acceptance": round(draws / max(1, evaluated), 4),
        "fraction_of_limit": round(draws / drawing * look, 4),
        "steady_fraction_of_limit": round(late[1] / late[0] * look, 4),
        "hit_rate": round(hits / max(1, draws), 3),
        "setup_in_losses": round(setup / look),
    }


def _cpu_seconds(work: Callable[[], Any]) -> tuple[float, Any]:
    """CPU seconds of the process, on machines that others use too, and the result."""
    start = time.process_time()
    result = work()
    return time.process_time() - start, result
