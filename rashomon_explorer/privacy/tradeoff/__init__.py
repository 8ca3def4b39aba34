"""Trade-off functions: bounds on the errors of any test between neighbours."""

from rashomon_explorer.privacy.tradeoff.bounded_range import (
    AdaptiveBoundedRange,
    BoundedRange,
    RepeatedBoundedRange,
)
from rashomon_explorer.privacy.tradeoff.composition import Composition, compose_tradeoffs
from rashomon_explorer.privacy.tradeoff.conversions import from_dict, from_renyi, from_zcdp
from rashomon_explorer.privacy.tradeoff.curves import (
    Approximate,
    Gaussian,
    Laplace,
    TradeOff,
    envelope,
    pure_curve,
)
from rashomon_explorer.privacy.tradeoff.objective_perturbation import GaussianObjectivePerturbation
from rashomon_explorer.privacy.tradeoff.piecewise import Piecewise, from_profile, from_samples, hull
from rashomon_explorer.privacy.tradeoff.sampled import PoissonSampled, Subsampled

__all__ = [
    "AdaptiveBoundedRange",
    "Approximate",
    "BoundedRange",
    "Composition",
    "Gaussian",
    "GaussianObjectivePerturbation",
    "Laplace",
    "Piecewise",
    "PoissonSampled",
    "RepeatedBoundedRange",
    "Subsampled",
    "TradeOff",
    "compose_tradeoffs",
    "envelope",
    "from_dict",
    "from_profile",
    "from_renyi",
    "from_samples",
    "from_zcdp",
    "hull",
    "pure_curve",
]
