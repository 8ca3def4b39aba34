"""Where rows come from: anything that hands them out in order, from any row to any other."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from rashomon_explorer.array_types import FloatArray
from rashomon_explorer.blocks.mapped import MappedRows, let_go, mapping_of
from rashomon_explorer.containers import as_pandas, column_labels, select_columns
from rashomon_explorer.exceptions import DataError

Piece = tuple[Any, Any]
"""Consecutive rows, an array or a DataFrame, and their targets."""

_Reader = Callable[[int, int], Any]

_MAPPED_ROWS = 2**14  # of a mapped file that are read at a time: a block


class RowSource(Protocol):
    """Rows and targets that can be read again and again, in consecutive pieces.

    It is sent to other processes and must mean the same rows there: files by absolute paths, or
    the numbers themselves.
    """

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and columns, which are public."""
        ...

    @property
    def names(self) -> Sequence[str] | None:
        """Column names, where they have any."""
        ...

    @property
    def reread(self) -> bool:
        """Whether somebody else may change what is read while a fit is under way."""
        ...

    @property
    def labelled(self) -> bool:
        """Whether the targets are the rows' own; otherwise they are zeros."""
        ...

    def pieces(self, low: int, high: int) -> Iterator[Piece]:
        """Rows low to high, in order, in pieces of whatever size is cheap to read."""
        ...

    def place(self, row: int) -> str:
        """Where a row is, for an error: a file and row group, or its number."""
        ...

    def only(self, column: str) -> "RowSource":
        """Return the same rows with one column, as a DataFrame's, and no targets."""
        ...


@dataclass(frozen=True, eq=False)
class ArrayRows:
    """Rows of an array in memory or in a file that is mapped, or of a frame, read by its names.

    Parameters
    ----------
    X : ndarray of shape (n, d), DataFrame or Arrow table
    y : ndarray or Series of shape (n,), optional

    Raises
    ------
    DataError
        If X is no table or y has not one target a row.

    Examples
    --------
    >>> rows = ArrayRows(np.eye(3), np.arange(3.0))
    >>> [targets.tolist() for _, targets in rows.pieces(1, 3)], rows.place(2)
    ([[1.0, 2.0]], 'row 2')
    """

    X: Any
    y: Any = None

    def __post_init__(self) -> None:
        """Refuse tables whose shapes do not agree; values are not looked at."""
        if len(getattr(self.X, "shape", ())) != 2 or 0 in self.X.shape:
            raise DataError(f"X must be a table with rows and columns, got {type(self.X).__name__}")
        if self.labelled and getattr(self.y, "shape", None) != (self.X.shape[0],):
            raise DataError(
                f"y must hold one target a row, got shape {getattr(self.y, 'shape', None)} for "
                f"{self.X.shape[0]} rows"
            )

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and columns."""
        return int(self.X.shape[0]), int(self.X.shape[1])

    @property
    def names(self) -> Sequence[str] | None:
        """Column names of a DataFrame."""
        labels = column_labels(self.X)
        return None if labels is None else [str(name) for name in labels]

    @property
    def reread(self) -> bool:
        """Whether the rows are mapped from a file."""
        return mapping_of(self.X) is not None or mapping_of(self.y) is not None

    @property
    def labelled(self) -> bool:
        """Whether there are targets."""
        return self.y is not None

    def pieces(self, low: int, high: int) -> Iterator[Piece]:
        """One piece, of which nothing is copied yet; of a mapped file some, read from the file."""
        step = _MAPPED_ROWS if self.reread else max(1, high - low)
        rows, labels = self._readers
        for start in range(low, high, step):
            stop = min(start + step, high)
            yield rows(start, stop), labels(start, stop)
            for values in (self.X, self.y):
                let_go(values, start, stop)

    @cached_property
    def _readers(self) -> tuple[_Reader, _Reader]:
        """What reads rows low to high of X, and of y; files are opened once a process."""
        return _reader(self.X), _reader(self.y)

    def __reduce__(self) -> Any:
        """Leave open files behind."""
        return type(self), (self.X, self.y)

    def place(self, row: int) -> str:
        """Say the number of the row."""
        return f"row {row}"

    def only(self, column: str) -> "ArrayRows":
        """Return a DataFrame's column by itself."""
        if self.names is None:
            raise DataError(f"an array has no column {column!r}: give the column itself")
        return ArrayRows(select_columns(self.X, [check_column(column, self.names)]))


def check_column(column: str, names: Sequence[str]) -> str:
    """Refuse a column that is not there.

    Examples
    --------
    >>> check_column("age", ["age", "sex"])
    'age'
    """
    if column not in names:
        raise DataError(f"there is no column {column!r}: there are {list(names)}")
    return column


def numbers(values: Any) -> FloatArray:
    """Values as float64 in the order of C, always a copy of their own.

    How a product of matrices rounds depends on how they lie in memory.

    Examples
    --------
    >>> numbers(np.asfortranarray([[1, 2], [3, 4]])).flags.c_contiguous
    True
    """
    given = np.asarray(values)
    if given.dtype.kind in "cmM":  # complex numbers and dates would lose their meaning
        raise DataError(f"values must be numbers, got {given.dtype}")
    try:
        return np.array(given, dtype=np.float64, order="C")
    except (TypeError, ValueError) as error:
        raise DataError(
            f"values must be numbers: {error}. Declare text and classes in a schema"
        ) from error


def _reader(values: Any) -> _Reader:
    if values is None:
        return lambda low, high: np.zeros(high - low)
    if mapping_of(values) is not None:
        return MappedRows(values).part
    if hasattr(values, "iloc"):
        return lambda low, high: values.iloc[low:high]
    return lambda low, high: as_pandas(values[low:high])


def named(rows: Any, names: Sequence[str] | None) -> Any:
    """Rows with their names, where they have any.

    Examples
    --------
    >>> named(np.eye(1), ["age"]).columns.tolist()
    ['age']
    """
    if names is None or hasattr(rows, "iloc"):
        return rows
    import pandas as pd

    return pd.DataFrame(rows, columns=list(names))


def as_it_is(rows: Any, targets: Any) -> tuple[Any, Any]:
    """Return the rows and targets."""
    return rows, targets
