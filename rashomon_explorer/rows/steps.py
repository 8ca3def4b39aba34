"""Row-wise transformation steps that are applied to a chunk before a reduction."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer.data import TableSchema
from rashomon_explorer.data.cells import ColumnMap, clip_rows
from rashomon_explorer.exceptions import DataError
from rashomon_explorer.rows.source import as_floats, with_names

_BLOCK = 1024


@dataclass(frozen=True)
class NumericStep:
    """Copy of the rows as float64; NaN, infinity and text raise an error."""

    def __call__(self, rows: Any, targets: Any) -> tuple[FloatArray, Any]:
        """Return rows (m, d) of numbers, and unchanged targets."""
        floats = as_floats(rows)
        if not np.isfinite(floats).all():
            column = int(np.argwhere(~np.isfinite(floats))[0, 1])
            raise DataError(f"NaN or infinity in column {column}: remove or impute the row")
        return floats, targets


@dataclass(frozen=True)
class EncodeStep:
    """Rows encoded by a schema, with text and missing values."""

    schema: TableSchema
    row_norm: float

    def __call__(self, rows: Any, targets: Any) -> tuple[FloatArray, Any]:
        """Return encoded rows (m, d), and unchanged targets."""
        # Local import: the encoder imports scikit-learn, which is slow.
        from rashomon_explorer.data.encoder import encoded_rows

        encoded = encoded_rows(self.schema, rows, self.row_norm, quiet=True)
        return np.ascontiguousarray(encoded), targets


@dataclass(frozen=True)
class TransformStep:
    """Rows transformed by a fitted scikit-learn transformer."""

    transformer: Any
    names: tuple[str, ...] | None = None

    def __call__(self, rows: Any, targets: Any) -> tuple[FloatArray, Any]:
        """Return transformed rows (m, d), and unchanged targets."""
        return as_floats(self.transformer.transform(with_names(rows, self.names))), targets


def encoder_step(encoder: Any, names: Sequence[str] | None) -> "EncodeStep | TransformStep":
    """Step of a fitted encoder for a chunk; a schema's step does not report clipped cells."""
    if getattr(encoder, "schema", None) is not None and hasattr(encoder, "row_norm"):
        return EncodeStep(encoder.schema_, float(encoder.row_norm))
    return TransformStep(encoder, None if names is None else tuple(names))


@dataclass(frozen=True)
class ClipStep:
    """Rows clipped to a norm bound, optionally with a constant 1 as their last entry."""

    row_norm: float
    intercept: bool
    scale: ColumnMap | None = None  # map that is applied to the clipped rows

    def __call__(self, rows: FloatArray, targets: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return rows (m, d + 1) or (m, d), and unchanged targets."""
        clipped, _ = clip_features(rows, self.row_norm, self.intercept, self.scale)
        return np.ascontiguousarray(clipped), targets


def clip_features(
    features: FloatArray, row_norm: float, intercept: bool, scale: ColumnMap | None = None
) -> tuple[FloatArray, float]:
    """Clipped rows, mapped by ``scale``, with an intercept; and the share that was clipped."""
    if not intercept and scale is None:
        return clip_rows(features, row_norm)
    n, d = features.shape
    rows, longer = np.ones((n, d + intercept)), 0
    for start in range(0, n, _BLOCK):  # avoids several copies of the table
        part = slice(start, start + _BLOCK)
        clipped, share = clip_rows(features[part], row_norm)
        rows[part, :d] = clipped if scale is None else scale.rows(clipped)
        longer += round(share * len(clipped))
    return rows, longer / n


@dataclass(frozen=True)
class LongRowCount:
    """Reduction that counts rows longer than a norm, for the warning about clipped rows."""

    row_norm: float

    def __call__(self, rows: FloatArray, targets: Any) -> tuple[FloatArray]:
        """Return the number (1,) of rows that are longer than the norm."""
        return (np.array([clip_rows(rows, self.row_norm)[1] * len(rows)]).round(),)
