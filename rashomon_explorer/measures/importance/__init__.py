# ruff: noqa: F403  (type checkers alone read the star imports)
"""Importance of features over almost equally good models.

Results on private rows are for the curator, who may see the rows: they are not private.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rashomon_explorer.measures.importance.conditional import *
    from rashomon_explorer.measures.importance.distribution import *
    from rashomon_explorer.measures.importance.permutation import *
    from rashomon_explorer.measures.importance.profiles import *
    from rashomon_explorer.measures.importance.shap import *

_HOMES = {
    "ImportanceDistribution": "distribution",
    "coefficient_spread": "profiles",
    "conditional_reliance": "conditional",
    "importance_cloud": "conditional",
    "importance_distribution": "distribution",
    "importance_spread": "profiles",
    "importance_tradeoffs": "conditional",
    "linear_shap": "shap",
    "partial_dependence": "profiles",
    "partial_dependence_band": "profiles",
    "permutation_importance": "permutation",
    "reliance_within": "conditional",
    "rid": "distribution",
    "shap_importance": "shap",
    "tree_shap": "shap",
}

__all__ = list(_HOMES)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    """Public names of the package."""
    return __all__
