"""What linear models side by side say of rows: margins, scores and labels."""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rashomon_explorer.array_types import FloatArray
from rashomon_explorer.column_map import ColumnMap
from rashomon_explorer.rashomon_set.links import LINKS, likeliest, linear_scores, seen_rows


class ScoresRows:
    """Predictions of models that know their coefficients, link and bounds."""

    if TYPE_CHECKING:
        coef: FloatArray
        link: str
        row_norm: float
        target_bounds: tuple[float, float]
        scale: ColumnMap | None

        @property
        def task(self) -> str:
            """Either ``"classification"`` or ``"regression"``."""

        @property
        def outputs(self) -> int:
            """Linear scores that a model gives a row."""

    def margins(self, X: ArrayLike) -> FloatArray:
        """Linear score of every model for every row, before the link.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)

        Returns
        -------
        ndarray of shape (n_draws, n_rows), or (n_draws, n_rows, n_classes) for a softmax link
            The first class of a softmax link has the score 0.

        Raises
        ------
        ValueError
            If the rows are not finite or have another number of columns than the models.
        """
        return self._margins(self.coef, X)

    def rows(self, X: ArrayLike) -> FloatArray:
        """Rows as the models look at them: shortened, and mapped where the columns were.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)

        Returns
        -------
        ndarray of shape (n_rows, n_features)
            What ``coef`` is multiplied with, less the constant.
        """
        return seen_rows(np.asarray(X, dtype=float), self.row_norm, self.scale)

    def scores(self, X: ArrayLike) -> FloatArray:
        """Prediction of every model for every row.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)

        Returns
        -------
        ndarray of shape (n_draws, n_rows), or (n_draws, n_rows, n_classes) for a softmax link
            Probability of the positive class or of each class, the predicted target, or, for a
            sign link, which knows no probabilities, 1.0 for the positive class and 0.0.
        """
        return self._scores(self.coef, X)

    def labels(self, X: ArrayLike) -> NDArray[np.int_]:
        """Class 0, 1, … that every model gives to every row: the likeliest, at ½ the first.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)

        Returns
        -------
        ndarray of shape (n_draws, n_rows)
            A row a model.

        Raises
        ------
        TypeError
            For a regression set.
        """
        if self.task != "classification":
            raise TypeError("labels need a classification set; use scores for regression")
        return likeliest(self.scores(X))

    def _margins(self, coef: FloatArray, X: ArrayLike) -> FloatArray:
        scores = linear_scores(coef, X, self.row_norm, self.outputs, self.scale)
        if self.link != "softmax":
            return scores[..., 0]
        return np.concatenate([np.zeros_like(scores[..., :1]), scores], axis=-1)

    def _scores(self, coef: FloatArray, X: ArrayLike) -> FloatArray:
        return LINKS[self.link](self._margins(coef, X), self.target_bounds)
