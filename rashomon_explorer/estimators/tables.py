"""The table of a fit, in memory or chunked; its values are read only after the charge."""

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass
from functools import cached_property, wraps
from pathlib import Path
from typing import Any, Self, TypeVar, cast

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_X_y

from rashomon_explorer._utils import containers
from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer._utils.sklearn_compat import text_names
from rashomon_explorer._utils.taint import find_leak
from rashomon_explorer.data import TableEncoder, TableSchema, encoder
from rashomon_explorer.data.messages import check_unique
from rashomon_explorer.estimators.pipelines import learns_bounds
from rashomon_explorer.estimators.scaler import LEARNT_BOUNDS
from rashomon_explorer.exceptions import DataError
from rashomon_explorer.privacy.ledger.tables import Hashes, record_charged_table, row_hashes
from rashomon_explorer.rows import ChunkedRows, Step
from rashomon_explorer.rows.chunked import map_rows
from rashomon_explorer.rows.coercion import chunks_with_targets, is_chunked
from rashomon_explorer.rows.reduction import Merge, add_arrays, append_parts
from rashomon_explorer.rows.source import read_mapped, with_names
from rashomon_explorer.rows.steps import EncodeStep, LongRowCount, NumericStep, TransformStep
from rashomon_explorer.rows.workers import DaskWorkers

_DECLARE = (
    "Text and missing values need declared columns: propose_schema(table, target=...) "
    "drafts a schema to correct; pass it as schema=..."
)
_UNCOUNTED = (
    "the number of rows of this lazy collection is unknown, but the ledger is charged before a row "
    "is computed: pass chunk_rows(..., lengths=True) to count them now, outside of any charge, or "
    "lengths=[...] for the partitions of a Dask DataFrame; or write the rows to Parquet, whose "
    "footers contain the lengths. Nothing was read or charged"
)
_NOT_CHUNKED = (
    "needs whole tables. Chunked rows are supported by RashomonClassifier, RashomonRegressor, "
    "RashomonTreeClassifier, DPClassifier and DPRegressor; a fixed random sample is X, y = "
    "rows.sample(5_000).to_memory(); report it as a sample. Nothing was read or charged"
)
_UNSEEN = (
    "these files are not one table with the expected columns. Names, columns and types may depend "
    "on rows, so a fit with a ledger does not state more: rows.n or check_rows(rows) does, outside "
    "of any charge. Folder names that are text need a schema, or chunk_rows(..., columns=[...]). "
    "Nothing was charged"
)
_PLAN_BYTES = 2**25  # bytes


