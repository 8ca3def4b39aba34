"""Measures of a set of models: multiplicity, importance and fairness, as functions of arrays."""

from rashomon_explorer.measures.capacity import (
    capacity_bounds,
    rashomon_capacity,
)
from rashomon_explorer.measures.catalogue import (
    MEASURES,
    Measure,
)
from rashomon_explorer.measures.confidence_sequence import (
    ConfidenceSequence,
)
from rashomon_explorer.measures.consistency import (
    abstention,
    self_consistency,
)
from rashomon_explorer.measures.curves import (
    multiplicity_curve,
)
from rashomon_explorer.measures.fairness import (
    LABEL_GAPS,
    LABEL_RATES,
    SCORE_GAPS,
    SCORE_RATES,
    FairnessAudit,
    fairness_audit,
    fairness_frame,
    fairness_gaps,
    frontier,
    group_rates,
    score_gaps,
    who_bears,
)
from rashomon_explorer.measures.groups import (
    by_group,
)
from rashomon_explorer.measures.importance import (
    IMPORTANCES,
    DividedLoss,
    ImportanceDistribution,
    coefficient_spread,
    conditional_reliance,
    divided_loss,
    feature_groups,
    importance_cloud,
    importance_distribution,
    importance_spread,
    importance_tradeoffs,
    linear_shap,
    model_class_reliance,
    model_reliance,
    permutation_importance,
    reliance_within,
    rid,
    shap_importance,
    switching_loss,
)
from rashomon_explorer.measures.multiplicity import (
    ambiguity,
    disagreement,
    discrepancy,
    obscurity,
    row_disagreement,
    viable_prediction_range,
)
from rashomon_explorer.measures.multiplicity_table import (
    multiplicity_table,
)
from rashomon_explorer.measures.pairs import (
    cohen_kappa,
)
from rashomon_explorer.measures.patterns import (
    linear_pattern_count,
    pattern_count,
    pattern_diversity,
    pattern_ratio,
)
from rashomon_explorer.measures.ranges import (
    ExactAmbiguity,
    PenalisedProblem,
    declared_problem,
    draws_in_range,
    exact_ambiguity,
    exact_coefficient_ranges,
    exact_flips,
    exact_group_gap,
    exact_ranges,
    exact_score_ranges,
    penalised_problem,
    relative_psi,
)
from rashomon_explorer.measures.ratio import (
    Ratio,
    linear_rashomon_ratio,
    rashomon_ratio,
)
from rashomon_explorer.measures.split import (
    Estimate,
    WidthOrNoise,
    noise_against_price,
    width_or_noise,
    width_or_noise_by_person,
)
from rashomon_explorer.measures.spread import (
    decide_or_abstain,
    range_width,
    score_std,
    score_variance,
)
from rashomon_explorer.measures.stopping import (
    Enough,
    enough_draws,
)
from rashomon_explorer.measures.tolerance import (
    delta_ambiguity,
    delta_discrepancy,
    delta_obscurity,
)

__all__ = [
    "IMPORTANCES",
    "LABEL_GAPS",
    "LABEL_RATES",
    "MEASURES",
    "SCORE_GAPS",
    "SCORE_RATES",
    "ConfidenceSequence",
    "DividedLoss",
    "Enough",
    "Estimate",
    "ExactAmbiguity",
    "FairnessAudit",
    "ImportanceDistribution",
    "Measure",
    "PenalisedProblem",
    "Ratio",
    "WidthOrNoise",
    "abstention",
    "ambiguity",
    "by_group",
    "capacity_bounds",
    "coefficient_spread",
    "cohen_kappa",
    "conditional_reliance",
    "decide_or_abstain",
    "declared_problem",
    "delta_ambiguity",
    "delta_discrepancy",
    "delta_obscurity",
    "disagreement",
    "discrepancy",
    "divided_loss",
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
    "frontier",
    "group_rates",
    "importance_cloud",
    "importance_distribution",
    "importance_spread",
    "importance_tradeoffs",
    "linear_pattern_count",
    "linear_rashomon_ratio",
    "linear_shap",
    "model_class_reliance",
    "model_reliance",
    "multiplicity_curve",
    "multiplicity_table",
    "noise_against_price",
    "obscurity",
    "pattern_count",
    "pattern_diversity",
    "pattern_ratio",
    "penalised_problem",
    "permutation_importance",
    "range_width",
    "rashomon_capacity",
    "rashomon_ratio",
    "relative_psi",
    "reliance_within",
    "rid",
    "row_disagreement",
    "score_gaps",
    "score_std",
    "score_variance",
    "self_consistency",
    "shap_importance",
    "switching_loss",
    "viable_prediction_range",
    "who_bears",
    "width_or_noise",
    "width_or_noise_by_person",
]
