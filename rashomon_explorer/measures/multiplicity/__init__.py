"""Predictive multiplicity: measures, curves over ψ, and tables by group."""

from typing import TYPE_CHECKING

from rashomon_explorer._utils.imports import lazy_names

if TYPE_CHECKING:
    from rashomon_explorer.measures.multiplicity.capacity import *
    from rashomon_explorer.measures.multiplicity.labels import *
    from rashomon_explorer.measures.multiplicity.measure import *
    from rashomon_explorer.measures.multiplicity.scores import *
    from rashomon_explorer.measures.multiplicity.table import *

__all__ = [
    "MEASURES",
    "Measure",
    "abstention",
    "ambiguity",
    "capacity_bounds",
    "cohen_kappa",
    "decide_or_abstain",
    "delta_ambiguity",
    "delta_discrepancy",
    "delta_obscurity",
    "disagreement",
    "discrepancy",
    "multiplicity_table",
    "obscurity",
    "pattern_count",
    "pattern_diversity",
    "range_width",
    "rashomon_capacity",
    "row_disagreement",
    "score_std",
    "score_variance",
    "self_consistency",
    "viable_prediction_range",
]

__getattr__, __dir__ = lazy_names(__name__, __all__)
