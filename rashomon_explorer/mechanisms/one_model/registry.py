"""Registry of methods for one private model."""

from rashomon_explorer._utils.lazy import LazyRegistry
from rashomon_explorer.mechanisms.langevin.one_model import LangevinAverage, NoisyDescent
from rashomon_explorer.mechanisms.moments import Moments
from rashomon_explorer.mechanisms.objective_perturbation.sampler import ObjectivePerturbation
from rashomon_explorer.mechanisms.one_model.base import Method
from rashomon_explorer.mechanisms.one_model.descent import (
    LastIterate,
    LocalisedGaussian,
    NoisySGD,
    OutputPerturbation,
)
from rashomon_explorer.mechanisms.one_model.exponential import (
    Gibbs,
    Localised,
    Regularised,
)

_PAPERS = "rashomon_explorer.papers.localisation"

# Of methods with equal bounds the first is selected. Strings are selected only by name: their first
# draw is from the whole ball, and no trial predicts that it succeeds (docs/one-model.md).
METHODS: LazyRegistry[Method] = LazyRegistry(
    {
        "objective_perturbation": ObjectivePerturbation(),
        "moments": Moments(),
        "langevin_average": LangevinAverage(),
        "noisy_descent": NoisyDescent(),
        "last_iterate": LastIterate(),
        "noisy_sgd": NoisySGD(),
        "localised_gaussian": LocalisedGaussian(),
        "output_perturbation": OutputPerturbation(),
        "gibbs": Gibbs(),
        "regularised": Regularised(),
        "localised": Localised(),
        "iterated": f"{_PAPERS}:Iterated",
        "iterated_batches": f"{_PAPERS}:IteratedBatches",
    },
    instances=True,
)
