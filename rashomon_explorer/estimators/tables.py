"""Tables whose values are read only after the charge."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, wraps
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_X_y

from rashomon_explorer._utils.arrays import NUMPY, FloatArray, backend_for
from rashomon_explorer._utils.containers import (
    check_readable,
    column_labels,
    container_shape,
    host_values,
)
from rashomon_explorer._utils.sklearn_compat import text_names
from rashomon_explorer._utils.taint import find_leak, recall, with_leak
from rashomon_explorer.data import TableEncoder, TableSchema
from rashomon_explorer.data.encoder import encoded_rows
from rashomon_explorer.data.messages import check_unique
from rashomon_explorer.data.tables import declared_labels, feature_names, find_features
from rashomon_explorer.estimators.classes import class_codes
from rashomon_explorer.exceptions import DataError
from rashomon_explorer.privacy.ledger.tables import recognise, recognise_hashes, row_hashes
from rashomon_explorer.rows import ChunkedRows, Step
from rashomon_explorer.rows.coercion import is_chunked
from rashomon_explorer.rows.columns import map_rows
from rashomon_explorer.rows.source import read_mapped, with_names
from rashomon_explorer.rows.steps import AsNumbers, Encoded

_DECLARE = (
    "Text and missing values need declared columns: propose_schema(table, target=...) "
    "drafts a schema to correct; pass it as schema=..."
)


class LazyTable:
    """Rows and targets; before the charge only shapes and column names are read."""

    may_be_long = True
    schema: TableSchema | None = None

    def __init__(
        self, estimator: BaseEstimator, X: Any, y: Any, *, numeric: bool, charged: bool
    ) -> None:
        if is_chunked(X):
            raise TypeError(
                f"{type(estimator).__name__} needs whole tables. Chunked rows are supported by "
                "RashomonClassifier, RashomonRegressor, RashomonTreeClassifier, DPClassifier and "
                "DPRegressor; a fixed random sample is X, y = rows.sample(5_000).to_memory(); "
                "report it as a sample. Nothing was read or charged"
            )
        check_readable("X", X)
        self.arrays = backend_for(X)
        self._X, rows = _measured("X", X, 2, charged)
        targets: tuple[int, ...] | None = None
        self._y = y
        if y is not None:
            check_readable("y", y)
            self._y, targets = _measured("y", y, 1, charged)
        if len(rows) < 2:
            raise ValueError(
                f"Expected 2D array, got {len(rows)}D array instead, of shape {rows}. Reshape your "
                "data: X.reshape(-1, 1) if it is one feature, X.reshape(1, -1) if it is one row"
            )
        self._options = {"estimator": estimator, "dtype": np.float64, "y_numeric": numeric}
        stand_ins = np.broadcast_to(0.0, rows), None if targets is None else np.zeros(targets)
        check_X_y(*stand_ins, **{**self._options, "ensure_all_finite": False})
        labels = column_labels(self._X)
        check_unique(map(str, () if labels is None else labels))
        self.names = None if labels is None else text_names(labels)
        self.shape: tuple[int, int] = (rows[0], rows[1])

    @property
    def feature_names(self) -> list[str]:
        """Column names, or x0, x1, …."""
        every = [f"x{j}" for j in range(self.shape[1])] if self.names is None else self.names
        return [str(name) for name in every]

    @property
    def feature_groups(self) -> dict[str, tuple[str, ...]] | None:
        """Columns that form one feature each; None infers them from the names."""
        return None

    @property
    def assumptions(self) -> tuple[str, ...]:
        """Assumptions of a guarantee about where the rows are; none for a table in memory."""
        return ()

    @property
    def unconfirmed(self) -> str:
        """Reason why the schema is data-dependent; empty if it is not."""
        return ""

    @property
    def n_columns(self) -> int:
        """Number of columns of X before encoding."""
        return self.shape[1]

    @cached_property
    def values(self) -> tuple[FloatArray, NDArray[Any]]:
        """Validated rows (n, n_features) and targets (n,); the first access to private values."""
        return self._checked(host_values(read_mapped(self._X)), host_values(read_mapped(self._y)))

    @property
    def leak(self) -> str:
        """Reason why the values are data-dependent, found by reading them; empty if unknown."""
        return recall(self.values[0])

    def recognised(self, ledger: Path) -> None:
        """Record the table in the registry next to a ledger; warn if another ledger charged it."""
        recognise(ledger, self.values[0])

    def public(self) -> dict[str, Any]:
        """Return the fitted attributes that do not depend on row values."""
        names = {} if self.names is None else {"feature_names_in_": self.names}
        return {"n_features_in_": self.n_columns, **names}

    def _checked(self, rows: Any, targets: Any) -> tuple[FloatArray, NDArray[Any]]:
        try:
            checked: tuple[FloatArray, NDArray[Any]] = check_X_y(rows, targets, **self._options)
        except ValueError as error:
            raise ValueError(_with_suggestion(str(error))) from None
        except TypeError as error:  # numpy finds no common type, for example of dates and numbers
            if not isinstance(error, np.exceptions.DTypePromotionError):
                raise
            raise DataError(f"X holds dates or other non-numeric cells. {_DECLARE}") from None
        return checked


def _with_suggestion(refused: str) -> str:
    """Append how to treat text and missing values, instead of scikit-learn's suggestions."""
    first = refused.splitlines()[0].rstrip(".") if refused else refused
    if not first.startswith(("could not convert", "Input X contains NaN")):
        return refused
    return f"{first}. {_DECLARE}"


