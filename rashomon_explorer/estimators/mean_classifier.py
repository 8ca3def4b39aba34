"""What drawn classifiers answer together: the class of the largest mean probability."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import log_expit, log_softmax, logsumexp
from sklearn.base import ClassifierMixin

from rashomon_explorer.array_types import FloatArray
from rashomon_explorer.estimators.over_blocks import a_label, chances, decisions, over_blocks
from rashomon_explorer.rashomon_set import RashomonSet


class MeanClassifier(ClassifierMixin):
    """Predictions by the mean over a fitted estimator's draws."""

    classes_: NDArray[Any]
    rashomon_set_: RashomonSet

    @over_blocks(a_label)
    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Class whose mean probability over the draws is the largest.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
            Labels of the kind that ``fit`` was given.
        """
        return self._predictions(self._scores(X).mean(axis=0, keepdims=True))[0]

    @over_blocks(chances)
    def predict_proba(self, X: ArrayLike) -> FloatArray:
        """Mean over the draws of each class's probability.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            In the order of ``classes_``.
        """
        mean = np.asarray(self._scores(X).mean(axis=0))
        return mean if mean.ndim == 2 else np.column_stack([1 - mean, mean])

    @over_blocks(decisions)
    def decision_function(self, X: ArrayLike) -> FloatArray:
        """Log odds of the positive class's mean probability, or the log of each class's.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,), or (n_samples, n_classes) with three or more classes
            Finite also where a probability rounds to 0 or 1.
        """
        rows = self._checked(X)
        margins = self.rashomon_set_.margins(rows)
        if margins.ndim == 3:
            return np.asarray(_log_mean(log_softmax(margins, axis=-1)))
        return np.asarray(_log_mean(log_expit(margins)) - _log_mean(log_expit(-margins)))

    def _predictions(self, scores: FloatArray) -> NDArray[Any]:
        codes = scores.argmax(axis=-1) if scores.ndim == 3 else (scores > 0.5).astype(int)
        return np.asarray(self.classes_[codes])


def _log_mean(logs: FloatArray) -> FloatArray:
    """Log of the mean over the first axis of what ``logs`` are the logarithms of."""
    return np.asarray(logsumexp(logs, axis=0) - np.log(len(logs)))
