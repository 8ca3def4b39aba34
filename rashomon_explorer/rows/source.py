"""Sources of rows that are read in chunks."""

import mmap
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from rashomon_explorer._utils.arrays import FloatArray, IntArray
from rashomon_explorer._utils.containers import as_pandas, column_labels, select_columns
from rashomon_explorer.exceptions import DataError


def mapped_array(values: Any) -> Any:
    """Return the mapped array that contains the values; None if they are in memory."""
    while isinstance(values, np.ndarray):
        if isinstance(values, np.memmap) and getattr(values, "_mmap", None) is not None:
            return values
        values = values.base
    return None


def read_mapped(values: Any) -> Any:
    """Copy a memory-mapped array into memory; return other data unchanged."""
    return values if mapped_array(values) is None else np.array(values)


Piece = tuple[Any, Any]
"""Consecutive rows, an array or a DataFrame, and their targets."""

_MAPPED_ROWS = 2**14  # rows of a mapped file per read: one chunk


class RowSource:
    """Rows and targets that can be read repeatedly, in consecutive pieces."""

    @property
    def is_counted(self) -> bool:
        """Whether the number of rows is known without a computation."""
        return True

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and columns, which are public."""
        raise NotImplementedError

    @property
    def names(self) -> Sequence[str] | None:
        """Column names, or None."""
        return None

    @property
    def may_change(self) -> bool:
        """Whether another process may change the data during a fit: unless they are in memory."""
        return True

    @property
    def labelled(self) -> bool:
        """Whether the source has targets; otherwise they are zeros."""
        return False

    @property
    def layout_assumption(self) -> str:
        """Assumption of a guarantee about what is read before a charge; empty for none."""
        return ""

    def pieces(self, low: int, high: int) -> Iterator[Piece]:
        """Yield rows low to high, in order, in pieces of any size that is efficient to read."""
        raise NotImplementedError

    def part(self, low: int, high: int) -> tuple["RowSource", int]:
        """Source that contains rows low to high and little else, and its first row's number."""
        return self, 0

    @property
    def root(self) -> "RowSource | None":
        """Source behind all views of it; None for one that is sent with each task."""
        return None

    def rebased(self, root: "RowSource | None") -> Any:
        """Return the same views of another source."""
        return root

    def locate(self, row: int) -> str:
        """Name a row for an error: a file and row group, or its number."""
        return f"row {row}"

    def select_column(self, column: str) -> "RowSource":
        """Return the same rows with one column, as a DataFrame, and no targets."""
        raise DataError(f"an array has no column {column!r}: give the column itself")

    def open_first(self) -> None:
        """Open the first file, if the rows are in files; reads no row."""

    def release_memory(self) -> None:
        """Drop cached rows that can be recomputed."""

    def __repr__(self) -> str:
        """Return the type alone: other libraries write it into errors and logs."""
        return f"{type(self).__name__}(...)"


@dataclass(frozen=True, eq=False, repr=False)
class FeaturesAndTargets(RowSource):
    """Base class for an array or frame of features, and one of targets."""

    X: Any
    y: Any = None
    span: tuple[int, int] | None = field(default=None, kw_only=True)
    """First row, and one past the last, of the source that this is a part of."""

    @property
    def names(self) -> Sequence[str] | None:
        labels = column_labels(self.X)
        return None if labels is None else [str(name) for name in labels]

    @property
    def labelled(self) -> bool:
        return self.y is not None

    @property
    def root(self) -> RowSource:
        """Itself: workers of a cluster receive or compute their own part, once."""
        return self


