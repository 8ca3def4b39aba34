"""The fitted estimator whose draws are shown."""

from typing import Any

from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from rashomon_explorer.estimators import RashomonClassifier, RashomonRegressor


def fitted_estimator(shown: Any) -> RashomonClassifier | RashomonRegressor:
    """Return the fitted estimator of the page, the last step of a pipeline.

    >>> fitted_estimator({})
    Traceback (most recent call last):
    TypeError: estimator must be a fitted RashomonClassifier or RashomonRegressor, or a Pipeline \
that ends in one, got dict
    """
    last = shown[-1] if isinstance(shown, Pipeline) else shown
    if not isinstance(last, RashomonClassifier | RashomonRegressor):
        raise TypeError(
            "estimator must be a fitted RashomonClassifier or RashomonRegressor, or a Pipeline "
            f"that ends in one, got {type(last).__name__}"
        )
    check_is_fitted(last)
    return last
