"""Measures of a set of models: the most used functions.

The subpackages ``multiplicity`` (with the registry ``MEASURES``), ``importance``, ``reliance``,
``ranges``, ``fairness`` and ``decomposition`` export all functions, registries and result classes.
"""

from rashomon_explorer.measures.decomposition.decomposition import (
    decomposition_by_person,
    disagreement_decomposition,
)
from rashomon_explorer.measures.decomposition.price import noise_by_budget
from rashomon_explorer.measures.fairness.audit import fairness_audit, fairness_frame
from rashomon_explorer.measures.fairness.burden import multiplicity_by_person_group
from rashomon_explorer.measures.fairness.gaps import (
    fairness_gaps,
    frontier,
    group_rates,
    score_gaps,
)
from rashomon_explorer.measures.importance.conditional import (
    conditional_reliance,
    importance_cloud,
    importance_tradeoffs,
    reliance_within,
)
from rashomon_explorer.measures.importance.distribution import importance_distribution, rid
from rashomon_explorer.measures.importance.permutation import permutation_importance
from rashomon_explorer.measures.importance.profiles import (
    coefficient_spread,
    importance_spread,
    partial_dependence_band,
)
from rashomon_explorer.measures.importance.shap import linear_shap, shap_importance, tree_shap
from rashomon_explorer.measures.inputs import feature_groups
from rashomon_explorer.measures.multiplicity.capacity import rashomon_capacity
from rashomon_explorer.measures.multiplicity.group_tables import by_group, multiplicity_curve
from rashomon_explorer.measures.multiplicity.labels import (
    ambiguity,
    disagreement,
    discrepancy,
    viable_prediction_range,
)
from rashomon_explorer.measures.multiplicity.ratio import linear_rashomon_ratio, rashomon_ratio
from rashomon_explorer.measures.multiplicity.spread import decide_or_abstain
from rashomon_explorer.measures.multiplicity.table import multiplicity_table
from rashomon_explorer.measures.ranges.declared import declared_problem
from rashomon_explorer.measures.ranges.exact import (
    exact_coefficient_ranges,
    exact_group_gap,
    exact_ranges,
    exact_score_ranges,
    relative_psi,
)
from rashomon_explorer.measures.ranges.flips import exact_ambiguity, exact_flips, flip_psi
from rashomon_explorer.measures.ranges.penalised import penalised_problem
from rashomon_explorer.measures.ranges.people import draws_in_range
from rashomon_explorer.measures.reliance.class_reliance import model_class_reliance
from rashomon_explorer.measures.reliance.set_reliance import model_reliance
from rashomon_explorer.measures.stopping import ConfidenceSequence, enough_draws

_ROOMS = ("decomposition", "fairness", "importance", "multiplicity", "ranges", "reliance")

__all__ = [
    "ConfidenceSequence",
    "ambiguity",
    "by_group",
    "coefficient_spread",
    "conditional_reliance",
    "decide_or_abstain",
    "declared_problem",
    "decomposition_by_person",
    "disagreement",
    "disagreement_decomposition",
    "discrepancy",
    "draws_in_range",
    "enough_draws",
    "exact_ambiguity",
    "exact_coefficient_ranges",
    "exact_flips",
    "exact_group_gap",
    "exact_ranges",
    "exact_score_ranges",
    "fairness_audit",
    "fairness_frame",
    "fairness_gaps",
    "feature_groups",
    "flip_psi",
    "frontier",
    "group_rates",
    "importance_cloud",
    "importance_distribution",
    "importance_spread",
    "importance_tradeoffs",
    "linear_rashomon_ratio",
    "linear_shap",
    "model_class_reliance",
    "model_reliance",
    "multiplicity_by_person_group",
    "multiplicity_curve",
    "multiplicity_table",
    "noise_by_budget",
    "partial_dependence_band",
    "penalised_problem",
    "permutation_importance",
    "rashomon_capacity",
    "rashomon_ratio",
    "relative_psi",
    "reliance_within",
    "rid",
    "score_gaps",
    "shap_importance",
    "tree_shap",
    "viable_prediction_range",
]


def __dir__() -> list[str]:
    """Public names and subpackages."""
    return [*__all__, *_ROOMS]
