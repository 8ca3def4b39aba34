"""scikit-learn estimators: private draws from Rashomon sets, for pipelines."""

from rashomon_explorer.estimators.bilevel_search import DPBilevelSearch
from rashomon_explorer.estimators.classifier import RashomonClassifier
from rashomon_explorer.estimators.dp_classifier import DPClassifier
from rashomon_explorer.estimators.dp_regressor import DPRegressor
from rashomon_explorer.estimators.pipelines import privacy_leaks
from rashomon_explorer.estimators.private_search import PrivateSearch
from rashomon_explorer.estimators.regressor import RashomonRegressor
from rashomon_explorer.estimators.scaler import PublicBoundsScaler
from rashomon_explorer.estimators.tree_classifier import RashomonTreeClassifier
from rashomon_explorer.estimators.tuning_audit import TuningAudit, audit_tuning

__all__ = [
    "DPBilevelSearch",
    "DPClassifier",
    "DPRegressor",
    "PrivateSearch",
    "PublicBoundsScaler",
    "RashomonClassifier",
    "RashomonRegressor",
    "RashomonTreeClassifier",
    "TuningAudit",
    "audit_tuning",
    "privacy_leaks",
]
