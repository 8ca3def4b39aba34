"""Registry of samplers by name."""

from rashomon_explorer.mechanisms.ellipsoid.exact_sampler import EllipsoidExactSampler
from rashomon_explorer.mechanisms.ellipsoid.sampler import EllipsoidSampler
from rashomon_explorer.mechanisms.langevin.planned import (
    LangevinAverageSampler,
    LangevinClipped,
    PlannedPath,
)
from rashomon_explorer.mechanisms.objective_perturbation.sampler import ObjectivePerturbationSampler
from rashomon_explorer.mechanisms.samplers.base import PlannedSampler, Traits
from rashomon_explorer.mechanisms.samplers.exponential import ExactSampler, UnthresholdedSampler
from rashomon_explorer.mechanisms.samplers.finite_grid import FiniteGridSampler
from rashomon_explorer.mechanisms.samplers.hit_and_run import HitAndRunSampler
from rashomon_explorer.mechanisms.samplers.mala import MalaSampler

# Those whose price is the plan's, or nothing. The others choose their own temperature, or cost
# more than an exact draw: they are built by hand and charged by their own certificate.
SAMPLERS: dict[str, type[PlannedSampler]] = {
    kind.name: kind
    for kind in (
        ExactSampler,
        UnthresholdedSampler,
        LangevinAverageSampler,
        LangevinClipped,
        ObjectivePerturbationSampler,
        PlannedPath,
        FiniteGridSampler,
        HitAndRunSampler,
        MalaSampler,
        EllipsoidSampler,
        EllipsoidExactSampler,
    )
}


def traits_of(name: str) -> Traits:
    """Say what is true of draws that bear a sampler's name: nothing, of those made elsewhere."""
    return SAMPLERS[name].traits if name in SAMPLERS else Traits()
