"""Predictive multiplicity: measures, curves over ψ, and tables by group."""

from rashomon_explorer.measures.multiplicity.capacity import capacity_bounds, rashomon_capacity
from rashomon_explorer.measures.multiplicity.catalogue import MEASURES
from rashomon_explorer.measures.multiplicity.labels import (
    abstention,
    ambiguity,
    disagreement,
    discrepancy,
    obscurity,
    row_disagreement,
    self_consistency,
)
from rashomon_explorer.measures.multiplicity.measure import Measure
from rashomon_explorer.measures.multiplicity.pairs import (
    cohen_kappa,
    linear_pattern_count,
    pattern_count,
    pattern_diversity,
    pattern_ratio,
)
from rashomon_explorer.measures.multiplicity.ratio import (
    Ratio,
    linear_rashomon_ratio,
    rashomon_ratio,
)
from rashomon_explorer.measures.multiplicity.scores import (
    decide_or_abstain,
    delta_ambiguity,
    delta_discrepancy,
    delta_obscurity,
    range_width,
    score_std,
    score_variance,
    viable_prediction_range,
)
from rashomon_explorer.measures.multiplicity.table import (
    by_group,
    multiplicity_curve,
    multiplicity_table,
)

__all__ = [
    "MEASURES",
    "Measure",
    "Ratio",
    "abstention",
    "ambiguity",
    "by_group",
    "capacity_bounds",
    "cohen_kappa",
    "decide_or_abstain",
    "delta_ambiguity",
    "delta_discrepancy",
    "delta_obscurity",
    "disagreement",
    "discrepancy",
    "linear_pattern_count",
    "linear_rashomon_ratio",
    "multiplicity_curve",
    "multiplicity_table",
    "obscurity",
    "pattern_count",
    "pattern_diversity",
    "pattern_ratio",
    "range_width",
    "rashomon_capacity",
    "rashomon_ratio",
    "row_disagreement",
    "score_std",
    "score_variance",
    "self_consistency",
    "viable_prediction_range",
]
