"""From a table to rows in the columns' own units, as trees ask about them."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rashomon_explorer.array_types import FloatArray
from rashomon_explorer.schema.encoding import readings_of
from rashomon_explorer.schema.table_schema import TableSchema


@dataclass(frozen=True)
class UnitEncoder:
    """Numbers as they are, levels as 0 and 1, places in an order from 0; row by row.

    Parameters
    ----------
    schema : TableSchema

    Examples
    --------
    >>> import pandas as pd
    >>> from rashomon_explorer.schema import Categorical, Numeric
    >>> columns = [Numeric("age", (20, 80)), Categorical("home", ["a", "b"])]
    >>> encoder = UnitEncoder(TableSchema(columns))
    >>> encoder.transform(pd.DataFrame({"age": [50], "home": ["b"]})).tolist()
    [[50.0, 0.0, 1.0]]
    """

    schema: TableSchema

    def transform(self, X: Any) -> FloatArray:
        """Encode a table.

        Parameters
        ----------
        X : DataFrame of pandas or polars, or array-like of shape (n_rows, n_columns)

        Returns
        -------
        ndarray of shape (n_rows, n_encoded)
            Columns are ``schema.encoded_names``.

        Raises
        ------
        DataError
            If columns are not what the schema declares, or a cell is one that it refuses.
        """
        read = readings_of(self.schema, X)
        return np.column_stack([column.in_units(reading) for column, reading in read])

    def get_feature_names_out(self) -> NDArray[Any]:
        """Names of the encoded columns."""
        return np.array(self.schema.encoded_names, dtype=object)