def _measured(name: str, data: Any, depth: int, charged: bool) -> tuple[Any, tuple[int, ...]]:
    """Return the data and its shape."""
    shape = container_shape(data, depth)
    if shape is None and charged:
        raise TypeError(
            f"{name} has no shape, but the ledger is charged before a value is read: pass an "
            f"array, a DataFrame or a list, got {type(data).__name__}"
        )
    if shape is None:
        data = np.asarray(data)
        shape = data.shape
    return data, shape


class DeclaredTable(LazyTable):
    """Rows and targets with encoded columns given by a schema, without reading a value."""

    schema: TableSchema

    may_be_long = False  # typical rows have norm about row_norm; longer ones are clipped

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
        self.names = None if labels is None else feature_names(labels, places)
        self.schema, self._row_norm = schema, row_norm
        self._columns = len(places)
        self.shape = (self.shape[0], len(schema.encoded_names))

    @property
    def unconfirmed(self) -> str:
        """Reason why the schema gives no guarantee; empty if all of it is confirmed."""
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
        """Encoded columns of each feature."""
        return self.schema.feature_groups

    @cached_property
    def _encoded(self) -> Any:
        return with_leak(encoded_rows(self.schema, self._X, self._row_norm), self._X)

    @cached_property
    def values(self) -> tuple[FloatArray, NDArray[Any]]:
        """Encoded rows (n, p) and targets (n,); the first access to private values."""
        targets = host_values(self._y)
        if self.schema.classes is not None:
            targets = declared_labels(self.schema, targets)
        return self._checked(np.asarray(self._encoded), targets)

    @property
    def leak(self) -> str:
        """Reason why the rows are data-dependent, found by reading them; empty if unknown."""
        return find_leak(self._encoded) or super().leak

    def public(self) -> dict[str, Any]:
        """Return the fitted attributes that do not depend on row values, including the encoder."""
        encoder = TableEncoder(self.schema, row_norm=self._row_norm).note_columns(self._X)
        return {**super().public(), "encoder_": encoder}


_OF_A_FIT = 2**25  # bytes
_UNCOUNTED = (
    "the partitions of this Dask DataFrame have unknown lengths, but the ledger is charged before "
    "a partition is computed: pass chunk_rows(X, y, lengths=[...]) the rows of each "
    "partition, or lengths=True to count them now, outside of any charge; or write the rows to "
    "Parquet, whose footers contain the lengths. Nothing was read or charged"
)