@dataclass(frozen=True, eq=False, repr=False)
class ArrayRows(FeaturesAndTargets):
    """Rows of an array in memory, of a memory-mapped file, or of a DataFrame."""

    def __post_init__(self) -> None:
        if len(getattr(self.X, "shape", ())) != 2 or 0 in self.X.shape:
            raise DataError(f"X must be a table with rows and columns, got {type(self.X).__name__}")
        if self.labelled and getattr(self.y, "shape", None) != (self.X.shape[0],):
            raise DataError(
                f"y must hold one target per row, got shape {getattr(self.y, 'shape', None)} for "
                f"{self.X.shape[0]} rows"
            )

    @property
    def shape(self) -> tuple[int, int]:
        return int(self.X.shape[0]), int(self.X.shape[1])

    @property
    def may_change(self) -> bool:
        return mapped_array(self.X) is not None or mapped_array(self.y) is not None

    def pieces(self, low: int, high: int) -> Iterator[Piece]:
        """Yield one piece without a copy; for a mapped file, several that are read from it."""
        step = _MAPPED_ROWS if self.may_change else max(1, high - low)
        for start in range(low, high, step):
            stop = min(start + step, high)
            yield _read_rows(self.X, start, stop), _read_rows(self.y, start, stop)

    def part(self, low: int, high: int) -> tuple[RowSource, int]:
        """Rows low to high; those of a mapped file are read when they are sent."""
        y = _row_slice(self.y, low, high) if self.labelled else None
        return ArrayRows(_row_slice(self.X, low, high), y, span=(low, high)), low

    def __sizeof__(self) -> int:
        """Bytes in memory, by which a worker of Dask decides what it spills."""
        arrays = [values for values in (self.X, self.y) if values is not None]
        return sum(int(getattr(each, "nbytes", 0) or each.memory_usage().sum()) for each in arrays)

    def __reduce__(self) -> Any:
        """Pickle the rows, also those of a mapped file, without the open files."""
        return type(self), (read_mapped(self.X), read_mapped(self.y))

    def select_column(self, column: str) -> RowSource:
        if self.names is None:
            return super().select_column(column)
        return ArrayRows(select_columns(self.X, [check_column(column, self.names)]))


def parts_of_rows(lengths: Sequence[int], low: int, high: int) -> tuple[slice, int]:
    """Files or partitions that contain rows low to high, and the number of their first row."""
    ends = list(accumulate(lengths))
    first = bisect_right(ends, low)
    return slice(first, bisect_left(ends, high) + 1), sum(lengths[:first])


def check_column(column: str, names: Sequence[str]) -> str:
    """Raise if a column does not exist."""
    if column not in names:
        raise DataError(f"there is no column {column!r}: there are {list(names)}")
    return column


def as_floats(values: Any) -> FloatArray:
    """Values as a C-contiguous float64 array: a copy, unless the piece was made for its chunk."""
    array = np.asarray(values)
    if array.dtype.kind in "cmM":  # complex numbers and dates would lose their meaning
        raise DataError(f"values must be numbers, got {array.dtype}")
    shared = array is not values or not array.flags.owndata  # may view the caller's table
    try:
        return np.array(array, dtype=np.float64, order="C", copy=shared or None)
    except (TypeError, ValueError) as error:
        raise DataError(
            f"values must be numbers: {error}. Declare text and classes in a schema"
        ) from error


def _read_rows(values: Any, low: int, high: int) -> Any:
    """Rows low to high, zeros for None; of a mapped file a copy, whose pages leave the memory."""
    if values is None:
        return np.zeros(high - low)
    mapped = mapped_array(values)
    if mapped is None:
        return _row_slice(values, low, high)
    rows = np.array(values[low:high])
    if mapped.mode != "c" and hasattr(mmap, "MADV_DONTNEED"):  # cells of a copy are nowhere else
        mapped._mmap.madvise(mmap.MADV_DONTNEED)
    return rows


def _row_slice(values: Any, low: int, high: int) -> Any:
    return values.iloc[low:high] if hasattr(values, "iloc") else as_pandas(values[low:high])


def with_names(rows: Any, names: Sequence[str] | None) -> Any:
    """Rows with column names, if there are any."""
    if names is None or hasattr(rows, "iloc"):
        return rows
    return pd.DataFrame(rows, columns=list(names))


@dataclass(frozen=True, eq=False, repr=False)
class SourceView(RowSource):
    """Base class that delegates to a source; subclasses implement :meth:`pieces`."""

    source: RowSource

    @property
    def is_counted(self) -> bool:
        return self.source.is_counted

    @property
    def shape(self) -> tuple[int, int]:
        return self.source.shape

    @property
    def names(self) -> Sequence[str] | None:
        return self.source.names

    @property
    def may_change(self) -> bool:
        return self.source.may_change

    @property
    def labelled(self) -> bool:
        return self.source.labelled

    @property
    def layout_assumption(self) -> str:
        return self.source.layout_assumption

    def part(self, low: int, high: int) -> tuple[RowSource, int]:
        source, offset = self.source.part(low, high)
        return replace(self, source=source), offset

    @property
    def root(self) -> RowSource | None:
        return self.source.root

    def rebased(self, root: RowSource | None) -> Any:
        return replace(self, source=self.source.rebased(root))

    def locate(self, row: int) -> str:
        return self.source.locate(row)

    def select_column(self, column: str) -> RowSource:
        return self.source.select_column(column)


