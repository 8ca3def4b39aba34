"""Measures of a set of models: what is called most, from the rooms that list everything.

The rooms are ``multiplicity`` (every measure by name, and the registry ``MEASURES``),
``importance``, ``reliance``, ``ranges``, ``fairness`` and ``decomposition``; each lists its parts,
registries and results.
"""

from rashomon_explorer.measures.confidence_sequence import ConfidenceSequence
from rashomon_explorer.measures.decomposition import (
    noise_against_price,
    width_or_noise,
    width_or_noise_by_person,
)
from rashomon_explorer.measures.fairness import (
    fairness_audit,
    fairness_frame,
    fairness_gaps,
    frontier,
    group_rates,
    score_gaps,
    who_bears,
)
from rashomon_explorer.measures.features import feature_groups
from rashomon_explorer.measures.importance import (
    coefficient_spread,
    conditional_reliance,
    importance_cloud,
    importance_distribution,
    importance_spread,
    importance_tradeoffs,
    linear_shap,
    partial_dependence_band,
    permutation_importance,
    reliance_within,
    rid,
    shap_importance,
    tree_shap,
)
from rashomon_explorer.measures.multiplicity import (
    ambiguity,
    by_group,
    decide_or_abstain,
    disagreement,
    discrepancy,
    linear_rashomon_ratio,
    multiplicity_curve,
    multiplicity_table,
    rashomon_capacity,
    rashomon_ratio,
    viable_prediction_range,
)
from rashomon_explorer.measures.ranges import (
    declared_problem,
    draws_in_range,
    exact_ambiguity,
    exact_coefficient_ranges,
    exact_flips,
    exact_group_gap,
    exact_ranges,
    exact_score_ranges,
    flip_psi,
    penalised_problem,
    relative_psi,
)
from rashomon_explorer.measures.reliance import model_class_reliance, model_reliance
from rashomon_explorer.measures.stopping import enough_draws

_ROOMS = ("decomposition", "fairness", "importance", "multiplicity", "ranges", "reliance")

__all__ = [
    "ConfidenceSequence",
    "ambiguity",
    "by_group",
    "coefficient_spread",
    "conditional_reliance",
    "decide_or_abstain",
    "declared_problem",
    "disagreement",
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
    "multiplicity_curve",
    "multiplicity_table",
    "noise_against_price",
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
    "who_bears",
    "width_or_noise",
    "width_or_noise_by_person",
]


def __dir__() -> list[str]:
    """Names and rooms that are meant to be used."""
    return [*__all__, *_ROOMS]
