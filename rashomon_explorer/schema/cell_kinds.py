"""Whether the columns of a table hold the kind of cells that a schema declares."""

from typing import Any

import numpy as np
import pandas as pd

from rashomon_explorer.containers import is_frame
from rashomon_explorer.exceptions import DataError
from rashomon_explorer.schema.cells import as_text, read_numbers
from rashomon_explorer.schema.column import Column
from rashomon_explorer.schema.levels import Levelled
from rashomon_explorer.schema.table_schema import TableSchema
from rashomon_explorer.schema.tables import cells_of, find_features

_MANY = 10  # rows that all lie outside a named column's bounds: scaled, and not unusual
_RAW = (
    "Give the raw table, with the cells that the schema declares and not codes or scaled numbers; "
    "a DataFrame is read by its column names, an array in the schema's order"
)


def check_cell_kinds(schema: TableSchema, X: Any) -> None:
    """Refuse a table that is encoded otherwise than a schema declares.

    A column is refused if all its cells are numbers where the levels are text, text where numbers
    are declared, or numbers outside the declared bounds: in an array without column names always,
    in a DataFrame from ten rows on, since a few rows may be unusual.

    Parameters
    ----------
    schema : TableSchema
    X : DataFrame of pandas or polars, Arrow table, or array-like of shape (n_rows, n_columns)

    Raises
    ------
    DataError
        Naming the first such column; or if columns lack or are not declared.

    Examples
    --------
    >>> from rashomon_explorer.schema import Categorical
    >>> schema = TableSchema([Categorical("home", ["own", "rent"])])
    >>> check_cell_kinds(schema, pd.DataFrame({"home": ["own", "tent"]}))
    >>> check_cell_kinds(schema, pd.DataFrame({"home": [0, 1]}))
    Traceback (most recent call last):
        ...
    rashomon_explorer.exceptions.DataError: column 'home' holds numbers, and the schema declares \
categorical 'own', 'rent'. Give the raw table, ...
    """
    cells = cells_of(X)
    places = find_features(schema, X)
    for column, place in zip(schema.features, places, strict=True):
        found = _foreign(column, cells(column, place), named=is_frame(X))
        if found:
            raise DataError(
                f"column {column.name!r} holds {found}, and the schema declares "
                f"{column.in_words}. {_RAW}"
            )


def _foreign(column: Column, cells: pd.Series, *, named: bool) -> str:
    """Say what a column holds instead of what is declared; empty if it holds that."""
    text = as_text(cells)
    present = ~text.isin(column.tokens).to_numpy(dtype=bool)
    if not present.any():
        return ""
    reading = column.read(cells)
    if not isinstance(column, Levelled):
        if reading.undeclared[present].all():
            return "no such value"
        few = named and present.sum() < _MANY
        return "" if few or not reading.outside[present].all() else "no value within its bounds"
    if not reading.undeclared[present].all():
        return ""
    numbers, levels = _are_numbers(text[present]), _are_numbers(pd.Series(column.texts))
    if numbers.all() and not levels.any():
        return "numbers"
    return "text" if levels.all() and not numbers.any() else ""


def _are_numbers(text: pd.Series) -> np.ndarray[Any, np.dtype[np.bool_]]:
    return ~read_numbers(text.astype(object), frozenset())[1]
