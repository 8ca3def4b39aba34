"""Rows of a Dask array or DataFrame, computed a partition at a time."""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import Any

import numpy as np

from rashomon_explorer.blocks.dask_lengths import (
    PLANNING,
    count_partitions,
    known_lengths,
    n_partitions,
)
from rashomon_explorer.blocks.source import Piece, check_column
from rashomon_explorer.containers import is_made_by
from rashomon_explorer.exceptions import DataError, RowsChangedError


@dataclass(frozen=True, eq=False)
class DaskRows:
    """Partitions of a Dask collection, each computed anew where it is needed.

    Parameters
    ----------
    X : dask.array.Array of shape (n, d) or dask.dataframe.DataFrame
    y : dask.array.Array or dask.dataframe.Series of shape (n,), or None
        In the same partitions.
    known : tuple of int or None
        Rows of each partition; None if only a computation can tell.
    """

    X: Any
    y: Any
    known: tuple[int, ...] | None

    @classmethod
    def of(cls, X: Any, y: Any, lengths: Sequence[int] | bool | None = None) -> "DaskRows":
        """Look at chunks, and at the footers of Parquet files; compute no partition.

        Parameters
        ----------
        X, y : Dask collections
        lengths : sequence of int or bool, optional
            Rows of each partition, where they are declared; True computes and counts them now.

        Raises
        ------
        DataError
            If X and y are not cut alike, or lengths do not fit the partitions.
        TypeError
            If one is no Dask collection, or is held by a cluster: such rows are not computed anew
            where a worker is lost.
        """
        for name, data in (("X", X), ("y", y)) if y is not None else (("X", X),):
            if not is_dask(data):
                raise TypeError(f"{name} must be a Dask collection too, got {type(data).__name__}")
            if _persisted(data):
                raise TypeError(
                    f"{name} was persisted on a cluster, whose workers take its rows with them "
                    "when they are lost: give the collection as it was before persist(), or write "
                    "it to Parquet"
                )
        declared = None if lengths is None or isinstance(lengths, bool) else _checked(lengths)
        known = declared or known_lengths(X)
        _check_alike(X, y, known)
        if hasattr(X, "chunks") and len(X.chunks[1]) > 1:
            X = X.rechunk({1: -1})
        rows = cls(X, y, known)
        return cls(X, y, rows.lengths) if lengths is True else rows

    @property
    def is_counted(self) -> bool:
        """Whether the number of rows is known without a computation."""
        return self.known is not None or "lengths" in vars(self)

    @cached_property
    def lengths(self) -> tuple[int, ...]:
        """Rows of each partition; computes the partitions if their lengths are not known."""
        if self.known is not None:
            return self.known
        both = [self.X] if self.y is None else [self.X, self.y]
        lengths, *others = count_partitions(both)
        if others and others[0] != lengths:
            raise _cut_otherwise(lengths, others[0])
        return lengths

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and columns."""
        width = self.X.shape[1] if self.names is None else len(self.names)
        return sum(self.lengths), int(width)

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
        ends = list(accumulate(self.lengths))
        both = [data for data in (self.X, self.y) if data is not None]
        for data in both:
            _check_count(len(ends), data)  # the count may itself need a computation
        for place in range(bisect_right(ends, low), len(ends)):
            at = ends[place] - self.lengths[place]
            if at >= high:
                return
            if not self.lengths[place]:
                continue
            part = slice(max(low - at, 0), min(high - at, self.lengths[place]))
            X, *rest = _computed(both, place)
            y = rest[0] if rest else np.zeros(len(X))
            if len(X) != self.lengths[place] or len(y) != len(X):
                raise RowsChangedError(
                    f"partition {place} has {len(X)} rows and {len(y)} targets, expected "
                    f"{self.lengths[place]} of each: a partition must give the same rows in every "
                    "pass, and declared lengths must be true"
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


def _persisted(data: Any) -> bool:
    """Whether a cluster's workers hold what the collection is; computes nothing."""
    if not hasattr(type(data), "expr"):
        graphs = [data.__dask_graph__()]
    else:  # not its graph: making that may compute, such as the divisions of set_index
        operands = [operand for node in data.expr.walk() for operand in node.operands]
        plain = [operand for operand in operands if not hasattr(type(operand), "dependencies")]
        graphs = [getattr(operand, "dask", operand) for operand in plain]
    return any(_is_future(value) for graph in graphs for value in _values(graph))


def _values(graph: Any) -> Iterable[Any]:
    return dict(graph).values() if isinstance(graph, Mapping) else (graph,)


def _is_future(value: Any) -> bool:
    return type(value).__name__ == "Future"


def _checked(lengths: Sequence[int]) -> tuple[int, ...]:
    checked = tuple(map(int, lengths))
    if any(length < 0 for length in checked) or not sum(checked):
        raise DataError(f"lengths must be ≥ 0, one of them at least 1, got {checked}")
    return checked


def _check_alike(X: Any, y: Any, known: tuple[int, ...] | None) -> None:
    """Refuse collections that are cut differently, as far as it is known without a computation."""
    targets = None if y is None else known_lengths(y)
    if known is not None and targets is not None and known != targets:
        raise _cut_otherwise(known, targets)
    counts = [len(known)] if known is not None else []
    counts += [c for c in (n_partitions(data) for data in (X, y) if data is not None) if c]
    if len(set(counts)) > 1:
        raise DataError(
            f"X, y and lengths must have the same number of partitions, got {counts}: repartition "
            "one like the other, and give one length for each partition"
        )


def _check_count(count: int, data: Any) -> None:
    with PLANNING:
        found = len(data.chunks[0]) if hasattr(data, "chunks") else data.npartitions
    if found != count:
        raise DataError(f"there are {found} partitions, expected {count}: one for each length")


def _cut_otherwise(lengths: tuple[int, ...], targets: tuple[int, ...]) -> DataError:
    said = [f"{len(each)} of {sum(each)} rows" for each in (lengths, targets)]
    return DataError(
        f"X and y must be in the same partitions, got {said[0]} and {said[1]}: rechunk or "
        "repartition one like the other"
    )


def _partition(data: Any, place: int) -> Any:
    return data.blocks[place] if hasattr(data, "chunks") else data.partitions[place]


def _computed(collections: list[Any], place: int) -> Any:
    """Compute a partition of each collection, in this thread.

    On a worker as here: a task that asked the cluster for more would wait for itself.
    """
    import dask

    def get(graph: Any, keys: Any, **options: Any) -> Any:
        PLANNING.release()  # threads plan one after the other, and compute at the same time
        try:
            return dask.get(graph, keys)
        finally:
            PLANNING.acquire()

    with PLANNING:
        return dask.compute(*[_partition(data, place) for data in collections], scheduler=get)


def _plain(targets: Any) -> Any:
    return targets.to_numpy() if hasattr(targets, "to_numpy") else targets
