"""The fitted estimator whose draws are shown."""

from typing import Any

from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from rashomon_explorer.estimators import (
    RashomonClassifier,
    RashomonRegressor,
    RashomonTreeClassifier,
)

Ours = RashomonClassifier | RashomonRegressor | RashomonTreeClassifier


def fitted_estimator(shown: Any) -> Ours:
    """Return the fitted estimator of the page, the last step of a pipeline.

    >>> fitted_estimator({})
    Traceback (most recent call last):
    TypeError: estimator must be a fitted RashomonClassifier, RashomonRegressor or \
RashomonTreeClassifier, or a Pipeline that ends in one, got dict
    """
    last = shown[-1] if isinstance(shown, Pipeline) else shown
    if not isinstance(last, Ours):
        raise TypeError(
            "estimator must be a fitted RashomonClassifier, RashomonRegressor or "
            f"RashomonTreeClassifier, or a Pipeline that ends in one, got {type(last).__name__}"
        )
    check_is_fitted(last)
    return last
