"""Raw tables as the rows that a set's models take; tables encoded otherwise are refused."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rashomon_explorer.array_types import FloatArray
from rashomon_explorer.clipping import clip_rows
from rashomon_explorer.exceptions import DataError

if TYPE_CHECKING:
    from rashomon_explorer.schema import TableSchema

_TOLERANCE = 1e-9


def scaled_rows(schema: "TableSchema", X: Any, row_norm: float) -> FloatArray:
    """Encode a raw table as linear models were fitted to it: as ``TableEncoder`` does."""
    # Here and not at the top: sets without a schema need no pandas.
    from rashomon_explorer.schema.cell_kinds import check_cell_kinds
    from rashomon_explorer.schema.encoding import encoded_rows

    check_cell_kinds(schema, X)
    return clip_rows(encoded_rows(schema, X, row_norm), row_norm)[0]


def unit_rows(schema: "TableSchema", X: Any) -> FloatArray:
    """Encode a raw table in its columns' own units: as trees were fitted to it."""
    from rashomon_explorer.schema.cell_kinds import check_cell_kinds
    from rashomon_explorer.schema.units import UnitEncoder

    check_cell_kinds(schema, X)
    return UnitEncoder(schema).transform(X)


def rows_by_name(X: Any, names: Sequence[str], schema: "TableSchema | None" = None) -> Any:
    """Return encoded rows; refuse a frame whose columns are not those of the models, in order.

    Examples
    --------
    >>> import pandas as pd
    >>> rows_by_name(pd.DataFrame({"b": [1.0], "a": [2.0]}), ["a", "b"])
    Traceback (most recent call last):
        ...
    rashomon_explorer.exceptions.DataError: X must have the columns ['a', 'b'] in this order, got \
['b', 'a']: ...
    """
    from rashomon_explorer.containers import column_labels, values_of

    labels = column_labels(X)
    if labels is None:
        return X
    found = [str(label) for label in labels]
    # Models of rows without names call their columns x0, x1, …, whatever a frame calls them.
    nameless = list(names) == [f"x{j}" for j in range(len(names))] and set(found) != set(names)
    if found != list(names) and not (nameless and len(found) == len(names)):
        raise DataError(
            f"X must have the columns {_short(names)} in this order, got {_short(found)}: "
            + _remedy(schema)
        )
    return values_of(X)


def check_encoded(X: Any, rows: FloatArray, row_norm: float) -> None:
    """Refuse a frame of raw numbers where encoded rows are expected: no cell is above row_norm."""
    from rashomon_explorer.containers import is_frame

    if is_frame(X) and (np.abs(rows) > row_norm * (1 + _TOLERANCE)).any():
        raise DataError(
            f"X holds numbers above row_norm={row_norm:g}, which no encoded row does: "
            "predict(X) takes the raw table, and encode(X) makes the rows that scores takes"
        )


def released_schema(schema: "TableSchema | None", names: Sequence[str]) -> "TableSchema | None":
    """Return the part of a schema that may leave; None if it does not encode the models' columns.

    A column with a value that was read off the rows leaves as its name and role alone.
    """
    if schema is None:
        return None
    from rashomon_explorer.schema.provenance import public_part

    part = public_part(schema)
    return part if part.features and part.encoded_names == tuple(names) else None


def schema_values(schema: "TableSchema | None") -> dict[str, Any]:
    """Write a schema as JSON values of a set's file; nothing without one."""
    return {} if schema is None else {"schema": schema.to_dict()}


def schema_from(values: dict[str, Any]) -> "TableSchema | None":
    """Inverse of :func:`schema_values`; files of older versions have none."""
    if values.get("schema") is None:
        return None
    from rashomon_explorer.schema import TableSchema

    return TableSchema.from_dict(values["schema"])


def class_labels(classes: Sequence[Any], codes: NDArray[np.int_]) -> NDArray[Any]:
    """Labels of class codes; the codes themselves where no labels are known."""
    return np.asarray(classes)[codes] if classes else codes


def _short(names: Sequence[str]) -> str:
    shown = list(names[:8])
    return str(shown) if len(names) <= 8 else f"{str(shown)[:-1]}, …] ({len(names)})"


def _remedy(schema: "TableSchema | None") -> str:
    if schema is not None:
        return "predict(X) takes the raw table, and encode(X) makes the rows that scores takes"
    return (
        "this set carries no schema, so that it takes rows encoded as its models were fitted to "
        "them, and no raw table. Fit with schema=... to release models with their encoder"
    )
