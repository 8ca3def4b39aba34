"""Decomposition of disagreement into model-set width and mechanism noise."""

from rashomon_explorer.measures.decomposition.decomposition import (
    decomposition_by_person,
    disagreement_decomposition,
)
from rashomon_explorer.measures.decomposition.estimates import DisagreementDecomposition, Estimate
from rashomon_explorer.measures.decomposition.price import noise_by_budget

__all__ = [
    "DisagreementDecomposition",
    "Estimate",
    "decomposition_by_person",
    "disagreement_decomposition",
    "noise_by_budget",
]
