"""Samplers of thresholded Gibbs laws: one file each, found by name in ``SAMPLERS``."""

from rashomon_explorer.mechanisms.ellipsoid.exact_sampler import EllipsoidExactSampler
from rashomon_explorer.mechanisms.ellipsoid.sampler import EllipsoidSampler
from rashomon_explorer.mechanisms.langevin.metered import MeteredLangevin
from rashomon_explorer.mechanisms.langevin.planned import (
    LangevinAverage,
    LangevinClipped,
    PlannedPath,
)
from rashomon_explorer.mechanisms.langevin.sampler import LangevinSampler
from rashomon_explorer.mechanisms.localisation.sampler import (
    IteratedSampler,
    OutputPerturbationSampler,
    RegularisedSampler,
)
from rashomon_explorer.mechanisms.objective_perturbation.sampler import ObjectivePerturbationSampler
from rashomon_explorer.mechanisms.samplers.base import Batch, PlannedSampler, Sampler, Traits
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
        LangevinAverage,
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
    """Say what is true of draws that bear a sampler's name: nothing, of those made elsewhere.

    Examples
    --------
    >>> traits_of("hit_and_run").stays_inside, traits_of("unknown").stays_inside
    (True, False)
    """
    return SAMPLERS[name].traits if name in SAMPLERS else Traits()


__all__ = [
    "SAMPLERS",
    "Batch",
    "EllipsoidExactSampler",
    "EllipsoidSampler",
    "ExactSampler",
    "FiniteGridSampler",
    "HitAndRunSampler",
    "IteratedSampler",
    "LangevinAverage",
    "LangevinClipped",
    "LangevinSampler",
    "MalaSampler",
    "MeteredLangevin",
    "ObjectivePerturbationSampler",
    "OutputPerturbationSampler",
    "PlannedPath",
    "PlannedSampler",
    "RegularisedSampler",
    "Sampler",
    "Traits",
    "UnthresholdedSampler",
    "traits_of",
]
