"""Lengths of the partitions of a Dask collection: known without a computation, or counted."""

from collections.abc import Iterator, Sequence
from threading import Lock
from typing import Any

import numpy as np

from rashomon_explorer.exceptions import DataError

PLANNING = Lock()
"""Held while Dask plans: with Python 3.11 two threads that optimise DataFrames may wait for each
other for ever, each at a lock of ``functools.cached_property`` that the other one holds."""


def known_lengths(data: Any) -> tuple[int, ...] | None:
    """Rows of each partition, if they are known without a computation; otherwise None.

    Arrays know their chunks. A DataFrame knows its lengths if it was made from pandas or Parquet
    files (whose footers are read) by selecting columns and by work on single rows.

    Raises
    ------
    DataError
        If an array does not know its chunks.
    """
    if hasattr(data, "chunks"):
        found = data.chunks[0]
        if any(length != length for length in found):  # NaN: not known
            raise DataError("chunk sizes are not known: call compute_chunk_sizes() first")
        return tuple(map(int, found))
    with PLANNING:
        return _lengths_of_frame(data)


def _lengths_of_frame(data: Any) -> tuple[int, ...] | None:
    parts = _parts_of_dask()
    if parts is None or not hasattr(type(data), "expr"):
        return None
    elemwise, lengths_of, _ = parts
    if not all(isinstance(node, elemwise) or _states_lengths(node) for node in _frames(data.expr)):
        return None
    stated = lengths_of(data.expr).simplify()
    if type(stated).__name__ != "Literal" or len(stated.value) != data.npartitions:
        return None
    return tuple(map(int, stated.value))


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
    """Count the rows of each partition of each collection; computes all of them, once.

    Not through ``compute()``: Dask's optimiser may join several files into one partition, and other
    files for other columns.
    """
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
    found = get(graph, keys)
    return [
        known_lengths(data) or ()
        if hasattr(data, "chunks")
        else tuple(int(np.asarray(length).item()) for length in lengths)  # each comes as a Series
        for data, lengths in zip(collections, found, strict=True)
    ]


def _frames(expr: Any) -> Iterator[Any]:
    """Nodes of an expression that stand for partitions: all but literals and delayed values."""
    return (node for node in expr.walk() if type(node).__name__ not in ("Literal", "_DelayedExpr"))


def _states_lengths(node: Any) -> bool:
    # Of some partitions of a file Dask states lengths in another order than it reads them in.
    return hasattr(node, "_get_lengths") and not getattr(node, "_filtered", False)


def _parts_of_dask() -> tuple[type, type, tuple[type, ...]] | None:
    """Classes of Dask's expressions; None where a version of Dask has them elsewhere."""
    try:
        from dask.dataframe.dask_expr import _expr
        from dask.dataframe.dask_expr.io.io import IO

        return _expr.Elemwise, _expr.Lengths, (_expr.Blockwise, IO)
    except (ImportError, AttributeError):
        return None
