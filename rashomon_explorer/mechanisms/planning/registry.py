"""Registry of mechanisms by name."""

from rashomon_explorer._utils.lazy import LazyRegistry
from rashomon_explorer.mechanisms import one_model
from rashomon_explorer.mechanisms.base import Mechanism, Traits
from rashomon_explorer.mechanisms.ellipsoid.sampler import EllipsoidExactSampler, EllipsoidSampler
from rashomon_explorer.mechanisms.langevin import sampler
from rashomon_explorer.mechanisms.moments import Moments
from rashomon_explorer.mechanisms.objective_perturbation.sampler import ObjectivePerturbationSampler
from rashomon_explorer.mechanisms.samplers.exponential import ExactSampler, UnthresholdedSampler
from rashomon_explorer.mechanisms.samplers.finite_grid import FiniteGridSampler
from rashomon_explorer.mechanisms.samplers.hit_and_run import HitAndRunSampler

_PAPERS = "rashomon_explorer.papers"


# Strings are imported where they are named: "auto" never selects them.
_SEVERAL: dict[str, type[Mechanism] | str] = {
    "exact": ExactSampler,
    "unthresholded": UnthresholdedSampler,
    "langevin_average": sampler.LangevinAverageSampler,
    "langevin_clipped": sampler.LangevinClipped,
    "objective_perturbation": ObjectivePerturbationSampler,
    "langevin": sampler.PlannedPath,
    "finite_grid": FiniteGridSampler,
    "hit_and_run": HitAndRunSampler,
    "mala": f"{_PAPERS}.mala:MalaSampler",
    "ellipsoid": EllipsoidSampler,
    "ellipsoid_exact": EllipsoidExactSampler,
}

_ONE_MODEL: dict[str, type[Mechanism] | str] = {
    "moments": Moments,
    "noisy_descent": one_model.NoisyDescent,
    "last_iterate": one_model.LastIterate,
    "noisy_sgd": one_model.NoisySGD,
    "localised_gaussian": one_model.LocalisedGaussian,
    "output_perturbation": one_model.OutputPerturbation,
    "regularised": f"{_PAPERS}.localisation:Regularised",
    "localised": f"{_PAPERS}.localisation:Localised",
    "iterated": f"{_PAPERS}.localisation:Iterated",
    "iterated_batches": f"{_PAPERS}.localisation:IteratedBatches",
}

MECHANISMS: LazyRegistry[type[Mechanism]] = LazyRegistry({**_SEVERAL, **_ONE_MODEL})

OF_SEVERAL_MODELS = tuple(_SEVERAL)
"""Names of the mechanisms that draw any number of models."""


def mechanism_traits(name: str) -> Traits:
    """Properties of a mechanism and its draws, by name; none for an unknown name."""
    return MECHANISMS[name].traits if name in MECHANISMS else Traits()
