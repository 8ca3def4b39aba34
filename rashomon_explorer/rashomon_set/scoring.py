"""What linear models side by side say of rows: margins, scores and labels."""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rashomon_explorer.array_types import FloatArray
from rashomon_explorer.column_map import ColumnMap
from rashomon_explorer.rashomon_set.links import LINKS, likeliest, linear_scores, seen_rows
from rashomon_explorer.rashomon_set.raw_tables import (
    check_encoded,
    class_labels,
    rows_by_name,
    scaled_rows,
)

if TYPE_CHECKING:
    from rashomon_explorer.schema import TableSchema


class ScoresRows:
    """Predictions of models that know their coefficients, link and bounds."""

    if TYPE_CHECKING:
        coef: FloatArray
        link: str
        row_norm: float
        target_bounds: tuple[float, float]
        scale: ColumnMap | None
        schema: TableSchema | None
        feature_names: tuple[str, ...]
        classes: tuple[Any, ...]

        @property
        def task(self) -> str:
            """Either ``"classification"`` or ``"regression"``."""

        @property
        def outputs(self) -> int:
            """Linear scores that a model gives a row."""

    def encode(self, X: Any) -> FloatArray:
        """Rows as :meth:`scores` takes them, from a raw table.

        Parameters
        ----------
        X : DataFrame of pandas or polars, Arrow table, or array-like of shape (n_rows, n_columns)

        Returns
        -------
        ndarray of shape (n_rows, n_features)
            Encoded by the schema; without one, the rows themselves.

        Raises
        ------
        DataError, ValueError
            If the table is encoded otherwise than the schema or the models' columns say.
        """
        if self.schema is not None:
            return scaled_rows(self.schema, X, self.row_norm)
        rows = np.asarray(rows_by_name(X, self.feature_names[:-1]), dtype=float)
        if rows.ndim != 2 or rows.shape[1] != len(self.feature_names) - 1:
            width = len(self.feature_names) - 1
            raise ValueError(f"X must have shape (n_rows, {width}), got {rows.shape}")
        return rows

    def predict(self, X: Any) -> NDArray[Any]:
        """Prediction of the mean over the models for each row of a raw table.

        Parameters
        ----------
        X : DataFrame of pandas or polars, Arrow table, or array-like of shape (n_rows, n_columns)
            As the estimator's ``predict`` takes it: with a schema as it was before encoding.

        Returns
        -------
        ndarray of shape (n_rows,)
            Class label of the largest mean probability, or mean predicted target.

        Raises
        ------
        DataError, ValueError
            If the table is encoded otherwise than the schema or the models' columns say, or there
            are no models.

        Examples
        --------
        >>> import pandas as pd
        >>> from rashomon_explorer import RashomonClassifier
        >>> from rashomon_explorer.schema import Categorical, TableSchema
        >>> schema = TableSchema([Categorical("home", ["own", "rent"])])
        >>> X, y = pd.DataFrame({"home": ["own", "rent"] * 100}), [1, 0] * 100
        >>> clf = RashomonClassifier(schema=schema, n_draws=5, epsilon=80.0, random_state=0)
        >>> released = clf.fit(X, y).rashomon_set_.release()
        >>> released.predict(X[:2]).tolist()
        [1, 0]
        """
        if not len(self.coef):
            raise ValueError("the set holds no models, so that there is no mean to predict by")
        mean = self._scores(self.coef, self.encode(X)).mean(axis=0)
        if self.task != "classification":
            return np.asarray(mean)
        return class_labels(self.classes, likeliest(mean[None])[0])

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
        return seen_rows(self._encoded_rows(X), self.row_norm, self.scale)

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
        rows = self._encoded_rows(X)
        scores = linear_scores(coef, rows, self.row_norm, self.outputs, self.scale)
        if self.link != "softmax":
            return scores[..., 0]
        return np.concatenate([np.zeros_like(scores[..., :1]), scores], axis=-1)

    def _encoded_rows(self, X: ArrayLike) -> FloatArray:
        """Refuse a frame of other columns or of raw numbers."""
        named = rows_by_name(X, self.feature_names[:-1], self.schema)
        rows = np.asarray(named, dtype=float)
        if self.schema is not None:
            check_encoded(X, rows, self.row_norm)
        return rows

    def _scores(self, coef: FloatArray, X: ArrayLike) -> FloatArray:
        return LINKS[self.link](self._margins(coef, X), self.target_bounds)
