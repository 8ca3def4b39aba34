# ruff: noqa: F403, F405  (type checkers alone read the star imports)
"""Measures of a set of models: the most used functions.

The subpackages ``multiplicity`` (with the registry ``MEASURES``), ``importance``, ``reliance``,
``ranges`` and ``fairness``, and the module ``decomposition``, export all functions, registries and
result classes.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rashomon_explorer.measures.decomposition import *
    from rashomon_explorer.measures.fairness import *
    from rashomon_explorer.measures.importance import *
    from rashomon_explorer.measures.inputs import feature_groups
    from rashomon_explorer.measures.multiplicity import *
    from rashomon_explorer.measures.ranges import *
    from rashomon_explorer.measures.reliance import *
    from rashomon_explorer.measures.stopping import ConfidenceSequence, enough_draws

# Names of each module: it is imported on first use, so that measures of arrays load no mechanisms.
_NAMES = {
    "decomposition": "disagreement_decomposition",
    "fairness.audit": "fairness_audit fairness_frame multiplicity_by_person_group",
    "fairness.gaps": "fairness_gaps frontier group_rates score_gaps",
    "importance.conditional": (
        "conditional_reliance importance_cloud importance_tradeoffs reliance_within"
    ),
    "importance.distribution": "importance_distribution rid",
    "importance.permutation": "permutation_importance",
    "importance.profiles": "coefficient_spread importance_spread partial_dependence_band",
    "importance.shap": "linear_shap shap_importance tree_shap",
    "inputs": "feature_groups",
    "multiplicity.capacity": "rashomon_capacity",
    "multiplicity.labels": "ambiguity disagreement discrepancy",
    "multiplicity.ratio": "linear_rashomon_ratio rashomon_ratio",
    "multiplicity.scores": "decide_or_abstain viable_prediction_range",
    "multiplicity.table": "by_group multiplicity_curve multiplicity_table",
    "ranges.declared": "declared_problem",
    "ranges.exact": (
        "exact_coefficient_ranges exact_group_gap exact_ranges exact_score_ranges relative_psi"
    ),
    "ranges.flips": "exact_ambiguity exact_flips flip_psi",
    "ranges.linear_models": "penalised_problem",
    "ranges.linear_recourse": "recourse",
    "ranges.people": "draws_in_range",
    "reliance.class_reliance": "model_class_reliance",
    "reliance.set_reliance": "model_reliance",
    "stopping": "ConfidenceSequence enough_draws",
}
_HOMES = {name: module for module, names in _NAMES.items() for name in names.split()}

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
    "partial_dependence_band",
    "penalised_problem",
    "permutation_importance",
    "rashomon_capacity",
    "rashomon_ratio",
    "recourse",
    "relative_psi",
    "reliance_within",
    "rid",
    "score_gaps",
    "shap_importance",
    "tree_shap",
    "viable_prediction_range",
]


def __getattr__(name: str) -> Any:
    if name in _ROOMS:
        return import_module(f"{__name__}.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    """Public names and subpackages."""
    return [*__all__, *_ROOMS]
