"""Tables of any library, and the labels of their target."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from rashomon_explorer._utils import containers
from rashomon_explorer.data.cells import as_text, cell_text
from rashomon_explorer.data.column import Column
from rashomon_explorer.data.messages import check_unique, quoted, suggestion
from rashomon_explorer.data.schema import TableSchema
from rashomon_explorer.exceptions import DataError

ColumnKey = Any
"""Label of a column in a frame, or its position in an array."""


def find_features(schema: TableSchema, X: Any) -> list[ColumnKey]:
    """Find the schema's features in a table; uses only labels and shape."""
    containers.check_readable("X", X)
    labels = containers.column_labels(X)
    return _by_position(schema, X) if labels is None else find_by_name(schema, labels)


def feature_names(labels: Sequence[Any], positions: Sequence[ColumnKey]) -> NDArray[Any]:
    """Names of a frame's features, in the frame's order."""
    return np.array([str(label) for label in labels if label in set(positions)], dtype=object)


def find_by_name(schema: TableSchema, labels: Sequence[Any]) -> list[ColumnKey]:
    """Find the schema's features among labels; returns the labels as the table has them."""
    _check_features(schema)
    check_unique(str(label) for label in labels)
    label_by_name = {str(label): label for label in labels}
    if strange := [name for name in label_by_name if name not in set(schema)]:
        raise DataError(
            f"the table has {quoted(strange)}, which the schema does not declare"
            f"{suggestion(strange[0], schema)}: declare it, as IgnoredColumn(name) to ignore it, "
            "or leave it out"
        )
    if absent := [column.name for column in schema.features if column.name not in label_by_name]:
        raise DataError(
            f"the table lacks {quoted(absent)}, which the schema declares as a feature"
            f"{suggestion(absent[0], label_by_name)}; it has {quoted(label_by_name)}"
        )
    return [label_by_name[column.name] for column in schema.features]


def _check_features(schema: TableSchema) -> None:
    if not schema.features:
        raise DataError("the schema declares no feature: give a column of it that role")


def _by_position(schema: TableSchema, X: Any) -> list[ColumnKey]:
    _check_features(schema)
    shape = containers.container_shape(X, 2)
    if shape is None or len(shape) != 2:
        description = "a table that states no shape" if shape is None else f"shape {shape}"
        raise DataError(f"X must be a table with rows and columns, got {description}")
    if shape[1] == len(schema.features):
        return list(range(shape[1]))
    if shape[1] == len(schema):
        return [j for j, column in enumerate(schema.columns) if column.role == "feature"]
    raise DataError(
        f"the schema declares {len(schema.features)} features in {len(schema)} columns, got an "
        f"array of {shape[1]} columns"
    )


def cell_reader(X: Any) -> Callable[[Column, ColumnKey], pd.Series]:
    """Return a function that reads a column's cells; the first access to values."""
    frame = containers.as_pandas(X)
    if isinstance(frame, pd.DataFrame):
        return lambda column, key: pd.Series(frame[key], name=column.name)
    # Text and numbers in one list would all become text.
    table = np.asarray(frame) if hasattr(frame, "dtype") else np.asarray(frame, dtype=object)
    if table.ndim != 2:
        raise DataError("X must be a table whose rows are all of one length")
    return lambda column, key: pd.Series(table[:, key], name=column.name)


def declared_labels(schema: TableSchema, y: Any) -> NDArray[Any]:
    """Labels as the schema writes them: 1.0 or "1" in the table is the level 1."""
    classes = schema.classes or ()
    levels = np.asarray(classes)
    code_by_text = {cell_text(level): code for code, level in enumerate(classes)}
    labels = np.asarray(y) if hasattr(y, "dtype") else np.asarray(y, dtype=object)
    text = as_text(pd.Series(labels.reshape(-1)))
    codes, words = pd.factorize(text)
    if strange := [word for word in words if word not in code_by_text]:
        raise DataError(
            f"y holds {strange[0]!r}, which is not among the declared classes {[*classes]}: "
            "declare it, or leave its rows out"
        )
    level_codes = np.array([code_by_text[word] for word in words], dtype=int)
    return np.asarray(levels[level_codes[codes]])