@dataclass(frozen=True, eq=False, repr=False)
class WithColumns(SourceView):
    """Source whose targets are replaced by columns in memory, a few bytes a row."""

    columns: NDArray[Any]

    @classmethod
    def from_columns(cls, source: RowSource, columns: Mapping[str, ArrayLike]) -> "WithColumns":
        """Combine a source with columns."""
        n, arrays = source.shape[0], {name: np.asarray(column) for name, column in columns.items()}
        for name, array in arrays.items():
            if not array.ndim or len(array) != n:
                raise ValueError(
                    f"{name} must hold one entry for each of {n} rows, got shape {array.shape}"
                )
        fields = [(name, array.dtype, array.shape[1:]) for name, array in arrays.items()]
        records = np.empty(n, dtype=np.dtype(fields))
        for name, array in arrays.items():
            records[name] = array
        return cls(source, records)

    @property
    def labelled(self) -> bool:
        """False: these are not targets to fit."""
        return False

    def pieces(self, low: int, high: int) -> Iterator[Piece]:
        for rows, _ in self.source.pieces(low, high):
            yield rows, self.columns[low : low + len(rows)]
            low += len(rows)

    def part(self, low: int, high: int) -> tuple[RowSource, int]:
        source, offset = self.source.part(low, high)
        return WithColumns(source, self.columns[offset:high]), offset


@dataclass(frozen=True, eq=False, repr=False)
class RowSubset(SourceView):
    """Rows of a source at selected positions, in their order."""

    positions: IntArray

    @classmethod
    def random(cls, source: RowSource, max_rows: int, seed: int) -> "RowSubset":
        """Sample this many positions without replacement; all if there are fewer."""
        n = source.shape[0]
        rng = np.random.default_rng(seed)  # selects rows; not privacy noise
        return cls(source, np.sort(rng.choice(n, size=min(max_rows, n), replace=False)))

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.positions), self.source.shape[1]

    def pieces(self, low: int, high: int) -> Iterator[Piece]:
        selected = self.positions[low:high]
        at = int(selected[0])
        for X, y in self.source.pieces(at, int(selected[-1]) + 1):
            first, last = np.searchsorted(selected, [at, at + len(X)])
            here = selected[first:last] - at
            at += len(X)
            if len(here):
                rows = X.iloc[here] if hasattr(X, "iloc") else X[here]
                yield rows, y.iloc[here] if hasattr(y, "iloc") else y[here]

    def part(self, low: int, high: int) -> tuple[RowSource, int]:
        selected = self.positions[low:high]
        source, offset = self.source.part(int(selected[0]), int(selected[-1]) + 1)
        return RowSubset(source, selected - offset), low

    def locate(self, row: int) -> str:
        return self.source.locate(int(self.positions[row]))

    def select_column(self, column: str) -> "RowSubset":
        return RowSubset(self.source.select_column(column), self.positions)


@dataclass(frozen=True, eq=False, repr=False)
class NamedColumns(SourceView):
    """Source of DataFrames, from a source of arrays."""

    titles: tuple[str, ...]
    column: str | None = None

    @property
    def X(self) -> Any:
        return getattr(self.source, "X", None)

    @property
    def shape(self) -> tuple[int, int]:
        return self.source.shape[0], len(self.names)

    @property
    def names(self) -> Sequence[str]:
        return self.titles if self.column is None else (self.column,)

    @property
    def labelled(self) -> bool:
        return self.column is None and self.source.labelled

    def pieces(self, low: int, high: int) -> Iterator[Piece]:
        for rows, targets in self.source.pieces(low, high):
            frame = with_names(rows, self.titles)
            yield (frame if self.column is None else frame[[self.column]]), targets

    def select_column(self, column: str) -> RowSource:
        """Return one column; for files, any column that they have."""
        if column not in self.titles:
            return self.source.select_column(column)
        return NamedColumns(self.source, self.titles, check_column(column, self.titles))
