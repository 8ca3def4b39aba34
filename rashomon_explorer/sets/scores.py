"""Links from scores to labels, and scores of rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import is_dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, softmax

from rashomon_explorer import data
from rashomon_explorer._utils import containers
from rashomon_explorer._utils.arrays import FloatArray, as_numbers, likeliest, unscale_targets
from rashomon_explorer.data.cells import ColumnMap, clip_rows
from rashomon_explorer.data.schema import public_part
from rashomon_explorer.exceptions import DataError
from rashomon_explorer.problem.problem import add_intercept
from rashomon_explorer.rows import coercion, source, steps

# ``data.encoder`` is loaded at its first use: scikit-learn is slow to import.

_TOLERANCE = 1e-9


class EncodedRows(np.ndarray):
    """Rows that a set or an estimator encoded, which no set encodes again."""


def without_encoder(models: Any) -> Any:
    """Return the set without its encoder: it takes encoded rows alone."""
    encodes = is_dataclass(models) and getattr(models, "schema", None) is not None
    return replace(models, schema=None) if encodes else models


def scaled_rows(schema: data.TableSchema, X: Any, row_norm: float) -> FloatArray:
    """Encode a raw table as for the fit of linear models, like ``TableEncoder``."""
    data.encoder.check_cell_kinds(schema, X)
    rows = data.encoder.encoded_rows(schema, X, row_norm)
    return clip_rows(rows, row_norm)[0].view(EncodedRows)


def unit_rows(schema: data.TableSchema, X: Any) -> FloatArray:
    """Encode a raw table in its columns' own units, as for the fit of trees."""
    data.encoder.check_cell_kinds(schema, X)
    return data.encoder.UnitEncoder(schema).transform(X)


def is_encoded(schema: data.TableSchema, X: Any) -> bool:
    """Whether a table has encoded columns rather than the schema's; by names and shape alone."""
    labels = containers.column_labels(X)
    if labels is not None:
        names, attributes = {str(label) for label in labels}, getattr(X, "attrs", {})
        raw = {column.name for column in schema.features} <= names
        marked = isinstance(attributes, dict) and bool(attributes.get(data.encoder.ENCODED))
        return (marked or not raw) and set(schema.encoded_names) <= names
    shape = containers.container_shape(X, 2)
    kind = getattr(getattr(X, "dtype", None), "kind", None) or np.asarray(X).dtype.kind
    return kind in "biuf" and shape is not None and shape[1:] == (len(schema.encoded_names),)


def is_ambiguous(schema: data.TableSchema, X: Any) -> bool:
    """Whether an unnamed table may be raw or encoded, because every feature is one number."""
    if isinstance(X, EncodedRows) or containers.column_labels(X) is not None:
        return False
    width, shape = len(schema.encoded_names), containers.container_shape(X, 2)
    return shape is not None and shape[1:] == (width,) and width == len(schema.features)


AMBIGUOUS = (
    "X has numbers without column names: they may be the raw table or encoded rows, whose numbers "
    "differ. Give the raw table as a DataFrame, or pass the fitted estimator in place of its set"
)


def encoded_rows(models: Any, X: Any, *, is_raw: bool = False) -> Any:
    """Rows as the models of a set take them; an unnamed table is raw if ``is_raw``."""
    schema = getattr(models, "schema", None)
    if X is None:
        return X
    if coercion.is_chunked(X):
        return X if schema is None else _encoded_chunks(models, coercion.as_chunked_rows(X), is_raw)
    if schema is None or _takes(models, X, is_raw):
        # Columns of a frame in the order of the models' names, which arrays are taken to have.
        if hasattr(models, "row_norm"):
            return rows_by_name(X, models.feature_names[:-1], schema)
        in_order = getattr(getattr(models, "models", None), "in_order", None)
        return X if in_order is None else in_order(X)  # trees find names later
    return models.encode(X)


def _takes(models: Any, X: Any, is_raw: bool) -> bool:
    """Whether a table is encoded; raise if that is unknown and decides its numbers."""
    if hasattr(models, "row_norm") and is_ambiguous(models.schema, X):
        if not is_raw:
            raise DataError(AMBIGUOUS)
        return False
    return isinstance(X, EncodedRows) or is_encoded(models.schema, X)


def _encoded_chunks(models: Any, table: Any, is_raw: bool) -> Any:
    """Chunked rows with a step that encodes them, unless they have steps or encoded columns."""
    names = table.source.names
    header = source.with_names(np.empty((0, table.source.shape[1])), names)
    if table.steps or _takes(models, header, is_raw):
        return table
    if hasattr(models, "row_norm"):
        return table.then(steps.EncodeStep(models.schema, models.row_norm))
    return table.through(data.encoder.UnitEncoder(models.schema))


