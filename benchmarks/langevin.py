"""Langevin steps a second, against their two matrix products alone."""

from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.problems import logistic_problem
from benchmarks.timing import median_seconds
from rashomon_explorer.samplers.langevin import LangevinSampler
from rashomon_explorer.target import GibbsTarget

SIZES = [(569, 30, 64), (6_000, 12, 256), (30_000, 100, 64)]


def measure(seconds: float) -> list[dict[str, Any]]:
    """One entry a size, with the products on the same cores as the limit."""
    return [_measure(*size, seconds=seconds) for size in SIZES]


def _measure(n: int, p: int, chains: int, *, seconds: float) -> dict[str, Any]:
    problem = logistic_problem(n, p, "sphere")
    target = GibbsTarget(problem, 100.0, 0.02, threshold="smooth")
    sampler = LangevinSampler(step_size=1e-6, n_steps=10**9, n_chains=chains, thin=10**9)
    steps = sampler.states(target, np.random.default_rng(0))
    next(steps)
    step = median_seconds(lambda: next(steps), seconds=seconds)
    return {
        "n": n,
        "p": p,
        "K": chains,
        "dtype": "float64",
        "fraction_of_products": round(_products(n, p, chains, seconds) / step, 3),
        "chain_steps_per_second": round(chains / step),
    }


def _products(n: int, p: int, chains: int, seconds: float) -> float:
    rng = np.random.default_rng(0)
    rows, theta = rng.standard_normal((n, p)), rng.standard_normal((p, chains))
    cells = np.empty((n, chains))
    gradient = np.empty((p, chains))

    def both() -> None:
        np.matmul(rows, theta, out=cells)
        np.matmul(rows.T, cells, out=gradient)

    with threadpool_limits(None):
        return median_seconds(both, seconds=seconds)
