"""Rows of Dask collections."""

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from threading import Lock
from typing import Any

import numpy as np

from rashomon_explorer._utils.containers import is_from_library
from rashomon_explorer.exceptions import DataError, RowsChangedError
from rashomon_explorer.rows import source

PLANNING = Lock()
"""Lock for Dask's planning: with Python 3.11, two threads that optimise DataFrames may deadlock
on the locks of ``functools.cached_property``."""


def known_lengths(data: Any) -> tuple[int, ...] | None:
    """Rows of each partition if known without a computation, else None."""
    if hasattr(data, "chunks"):
        lengths = data.chunks[0]
        if any(length != length for length in lengths):  # NaN: not known
            raise DataError("chunk sizes are not known: call compute_chunk_sizes() first")
        return tuple(map(int, lengths))
    parts = _parts_of_dask()
    if parts is None or not hasattr(type(data), "expr"):
        return None
    elemwise, lengths_of, _ = parts
    with PLANNING:
        for node in _frames(data.expr):
            # For a subset of a file's partitions, Dask's lengths and its reads differ in order.
            stated = hasattr(node, "_get_lengths") and not getattr(node, "_filtered", False)
            if not stated and not isinstance(node, elemwise):
                return None
        lengths = lengths_of(data.expr).simplify()
        if type(lengths).__name__ != "Literal" or len(lengths.value) != data.npartitions:
            return None
        return tuple(map(int, lengths.value))


def n_partitions(data: Any) -> int | None:
    """Return the number of partitions; None if finding it may compute, as after ``set_index``."""
    if hasattr(data, "chunks"):
        return len(data.chunks[0])
    parts = _parts_of_dask()
    if parts is None or not hasattr(type(data), "expr"):
        return None
    with PLANNING:
        if not all(isinstance(node, parts[2]) for node in _frames(data.expr)):
            return None
        return int(data.npartitions)


def count_partitions(collections: Sequence[Any]) -> list[tuple[int, ...]]:
    """Count the rows of each partition of each collection; computes all partitions once."""
    from dask.base import get_scheduler

    graph: dict[Any, Any] = {}
    keys: list[list[Any]] = []
    for data in collections:
        if hasattr(data, "chunks"):
            keys.append([])
            continue
        with PLANNING:
            counted = data.map_partitions(len, meta=(None, int))
            graph.update(counted.__dask_graph__())
            keys.append(list(counted.__dask_keys__()))
    get = get_scheduler(collections=list(collections))
    counts = get(graph, keys)
    return [
        known_lengths(data) or ()
        if hasattr(data, "chunks")
        else tuple(int(np.asarray(length).item()) for length in lengths)  # each is a Series
        for data, lengths in zip(collections, counts, strict=True)
    ]


def _frames(expr: Any) -> Iterator[Any]:
    """Nodes of an expression that represent partitions: all but literals and delayed values."""
    return (node for node in expr.walk() if type(node).__name__ not in ("Literal", "_DelayedExpr"))


def _parts_of_dask() -> tuple[type, type, tuple[type, ...]] | None:
    """Classes of Dask's expressions; None if this version of Dask has them elsewhere."""
    try:
        from dask.dataframe.dask_expr import _expr
        from dask.dataframe.dask_expr.io.io import IO

        return _expr.Elemwise, _expr.Lengths, (_expr.Blockwise, IO)
    except (ImportError, AttributeError):
        return None


@dataclass(frozen=True, eq=False, repr=False)
class DaskRows(source.FeaturesAndTargets):
    """Partitions of a Dask collection, each computed when it is needed."""

    stated_lengths: tuple[int, ...] | None = None

    @classmethod
    def from_collections(
        cls, X: Any, y: Any, lengths: Sequence[int] | bool | None = None
    ) -> "DaskRows":
        """Read chunk sizes and the footers of Parquet files; compute no partition."""
        for name, data in (("X", X), ("y", y)) if y is not None else (("X", X),):
            if not is_dask(data):
                raise TypeError(f"{name} must be a Dask collection too, got {type(data).__name__}")
        declared = None if lengths is None or isinstance(lengths, bool) else _checked(lengths)
        stated = declared or known_lengths(X)
        _check_alike(X, y, stated)
        if hasattr(X, "chunks") and len(X.chunks[1]) > 1:
            X = X.rechunk({1: -1})
        rows = cls(X, y, stated)
        return cls(X, y, rows.lengths) if lengths is True else rows

    @property
    def is_counted(self) -> bool:
        return self.stated_lengths is not None or "lengths" in vars(self)

    @cached_property
    def lengths(self) -> tuple[int, ...]:
        """Rows of each partition; computes the partitions if their lengths are unknown."""
        if self.stated_lengths is not None:
            return self.stated_lengths
        both = [self.X] if self.y is None else [self.X, self.y]
        lengths, *target_lengths = count_partitions(both)
        if target_lengths and target_lengths[0] != lengths:
            raise _cut_otherwise(lengths, target_lengths[0])
        return lengths

    @property
    def shape(self) -> tuple[int, int]:
        width = self.X.shape[1] if self.names is None else len(self.names)
        return sum(self.lengths), int(width)

    @property
    def names(self) -> Sequence[str] | None:
        columns = getattr(self.X, "columns", None)
        return None if columns is None else [str(name) for name in columns]

    def pieces(self, low: int, high: int) -> Iterator[source.Piece]:
        both = [data for data in (self.X, self.y) if data is not None]
        for data in both:
            if isinstance(data, list):
                continue
            with PLANNING:  # the count may itself need a computation
                count = len(data.chunks[0]) if hasattr(data, "chunks") else data.npartitions
            if count != len(self.lengths):
                raise DataError(
                    f"there are {count} partitions, expected {len(self.lengths)}: one for each "
                    "length"
                )
        parts, at = source.parts_of_rows(self.lengths, low, high)
        for number, length in enumerate(self.lengths[parts], start=parts.start):
            if length:
                X, *rest = _computed(both, number)
                y = rest[0] if rest else np.zeros(len(X))
                if len(X) != length or len(y) != len(X):
                    raise RowsChangedError(
                        f"partition {number} has {len(X)} rows and {len(y)} targets, expected "
                        f"{length} of each: a partition must give the same rows in every pass, "
                        "and declared lengths must be true"
                    )
                part = slice(max(low - at, 0), min(high - at, length))
                yield (X.iloc[part] if hasattr(X, "iloc") else X[part]), np.asarray(y)[part]
            at += length

    def part(self, low: int, high: int) -> tuple[source.RowSource, int]:
        part, first = source.parts_of_rows(self.lengths, low, high)
        with PLANNING:
            X, y = (data if data is None else _partition(data, part) for data in (self.X, self.y))
        return DaskRows(X, y, self.lengths[part], span=(low, high)), first

    @cached_property
    def _delayed(self) -> tuple[list[Any], list[Any] | None]:
        """Partitions of X and of y as delayed objects, without Dask's fusion, which joins some."""
        with PLANNING:
            return _partitions(self.X), None if self.y is None else _partitions(self.y)

    def delayed(self, low: int, high: int) -> Any:
        """Return a delayed source of the partitions that contain rows low to high."""
        from dask import delayed

        part, (X, y) = source.parts_of_rows(self.lengths, low, high)[0], self._delayed
        return delayed(DaskRows, pure=False)(X[part], y and y[part], self.lengths[part])

    def locate(self, row: int) -> str:
        part, first = source.parts_of_rows(self.lengths, row, row + 1)
        return f"partition {part.start}, row {row - first} of it (row {row} of all)"

    def select_column(self, column: str) -> source.RowSource:
        if self.names is None:
            return super().select_column(column)
        return DaskRows(self.X[[source.check_column(column, self.names)]], None, self.lengths)