class ChunkedTable:
    """Interface of :class:`LazyTable` for chunked rows; no chunk is read to construct it."""

    arrays = NUMPY  # chunks are processed on the CPU

    def __init__(
        self, blocks: ChunkedRows, schema: TableSchema | None, row_norm: float, *, charged: bool
    ) -> None:
        if not blocks.source.labelled:
            raise TypeError("these rows have no targets to fit: pass y or target= to chunk_rows")
        if charged and not blocks.is_counted:
            raise DataError(_UNCOUNTED)
        text = getattr(blocks.source, "text_partitions", ())
        if schema is None and text and not blocks.steps:
            raise DataError(
                f"{', '.join(text)} holds text, from folder names: declare it in a schema, or "
                f"exclude it with chunk_rows(..., columns=[...])"
            )
        self._blocks, self.schema, self._row_norm = blocks, schema, row_norm
        n, self.n_columns = blocks.source.shape
        self.may_be_long = schema is None
        if schema is not None:
            self._places = find_features(schema, self._empty_frame)
            self.n_columns = len(self._places)
        self.shape = (n, self.n_columns if schema is None else len(schema.encoded_names))
        # Checked before a charge: a fit stores plans, and one with a ledger a hash of each row.
        blocks.check_room(self.shape[1], more=_OF_A_FIT + 3 * 8 * n)

    @property
    def names(self) -> NDArray[Any] | None:
        """Column names of X, if any; with a schema, those of its features."""
        found = self._blocks.source.names
        if found is None or self.schema is None:
            return None if found is None else np.array(found, dtype=object)
        return feature_names(found, self._places)

    @property
    def feature_names(self) -> list[str]:
        """Names of the columns of the model input."""
        if self.schema is not None:
            return list(self.schema.encoded_names)
        return [f"x{j}" for j in range(self.shape[1])] if self.names is None else [*self.names]

    @property
    def feature_groups(self) -> dict[str, tuple[str, ...]] | None:
        """Columns that form one feature each; None infers them from the names."""
        return None if self.schema is None else self.schema.feature_groups

    @property
    def unconfirmed(self) -> str:
        """Reason why the schema gives no guarantee; empty if all of it is confirmed."""
        return "" if self.schema is None else self.schema.leak

    @property
    def assumptions(self) -> tuple[str, ...]:
        """Assumptions of a guarantee about where the rows are and who sums them."""
        return self._blocks.assumptions

    @cached_property
    def numeric(self) -> ChunkedRows:
        """Numeric rows, encoded by the schema, and unchanged targets."""
        step = AsNumbers() if self.schema is None else Encoded(self.schema, self._row_norm)
        return self._blocks.then(step)

    def coded(self, *steps: Step) -> ChunkedRows:
        """Return numeric rows, after further steps for the targets."""
        return self.numeric.then(*steps)

    @property
    def leak(self) -> str:
        """Reason why the first chunk's values are data-dependent; reads them."""
        given = getattr(self._blocks.source, "X", None)
        rows, _ = next(self.numeric.chunks(0, 1))
        return find_leak(given) or recall(rows)

    def recognised(self, ledger: Path) -> None:
        """Record the table in the registry next to a ledger; warn if another ledger charged it."""
        each = self.numeric.reduce(_hashes, merge=_one_after_the_other)
        recognise_hashes(ledger, self.shape, each)

    def public(self) -> dict[str, Any]:
        """Return the fitted attributes that do not depend on row values."""
        names = {} if self.names is None else {"feature_names_in_": self.names}
        fitted = {"n_features_in_": self.n_columns, **names}
        if self.schema is None:
            return fitted
        encoder = TableEncoder(self.schema, row_norm=self._row_norm).note_columns(self._empty_frame)
        return {**fitted, "encoder_": encoder}

    @property
    def _empty_frame(self) -> Any:
        """Table with the same columns and no rows."""
        names = self._blocks.source.names
        if names is None:
            return np.empty((0, self._blocks.source.shape[1]))
        import pandas as pd

        return pd.DataFrame(columns=list(names))


