"""Trade-off functions: bounds on the errors of any test between neighbours."""

from rashomon_explorer.privacy.tradeoff.allocation import AllocatedBatches
from rashomon_explorer.privacy.tradeoff.composition import Composition, compose_tradeoffs
from rashomon_explorer.privacy.tradeoff.curves import (
    Approximate,
    BoundedRange,
    Gaussian,
    GaussianObjectivePerturbation,
    RepeatedBoundedRange,
    TradeOff,
)
from rashomon_explorer.privacy.tradeoff.sampled import PoissonSampled, Subsampled

__all__ = [
    "AllocatedBatches",
    "Approximate",
    "BoundedRange",
    "Composition",
    "Gaussian",
    "GaussianObjectivePerturbation",
    "PoissonSampled",
    "RepeatedBoundedRange",
    "Subsampled",
    "TradeOff",
    "compose_tradeoffs",
]
