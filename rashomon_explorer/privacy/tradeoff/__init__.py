"""Trade-off functions as values: what any test between neighbours can still achieve."""

from rashomon_explorer.privacy.tradeoff.adaptive_bounded_range import AdaptiveBoundedRange
from rashomon_explorer.privacy.tradeoff.approximate import Approximate, pure_curve
from rashomon_explorer.privacy.tradeoff.base import TradeOff, envelope
from rashomon_explorer.privacy.tradeoff.bounded_range import BoundedRange
from rashomon_explorer.privacy.tradeoff.composition import Composition, compose_tradeoffs
from rashomon_explorer.privacy.tradeoff.conversions import from_dict, from_renyi, from_zcdp
from rashomon_explorer.privacy.tradeoff.gaussian import Gaussian
from rashomon_explorer.privacy.tradeoff.gaussian_tilt import GaussianTilt
from rashomon_explorer.privacy.tradeoff.laplace import Laplace
from rashomon_explorer.privacy.tradeoff.piecewise import (
    Piecewise,
    from_profile,
    from_samples,
    hull,
)
from rashomon_explorer.privacy.tradeoff.poisson import PoissonSampled
from rashomon_explorer.privacy.tradeoff.repeated_bounded_range import RepeatedBoundedRange
from rashomon_explorer.privacy.tradeoff.subsampled import Subsampled

__all__ = [
    "AdaptiveBoundedRange",
    "Approximate",
    "BoundedRange",
    "Composition",
    "Gaussian",
    "GaussianTilt",
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
