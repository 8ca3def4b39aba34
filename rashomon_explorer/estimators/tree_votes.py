"""What drawn trees say of rows, one by one and together."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted, validate_data

from rashomon_explorer.array_types import FloatArray
from rashomon_explorer.containers import check_readable, values_of
from rashomon_explorer.estimators.over_blocks import a_label, chances, over_blocks
from rashomon_explorer.estimators.tree_parameters import TreeParameters


class TreeVotes(TreeParameters):
    """Predictions of trees that were drawn: most of their votes, shares of them, and each."""

    @over_blocks(a_label)
    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Class that most of the drawn trees say; of several the first.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
            Labels of the kind that ``fit`` was given.
        """
        votes = self.predict_proba(X)
        return np.asarray(self.classes_[votes.argmax(axis=1)])

    @over_blocks(chances)
    def predict_proba(self, X: ArrayLike) -> FloatArray:
        """Share of the drawn trees that say each class.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            In the order of ``classes_``.
        """
        says = self._codes(X)
        return np.asarray(np.eye(len(self.classes_))[says].mean(axis=0))

    def predict_each(self, X: ArrayLike) -> NDArray[Any]:
        """Prediction of every drawn tree.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_draws, n_samples)
            Class labels.
        """
        says = self._codes(X)
        return np.asarray(self.classes_[says])

    def _codes(self, X: ArrayLike) -> NDArray[np.int_]:
        check_is_fitted(self)
        if hasattr(self, "encoder_"):
            rows = self.encoder_.transform(X)
        else:
            check_readable("X", X)
            rows = np.asarray(validate_data(self, values_of(X), dtype=np.float64, reset=False))
        return self.rashomon_set_.labels(rows)
