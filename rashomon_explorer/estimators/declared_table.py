"""A table with a schema, of which only shape and labels are known until its price is charged."""

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from rashomon_explorer.array_types import FloatArray
from rashomon_explorer.carries_leaks import with_leak
from rashomon_explorer.containers import column_labels, values_of
from rashomon_explorer.estimators.unread import UnreadTable
from rashomon_explorer.leaks import leak_of
from rashomon_explorer.schema import TableEncoder, TableSchema
from rashomon_explorer.schema.encoding import encoded_rows
from rashomon_explorer.schema.labels import declared_labels
from rashomon_explorer.schema.tables import find_features, names_of_features


class DeclaredTable(UnreadTable):
    """Rows and targets whose encoded columns are known from a schema, without a look at a value.

    Parameters
    ----------
    estimator, X, y, numeric, charged
        As for :class:`UnreadTable`.
    schema : TableSchema
    row_norm : float
        About the norm of a typical encoded row.

    Attributes
    ----------
    shape : tuple of int
        Numbers of rows and of encoded columns.
    names : ndarray of str or None
        Names of the columns of X that are features, where it has names.

    Raises
    ------
    DataError
        If columns of X lack or are not declared.

    Examples
    --------
    >>> import pandas as pd
    >>> from rashomon_explorer.schema import Categorical
    >>> schema = TableSchema([Categorical("home", ["own", "rent"])])
    >>> frame = pd.DataFrame({"home": ["own", "rent"]})
    >>> asked = {"numeric": False, "charged": True, "schema": schema, "row_norm": 1.0}
    >>> DeclaredTable(BaseEstimator(), frame, [0, 1], **asked).shape
    (2, 2)
    """

    schema: TableSchema

    may_be_long = False  # typical rows are about as long as row_norm, and others shortened to it

    def __init__(
        self,
        estimator: BaseEstimator,
        X: Any,
        y: Any,
        *,
        numeric: bool,
        charged: bool,
        schema: TableSchema,
        row_norm: float,
    ) -> None:
        super().__init__(estimator, X, y, numeric=numeric, charged=charged)
        places, labels = find_features(schema, self._X), column_labels(self._X)
        self.names = None if labels is None else names_of_features(labels, places)
        self.schema, self._row_norm = schema, row_norm
        self._columns = len(places)
        self.shape = (self.shape[0], len(schema.encoded_names))

    @property
    def unconfirmed(self) -> str:
        """Why there is no guarantee behind the schema; empty if all of it is confirmed."""
        return self.schema.leak

    @property
    def n_columns(self) -> int:
        """Number of columns of X that are features."""
        return self._columns

    @property
    def feature_names(self) -> list[str]:
        """Names of the encoded columns."""
        return list(self.schema.encoded_names)

    @property
    def feature_groups(self) -> dict[str, tuple[str, ...]]:
        """Which of them are one feature."""
        return self.schema.feature_groups

    @cached_property
    def _encoded(self) -> Any:
        return with_leak(encoded_rows(self.schema, self._X, self._row_norm), self._X)

    @cached_property
    def values(self) -> tuple[FloatArray, NDArray[Any]]:
        """Encoded rows (n, p) and targets (n,); the first look at private values."""
        targets = values_of(self._y)
        if self.schema.classes is not None:
            targets = declared_labels(self.schema, targets)
        return self._checked(np.asarray(self._encoded), targets)

    @property
    def leak(self) -> str:
        """What the rows tell that they were made with; looks at them."""
        return leak_of(self._encoded) or super().leak

    def public(self) -> dict[str, Any]:
        """Fitted attributes that say nothing of a row, the encoder for other rows among them."""
        encoder = TableEncoder(self.schema, row_norm=self._row_norm).note_columns(self._X)
        return {**super().public(), "encoder_": encoder}
