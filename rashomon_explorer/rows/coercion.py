"""Conversion of arrays, files and Dask collections to chunked rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from rashomon_explorer._utils import containers
from rashomon_explorer.rows.chunked import ChunkedRows
from rashomon_explorer.rows.dask import DaskRows, active_client, is_dask, is_persisted
from rashomon_explorer.rows.parquet import UnopenedParquet, is_parquet
from rashomon_explorer.rows.source import ArrayRows, RowSource, check_column
from rashomon_explorer.rows.workers import DaskWorkers, resolve_workers


def chunk_rows(
    X: Any,
    y: Any = None,
    *,
    target: str | None = None,
    columns: Sequence[str] | None = None,
    labelled: bool = True,
    n_jobs: int | None = None,
    executor: Any = None,
    lengths: Sequence[int] | bool | None = None,
) -> ChunkedRows:
    """Return chunked rows for an estimator, which reads them without loading the whole table.

    Parameters
    ----------
    X : array-like, DataFrame, Dask collection, pyarrow.dataset, or paths
        A path is a Parquet file, a folder or a pattern such as ``"2024-*.parquet"``, read in the
        order of the names, or an address of an object store such as ``"s3://bucket/claims"``. A
        list of paths is read in its own order. An array may be a ``numpy.memmap``.
    y : array-like of shape (n,), optional
        Targets; for a Dask collection, one with the same partitions. Omitted for files.
    target : str, optional
        Column of the targets, if y is omitted.
    columns : sequence of str, optional
        Features; by default every column except the target.
    labelled : bool, default=True
        False for rows without targets, for predictions and measures of models.
    n_jobs : int, optional
        Number of joblib jobs, with the backend of ``joblib.parallel_config``; by default threads
        of this process, and for a Dask collection the active client of a cluster, as in Dask.
    executor : dask.distributed.Client, optional
        Cluster for the work on chunks. Sums have the same digits everywhere.
    lengths : sequence of int or True, optional
        Rows of each partition of a Dask DataFrame. True computes the partitions now to count the
        rows. By default they come from Parquet footers or are counted at first use. A fit with a
        ledger refuses uncounted rows, because it reads nothing before the charge.

    Returns
    -------
    ChunkedRows
        Pass it to ``fit`` as X, without y. Nothing of Parquet files is read yet: names and footers
        are at the first use, such as ``n``, which is a look at the table outside of any charge.

    Raises
    ------
    DataError
        If columns are missing, or shapes do not agree; for Parquet files at the first use.
    TypeError
        If targets are given twice or not at all.

    Examples
    --------
    >>> table = chunk_rows(np.eye(3), np.array([1, 0, 1]))
    >>> table.source.shape, table.n_chunks
    ((3, 3), 1)
    """
    n_targets = (y is not None) + (target is not None)
    if labelled and n_targets != 1:
        raise TypeError(
            "give targets once: as y, or as the name of their column, target=. For rows without "
            "targets use chunk_rows(X, labelled=False)"
        )
    if not labelled and n_targets:
        raise TypeError("labelled=False is for rows without targets, but targets were given")
    if lengths is not None and not is_dask(X):
        raise TypeError(f"lengths are those of a Dask collection's partitions, got {type(X)}")
    if n_jobs is None and executor is None and is_dask(X):
        executor = active_client()
    workers = resolve_workers(n_jobs, executor)
    if is_dask(X) and not isinstance(workers, DaskWorkers) and is_persisted(X):
        raise TypeError(
            "X is persisted on a cluster: pass its client as executor=, or the collection as it "
            "was before persist()"
        )
    return ChunkedRows(_source(X, y, target, columns, lengths), workers=workers)


def _source(
    X: Any,
    y: Any,
    target: str | None,
    columns: Sequence[str] | None,
    lengths: Sequence[int] | bool | None,
) -> RowSource:
    if is_parquet(X):
        if y is not None:
            raise TypeError(
                "files contain their targets: leave y out and name the column, "
                "chunk_rows(X, target='...'), which fit takes"
            )
        return UnopenedParquet(X, target, columns)
    if not is_dask(X):
        containers.check_readable("X", X)
    if target is not None or columns is not None:
        X, y = _split_columns(X, y, target, columns)
    if is_dask(X):
        return DaskRows.from_collections(X, y, lengths)
    if y is not None:
        containers.check_readable("y", y)
    X = X if containers.is_frame(X) or hasattr(X, "dtype") else np.asarray(X)
    y = containers.as_pandas(y)
    return ArrayRows(X, y if y is None or hasattr(y, "shape") else np.asarray(y))


def _split_columns(
    X: Any, y: Any, target: str | None, columns: Sequence[str] | None
) -> tuple[Any, Any]:
    """Split a frame's columns into features and targets, by name."""
    names = getattr(X, "columns", None) if is_dask(X) else containers.column_labels(X)
    if names is None:
        raise TypeError(
            "columns are chosen by name, and X has none: give a DataFrame, or features and y, "
            f"got {type(X).__name__}"
        )
    if target is not None:
        y = X[check_column(target, list(names))]
        columns = [name for name in names if name != target] if columns is None else columns
    assert columns is not None  # one of the two is given
    return containers.select_columns(X, [check_column(name, list(names)) for name in columns]), y


def is_chunked(X: Any) -> bool:
    """Whether rows are chunked rows or a Dask collection."""
    return isinstance(X, ChunkedRows) or is_dask(X)


def as_chunked_rows(X: Any) -> ChunkedRows:
    """Return chunked rows unchanged; convert a Dask collection, without targets."""
    return X if isinstance(X, ChunkedRows) else chunk_rows(X, labelled=False)


def chunks_with_targets(X: Any, y: Any) -> ChunkedRows:
    """Return chunked rows with their own targets, or a Dask collection with those of y."""
    if not isinstance(X, ChunkedRows):
        return chunk_rows(X, y)
    if y is not None:
        raise TypeError("chunked rows contain their targets: leave y out")
    return X
