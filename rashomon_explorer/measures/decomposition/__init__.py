"""How much of what draws disagree about is the set's own, and how much the mechanism's."""

from rashomon_explorer.measures.decomposition.decomposition import (
    width_or_noise,
    width_or_noise_by_person,
)
from rashomon_explorer.measures.decomposition.estimates import Estimate
from rashomon_explorer.measures.decomposition.price import noise_against_price
from rashomon_explorer.measures.decomposition.result import WidthOrNoise

__all__ = [
    "Estimate",
    "WidthOrNoise",
    "noise_against_price",
    "width_or_noise",
    "width_or_noise_by_person",
]
