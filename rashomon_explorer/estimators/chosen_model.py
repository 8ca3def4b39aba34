"""Predictions of a model that was chosen among several."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import MetaEstimatorMixin
from sklearn.utils import Tags, get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from rashomon_explorer.array_types import FloatArray
from rashomon_explorer.estimators.paying import PaysForRows


def _best_has(name: str) -> Callable[[Any], bool]:
    def has(search: Any) -> bool:
        return hasattr(getattr(search, "best_estimator_", search.estimator), name)

    return has


class ChosenModel(MetaEstimatorMixin, PaysForRows):
    """Predicts as ``best_estimator_`` does."""

    if TYPE_CHECKING:
        estimator: Any
        best_estimator_: Any

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Predict by the chosen model.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
            Labels, or numbers in the units of the target.
        """
        check_is_fitted(self)
        return np.asarray(self.best_estimator_.predict(X))

    @available_if(_best_has("predict_proba"))
    def predict_proba(self, X: ArrayLike) -> FloatArray:
        """Probabilities of the chosen model, where it has some.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            In the order of ``classes_``.
        """
        check_is_fitted(self)
        return np.asarray(self.best_estimator_.predict_proba(X))

    @available_if(_best_has("decision_function"))
    def decision_function(self, X: ArrayLike) -> FloatArray:
        """Scores of the chosen model, where it has some.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            Above 0 where the second of two classes is likelier.
        """
        check_is_fitted(self)
        return np.asarray(self.best_estimator_.decision_function(X))

    def score(self, X: ArrayLike, y: ArrayLike) -> float:
        """Accuracy or R² of the chosen model on rows of yours; it is not private.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
        """
        check_is_fitted(self)
        return float(self.best_estimator_.score(X, y))

    def __sklearn_tags__(self) -> Tags:
        """Those of the estimator, with the scores that its price allows."""
        tags = super().__sklearn_tags__()
        inner = get_tags(self.estimator)
        tags.estimator_type = inner.estimator_type
        tags.classifier_tags = inner.classifier_tags
        tags.regressor_tags = inner.regressor_tags
        for known in (tags.classifier_tags, tags.regressor_tags):
            if known is not None:
                known.poor_score = True
        tags.target_tags = inner.target_tags
        tags.input_tags = inner.input_tags
        return tags