class TableAdapter:
    """Rows and targets of a fit, encoded by a schema; before a charge only shapes are read."""

    def __init__(
        self,
        estimator: BaseEstimator,
        X: Any,
        y: Any,
        *,
        numeric: bool = False,
        chunked: bool = True,
        schema: TableSchema | None = None,
        row_norm: float | None = None,
    ) -> None:
        self.schema, self._row_norm = schema, row_norm
        charged = estimator.ledger is not None
        self._options = {"estimator": estimator, "dtype": np.float64, "y_numeric": numeric}
        self._chunks: ChunkedRows | None = None
        if not is_chunked(X):
            self._resolve_columns(self._measure(X, y, charged))
        elif not chunked:
            raise TypeError(f"{type(estimator).__name__} {_NOT_CHUNKED}")
        else:
            self._measure_chunks(chunks_with_targets(X, y), charged)

    def _resolve_columns(self, rows: tuple[int, ...]) -> None:
        """Set names and numbers of columns of a table of this shape, by the header."""
        labels = containers.column_labels(self._header)
        check_unique(map(str, () if labels is None else labels))
        self.names = None if labels is None else text_names(labels)
        self.n_columns = n_encoded = rows[1]
        """Number of feature columns of X before encoding."""
        if self.schema is not None:
            positions = encoder.find_features(self.schema, self._header)
            self.names = None if labels is None else encoder.feature_names(labels, positions)
            self.n_columns, n_encoded = len(positions), len(self.schema.encoded_names)
        self.shape: tuple[int, int] = (rows[0], n_encoded)

    def _measure(self, X: Any, y: Any, charged: bool) -> tuple[int, ...]:
        """Read the shapes of a table in memory."""
        containers.check_readable("X", X)
        self.X, rows = _measured("X", X, 2, charged)
        self.y, targets = y, None
        if y is not None:
            containers.check_readable("y", y)
            self.y, targets = _measured("y", y, 1, charged)
        if len(rows) < 2:
            raise ValueError(
                f"Expected 2D array, got {len(rows)}D array instead, of shape {rows}. Reshape your "
                "data: X.reshape(-1, 1) if it is one feature, X.reshape(1, -1) if it is one row"
            )
        stand_ins = np.broadcast_to(0.0, rows), None if targets is None else np.zeros(targets)
        check_X_y(*stand_ins, **{**self._options, "ensure_all_finite": False})
        self._header = self.X
        return rows

    def _measure_chunks(self, chunks: ChunkedRows, charged: bool) -> None:
        """Read the shape and the column names of chunked rows."""
        source = chunks.source
        if not source.labelled:
            raise TypeError("these rows have no targets to fit: pass y or target= to chunk_rows")
        if charged and not chunks.is_counted:
            raise DataError(_UNCOUNTED)
        self._chunks, self.X, self.y = chunks, getattr(source, "X", None), None
        if not charged or not source.layout_assumption:
            self._open(chunks)
        elif not _succeeds(lambda: self._open(chunks)):
            raise DataError(_UNSEEN)
        if charged and isinstance(chunks.workers, DaskWorkers):
            chunks.workers.check(source)
        # Checked before a charge: a fit stores plans, and one with a ledger a hash of each row.
        chunks.check_room(self.shape[1], more=_PLAN_BYTES + 3 * 8 * self.shape[0])

    def _open(self, chunks: ChunkedRows) -> None:
        """Open files, if the rows are in some, and resolve the columns."""
        source = chunks.source
        text = getattr(source, "text_partitions", ())
        if self.schema is None and text and not chunks.steps:
            raise DataError(
                f"{', '.join(text)} holds text, from folder names: declare it in a schema, or "
                f"exclude it with chunk_rows(..., columns=[...])"
            )
        self._header = with_names(np.empty((0, source.shape[1])), source.names)
        self._resolve_columns(source.shape)

    words: NDArray[Any] | None = None
    """Two declared labels in words, which a meta-estimator may have numbered."""

    @property
    def is_numbered(self) -> bool:
        """Whether labels declared as words arrive as whole numbers; only after a charge."""
        kind = getattr(getattr(self.y, "dtype", None), "kind", "")
        return self.words is not None and kind in ("i", "u")

    def in_units(self) -> Self:
        """Return the same table with columns in their original units, before a value is read."""
        table = copy(self)
        table._row_norm = None
        return table

    @property
    def is_chunked(self) -> bool:
        """Whether the rows are never in memory together."""
        return self._chunks is not None

    @property
    def clipping_is_unusual(self) -> bool:
        """Whether clipped rows are unusual; rows of a schema have norms about ``row_norm``."""
        return self.schema is None

    @property
    def feature_names(self) -> list[str]:
        """Names of the encoded columns; x0, x1, … if the table has none."""
        if self.schema is not None:
            return list(self.schema.encoded_names)
        every = [f"x{j}" for j in range(self.shape[1])] if self.names is None else self.names
        return [str(name) for name in every]

    @property
    def feature_groups(self) -> dict[str, tuple[str, ...]] | None:
        """Columns that form one feature each; None infers them from the names."""
        return None if self.schema is None else self.schema.feature_groups

    @property
    def assumptions(self) -> tuple[str, ...]:
        """Assumptions of a guarantee about where the rows are and who sums them."""
        return () if self._chunks is None else self._chunks.assumptions

    @property
    def leak(self) -> str:
        """Reason why the rows are data-dependent, by their taint, steps and schema; reads none."""
        if taint := find_leak(self.X, self.y):
            return taint
        steps = () if self._chunks is None else self._chunks.steps
        if any(learns_bounds(getattr(step, "transformer", None)) for step in steps):
            return LEARNT_BOUNDS
        schemas = (self.schema, *(getattr(step, "schema", None) for step in steps))
        return next((schema.leak for schema in schemas if schema is not None and schema.leak), "")

    def public(self) -> dict[str, Any]:
        """Return the fitted attributes that do not depend on row values, including the encoder."""
        names = {} if self.names is None else {"feature_names_in_": self.names}
        public = {"n_features_in_": self.n_columns, **names}
        if self.schema is None:
            return public
        if self._row_norm is None:
            return {**public, "encoder_": encoder.UnitEncoder(self.schema)}
        table_encoder = TableEncoder(self.schema, row_norm=self._row_norm)
        return {**public, "encoder_": table_encoder.note_columns(self._header)}

    @cached_property
    def values(self) -> tuple[FloatArray, NDArray[Any]]:
        """Encoded rows (n, p) and targets (n,) of a table in memory; the first access to values."""
        targets = containers.as_pandas(read_mapped(self.y))
        if self.is_numbered and np.isin(targets, (0, 1)).all():
            targets = cast(Any, self.words)[np.asarray(targets)]
        if self.schema is None:
            return self._checked(containers.as_pandas(read_mapped(self.X)), targets)
        if self.schema.classes is not None:
            targets = encoder.declared_labels(self.schema, targets)
        if self._row_norm is None:
            encoded = encoder.UnitEncoder(self.schema).transform(self.X)
        else:
            encoded = encoder.encoded_rows(self.schema, self.X, self._row_norm)
        return self._checked(np.asarray(encoded), targets)

    @cached_property
    def chunks(self) -> ChunkedRows:
        """Chunked rows of encoded numbers, with the targets as the schema writes them."""
        assert self._chunks is not None
        if self.schema is None:
            return self._chunks.then(NumericStep())
        names = self._chunks.source.names
        labels = [] if self.schema.classes is None else [_DeclaredLabels(self.schema)]
        if self._row_norm is not None:
            return self._chunks.then(EncodeStep(self.schema, self._row_norm), *labels)
        step = TransformStep(
            encoder.UnitEncoder(self.schema), None if names is None else tuple(names)
        )
        return self._chunks.then(step, *labels)

    def reduce(
        self, function: Callable[[Any, Any], Any], *steps: Step, merge: Merge = add_arrays
    ) -> Any:
        """Reduce the encoded rows after some steps; a table in memory is one chunk."""
        if self._chunks is not None:
            return self.chunks.then(*steps).reduce(function, merge=merge)
        rows, targets = self.values
        for step in steps:
            rows, targets = step(rows, targets)
        return function(rows, targets)

    def encoded(self, step: Step) -> tuple[Any, Any]:
        """Return the encoded rows and targets after a step; chunked rows contain their targets."""
        if self._chunks is not None:
            return self.chunks.then(step), None
        return step(*self.values)

    def share(self, count: Callable[[Any, Any], Any], *steps: Step) -> float:
        """Share of the encoded rows that a reduction counts."""
        (number,) = self.reduce(count, *steps)
        return float(number[0]) / self.shape[0]

    def longer_share(self, row_norm: float, *steps: Step) -> float:
        """Share of the encoded rows that are longer than a norm."""
        return self.share(LongRowCount(row_norm), *steps)

    def register_with_ledger(self, ledger: Path) -> None:
        """Record the table in the registry next to a ledger; warn if another ledger charged it."""
        hashes = self.reduce(_hashes, merge=append_parts)
        record_charged_table(ledger, Hashes(self.shape, np.concatenate(hashes)))

    def _checked(self, rows: Any, targets: Any) -> tuple[FloatArray, NDArray[Any]]:
        try:
            checked: tuple[FloatArray, NDArray[Any]] = check_X_y(rows, targets, **self._options)
        except ValueError as error:
            message = str(error)
            if message.startswith(("could not convert", "Input X contains NaN")):
                message = f"{message.splitlines()[0].rstrip('.')}. {_DECLARE}"
            raise ValueError(message) from None
        except TypeError as error:  # numpy finds no common type, for example of dates and numbers
            if not isinstance(error, np.exceptions.DTypePromotionError):
                raise
            raise DataError(f"X holds dates or other non-numeric cells. {_DECLARE}") from None
        return checked


