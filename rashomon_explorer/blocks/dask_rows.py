"""Rows of a Dask array or DataFrame, computed a partition at a time."""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import numpy as np

from rashomon_explorer.blocks.source import Piece, check_column
from rashomon_explorer.containers import is_made_by
from rashomon_explorer.exceptions import DataError


@dataclass(frozen=True, eq=False)
class DaskRows:
    """Partitions of a Dask collection, each computed anew where it is needed.

    Parameters
    ----------
    X : dask.array.Array of shape (n, d) or dask.dataframe.DataFrame
    y : dask.array.Array or dask.dataframe.Series of shape (n,), or None
        In the same partitions.
    lengths : tuple of int
        Rows of each partition.
    """

    X: Any
    y: Any
    lengths: tuple[int, ...]

    @classmethod
    def of(cls, X: Any, y: Any) -> "DaskRows":
        """Look at chunks, or count the rows of a DataFrame's partitions, and at no value.

        Raises
        ------
        DataError
            If X and y are not cut alike.
        TypeError
            If one is no Dask collection, or is held by a cluster: such rows are not computed anew
            where a worker is lost.
        """
        for name, data in (("X", X), ("y", y)) if y is not None else (("X", X),):
            if not is_dask(data):
                raise TypeError(f"{name} must be a Dask collection too, got {type(data).__name__}")
            if _held(data):
                raise TypeError(
                    f"{name} was persisted on a cluster, whose workers take its rows with them "
                    "when they are lost: give the collection as it was before persist(), or write "
                    "it to Parquet"
                )
        lengths = _lengths(X)
        targets = lengths if y is None else _lengths(y)
        if lengths != targets:
            raise DataError(
                f"X and y must be in the same partitions, got {_told(lengths)} and "
                f"{_told(targets)}: rechunk or repartition one like the other"
            )
        if hasattr(X, "chunks") and len(X.chunks[1]) > 1:
            X = X.rechunk({1: -1})
        return cls(X, y, lengths)

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and columns."""
        return sum(self.lengths), int(self.X.shape[1])

    @property
    def names(self) -> Sequence[str] | None:
        """Column names of a DataFrame."""
        columns = getattr(self.X, "columns", None)
        return None if columns is None else [str(name) for name in columns]

    @property
    def reread(self) -> bool:
        """Partitions are computed in every pass."""
        return True

    @property
    def labelled(self) -> bool:
        """Whether there are targets."""
        return self.y is not None

    def pieces(self, low: int, high: int) -> Iterator[Piece]:
        """Rows low to high, a partition at a time."""
        import dask

        ends = list(accumulate(self.lengths))
        for place in range(bisect_right(ends, low), len(ends)):
            at = ends[place] - self.lengths[place]
            if at >= high:
                return
            if not self.lengths[place]:
                continue
            part = slice(max(low - at, 0), min(high - at, self.lengths[place]))
            # On a worker as here: a task that asked the cluster for more would wait for itself.
            asked = [_partition(data, place) for data in (self.X, self.y) if data is not None]
            X, *rest = dask.compute(*asked, scheduler="synchronous")
            y = rest[0] if rest else np.zeros(len(X))
            if len(X) != self.lengths[place] or len(y) != len(X):
                raise DataError(
                    f"partition {place} has {len(X)} rows, and had {self.lengths[place]} before"
                )
            yield (X.iloc[part] if hasattr(X, "iloc") else X[part]), _plain(y)[part]

    def place(self, row: int) -> str:
        """Say the partition and the row in it."""
        ends = list(accumulate(self.lengths))
        found = bisect_right(ends, row)
        inside = row - (ends[found] - self.lengths[found])
        return f"partition {found}, row {inside} of it (row {row} of all)"

    def only(self, column: str) -> "DaskRows":
        """Return a DataFrame's column by itself."""
        if self.names is None:
            raise DataError(f"an array has no column {column!r}: give the column itself")
        return DaskRows(self.X[[check_column(column, self.names)]], None, self.lengths)


def is_dask(data: Any) -> bool:
    """Whether data are a Dask collection; imports nothing.

    Examples
    --------
    >>> is_dask([1.0])
    False
    """
    # Of the class: a column may have any name. Other libraries' arrays may hold none of Dask's.
    return hasattr(type(data), "__dask_graph__") and is_made_by(data, ("dask", "dask_expr"))


def _held(data: Any) -> bool:
    """Whether a cluster's workers hold what the collection is."""
    graph = dict(data.__dask_graph__())
    return any(type(value).__name__ == "Future" for value in graph.values())


def _lengths(data: Any) -> tuple[int, ...]:
    if hasattr(data, "chunks"):
        found = data.chunks[0]
        if any(length != length for length in found):  # NaN: not known
            raise DataError("chunk sizes are not known: call compute_chunk_sizes() first")
        return tuple(map(int, found))
    return tuple(map(int, data.map_partitions(len, meta=(None, int)).compute()))


def _told(lengths: tuple[int, ...]) -> str:
    return f"{len(lengths)} of {sum(lengths)} rows"


def _partition(data: Any, place: int) -> Any:
    return data.blocks[place] if hasattr(data, "chunks") else data.partitions[place]


def _plain(targets: Any) -> Any:
    return targets.to_numpy() if hasattr(targets, "to_numpy") else targets
