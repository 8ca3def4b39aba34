"""Decomposition of disagreement into model-set width and mechanism noise."""

from rashomon_explorer.measures.decomposition.decomposition import (
    decomposition_by_person,
    disagreement_decomposition,
    noise_by_budget,
)
from rashomon_explorer.measures.decomposition.estimates import DisagreementDecomposition, Estimate

__all__ = [
    "DisagreementDecomposition",
    "Estimate",
    "decomposition_by_person",
    "disagreement_decomposition",
    "noise_by_budget",
]