def _succeeds(work: Callable[[], None]) -> bool:
    """Whether work ends without an error that names or footers may shape."""
    try:
        work()
    except (MemoryError, ImportError):
        raise
    except Exception:
        return False
    return True


def _measured(name: str, data: Any, depth: int, charged: bool) -> tuple[Any, tuple[int, ...]]:
    """Return the data and its shape."""
    shape = containers.container_shape(data, depth)
    if shape is None and charged:
        raise TypeError(
            f"{name} has no shape, but the ledger is charged before a value is read: pass an "
            f"array, a DataFrame or a list, got {type(data).__name__}"
        )
    if shape is None:
        data = np.asarray(data)
        shape = data.shape
    return data, shape


def _hashes(rows: FloatArray, targets: Any) -> tuple[NDArray[np.uint64]]:
    return (row_hashes(rows),)


@dataclass(frozen=True, eq=False)
class _DeclaredLabels:
    schema: TableSchema

    def __call__(self, rows: FloatArray, labels: Any) -> tuple[FloatArray, Any]:
        return rows, encoder.declared_labels(self.schema, labels)


Form = Callable[[Any], tuple[tuple[int, ...], Any]]
"""Shape and type of the prediction for one row."""


def label_output(model: Any) -> tuple[tuple[int, ...], Any]:
    """Shape and type of a label."""
    return (), model.classes_.dtype


