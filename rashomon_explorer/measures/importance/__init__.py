"""Importance of features over almost equally good models.

Results on private rows are for the curator, who may see the rows: they are not private.
"""

from typing import TYPE_CHECKING

from rashomon_explorer._utils.imports import lazy_names

if TYPE_CHECKING:
    from rashomon_explorer.measures.importance.distribution import *
    from rashomon_explorer.measures.importance.permutation import *
    from rashomon_explorer.measures.importance.profiles import *
    from rashomon_explorer.measures.importance.shap import *

__all__ = [
    "ImportanceDistribution",
    "coefficient_spread",
    "importance_cloud",
    "importance_distribution",
    "importance_spread",
    "importance_tradeoffs",
    "linear_shap",
    "partial_dependence",
    "permutation_importance",
    "rid",
    "shap_importance",
    "tree_shap",
]

__getattr__, __dir__ = lazy_names(__name__, __all__)
