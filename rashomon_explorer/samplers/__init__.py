"""Samplers of thresholded Gibbs laws: one file each, found by name in ``SAMPLERS``."""

from collections.abc import Callable

from rashomon_explorer.planning import Plan
from rashomon_explorer.samplers.base import Batch, Sampler
from rashomon_explorer.samplers.exact import ExactSampler
from rashomon_explorer.samplers.grids.finite_grid import FiniteGridSampler
from rashomon_explorer.samplers.grids.grid_walk import GridWalkSampler
from rashomon_explorer.samplers.hit_and_run import HitAndRunSampler
from rashomon_explorer.samplers.langevin import LangevinSampler
from rashomon_explorer.samplers.localisation.iterated import IteratedSampler
from rashomon_explorer.samplers.localisation.output_perturbation import OutputPerturbationSampler
from rashomon_explorer.samplers.localisation.regularised import RegularisedSampler
from rashomon_explorer.samplers.mala import MalaSampler
from rashomon_explorer.samplers.metered_langevin import MeteredLangevin
from rashomon_explorer.samplers.planned_path import PlannedPath

# Those whose price is the plan's, or nothing. The others choose their own temperature, or cost
# more than an exact draw: they are built by hand and charged by their own certificate.
SAMPLERS: dict[str, Callable[[Plan], Sampler]] = {
    "exact": lambda plan: ExactSampler(),
    "finite_grid": lambda plan: FiniteGridSampler(),
    "hit_and_run": lambda plan: HitAndRunSampler(),
    "langevin": PlannedPath,
    "mala": lambda plan: MalaSampler(),
}

__all__ = [
    "SAMPLERS",
    "Batch",
    "ExactSampler",
    "FiniteGridSampler",
    "GridWalkSampler",
    "HitAndRunSampler",
    "IteratedSampler",
    "LangevinSampler",
    "MalaSampler",
    "MeteredLangevin",
    "OutputPerturbationSampler",
    "PlannedPath",
    "RegularisedSampler",
    "Sampler",
]
