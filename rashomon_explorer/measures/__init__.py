"""Measures of a set of models: the most used functions.

The subpackages ``multiplicity`` (with the registry ``MEASURES``), ``importance``, ``reliance``,
``ranges`` and ``fairness``, and the module ``decomposition``, export all functions, registries and
result classes.
"""

from typing import TYPE_CHECKING

from rashomon_explorer._utils.imports import lazy_names

if TYPE_CHECKING:  # a name's module is imported on first use: measures of arrays load no mechanisms
    from rashomon_explorer.measures import (  # noqa: F401
        decomposition,
        fairness,
        importance,
        multiplicity,
        ranges,
        reliance,
    )
    from rashomon_explorer.measures.decomposition import *
    from rashomon_explorer.measures.fairness import *
    from rashomon_explorer.measures.importance import *
    from rashomon_explorer.measures.inputs import feature_groups
    from rashomon_explorer.measures.multiplicity import *
    from rashomon_explorer.measures.ranges import *
    from rashomon_explorer.measures.reliance import *
    from rashomon_explorer.measures.stopping import ConfidenceSequence, enough_draws
    from rashomon_explorer.measures.width import set_width

__all__ = [
    "ConfidenceSequence",
    "ambiguity",
    "coefficient_spread",
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
    "fairness_gaps",
    "feature_groups",
    "flip_psi",
    "frontier",
    "importance_cloud",
    "importance_distribution",
    "importance_spread",
    "importance_tradeoffs",
    "linear_shap",
    "model_class_reliance",
    "model_reliance",
    "multiplicity_by_person_group",
    "multiplicity_table",
    "penalised_problem",
    "permutation_importance",
    "rashomon_capacity",
    "recourse",
    "relative_psi",
    "rid",
    "set_width",
    "shap_importance",
    "tree_shap",
    "viable_prediction_range",
]

__getattr__, __dir__ = lazy_names(__name__, __all__)
