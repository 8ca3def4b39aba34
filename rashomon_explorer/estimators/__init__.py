"""scikit-learn estimators: private draws from Rashomon sets, for pipelines."""

from typing import TYPE_CHECKING

from rashomon_explorer._utils.imports import lazy_names

if TYPE_CHECKING:
    from rashomon_explorer.estimators.bilevel_search import DPBilevelSearch
    from rashomon_explorer.estimators.linear import RashomonClassifier, RashomonRegressor
    from rashomon_explorer.estimators.networks import (
        RashomonNetworkClassifier,
        RashomonNetworkRegressor,
    )
    from rashomon_explorer.estimators.one_model import DPClassifier, DPRegressor, plan_table
    from rashomon_explorer.estimators.pipelines import privacy_leaks
    from rashomon_explorer.estimators.private_search import PrivateSearch
    from rashomon_explorer.estimators.private_table import PrivateTable
    from rashomon_explorer.estimators.scaler import PublicBoundsScaler
    from rashomon_explorer.estimators.tree_classifier import RashomonTreeClassifier

__all__ = [
    "DPBilevelSearch",
    "DPClassifier",
    "DPRegressor",
    "PrivateSearch",
    "PrivateTable",
    "PublicBoundsScaler",
    "RashomonClassifier",
    "RashomonNetworkClassifier",
    "RashomonNetworkRegressor",
    "RashomonRegressor",
    "RashomonTreeClassifier",
    "plan_table",
    "privacy_leaks",
]

__getattr__, __dir__ = lazy_names(__name__, __all__)
