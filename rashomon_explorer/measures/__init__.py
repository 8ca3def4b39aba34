# ruff: noqa: F401, F403  (type checkers alone read the star imports)
"""Measures of a set of models: the most used functions.

The subpackages ``multiplicity`` (with the registry ``MEASURES``), ``importance``, ``reliance``,
``ranges``, ``fairness`` and ``decomposition`` export all functions, registries and result classes.
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

# Home of each name: it is imported on first use, so that measures of arrays load no mechanisms.
_HOMES = {
    "ConfidenceSequence": "stopping",
    "ambiguity": "multiplicity.labels",
    "by_group": "multiplicity.table",
    "coefficient_spread": "importance.profiles",
    "conditional_reliance": "importance.conditional",
    "decide_or_abstain": "multiplicity.scores",
    "declared_problem": "ranges.declared",
    "decomposition_by_person": "decomposition.decomposition",
    "disagreement": "multiplicity.labels",
    "disagreement_decomposition": "decomposition.decomposition",
    "discrepancy": "multiplicity.labels",
    "draws_in_range": "ranges.people",
    "enough_draws": "stopping",
    "exact_ambiguity": "ranges.flips",
    "exact_coefficient_ranges": "ranges.exact",
    "exact_flips": "ranges.flips",
    "exact_group_gap": "ranges.exact",
    "exact_ranges": "ranges.exact",
    "exact_score_ranges": "ranges.exact",
    "fairness_audit": "fairness.audit",
    "fairness_frame": "fairness.audit",
    "fairness_gaps": "fairness.gaps",
    "feature_groups": "inputs",
    "flip_psi": "ranges.flips",
    "frontier": "fairness.gaps",
    "group_rates": "fairness.gaps",
    "importance_cloud": "importance.conditional",
    "importance_distribution": "importance.distribution",
    "importance_spread": "importance.profiles",
    "importance_tradeoffs": "importance.conditional",
    "linear_rashomon_ratio": "multiplicity.ratio",
    "linear_shap": "importance.shap",
    "model_class_reliance": "reliance.class_reliance",
    "model_reliance": "reliance.set_reliance",
    "multiplicity_by_person_group": "fairness.burden",
    "multiplicity_curve": "multiplicity.table",
    "multiplicity_table": "multiplicity.table",
    "noise_by_budget": "decomposition.decomposition",
    "partial_dependence_band": "importance.profiles",
    "penalised_problem": "ranges.penalised",
    "permutation_importance": "importance.permutation",
    "rashomon_capacity": "multiplicity.capacity",
    "rashomon_ratio": "multiplicity.ratio",
    "relative_psi": "ranges.exact",
    "reliance_within": "importance.conditional",
    "rid": "importance.distribution",
    "score_gaps": "fairness.gaps",
    "shap_importance": "importance.shap",
    "tree_shap": "importance.shap",
    "viable_prediction_range": "multiplicity.scores",
}

_ROOMS = ("decomposition", "fairness", "importance", "multiplicity", "ranges", "reliance")

__all__ = list(_HOMES)


def __getattr__(name: str) -> Any:
    if name in _ROOMS:
        return import_module(f"{__name__}.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    """Public names and subpackages."""
    return [*__all__, *_ROOMS]
