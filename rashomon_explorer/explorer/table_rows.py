"""Rows of the page's table: all in memory, or chunks with a random sample in memory."""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from threading import Lock
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline
from sklearn.utils import Bunch

from rashomon_explorer._utils.arrays import FloatArray, IntArray
from rashomon_explorer.data import IgnoredColumn, TableEncoder, TableSchema, cells, messages
from rashomon_explorer.data import encoder as encoders
from rashomon_explorer.data.columns import Column
from rashomon_explorer.data.encoder import UnitEncoder
from rashomon_explorer.data.schema import public_part
from rashomon_explorer.estimators import PublicBoundsScaler
from rashomon_explorer.exceptions import DataError, PrivacyLeakWarning
from rashomon_explorer.plots.text import number
from rashomon_explorer.privacy.ledger.tables import Hashes, row_hashes
from rashomon_explorer.rows import ChunkedRows
from rashomon_explorer.rows.chunked import map_rows, transformed
from rashomon_explorer.rows.reduction import Step
from rashomon_explorer.rows.source import NamedColumns, RowSubset, as_floats
from rashomon_explorer.rows.steps import ClipStep, EncodeStep, LongRowCount, TransformStep
from rashomon_explorer.rows.workers import ThreadWorkers
from rashomon_explorer.sets import RashomonSet


def feature_schema(schema: TableSchema) -> TableSchema:
    """Return a schema without the target, which the data set has already coded."""
    public = public_part(schema)  # suffices for columns that no model uses

    def public_column(column: Column) -> Column:
        if column is schema.target:
            return IgnoredColumn(column.name, role="ignore")
        return column if column.unconfirmed else public[column.name]

    return TableSchema([public_column(column) for column in schema.columns])


def encoded(data: Bunch) -> tuple[TableEncoder, pd.DataFrame]:
    """Encode a data set by its schema, row by row; return the encoder and the rows."""
    encoder = TableEncoder(feature_schema(data.schema))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PrivacyLeakWarning)
        return encoder, encoder.fit_transform(data.frame)


def scaled(data: Bunch) -> pd.DataFrame:
    """Scale columns by their bounds, a form in which they may have been charged elsewhere."""
    return PublicBoundsScaler(data.bounds).set_output(transform="pandas").fit_transform(data.X)


def encoded_rows(encoder: Any, data: Bunch) -> pd.DataFrame:
    """Encode the columns that an encoder declares; raise an error that names a missing one."""
    names = list(map(str, encoder.get_feature_names_out()))
    declared = set(getattr(encoder, "schema_", None) or getattr(encoder, "schema", None) or names)
    frame = data.frame[[name for name in data.frame if str(name) in declared]]
    rows = pd.DataFrame(np.asarray(encoder.transform(frame)), columns=names, index=frame.index)
    rows.attrs[encoders.ENCODED] = True
    return rows


def tree_rows(data: Bunch) -> pd.DataFrame:
    """Rows in the encoding of trees: numbers in their own units, levels as 0 and 1."""
    return encoded_rows(UnitEncoder(feature_schema(data.schema)), data)


def rows_as_fitted(estimator: Any, data: Bunch) -> Any:
    last = estimator[-1] if isinstance(estimator, Pipeline) else estimator
    if hasattr(last, "encoder_"):
        return encoded_rows(last.encoder_, data)
    if last is estimator:
        return data.X
    first = estimator[0]
    if isinstance(first, TableEncoder) and first.schema is not None:
        rows: Any = encoded_rows(first, data)
        for _, step in estimator.steps[1:-1]:
            rows = step.transform(rows)
        return rows
    return estimator[:-1].transform(data.X)


def encoder_as_fitted(estimator: Any, data: Bunch) -> Any:
    if isinstance(estimator, Pipeline):
        raise DataError(
            "chunked rows need an estimator that encodes them itself, got a pipeline: fit "
            "RashomonClassifier(schema=...)"
        )
    if hasattr(estimator, "encoder_"):
        return estimator.encoder_
    models = estimator.rashomon_set_
    predictors = getattr(models, "models", None)
    names = models.feature_names[:-1] if predictors is None else predictors.feature_names
    columns = set(map(str, data.frame.columns))
    if lacking := [name for name in names if name not in columns]:
        raise DataError(
            f"the models need columns {messages.quoted(lacking)}, got rows with "
            f"{messages.quoted(columns)}: pass the rows that the estimator was fitted to"
        )
    return UnencodedColumns(tuple(names))


@dataclass(frozen=True)
class UnencodedColumns:
    """Encoder that returns numeric columns unchanged, for models fitted without a schema."""

    columns: tuple[str, ...]

    def transform(self, X: pd.DataFrame) -> FloatArray:
        return as_floats(X[list(self.columns)])

    def get_feature_names_out(self) -> tuple[str, ...]:
        return self.columns


