"""Registry of mechanisms for one private model."""

from rashomon_explorer.mechanisms.langevin.one_model import LangevinAverage, NoisyDescent
from rashomon_explorer.mechanisms.moments import Moments
from rashomon_explorer.mechanisms.objective_perturbation.one_model import ObjectivePerturbation
from rashomon_explorer.mechanisms.one_model.base import Method
from rashomon_explorer.mechanisms.one_model.descent import (
    LastIterate,
    LocalisedGaussian,
    NoisySGD,
    OutputPerturbation,
)
from rashomon_explorer.mechanisms.one_model.exponential import (
    Gibbs,
    Iterated,
    IteratedBatches,
    Localised,
    Regularised,
)

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