def is_dask(data: Any) -> bool:
    """Whether data are a Dask collection; imports nothing."""
    # Test the class: a column may have any name, and other libraries' arrays may wrap Dask arrays.
    return hasattr(type(data), "__dask_graph__") and is_from_library(data, ("dask", "dask_expr"))


def active_client() -> Any:
    """Return the client of a cluster that Dask would use in this thread; None if there is none."""
    distributed = sys.modules.get("distributed")
    try:
        return None if distributed is None else distributed.default_client()
    except ValueError:
        return None


def is_persisted(data: Any) -> bool:
    """Whether workers of a cluster store values of a collection; computes nothing."""
    if not hasattr(type(data), "expr"):
        graphs = [data.__dask_graph__()]
    else:  # building the graph may compute, for example divisions of set_index
        operands = [operand for node in data.expr.walk() for operand in node.operands]
        inputs = [operand for operand in operands if not hasattr(type(operand), "dependencies")]
        graphs = [getattr(operand, "dask", operand) for operand in inputs]
    values = [dict(graph).values() if isinstance(graph, Mapping) else (graph,) for graph in graphs]
    return any(type(value).__name__ == "Future" for some in values for value in some)


def _checked(lengths: Sequence[int]) -> tuple[int, ...]:
    checked = tuple(map(int, lengths))
    if any(length < 0 for length in checked) or not sum(checked):
        raise DataError(f"lengths must be ≥ 0, one of them at least 1, got {checked}")
    return checked


def _check_alike(X: Any, y: Any, lengths: tuple[int, ...] | None) -> None:
    """Raise if partitions differ, as far as known without a computation."""
    targets = None if y is None else known_lengths(y)
    if lengths is not None and targets is not None and lengths != targets:
        raise _cut_otherwise(lengths, targets)
    counts = [len(lengths)] if lengths is not None else []
    counts += [c for c in (n_partitions(data) for data in (X, y) if data is not None) if c]
    if len(set(counts)) > 1:
        raise DataError(
            f"X, y and lengths must have the same number of partitions, got {counts}: repartition "
            "one like the other, and give one length for each partition"
        )


def _cut_otherwise(lengths: tuple[int, ...], targets: tuple[int, ...]) -> DataError:
    counts = [f"{len(partitions)} of {sum(partitions)} rows" for partitions in (lengths, targets)]
    return DataError(
        f"X and y must be in the same partitions, got {counts[0]} and {counts[1]}: rechunk or "
        "repartition one like the other"
    )


def _partition(data: Any, number: int | slice) -> Any:
    return (data.blocks if hasattr(data, "chunks") else data.partitions)[number]


def _partitions(data: Any) -> list[Any]:
    if hasattr(data, "chunks"):
        return list(data.to_delayed().ravel())
    simple = data.simplify() if hasattr(data, "simplify") else data
    return list(simple.to_delayed(optimize_graph=False))


def _computed(collections: list[Any], number: int) -> Any:
    """Compute one partition of each collection in this thread; one of a list is computed."""
    if isinstance(collections[0], list):
        return [data[number] for data in collections]
    import dask

    def get(graph: Any, keys: Any, **options: Any) -> Any:
        PLANNING.release()  # threads plan in turn and compute concurrently
        try:
            return dask.get(graph, keys)
        finally:
            PLANNING.acquire()

    with PLANNING:
        parts = [_partition(data, number) for data in collections]
        return dask.compute(*parts, scheduler=None if any(map(is_persisted, collections)) else get)