def refuse_other_columns(models: Any, rows: pd.DataFrame) -> None:
    names = getattr(models, "feature_names", None) if isinstance(models, RashomonSet) else None
    if names is None or list(names[:-1]) == [str(name) for name in rows]:
        return
    raise DataError(
        f"the set's models need {messages.quoted(names[:-1])}, got a data set encoded as "
        f"{messages.quoted(rows)}: pass the encoded rows, data=(X, y)"
    )


MOST_LEVELS = 12
"""With more values, a column is grouped: numbers by quartile, the rarest levels together."""

NO_VALUE = "no value"


@dataclass(frozen=True)
class Grouping:
    """Groups of one column."""

    edges: tuple[float, ...] = ()
    levels: tuple[str, ...] = ()
    rest: str = "others"

    @classmethod
    def from_values(cls, values: "pd.Series[Any]") -> "Grouping":
        if pd.api.types.is_numeric_dtype(values) and values.nunique() > MOST_LEVELS:
            quarters = np.nanquantile(values.astype(float), [0.25, 0.5, 0.75])
            return cls(edges=tuple(np.unique(quarters).tolist()))
        counts = _words(values).value_counts()
        if len(counts) <= MOST_LEVELS:
            return cls(levels=tuple(counts.index))
        common = tuple(counts.index[: MOST_LEVELS - 1])
        return cls(levels=common, rest=f"{len(counts) - len(common)} others")

    @property
    def names(self) -> Sequence[str]:
        groups = _quarters(self.edges) if self.edges else [*self.levels, self.rest]
        return list(dict.fromkeys([*groups, NO_VALUE]))

    def __call__(self, values: "pd.Series[Any]") -> "pd.Series[Any]":
        if not self.edges:
            words = _words(values)
            return words.where(words.isin(self.levels), self.rest)
        numbers = values.astype(float)
        positions = np.searchsorted(np.array(self.edges), numbers, side="left")
        names = np.array(_quarters(self.edges), dtype=object)
        labels = pd.Series(names[positions], index=values.index, name=values.name)
        return labels.where(values.notna(), NO_VALUE)


def _words(values: "pd.Series[Any]") -> "pd.Series[Any]":
    return values.astype(object).where(values.notna(), NO_VALUE).map(_word)


def _word(value: Any) -> str:
    is_integer = isinstance(value, float | np.floating) and float(value).is_integer()
    return str(int(value)) if is_integer else str(value)


def _quarters(edges: Sequence[float]) -> list[str]:
    ends = [number(float(edge)) for edge in edges]
    middle = [f"{low} to {high}" for low, high in pairwise(ends)]
    return [f"up to {ends[0]}", *middle, f"over {ends[-1]}"]


PEOPLE = 5_000  # size of the random sample of rows in larger tables
IN_UNITS = "units"

_SEED = 0
_NORM = 1.0  # the row norm of encoded tables in memory


@dataclass(frozen=True, eq=False)
class SampledChunks:
    """Chunked raw rows, and a fixed random sample of them in memory."""

    rows: ChunkedRows
    target: str

    @classmethod
    def from_chunks(cls, rows: ChunkedRows) -> "SampledChunks":
        """Create from chunked rows; read none of them."""
        source = rows.source
        if not source.labelled:
            raise TypeError(
                "Explorer needs rows with targets, got rows without: use chunk_rows(..., "
                "target=...)"
            )
        if rows.steps:
            raise TypeError(
                "Explorer encodes rows by their schema, got transformed rows: pass the raw rows, "
                "Explorer(chunk_rows(...), schema=...), without through() or then()"
            )
        names = source.names or [f"x{j}" for j in range(source.shape[1])]
        y = getattr(source, "y", None)
        called = getattr(y, "name", None) if hasattr(y, "to_frame") else None  # a Series has one
        target = str(getattr(source, "target", None) or called or "target")
        if target in set(names):
            raise DataError(f"a feature and the target are both called {target!r}: rename one")
        return cls(replace(rows, source=NamedColumns(source, tuple(names)), checksums=None), target)

    @property
    def n(self) -> int:
        return self.rows.n

    @property
    def positions(self) -> IntArray:
        """Positions of the sample among all rows."""
        return RowSubset.random(self.rows.source, PEOPLE, _SEED).positions

    @property
    def people(self) -> pd.DataFrame:
        """The sample before encoding; read again at each access."""
        frame, targets = self.rows.sample(PEOPLE, seed=_SEED).to_memory()
        return pd.DataFrame(frame).assign(**{self.target: targets}).reset_index(drop=True)


class PageTable:
    """All rows of a data set in memory."""

    is_chunked = False
    words = ""
    """Description of the sample of people in the figures; empty if all people are shown."""

    def __init__(self, data: Bunch | None) -> None:
        self._data: Any = data

    @property
    def n(self) -> int:
        """Number of rows; public."""
        return len(self._data.X)

    @property
    def positions(self) -> IntArray:
        """Positions of the rows in memory among all rows."""
        return np.arange(self.n)

    @property
    def clipped_share(self) -> float:
        """Share of all rows that the encoding clips (curator); models see only clipped rows."""
        schema, frame = feature_schema(self._data.schema), self._data.frame
        return cells.clip_rows(encoders.encoded_rows(schema, frame, _NORM, quiet=True), _NORM)[1]

    def fit_inputs(self, rows: Any) -> tuple[Any, ...]:
        """Rows and targets of a fit of a linear model; ``rows`` are the encoded ones in memory."""
        return rows, self._data.y

    @property
    def tree_inputs(self) -> tuple[Any, ...]:
        """Rows and targets of a fit of trees, which take the table's own columns."""
        return self._data.frame, self._data.y


