"""Langevin steps a second, against their two matrix products alone, and lazy ones against plain."""

from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.problems import logistic_problem
from benchmarks.timing import median_seconds
from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer.mechanisms.base import collect
from rashomon_explorer.mechanisms.exact import ExactSampler
from rashomon_explorer.mechanisms.langevin.gradients import FullDrift
from rashomon_explorer.mechanisms.langevin.sampler import LangevinSampler
from rashomon_explorer.mechanisms.target import GibbsTarget
from rashomon_explorer.problem.thresholds import SmoothThreshold

SIZES = [(569, 30, 64), (6_000, 12, 256), (30_000, 100, 64)]
DTYPES = {"float32": "single", "float64": "double"}
LAZY_SIZES = [(6_000, 12, 64), (6_000, 12, 256), (6_000, 12, 1_024)]
LAZY_BETA, PSI = 40_000.0, 0.02  # cold enough for nine draws in ten to be inside
LAZY_WIDTH = PSI / 10


def measure(seconds: float) -> list[dict[str, Any]]:
    """One entry a size and precision, with the products on the same cores as the limit.

    Every chain looks at every row in every step (``lazy=False``).
    """
    return [_measure(*size, dtype=dtype, seconds=seconds / 2) for dtype in DTYPES for size in SIZES]


def measure_lazy(seconds: float) -> list[dict[str, Any]]:
    """Lazy steps against plain ones, for chains that are distributed as the target."""
    return [_measure_lazy(*size, seconds=seconds / 2) for size in LAZY_SIZES]


def seconds_a_step(
    target: GibbsTarget,
    first: FloatArray,
    *,
    dtype: str,
    lazy: bool,
    step_size: float,
    seconds: float,
) -> float:
    """Median time of a step of the chains in the columns of ``first`` (p, K)."""
    sampler = LangevinSampler(
        step_size, n_steps=10**9, n_chains=first.shape[1], precision=DTYPES[dtype], lazy=lazy
    )
    steps = sampler.states(target, np.random.default_rng(0), first)
    for _ in range(3):
        next(steps)
    return median_seconds(lambda: next(steps), seconds=seconds)


def at_home(n: int, p: int, chains: int) -> tuple[GibbsTarget, FloatArray]:
    """Pose a cold target and draw from it (p, chains): where chains are once they have mixed."""
    shape = SmoothThreshold(LAZY_WIDTH)
    target = GibbsTarget(logistic_problem(n, p, "inside"), LAZY_BETA, PSI, shape)
    draws = collect(ExactSampler(), target, chains, np.random.default_rng(0))
    return target, draws.coef.T


def _measure(n: int, p: int, chains: int, *, dtype: str, seconds: float) -> dict[str, Any]:
    target = GibbsTarget(logistic_problem(n, p, "sphere"), 100.0, PSI, threshold="smooth")
    step = seconds_a_step(
        target, np.zeros((p, chains)), dtype=dtype, lazy=False, step_size=1e-6, seconds=seconds
    )
    return {
        "n": n,
        "p": p,
        "K": chains,
        "dtype": dtype,
        "fraction_of_products": round(seconds_of_products(n, p, chains, dtype, seconds) / step, 3),
        "chain_steps_per_second": round(chains / step),
    }


def _measure_lazy(n: int, p: int, chains: int, *, seconds: float) -> dict[str, Any]:
    target, first = at_home(n, p, chains)
    step_size = FullDrift(target).largest_step / 2
    plain, lazy = (
        seconds_a_step(
            target, first, dtype="float64", lazy=lazy, step_size=step_size, seconds=seconds
        )
        for lazy in (False, True)
    )
    inside = target.problem.value(first) <= target.problem.minimum.value + PSI
    return {
        "n": n,
        "p": p,
        "K": chains,
        "hit_rate": round(float(inside.mean()), 3),
        "lazy_speedup": round(plain / lazy, 2),
        "chain_steps_per_second": round(chains / lazy),
    }


def seconds_of_products(n: int, p: int, chains: int, dtype: str, seconds: float) -> float:
    """Median time of a step's two matrix products alone, on all cores."""
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((n, p)).astype(dtype)
    theta = rng.standard_normal((p, chains)).astype(dtype)
    cells = np.empty((n, chains), dtype)
    gradient = np.empty((p, chains), dtype)

    def both() -> None:
        np.matmul(rows, theta, out=cells)
        np.matmul(rows.T, cells, out=gradient)

    with threadpool_limits(None):
        return median_seconds(both, seconds=seconds)
