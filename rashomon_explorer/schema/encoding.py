"""From a table to rows of numbers, each by itself, as the schema says."""

import math
import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np

from rashomon_explorer.array_types import FloatArray, Mask
from rashomon_explorer.clipping import WORTH_A_WORD, warn_if_clipped
from rashomon_explorer.exceptions import DataError, UndeclaredValueWarning
from rashomon_explorer.schema.column import Column
from rashomon_explorer.schema.reading import Reading
from rashomon_explorer.schema.table_schema import TableSchema
from rashomon_explorer.schema.tables import cells_of, find_features
from rashomon_explorer.schema.words import quoted
from rashomon_explorer.users_line import users_line

_MOST_NAMED = 3


def encoded_rows(schema: TableSchema, X: Any, row_norm: float = 1.0) -> FloatArray:
    """Encode a table so that a typical row has about the norm asked for.

    Each of the schema's F features counts the same: over its typical range, or whatever level it
    has, its columns have mean square 1, and all are multiplied by row_norm/√F. Rows may be longer.

    Parameters
    ----------
    schema : TableSchema
    X : DataFrame of pandas or polars, or array-like of shape (n_rows, n_columns)
    row_norm : float, default=1.0

    Returns
    -------
    ndarray of shape (n_rows, n_encoded)
        Row i follows from row i of the table and the schema alone.

    Raises
    ------
    DataError
        If columns are not what the schema declares, or a cell is one that it refuses.

    Warns
    -----
    RowsClippedWarning, UndeclaredValueWarning
        If more than 1 % of the rows hold a value beyond its bounds, or one that is not declared
        (curator).

    Examples
    --------
    >>> import pandas as pd
    >>> from rashomon_explorer.schema import Categorical, Numeric
    >>> schema = TableSchema([Numeric("age", (20, 80)), Categorical("home", ["own", "rent"])])
    >>> encoded_rows(schema, pd.DataFrame({"age": [50], "home": ["own"]})).round(3)
    array([[ 0. ,  0.5, -0.5]])
    """
    return _in_size(readings_of(schema, X), row_norm)


def encoded_quietly(schema: TableSchema, X: Any, row_norm: float = 1.0) -> FloatArray:
    """Encode as :func:`encoded_rows`, without a word about values beyond what is declared.

    For a block of a table that is encoded again in every pass.
    """
    return _in_size(_read(schema, X), row_norm)


def _in_size(read: list[tuple[Column, Reading]], row_norm: float) -> FloatArray:
    scale = row_norm / math.sqrt(len(read))
    return np.column_stack([scale * column.in_unit_size(reading) for column, reading in read])


def readings_of(schema: TableSchema, X: Any) -> list[tuple[Column, Reading]]:
    """Read every feature of a table; raises and warns as :func:`encoded_rows`.

    Parameters
    ----------
    schema : TableSchema
    X : DataFrame of pandas or polars, or array-like of shape (n_rows, n_columns)

    Returns
    -------
    list of (Column, Reading)
        In the schema's order.

    Raises
    ------
    DataError
        If columns are not what the schema declares, or a cell is one that it refuses.

    Examples
    --------
    >>> import pandas as pd
    >>> from rashomon_explorer.schema import Numeric
    >>> ((_, reading),) = readings_of(
    ...     TableSchema([Numeric("age", (20, 80))]), pd.DataFrame({"age": [50]})
    ... )
    >>> reading.values.tolist()
    [50.0]
    """
    read = _read(schema, X)
    _say_what_was_clipped({column.name: reading.outside for column, reading in read})
    say_what_was_undeclared({column.name: reading.undeclared for column, reading in read})
    return read


def _read(schema: TableSchema, X: Any) -> list[tuple[Column, Reading]]:
    places = find_features(schema, X)
    cells = cells_of(X)
    read: list[tuple[Column, Reading]] = []
    for column, place in zip(schema.features, places, strict=True):
        reading = column.read(cells(column, place))
        if column.refused(reading):
            raise DataError(
                f"column {column.name!r} holds a value that its declaration refuses "
                f"({_rules(column)}): correct it, or declare what is to become of it"
            )
        read.append((column, reading))
    return read


def _rules(column: Any) -> str:
    rules = [rule for rule in ("missing", "unknown") if getattr(column, rule, "") == "refuse"]
    return " and ".join(f"{rule}='refuse'" for rule in rules)


def _say_what_was_clipped(masks: Mapping[str, Mask]) -> None:
    warn_if_clipped(
        _share(masks),
        f"rows hold a value outside its declared bounds{_most_often(masks)}",
        "If the bounds are not what can occur, declare wider ones.",
    )


def say_what_was_undeclared(masks: Mapping[str, Mask]) -> None:
    """Tell the curator if more than 1 % of the rows hold what is not declared.

    Parameters
    ----------
    masks : mapping of str to ndarray of bool, shape (n_rows,)
        Where each column does.

    Warns
    -----
    UndeclaredValueWarning
        Naming the columns; no number of rows.

    Examples
    --------
    >>> say_what_was_undeclared({"home": np.zeros(3, dtype=bool)})
    """
    if _share(masks) > WORTH_A_WORD:
        warnings.warn(
            "more than 1 % of the rows hold a value that the schema does not declare, or none "
            f"where one is expected{_most_often(masks)}, and were read as its rules say. Declare "
            "the level, unknown='other', or missing='indicator' or 'fill'. (Curator: this was read "
            "from private rows.)",
            UndeclaredValueWarning,
            stacklevel=users_line(),
        )


def _share(masks: Mapping[str, Mask]) -> float:
    return float(np.logical_or.reduce(list(masks.values())).mean())


def _most_often(masks: Mapping[str, Mask]) -> str:
    shares = sorted((-mask.mean(), name) for name, mask in masks.items() if mask.any())
    worst = [name for _, name in shares[:_MOST_NAMED]]
    return f" (most often in {quoted(worst)})" if worst else ""
