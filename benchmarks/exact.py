"""Exact draws a second, against looking once at the loss of each draw."""

import time
from typing import Any

import numpy as np

from benchmarks.problems import logistic_problem
from benchmarks.timing import median_seconds
from rashomon_explorer.mechanisms.exact import ExactSampler
from rashomon_explorer.mechanisms.target import GibbsTarget
from rashomon_explorer.problem.problem import Problem

PSI = 0.02
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
    """One entry a size; ``fraction_of_limit`` is 1 when every loss looked at becomes a draw."""
    return [_measure(*size, seconds=seconds) for size in SIZES]


def _measure(n: int, p: int, place: str, epsilon: float, *, seconds: float) -> dict[str, Any]:
    problem = logistic_problem(n, p, place)
    target = GibbsTarget(problem, epsilon / problem.constants.charged_oscillation, PSI)
    batches = ExactSampler().batches(target, np.random.default_rng(0))
    start = time.perf_counter()
    draws, setup = 0, None
    evaluated, hits = 0, 0
    deadline = np.inf
    while time.perf_counter() < deadline:
        batch = next(batches)
        if setup is None:
            setup = time.perf_counter() - start
            start = time.perf_counter()
            deadline = start + seconds
            continue
        draws += len(batch.losses)
        evaluated += batch.evaluated
        hits += int((batch.losses - problem.minimum.value <= PSI).sum())
    rate = draws / (time.perf_counter() - start)
    return {
        "n": n,
        "p": p,
        "psi": PSI,
        "epsilon": epsilon,
        "boundary": place == "sphere",
        "draws_per_second": round(rate, 1),
        "acceptance": round(draws / max(1, evaluated), 4),
        "fraction_of_limit": round(rate * _seconds_a_loss(problem), 4),
        "hit_rate": round(hits / max(1, draws), 3),
        "setup_in_losses": round((setup or 0.0) / _seconds_a_loss(problem)),
    }


def _seconds_a_loss(problem: Problem, models: int = 64) -> float:
    theta = problem.domain.project(np.random.default_rng(2).standard_normal((problem.p, models)))
    return median_seconds(lambda: problem.value(theta), seconds=0.3) / models
