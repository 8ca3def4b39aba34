"""Langevin steps a second, against their two matrix products alone."""

from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.problems import logistic_problem
from benchmarks.timing import median_seconds
from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer.mechanisms.base import collect
from rashomon_explorer.mechanisms.exact import ExactSampler
from rashomon_explorer.mechanisms.langevin.sampler import LangevinSampler
from rashomon_explorer.mechanisms.target import GibbsTarget
from rashomon_explorer.problem.thresholds import SmoothThreshold

SIZES = [(569, 30, 64), (6_000, 12, 256), (30_000, 100, 64)]
COLD_SIZES = [(6_000, 12, 256), (6_000, 12, 1_024)]
COLD_BETA, PSI = 40_000.0, 0.02  # cold enough for nine draws in ten to be inside
COLD_WIDTH = PSI / 10


def measure(seconds: float) -> list[dict[str, Any]]:
    """One entry a size, with the products on the same cores as the limit."""
    return [_measure(*size, seconds=seconds / 2) for size in SIZES]


def seconds_a_step(
    target: GibbsTarget, first: FloatArray, *, step_size: float, seconds: float
) -> float:
    """Median time of a step of the chains in the columns of ``first`` (p, K)."""
    sampler = LangevinSampler(step_size, n_steps=10**9, n_chains=first.shape[1])
    steps = sampler.states(target, np.random.default_rng(0), first)
    for _ in range(3):
        next(steps)
    return median_seconds(lambda: next(steps), seconds=seconds)


def at_home(n: int, p: int, chains: int) -> tuple[GibbsTarget, FloatArray]:
    """Pose a cold target and draw from it (p, chains): where chains are once they have mixed."""
    shape = SmoothThreshold(COLD_WIDTH)
    target = GibbsTarget(logistic_problem(n, p, "inside"), COLD_BETA, PSI, shape)
    draws = collect(ExactSampler(), target, chains, np.random.default_rng(0))
    return target, draws.coef.T


def _measure(n: int, p: int, chains: int, *, seconds: float) -> dict[str, Any]:
    target = GibbsTarget(logistic_problem(n, p, "sphere"), 100.0, PSI, threshold="smooth")
    step = seconds_a_step(target, np.zeros((p, chains)), step_size=1e-6, seconds=seconds)
    return {
        "n": n,
        "p": p,
        "K": chains,
        "fraction_of_products": round(seconds_of_products(n, p, chains, seconds) / step, 3),
        "chain_steps_per_second": round(chains / step),
    }


def seconds_of_products(n: int, p: int, chains: int, seconds: float) -> float:
    """Median time of a step's two matrix products alone, on all cores."""
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((n, p))
    theta = rng.standard_normal((p, chains))
    cells = np.empty((n, chains))
    gradient = np.empty((p, chains))

    def both() -> None:
        np.matmul(rows, theta, out=cells)
        np.matmul(rows.T, cells, out=gradient)

    with threadpool_limits(None):
        return median_seconds(both, seconds=seconds)
