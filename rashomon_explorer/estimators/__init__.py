"""scikit-learn estimators: private draws from Rashomon sets, for pipelines."""

from rashomon_explorer.estimators.classifier import RashomonClassifier
from rashomon_explorer.estimators.pipelines import privacy_leaks
from rashomon_explorer.estimators.regressor import RashomonRegressor
from rashomon_explorer.estimators.scaler import PublicBoundsScaler

__all__ = ["PublicBoundsScaler", "RashomonClassifier", "RashomonRegressor", "privacy_leaks"]