def number_output(model: Any) -> tuple[tuple[int, ...], Any]:
    """Shape and type of a number."""
    return (), np.dtype(float)


def probability_output(model: Any) -> tuple[tuple[int, ...], Any]:
    """Shape and type of the probabilities of all classes."""
    return (len(model.classes_),), np.dtype(float)


def decision_output(model: Any) -> tuple[tuple[int, ...], Any]:
    """Shape and type of a decision: one number for two classes, otherwise one for each."""
    return () if len(model.classes_) == 2 else (len(model.classes_),), np.dtype(float)


Method = TypeVar("Method", bound=Callable[..., Any])


def predict_in_chunks(form: Form) -> Callable[[Method], Method]:
    """Extend a prediction method to chunked rows and Dask collections."""

    def deco(method: Method) -> Method:
        @wraps(method)
        def predicts(self: Any, X: Any) -> Any:
            if not is_chunked(X):
                return method(self, X)
            predict = _BoundMethod(self, method.__name__)
            if isinstance(X, ChunkedRows):
                names = X.source.names if hasattr(self, "feature_names_in_") else None
                return map_rows(X.then(_PredictStep(predict, names)), np.asarray)
            return _on_dask(X, predict, *form(self))

        return cast(Method, predicts)

    return deco


@dataclass(frozen=True, eq=False)
class _BoundMethod:
    model: Any
    method: str

    def __call__(self, rows: Any) -> NDArray[Any]:
        return getattr(self.model, self.method)(rows)


@dataclass(frozen=True, eq=False)
class _PredictStep:
    """Prediction as a step of chunked rows, so that errors state the position of a row."""

    predict: _BoundMethod
    names: Any

    def __call__(self, rows: Any, targets: Any) -> tuple[NDArray[Any], Any]:
        return self.predict(with_names(rows, self.names)), targets


def _on_dask(X: Any, predict: _BoundMethod, shape: tuple[int, ...], dtype: Any) -> Any:
    import dask.array as da

    if hasattr(X, "chunks"):
        X, lengths = X.rechunk({1: -1}), X.chunks[0]
        parts = X.to_delayed().ravel()
    else:
        parts = X.to_delayed()
        lengths = (np.nan,) * len(parts)  # unknown until they are computed
    from dask import delayed

    chunks = [
        da.from_delayed(delayed(predict)(part), (rows, *shape), dtype)
        for part, rows in zip(parts, lengths, strict=True)
    ]
    return da.concatenate(chunks, allow_unknown_chunksizes=True)
