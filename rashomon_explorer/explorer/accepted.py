"""What the page shows the set of, and what to do with anything else."""

from typing import Any

from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline
from sklearn.utils import Bunch
from sklearn.utils.validation import check_is_fitted

from rashomon_explorer.estimators import RashomonClassifier, RashomonRegressor
from rashomon_explorer.rashomon_set import CuratorSet, ReleasedSet

_ROUTES: dict[type, str] = {
    Bunch: "a table goes into Explorer(data=...)",
    ReleasedSet: "a release is shown by rashomon_explorer.plots and report.release_report",
    CuratorSet: "a set from elsewhere is shown by rashomon_explorer.plots and "
    "report.curator_report",
    BaseEstimator: "fit a RashomonClassifier or RashomonRegressor to the same rows; the set around "
    "an already fitted linear model is for measures.penalised_problem and measures.exact_ranges",
}


def fitted_estimator(shown: Any) -> RashomonClassifier | RashomonRegressor:
    """Return the fitted estimator of the page, the last step of a pipeline.

    >>> fitted_estimator({})
    Traceback (most recent call last):
    TypeError: estimator must be a fitted RashomonClassifier or RashomonRegressor, or a Pipeline \
that ends in one, got dict
    """
    last = shown[-1] if isinstance(shown, Pipeline) else shown
    if not isinstance(last, RashomonClassifier | RashomonRegressor):
        route = next((text for kind, text in _ROUTES.items() if isinstance(last, kind)), "")
        raise TypeError(
            "estimator must be a fitted RashomonClassifier or RashomonRegressor, or a Pipeline "
            f"that ends in one, got {type(last).__name__}{': ' * bool(route)}{route}"
        )
    check_is_fitted(last)
    return last
