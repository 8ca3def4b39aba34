"""How the cost of a loss grows with the number of rows."""

import numpy as np
from numpy.typing import NDArray

from benchmarks.problems import logistic_problem
from benchmarks.timing import median_seconds
from rashomon_explorer.problem.problem import Problem

ROWS = (1_000, 10_000, 100_000, 1_000_000)


def slope_in_rows(seconds: float, p: int = 10, models: int = 64) -> float:
    """Log–log slope of the time of one value and gradient against n; 1 is proportional."""
    theta = np.random.default_rng(0).standard_normal((p, models))
    problems = (logistic_problem(n, p, "sphere") for n in ROWS)
    times = [_seconds(problem, theta, seconds / len(ROWS)) for problem in problems]
    return float(np.polyfit(np.log(ROWS), np.log(times), 1)[0])


def _seconds(problem: Problem, theta: NDArray[np.float64], seconds: float) -> float:
    return median_seconds(lambda: problem.value_and_gradient(theta), seconds=seconds)
