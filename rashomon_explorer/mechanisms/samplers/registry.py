"""Registry of samplers by name."""

from rashomon_explorer._utils.lazy import LazyRegistry
from rashomon_explorer.mechanisms.ellipsoid.sampler import EllipsoidExactSampler, EllipsoidSampler
from rashomon_explorer.mechanisms.langevin.sampler import (
    LangevinAverageSampler,
    LangevinClipped,
    PlannedPath,
)
from rashomon_explorer.mechanisms.objective_perturbation.sampler import ObjectivePerturbationSampler
from rashomon_explorer.mechanisms.samplers.base import PlannedSampler, Traits
from rashomon_explorer.mechanisms.samplers.exponential import ExactSampler, UnthresholdedSampler
from rashomon_explorer.mechanisms.samplers.finite_grid import FiniteGridSampler
from rashomon_explorer.mechanisms.samplers.hit_and_run import HitAndRunSampler

# Samplers whose privacy cost is the plan's, or that are not private. The others choose their own
# temperature or cost more than an exact draw: users build them and charge their certificate.
SAMPLERS: LazyRegistry[type[PlannedSampler]] = LazyRegistry(
    {
        "exact": ExactSampler,
        "unthresholded": UnthresholdedSampler,
        "langevin_average": LangevinAverageSampler,
        "langevin_clipped": LangevinClipped,
        "objective_perturbation": ObjectivePerturbationSampler,
        "langevin": PlannedPath,
        "finite_grid": FiniteGridSampler,
        "hit_and_run": HitAndRunSampler,
        "mala": "rashomon_explorer.papers.mala:MalaSampler",
        "ellipsoid": EllipsoidSampler,
        "ellipsoid_exact": EllipsoidExactSampler,
    }
)


def sampler_traits(name: str) -> Traits:
    """Properties of the draws of a sampler, by name; none for an unknown name."""
    return SAMPLERS[name].traits if name in SAMPLERS else Traits()
