"""One private model: a method a file, found by name in ``METHODS``."""

from rashomon_explorer.one_model.gibbs import Gibbs
from rashomon_explorer.one_model.gradients import LangevinAverage, NoisyDescent
from rashomon_explorer.one_model.iterated_batches import IteratedBatches
from rashomon_explorer.one_model.last_iterate import LastIterate
from rashomon_explorer.one_model.localised import Iterated, Localised
from rashomon_explorer.one_model.localised_gaussian import LocalisedGaussian
from rashomon_explorer.one_model.method import Method, ModelOffer
from rashomon_explorer.one_model.moments import Moments
from rashomon_explorer.one_model.noisy_sgd import NoisySGD
from rashomon_explorer.one_model.objective_perturbation import ObjectivePerturbation
from rashomon_explorer.one_model.output_perturbation import OutputPerturbation
from rashomon_explorer.one_model.plan import ModelPlan
from rashomon_explorer.one_model.regularised import Regularised

# Of ways that promise alike the first is taken.
METHODS: dict[str, Method] = {
    method.name: method
    for method in (
        ObjectivePerturbation(),
        Moments(),
        LangevinAverage(),
        NoisyDescent(),
        LastIterate(),
        NoisySGD(),
        LocalisedGaussian(),
        OutputPerturbation(),
        Gibbs(),
        Regularised(),
        Localised(),
        Iterated(),
        IteratedBatches(),
    )
}

__all__ = [
    "METHODS",
    "Gibbs",
    "Iterated",
    "IteratedBatches",
    "LangevinAverage",
    "LastIterate",
    "Localised",
    "LocalisedGaussian",
    "Method",
    "ModelOffer",
    "ModelPlan",
    "Moments",
    "NoisyDescent",
    "NoisySGD",
    "ObjectivePerturbation",
    "OutputPerturbation",
    "Regularised",
]
