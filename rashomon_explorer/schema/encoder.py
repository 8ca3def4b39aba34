"""A scikit-learn transformer that encodes a table by its schema."""

import os
import warnings
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, validate_data

from rashomon_explorer.array_types import FloatArray
from rashomon_explorer.carries_leaks import CarriesLeaks
from rashomon_explorer.clipping import clip_rows
from rashomon_explorer.containers import check_readable, column_labels, values_of
from rashomon_explorer.exceptions import PrivacyLeakWarning
from rashomon_explorer.schema.encoding import encoded_rows
from rashomon_explorer.schema.numeric import Numeric
from rashomon_explorer.schema.table_schema import TableSchema
from rashomon_explorer.schema.tables import find_features, names_of_features
from rashomon_explorer.sklearn_compat import Interval, fit_context, input_names
from rashomon_explorer.users_line import users_line


class TableEncoder(CarriesLeaks, TransformerMixin, BaseEstimator):
    """Encode a table by its schema: numbers scaled, levels as columns, missing values marked.

    Everything that is done to a row follows from the schema and that row, so that it costs no
    privacy. Each feature counts the same, a typical row has about norm ``row_norm``, and a longer
    one is shortened to it.

    Parameters
    ----------
    schema : TableSchema, str, path or None, default=None
        The declaration, or its file. None takes every column for a number from −1 to 1.
    row_norm : float, default=1.0
        Bound of a row's norm, as ``row_norm`` of the estimator behind.

    Attributes
    ----------
    schema_ : TableSchema
        The declaration that was used.
    feature_groups_ : dict of str to tuple of str
        Which columns are one feature.
    n_features_in_ : int
        Number of columns of the table that are features; a target beside them is none.
    feature_names_in_ : ndarray of str
        Their names in the table's order, where they have any.

    See Also
    --------
    PublicBoundsScaler : For tables of numbers alone, scaled so that no row is longer than 1.

    Notes
    -----
    A schema with values that were learnt from the rows warns, and what is fitted to the encoded
    rows has no guarantee (:func:`privacy_leaks` names it, too), until they are confirmed. A column
    with ``missing="refuse"`` or ``unknown="refuse"`` may raise an error that tells of a row; in
    front of an estimator no ledger was charged for that.

    Examples
    --------
    >>> import pandas as pd
    >>> from rashomon_explorer.schema import Categorical, Numeric, TableSchema
    >>> schema = TableSchema([Numeric("age", (20, 80)), Categorical("home", ["own", "rent"])])
    >>> frame = pd.DataFrame({"age": [50, None], "home": ["own", "tent"]})
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     TableEncoder(schema).fit_transform(frame).round(3)
       age  home=own  home=rent
    0  0.0       0.5       -0.5
    1  0.0       0.0        0.0
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "schema": [TableSchema, str, os.PathLike, None],
        "row_norm": [Interval(Real, 0, None, closed="neither")],
    }

    def __init__(
        self,
        schema: TableSchema | str | os.PathLike[str] | None = None,
        *,
        row_norm: float = 1.0,
    ) -> None:
        self.schema = schema
        self.row_norm = row_norm

    @fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: ArrayLike, y: object = None) -> "TableEncoder":
        """Compare the table's columns with the schema; no value is read.

        Parameters
        ----------
        X : DataFrame or array-like of shape (n_samples, n_columns)
        y : ignored

        Raises
        ------
        DataError
            If columns lack or are not declared.

        Warns
        -----
        PrivacyLeakWarning
            If values of the schema were learnt from the rows and not confirmed.
        """
        self.note_columns(X)
        warn_of_unconfirmed(self.schema_)
        return self

    def note_columns(self, X: Any) -> "TableEncoder":
        """Do what :meth:`fit` does without a warning, for who has warned already.

        Parameters
        ----------
        X : DataFrame or array-like of shape (n_samples, n_columns)
        """
        if self.schema is None:
            self._numbers(X, reset=True)
            names = getattr(self, "feature_names_in_", None)
            if names is None:
                names = [f"x{j}" for j in range(self.n_features_in_)]
            self.schema_ = TableSchema(tuple(Numeric(str(name), (-1, 1)) for name in names))
        else:
            self.schema_ = TableSchema.of(self.schema)
            self._note_columns(X, find_features(self.schema_, X))
        self.feature_groups_ = self.schema_.feature_groups
        return self

    def transform(self, X: ArrayLike) -> FloatArray:
        """Encode rows.

        Parameters
        ----------
        X : DataFrame or array-like of shape (n_samples, n_columns)

        Returns
        -------
        ndarray or DataFrame of shape (n_samples, n_encoded)
            A DataFrame with its names for a DataFrame of pandas, unless ``set_output`` says
            otherwise. It carries a mark if values of the schema, or the rows, were learnt.

        Raises
        ------
        DataError
            If columns lack or are not declared, or a cell is one that the schema refuses.

        Warns
        -----
        RowsClippedWarning, UndeclaredValueWarning
            If more than 1 % of the rows hold a value beyond its bounds, or one that is not
            declared (curator).
        """
        rows = self._numbers(X, reset=False) if self.schema is None else X
        return clip_rows(encoded_rows(self.schema_, rows, self.row_norm), self.row_norm)[0]

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Names of the encoded columns: ``"age"``, ``"age=(missing)"``, ``"home=own"``.

        Parameters
        ----------
        input_features : array-like of str, optional
            Names of the table's columns, for a table of numbers without a schema.
        """
        check_is_fitted(self)
        if self.schema is None:
            return input_names(self, input_features)
        return np.asarray(self.schema_.encoded_names, dtype=object)

    def __sklearn_tags__(self) -> Tags:
        """Missing values and, with a schema, text are welcome; nothing is learnt from rows."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = tags.input_tags.categorical = self.schema is not None
        return tags

    def _numbers(self, X: ArrayLike, *, reset: bool) -> NDArray[Any]:
        """Array of numbers, checked as scikit-learn does."""
        check_readable("X", X)
        rows = validate_data(
            self, values_of(X), dtype=np.float64, ensure_all_finite=False, reset=reset
        )
        return np.asarray(rows)

    def _note_columns(self, X: Any, places: list[Any]) -> None:
        labels = column_labels(X)
        if labels is not None:
            self.feature_names_in_ = names_of_features(labels, places)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        self.n_features_in_ = len(places)

    def _leak(self) -> str:
        return self.schema_.leak


def warn_of_unconfirmed(schema: TableSchema) -> None:
    """Warn that there is no guarantee behind a schema whose values nobody confirmed.

    Parameters
    ----------
    schema : TableSchema

    Warns
    -----
    PrivacyLeakWarning
        Naming the columns, and what to do.

    Examples
    --------
    >>> warn_of_unconfirmed(TableSchema([Numeric("age", (18, 90))]))
    """
    if schema.leak:
        waiting = ", ".join(f"{name} ({', '.join(of)})" for name, of in schema.unconfirmed.items())
        warnings.warn(
            f"{schema.leak}: {waiting}. No privacy guarantee holds of what is fitted to these "
            "rows. Check each against what is public, correct it with schema.declare(column, ...), "
            "and then schema.confirm(column, ...); or take the line “learnt” out of its file",
            PrivacyLeakWarning,
            stacklevel=users_line(),
        )
