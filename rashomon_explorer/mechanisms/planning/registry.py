"""Registry of mechanisms by name."""

from rashomon_explorer._utils.imports import LazyRegistry
from rashomon_explorer.mechanisms.base import Mechanism, Traits

_ROOM = "rashomon_explorer.mechanisms"
_PERTURBED = f"{_ROOM}.objective_perturbation.sampler"
_PAPERS = "rashomon_explorer.papers"

# Each is imported on first use, so that importing an estimator is quick.
_SEVERAL = {
    "exact": f"{_ROOM}.samplers.exponential:ExactSampler",
    "unthresholded": f"{_ROOM}.samplers.exponential:UnthresholdedSampler",
    "langevin_average": f"{_ROOM}.langevin.sampler:LangevinAverageSampler",
    "langevin_clipped": f"{_ROOM}.langevin.sampler:LangevinClipped",
    "objective_perturbation": f"{_PERTURBED}:ObjectivePerturbationSampler",
    "langevin": f"{_ROOM}.langevin.sampler:PlannedPath",
    "finite_grid": f"{_ROOM}.samplers.finite_grid:FiniteGridSampler",
    "hit_and_run": f"{_ROOM}.samplers.hit_and_run:HitAndRunSampler",
    "mala": f"{_PAPERS}.mala:MalaSampler",
    "ellipsoid": f"{_ROOM}.ellipsoid.sampler:EllipsoidSampler",
    "ellipsoid_exact": f"{_ROOM}.ellipsoid.sampler:EllipsoidExactSampler",
}

_ONE_MODEL = {
    "moments": f"{_ROOM}.moments:Moments",
    "noisy_descent": f"{_ROOM}.one_model:NoisyDescent",
    "last_iterate": f"{_PAPERS}.last_states:LastIterate",
    "noisy_sgd": f"{_ROOM}.one_model:NoisySGD",
    "localised_gaussian": f"{_ROOM}.one_model:LocalisedGaussian",
    "output_perturbation": f"{_ROOM}.one_model:OutputPerturbation",
    "regularised": f"{_PAPERS}.localisation:Regularised",
    "localised": f"{_PAPERS}.localisation:Localised",
    "iterated": f"{_PAPERS}.localisation:Iterated",
    "iterated_batches": f"{_PAPERS}.localisation:IteratedBatches",
    "last_sampled_state": f"{_PAPERS}.last_states:LastSampledState",
    "smooth_sgd": f"{_PAPERS}.private_erm:SmoothSGD",
    "boosted": f"{_PAPERS}.private_erm:Boosted",
}

MECHANISMS: LazyRegistry[type[Mechanism]] = LazyRegistry({**_SEVERAL, **_ONE_MODEL})

OF_SEVERAL_MODELS = tuple(_SEVERAL)
"""Names of the mechanisms that draw any number of models."""

OF_PAPERS = tuple(
    name for name, place in {**_SEVERAL, **_ONE_MODEL}.items() if place.startswith(_PAPERS)
)
"""Names of the mechanisms that are used by name only: ``"auto"`` never selects them."""


def mechanism_traits(name: str) -> Traits:
    """Properties of a mechanism and its draws, by name; none for an unknown name."""
    return MECHANISMS[name].traits if name in MECHANISMS else Traits()
