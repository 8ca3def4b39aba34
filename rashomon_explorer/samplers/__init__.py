"""Samplers of thresholded Gibbs laws: one file each, found by name in ``SAMPLERS``."""

from collections.abc import Callable

from rashomon_explorer.samplers.base import Batch, Sampler
from rashomon_explorer.samplers.exact import ExactSampler
from rashomon_explorer.samplers.finite_grid import FiniteGridSampler
from rashomon_explorer.samplers.grid_walk import GridWalkSampler
from rashomon_explorer.samplers.hit_and_run import HitAndRunSampler
from rashomon_explorer.samplers.langevin import LangevinSampler
from rashomon_explorer.samplers.mala import MalaSampler

# Those whose price is the plan's, or nothing. The grid walk costs more than an exact draw and a
# path is paid by its steps, so that they are built by hand and charged by their own certificate.
SAMPLERS: dict[str, Callable[[], Sampler]] = {
    "exact": ExactSampler,
    "finite_grid": FiniteGridSampler,
    "hit_and_run": HitAndRunSampler,
    "mala": MalaSampler,
}

__all__ = [
    "SAMPLERS",
    "Batch",
    "ExactSampler",
    "FiniteGridSampler",
    "GridWalkSampler",
    "HitAndRunSampler",
    "LangevinSampler",
    "MalaSampler",
    "Sampler",
]