class ChunkedTable(PageTable):
    """All rows of a chunked table, with the declarations of its data set."""

    is_chunked = True

    def __init__(self, sampled: SampledChunks, data: Bunch) -> None:
        self.sampled = sampled
        self.schema: TableSchema = data.schema
        declared = list(data.schema.classes or ())
        coded = None if data.classes is None or list(data.classes) == declared else data.classes[-1]
        self._coded = TargetCoding(data.schema, data.target_bounds, coded)
        self._results: dict[Any, Any] = {}
        self._lock = Lock()

    @property
    def n(self) -> int:
        return self.sampled.n

    @property
    def positions(self) -> IntArray:
        return self.sampled.positions

    def fit_inputs(self, rows: Any) -> tuple[Any, ...]:
        """All rows, which are validated before anything is charged."""
        return (self.encoded(),)

    @property
    def tree_inputs(self) -> tuple[Any, ...]:
        self.encoded()  # raises an error that names the first invalid row
        return (self.labelled,)

    @property
    def words(self) -> str:  # type: ignore[override]
        if self.n <= PEOPLE:
            return ""
        return f"a fixed random sample of {PEOPLE:,} of {self.n:,} people"

    @property
    def labelled(self) -> ChunkedRows:
        """Rows before encoding, with targets in the page's coding: class codes or numbers."""
        return self.sampled.rows.then(self._coded)

    def encoded(
        self, encoder: Any = None, *, labels: bool = False, watch: Step | None = None
    ) -> ChunkedRows:
        """Return encoded rows, checked against the checksums of the first pass."""
        table = self.sampled.rows.then(replace(self._coded, labels=labels))
        features = feature_schema(self.schema)
        names = features.encoded_names
        if encoder is None:
            table = table.then(EncodeStep(features, _NORM), ClipStep(_NORM, intercept=False))
        elif encoder is IN_UNITS:
            table = table.then(
                TransformStep(UnitEncoder(features), tuple(table.source.names or ()))
            )
        else:
            table = table.through(encoder)
            names = encoder.get_feature_names_out()
        here = isinstance(table.workers, ThreadWorkers)  # worker processes cannot report progress
        watched = table if watch is None or not here else table.then(watch)
        checksums = self._once((encoder, labels), lambda: watched.with_checksums().checksums)
        checked = replace(table, checksums=checksums)
        return checked.raw(transformed(checked, list(map(str, names))))

    @property
    def clipped_share(self) -> float:
        def find() -> float:
            rows = self.labelled.then(EncodeStep(feature_schema(self.schema), _NORM))
            (longer,) = rows.reduce(LongRowCount(_NORM))
            return float(longer.item()) / self.n

        return float(self._once("clipped share", find))

    def hashes(self) -> Hashes:
        """Checksums of all rows, eight bytes each."""
        rows = self.encoded()
        return Hashes(rows.source.shape, map_rows(rows, row_hashes))

    def _once(self, key: Any, find: Callable[[], Any]) -> Any:
        with self._lock:
            if key not in self._results:
                self._results[key] = find()
            return self._results[key]


def table_rows(data: Bunch | None) -> Any:
    """Return all rows of a data set: a `ChunkedTable`, or `PageTable` in memory."""
    chunked = None if data is None else data.get("chunked")
    return PageTable(data) if chunked is None else chunked


def table_shape(data: Bunch) -> tuple[int, int]:
    return table_rows(data).n, int(data.X.shape[1])


@dataclass(frozen=True, eq=False)
class TargetCoding:
    """Step that converts targets to the page's coding."""

    schema: TableSchema
    bounds: tuple[float, float] | None
    positive_label: Any = None
    labels: bool = False

    def __call__(self, rows: Any, targets: Any) -> tuple[Any, NDArray[Any]]:
        """Return the rows unchanged, and the converted targets (m,)."""
        if self.bounds is not None:
            return rows, self._numbers(targets)
        labels = encoders.declared_labels(self.schema, targets)
        if self.labels:
            return rows, labels
        if self.positive_label is not None:
            return rows, (labels == self.positive_label).astype(np.int8)
        classes = {label: code for code, label in enumerate(self.schema.classes or ())}
        return rows, np.array([classes[label] for label in labels.tolist()], dtype=np.int8)

    def _numbers(self, targets: Any) -> FloatArray:
        try:
            numbers = np.asarray(targets, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise DataError(f"the target must be a number: {error}") from error
        if not np.isfinite(numbers).all():
            raise DataError("the target is NaN or infinity: remove or impute the row")
        assert self.bounds is not None
        return np.clip(numbers, *self.bounds)