def rows_by_name(X: Any, names: Sequence[str], schema: data.TableSchema | None = None) -> Any:
    """Return encoded rows in the models' columns; raise unless a frame has these and no others."""
    labels = containers.column_labels(X)
    if labels is None:
        return X
    order = containers.column_order(labels, names)
    # Models of unnamed rows have columns x0, x1, …; a frame may name them differently.
    nameless = list(names) == [f"x{j}" for j in range(len(names))] and len(labels) == len(names)
    if order is None and not nameless:
        suggestion = (
            "this set has no schema, so it takes rows encoded as in the fit, not a raw table. Fit "
            "with schema=... to release models with their encoder"
        )
        if schema is not None:
            suggestion = "give the raw table, with the columns that the schema declares"
        raise DataError(
            f"X must have the columns {_short(names)}, got {_short(list(map(str, labels)))}: "
            f"{suggestion}"
        )
    return containers.as_pandas(X if order is None else containers.columns_at(X, order))


def named_rows(X: Any, names: Sequence[str]) -> FloatArray:
    """Rows of a table without a schema; raise unless its columns are those of the models."""
    rows = np.asarray(rows_by_name(X, names), dtype=float)
    if rows.ndim != 2 or rows.shape[1] != len(names):
        raise ValueError(f"X must have shape (n_rows, {len(names)}), got {rows.shape}")
    return rows


def check_encoded(rows: FloatArray, row_norm: float) -> None:
    """Raise if rows are raw numbers instead of encoded ones: no cell exceeds row_norm."""
    if (np.abs(rows) > row_norm * (1 + _TOLERANCE)).any():
        raise DataError(
            f"X has numbers above row_norm={row_norm:g}, which encoded rows never have, and no "
            "column names: give the raw table as a DataFrame"
        )


def released_schema(
    schema: data.TableSchema | None, names: Sequence[str]
) -> data.TableSchema | None:
    """Return the releasable part of a schema; None if it does not encode the models' columns."""
    if schema is None:
        return None
    part = public_part(schema)
    return part if part.features and part.encoded_names == tuple(names) else None


def mean_prediction(models: Any, scores: FloatArray) -> NDArray[Any]:
    """Targets, or labels of the classes (codes if they are unknown), of the models' mean scores."""
    if not len(scores):
        raise ValueError("the set holds no models, so there is no mean prediction")
    mean = scores.mean(axis=0)
    if models.task != "classification":
        return np.asarray(mean)
    codes = likeliest(mean[None])[0]
    return np.asarray(models.classes)[codes] if models.classes else codes


def _short(names: Sequence[str]) -> str:
    head = list(names[:8])
    return str(head) if len(names) <= 8 else f"{str(head)[:-1]}, …] ({len(names)})"


def finite_rows(X: Any, width: int) -> FloatArray:
    """Rows (n_rows, width) of finite numbers."""
    rows = as_numbers(X, "X must hold numbers")
    if rows.ndim != 2 or rows.shape[1] != width:
        raise ValueError(f"X must have shape (n_rows, {width}), got {rows.shape}")
    if not np.isfinite(rows).all():
        cell = tuple(int(i) for i in np.argwhere(~np.isfinite(rows))[0])
        raise ValueError(f"X holds NaN or infinity at {cell}: remove or impute the row")
    return rows


def linear_scores(
    coef: FloatArray,
    X: ArrayLike,
    row_norm: float,
    outputs: int = 1,
    scale: ColumnMap | None = None,
) -> FloatArray:
    """θ·(x, 1) (k, n_rows, outputs) for rows clipped to ``row_norm``, and mapped by a scale."""
    width = coef.shape[1] // outputs
    rows = finite_rows(X, width - 1)
    clipped = model_rows(rows, row_norm, scale)
    scores = coef.reshape(-1, width) @ add_intercept(clipped).T
    return np.asarray(scores.reshape(len(coef), outputs, len(rows)).swapaxes(1, 2))


def model_rows(rows: FloatArray, row_norm: float, scale: ColumnMap | None) -> FloatArray:
    """Rows (n_rows, n_features) for the models: clipped, and mapped if there is a scale."""
    return clip_rows(rows, row_norm)[0] if scale is None else scale.rows(rows)


def class_texts(classes: Sequence[object]) -> tuple[str, ...]:
    """Text for each class: its label if that is text, otherwise ``"class "`` and the label."""
    return tuple(x if isinstance(x, str) else f"class {x}" for x in classes)


LINKS: dict[str, Callable[[FloatArray, Sequence[float]], FloatArray]] = {
    "logistic": lambda margins, _: np.asarray(expit(margins)),
    "sign": lambda margins, _: (margins > 0).astype(float),
    "softmax": lambda margins, _: np.asarray(softmax(margins, axis=-1)),
    "identity": unscale_targets,
}
