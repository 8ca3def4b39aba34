"""What a search predicts by, where a model was drawn with the penalties that it chose."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, validate_data

from rashomon_explorer.array_types import FloatArray
from rashomon_explorer.clipping import clip_rows
from rashomon_explorer.coefficients import EncodedCoefficients
from rashomon_explorer.containers import check_readable, values_of
from rashomon_explorer.estimators.search_parameters import SearchParameters


def _refits(search: Any) -> bool:
    if search.refit is None:
        raise AttributeError(
            "refit=None chose penalties and fitted no model: a model of the rows has a price of "
            'its own, refit="dp"'
        )
    return True


class RefittedModel(EncodedCoefficients, SearchParameters):
    """Predictions by the one model that a refit drew; without one there are none."""

    classes_: NDArray[Any]
    encoder_: Any

    @available_if(_refits)
    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Predict by the model that was drawn.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
            Targets in their units, or labels.
        """
        scores = self._scores(X)
        if self.estimator == "logistic":
            return np.asarray(self.classes_[(scores > 0).astype(int)])
        return scores

    @available_if(lambda search: _refits(search) and search.estimator == "logistic")
    def predict_proba(self, X: ArrayLike) -> FloatArray:
        """Probabilities of both classes by the model that was drawn.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, 2)
            In the order of ``classes_``.
        """
        likely = expit(self._scores(X))
        return np.column_stack([1 - likely, likely])

    @available_if(lambda search: _refits(search) and search.estimator == "logistic")
    def decision_function(self, X: ArrayLike) -> FloatArray:
        """Log odds of the second class by the model that was drawn.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
            Above 0 where it is the likelier.
        """
        return self._scores(X)

    @available_if(_refits)
    def score(self, X: ArrayLike, y: ArrayLike) -> float:
        """Accuracy, or R², on rows of yours; of private rows it is private.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)

        Returns
        -------
        float
            At most 1.
        """
        measure = accuracy_score if self.estimator == "logistic" else r2_score
        return float(measure(y, self.predict(X)))

    def _scores(self, X: ArrayLike) -> FloatArray:
        check_is_fitted(self)
        if hasattr(self, "encoder_"):
            rows = np.asarray(self.encoder_.transform(X))
        else:
            check_readable("X", X)
            rows = np.asarray(validate_data(self, values_of(X), dtype=np.float64, reset=False))
        shortened, _ = clip_rows(rows, self.row_norm)
        return np.asarray(
            shortened @ np.ravel(self.encoded_coef_) + float(np.ravel(self.encoded_intercept_)[0])
        )