@dataclass(frozen=True, eq=False)
class ClassCodes:
    """Labels as codes for the loss: −1 and 1 for two classes, 0, 1, … for more."""

    classes: NDArray[Any]
    schema: TableSchema | None

    def __call__(self, rows: FloatArray, labels: Any) -> tuple[FloatArray, FloatArray]:
        """Return the unchanged rows, and the codes (m,)."""
        if self.schema is not None and self.schema.classes is not None:
            labels = declared_labels(self.schema, labels)
        codes = class_codes(np.asarray(labels), self.classes)
        return rows, 2 * codes - 1 if len(self.classes) == 2 else codes


@dataclass(frozen=True)
class OnUnit:
    """Targets mapped from declared bounds onto [−1, 1], without clipping to it."""

    low: float
    high: float

    def __call__(self, rows: FloatArray, targets: Any) -> tuple[FloatArray, FloatArray]:
        """Return the unchanged rows, and the mapped targets (m,)."""
        half = (self.high - self.low) / 2
        values = np.asarray(targets, dtype=np.float64)
        held = np.clip(values, self.low - half, self.high + half)  # otherwise mapping may overflow
        return rows, (held - (self.low + self.high) / 2) / half


def _hashes(rows: FloatArray, targets: Any) -> tuple[NDArray[np.uint64]]:
    return (row_hashes(rows),)


def _one_after_the_other(one: tuple[Any], other: tuple[Any]) -> tuple[Any]:
    return (np.concatenate([one[0], other[0]]),)


Form = Callable[[Any], tuple[tuple[int, ...], Any]]
"""Shape and type of the prediction for one row."""


def a_label(model: Any) -> tuple[tuple[int, ...], Any]:
    """Shape and type of a label."""
    return (), model.classes_.dtype


def a_number(model: Any) -> tuple[tuple[int, ...], Any]:
    """Shape and type of a number."""
    return (), np.dtype(float)


def chances(model: Any) -> tuple[tuple[int, ...], Any]:
    """Shape and type of the probabilities of all classes."""
    return (len(model.classes_),), np.dtype(float)


def decisions(model: Any) -> tuple[tuple[int, ...], Any]:
    """Shape and type of a decision: one number for two classes, otherwise one for each."""
    return () if len(model.classes_) == 2 else (len(model.classes_),), np.dtype(float)


def predict_in_chunks(form: Form) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Extend a prediction method to chunked rows and Dask collections."""

    def deco(method: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(method)
        def predicts(self: Any, X: Any) -> Any:
            if not is_chunked(X):
                return method(self, X)
            of_rows = _OfRows(self, method.__name__)
            if isinstance(X, ChunkedRows):
                names = X.source.names if hasattr(self, "feature_names_in_") else None
                return map_rows(X.then(_Predicted(of_rows, names)), np.asarray)
            return _on_dask(X, of_rows, *form(self))

        return predicts

    return deco


@dataclass(frozen=True, eq=False)
class _OfRows:
    model: Any
    method: str

    def __call__(self, rows: Any) -> NDArray[Any]:
        found: NDArray[Any] = getattr(self.model, self.method)(rows)
        return found


@dataclass(frozen=True, eq=False)
class _Predicted:
    """Prediction as a step of chunked rows, so that errors state the position of a row."""

    of_rows: _OfRows
    names: Any

    def __call__(self, rows: Any, targets: Any) -> tuple[NDArray[Any], Any]:
        return self.of_rows(with_names(rows, self.names)), targets


def _on_dask(X: Any, of_rows: _OfRows, shape: tuple[int, ...], dtype: Any) -> Any:
    import dask.array as da

    if hasattr(X, "chunks"):
        X, lengths = X.rechunk({1: -1}), X.chunks[0]
        parts = X.to_delayed().ravel()
    else:
        parts = X.to_delayed()
        lengths = (np.nan,) * len(parts)  # unknown until they are computed
    from dask import delayed

    made = [
        da.from_delayed(delayed(of_rows)(part), (rows, *shape), dtype)
        for part, rows in zip(parts, lengths, strict=True)
    ]
    return da.concatenate(made, allow_unknown_chunksizes=True)
