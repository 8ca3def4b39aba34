"""Measures of a set of models: multiplicity and importance, as functions of arrays."""

from rashomon_explorer.measures.importance import (
    coefficient_spread,
    importance_spread,
    permutation_importance,
)
from rashomon_explorer.measures.multiplicity import (
    ambiguity,
    disagreement,
    discrepancy,
    viable_prediction_range,
)

__all__ = [
    "ambiguity",
    "coefficient_spread",
    "disagreement",
    "discrepancy",
    "importance_spread",
    "permutation_importance",
    "viable_prediction_range",
]
