"""Samplers of thresholded Gibbs laws: one file each, found by name in ``SAMPLERS``."""

from rashomon_explorer.samplers.base import Batch, PlannedSampler, Sampler
from rashomon_explorer.samplers.ellipsoid.exact import EllipsoidExactSampler
from rashomon_explorer.samplers.ellipsoid.sampler import EllipsoidSampler
from rashomon_explorer.samplers.exact import ExactSampler
from rashomon_explorer.samplers.finite_grid import FiniteGridSampler
from rashomon_explorer.samplers.hit_and_run import HitAndRunSampler
from rashomon_explorer.samplers.langevin import LangevinSampler
from rashomon_explorer.samplers.langevin_average import LangevinAverage
from rashomon_explorer.samplers.langevin_clipped import LangevinClipped
from rashomon_explorer.samplers.localisation.iterated import IteratedSampler
from rashomon_explorer.samplers.localisation.output_perturbation import OutputPerturbationSampler
from rashomon_explorer.samplers.localisation.regularised import RegularisedSampler
from rashomon_explorer.samplers.mala import MalaSampler
from rashomon_explorer.samplers.metered_langevin import MeteredLangevin
from rashomon_explorer.samplers.objective_perturbation import ObjectivePerturbationSampler
from rashomon_explorer.samplers.planned_path import PlannedPath
from rashomon_explorer.samplers.traits import Traits
from rashomon_explorer.samplers.unthresholded import UnthresholdedSampler

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
