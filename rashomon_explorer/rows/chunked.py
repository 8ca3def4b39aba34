"""Chunks of rows of one size, and sums over them that do not depend on where they run."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial, reduce
from itertools import chain
from typing import Any, NoReturn

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from rashomon_explorer._utils import memory_limits
from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer._utils.progress import progress
from rashomon_explorer._utils.threads import one_blas_thread
from rashomon_explorer._utils.validation import check_count
from rashomon_explorer.exceptions import MemoryLimitError
from rashomon_explorer.rows import reduction
from rashomon_explorer.rows import source as sources
from rashomon_explorer.rows.workers import DaskWorkers, RowsOnWorkers, Task, ThreadWorkers, Workers

BLOCK_ROWS = 2**14
"""Rows of every chunk but the last, for pieces of any size: a few megabytes."""

Reduction = Callable[[FloatArray, FloatArray], Any]
"""Function of a chunk's rows (m, d) and targets (m,), to be merged over chunks."""


@dataclass(frozen=True)
class ChunkedRows:
    """Rows and targets that are read in chunks and never in memory together.

    Chunks have a fixed size and order, and are summed along a fixed binary tree, each on one
    thread. A sum has the same digits for an array, a folder of files or a cluster, and for any
    number of workers.

    Parameters
    ----------
    source : RowSource
    steps : tuple of callables
        Transformations of each chunk's rows, in order; the last must return numbers.
    workers : Workers
        By default threads of this process.
    rows : int
        Rows per chunk.
    checksums : tuple of int, optional
        Checksums of the chunks: a chunk that has changed since they were computed is an error.

    Examples
    --------
    >>> import numpy as np
    >>> from rashomon_explorer.rows.source import ArrayRows
    >>> table = ChunkedRows(ArrayRows(np.ones((5, 2)), np.arange(5.0)), rows=2)
    >>> [targets.tolist() for _, targets in table.chunks()]
    [[0.0, 1.0], [2.0, 3.0], [4.0]]
    >>> table.reduce(lambda rows, targets: (targets @ rows,))
    (array([10., 10.]),)
    """

    source: sources.RowSource
    steps: tuple[reduction.Step, ...] = ()
    workers: Workers = field(default_factory=ThreadWorkers)
    rows: int = BLOCK_ROWS
    checksums: reduction.Checksums | None = field(default=None, repr=False)

    @property
    def n(self) -> int:
        """Number of rows; public."""
        return self.source.shape[0]

    @property
    def is_counted(self) -> bool:
        """Whether the number of rows is known; otherwise finding it computes Dask's partitions."""
        return self.source.is_counted

    @property
    def n_chunks(self) -> int:
        return -(-self.n // self.rows)

    @property
    def assumptions(self) -> tuple[str, ...]:
        """Assumptions of a guarantee about the source and the connection to the workers."""
        steady = (
            "the rows were the same in every pass, as far as a checksum of each block tells"
            if self.source.may_change
            else ""
        )
        stated = steady, self.source.layout_assumption, self.workers.assumption
        return tuple(line for line in stated if line)

    def then(self, *steps: reduction.Step) -> ChunkedRows:
        """Return the table with more transformation steps."""
        return replace(self, steps=(*self.steps, *steps), checksums=None)

    def through(self, encoder: Any) -> ChunkedRows:
        """Return the table encoded by a fitted encoder, such as ``clf.encoder_``.

        Parameters
        ----------
        encoder : TableEncoder, or another fitted transformer of scikit-learn
            It must map each row by itself.
        """
        # Local import: measures of arrays load this module, and no encoder.
        from rashomon_explorer.rows.steps import encoder_step

        return self.then(encoder_step(encoder, self.source.names))

    def with_targets(self, **columns: ArrayLike) -> ChunkedRows:
        """Return the table with other columns as its targets.

        Parameters
        ----------
        **columns : array-like of shape (n,) or (n, k)
            Columns of numbers. The targets of a chunk are an array of shape (m,) with a field each.

        Raises
        ------
        ValueError
            If a column does not have one entry per row.
        """
        return replace(
            self, source=sources.WithColumns.from_columns(self.source, columns), checksums=None
        )

    def sample(self, most: int, seed: int = 0) -> ChunkedRows:
        """Return a simple random sample of the rows; their values are not used.

        Parameters
        ----------
        most : int
            Size of the sample; all rows if there are fewer.
        seed : int, default=0
            The same seed selects the same rows of a table of this size.
        """
        check_count(most=most)
        return replace(
            self, source=sources.RowSubset.random(self.source, most, seed), checksums=None
        )

    def to_memory(self) -> sources.Piece:
        """Rows and targets of the source in memory, for tables that fit.

        Returns
        -------
        DataFrame or ndarray of shape (n, d), ndarray of shape (n,)
            A DataFrame if the columns have names.
        """
        parts = self.raw().reduce(_one, merge=reduction.append_parts)
        rows, targets = reduction.concatenate_pieces(list(parts))
        return sources.with_names(rows, self.source.names), targets

    def raw(
        self, source: sources.RowSource | None = None, checksums: reduction.Checksums | None = None
    ) -> ChunkedRows:
        """Return the untransformed rows of the source, or of another one, in the same chunks."""
        source = self.source if source is None else source
        return replace(self, source=source, steps=(_identity,), checksums=checksums)

    def __array__(self, *arguments: Any, **options: Any) -> NoReturn:
        """Refuse the conversion to an array.

        Raises
        ------
        TypeError
            Always; the message names an alternative.
        """
        raise TypeError(
            "chunked rows are never in memory whole, and this needs an array: take a fixed random "
            "sample, X, y = rows.sample(5_000).to_memory(), and state in results that it is one"
        )

    def chunks(
        self, first: int = 0, last: int | None = None
    ) -> Iterator[tuple[FloatArray, FloatArray]]:
        """Rows (m, d) and targets (m,) of each chunk, in order, read in this process.

        Raises
        ------
        DataError
            If a row cannot be used; the message locates it.
        RowsChangedError
            If a chunk has changed since its checksum was computed.
        MemoryLimitError
            If there is not enough memory.
        """
        self.check_room()
        part = self._part((first, self.n_chunks if last is None else last))
        read = reduction.read_chunks(part, self._settings)
        while (chunk := self._with_messages(lambda: next(read, None))) is not None:
            yield chunk[1:]

    def reduce(self, function: Reduction, merge: reduction.Merge = reduction.add_arrays) -> Any:
        """Reduce all chunks along a tree that depends on their number only.

        Parameters
        ----------
        function : callable
            Function of rows (m, d) and targets (m,) of a chunk, which it must not store; picklable,
            for other processes. By default it returns a tuple of arrays, always of the same shapes.
        merge : callable, optional
            Merges two neighbours, the earlier one first; by default arrays are added.

        Raises
        ------
        DataError, RowsChangedError
            As :meth:`chunks`.
        ClusterError
            If workers were lost.
        MemoryLimitError
            If there is not enough memory for one thread, even without cached chunks.
        """

        def total(workers: Workers) -> Any:
            tree = reduction.Tree(merge)
            work = self._settings, function, merge
            for nodes in self.run(workers, reduction.branch_sum, work):
                for level, value in nodes:
                    tree.push(level, value)
            return tree.total()

        return self._with_memory(total)

    def _with_memory(self, work: Callable[[Workers], Any]) -> Any:
        """Do the work with the workers; with fewer threads and no cache if memory is short."""
        if not isinstance(self.workers, ThreadWorkers):
            return self._with_messages(lambda: work(self.workers))
        if memory_limits.available_memory() < self._needs():
            self.source.release_memory()
        self.check_room()
        fewest_threads = ThreadWorkers(
            memory_limits.threads_within(self.workers.count, self._needs())
        )
        try:
            return self._with_messages(lambda: work(fewest_threads), final=False)
        except MemoryLimitError:
            raise
        except MemoryError:
            pass  # retry below, after the error has released its memory
        self.source.release_memory()
        return self._with_messages(lambda: work(ThreadWorkers(1)))

    def with_checksums(self) -> ChunkedRows:
        """Return the same table with checksums of its chunks; reads every row once."""
        return replace(
            self, checksums=self.reduce(reduction.chunk_checksum, merge=reduction.append_parts)
        )

    def check_room(self, columns: int | None = None, more: int = 0) -> None:
        """Raise an error if this process's memory limits leave too little for one thread's work.

        Uses only shapes. Does nothing if other processes do the work.

        Parameters
        ----------
        columns : int, optional
            Columns of the transformed rows, if they are more than the source's.
        more : int, default=0
            Bytes that are needed in addition.

        Raises
        ------
        MemoryLimitError
            If the limits are too low; the message states a sufficient one.
        """
        if isinstance(self.workers, ThreadWorkers):
            shortage = memory_limits.memory_shortage(self._needs(columns) + more, self._work)
            if shortage:
                raise MemoryLimitError(shortage)

    def _needs(self, columns: int | None = None) -> int:
        width = max(self.source.shape[1], columns or 0)
        return memory_limits.chunk_bytes(min(self.rows, self.n), width)

    @property
    def _work(self) -> str:
        return f"work on chunks of {min(self.rows, self.n):,} rows of {self.n:,}"

    def _with_messages(self, work: Callable[[], Any], final: bool = True) -> Any:
        """Do the work; an error names the place of its row, or the memory that suffices."""
        try:
            return work()
        except reduction.RowError as error:
            raise error.located(self.source) from error
        except MemoryLimitError:
            raise
        except MemoryError:
            if not final or not isinstance(self.workers, ThreadWorkers):
                raise
        # raise outside the handler: a chained error may depend on rows
        raise MemoryLimitError(memory_limits.out_of_memory(self._needs(), self._work))

    def run(self, workers: Workers, task: Task, work: Any) -> Iterator[Any]:
        """Yield results of a task for each branch of the tree, in order."""
        with one_blas_thread():  # BLAS rounding depends on its number of threads
            parts = self.parts(workers)
            results = workers.run(task, None, work, parts)
            yield from progress(results, "rows", total=len(parts))

    def parts(self, workers: Workers) -> list[reduction.Part]:
        """Branches of the tree, a few per worker; as kept by a cluster if it keeps the chunks."""
        loaded = getattr(self.source, "on_workers", None)
        if loaded is not None and loaded.workers is workers:
            return list(loaded.parts)
        # One thread reads sequentially; a row group that is split would be read from its start.
        sequential = isinstance(workers, ThreadWorkers) and workers.count == 1
        branches = reduction.branches(self.n_chunks, workers.count)
        return [self._part(span) for span in ([(0, self.n_chunks)] if sequential else branches)]

    def _part(self, span: reduction.Span) -> reduction.Part:
        rows = self._settings.row_range(span)
        checks = self.checksums if self.source.may_change else None
        checksums = None if checks is None else checks[span[0] : span[1]]
        return reduction.Part(span, rows, self.source, checksums=checksums)

    @property
    def _settings(self) -> reduction.ReadSettings:
        return reduction.ReadSettings(self.steps, self.rows, self.n)


def _one(rows: Any, targets: Any) -> tuple[sources.Piece, ...]:
    return ((rows, targets),)


def _identity(rows: Any, targets: Any) -> sources.Piece:
    return rows, targets


CACHE_BYTES = 2**32
"""Largest size in bytes of the cached chunks of a table, however much memory is free."""


@dataclass(frozen=True, eq=False, repr=False)
class TransformedRows(sources.SourceView):
    """Rows of a table after its steps, in chunks: the first from a cache, others recomputed."""

    settings: reduction.ReadSettings
    checksums: reduction.Checksums | None
    width: int
    titles: tuple[str, ...] | None = None
    cache: list[tuple[FloatArray, FloatArray]] | None = None
    on_workers: RowsOnWorkers | None = None
    first: int = 0  # number of the first chunk
    offset: int = 0  # number of the source's first row

    @property
    def shape(self) -> tuple[int, int]:
        return self.source.shape[0], self.width

    @property
    def names(self) -> Sequence[str] | None:
        return self.titles

    @property
    def may_change(self) -> bool:
        """As the source; False with a cache, as chunks are checked when they are recomputed."""
        return self.cache is None and self.on_workers is None and self.source.may_change

    def _chunks(self, low: int, high: int) -> reduction.Part:
        """Chunks that contain rows low to high."""
        first, last = low // self.settings.rows, -(-high // self.settings.rows)
        span = first + self.first, last + self.first
        rows = self.settings.row_range(span)
        checksums = self.checksums and self.checksums[first:last]
        return reduction.Part(span, rows, self.source, self.offset, checksums)

    def part(self, low: int, high: int) -> tuple[sources.RowSource, int]:
        part = self._chunks(low, high).with_own_rows()
        fields = (part.source, self.settings, part.checksums, self.width, self.titles)
        view = TransformedRows(*fields, first=part.span[0], offset=part.offset)
        return view, (view.first - self.first) * self.settings.rows

    def pieces(self, low: int, high: int) -> Iterator[sources.Piece]:
        """Yield parts of whole chunks; an error names the row that causes it."""
        size = self.settings.rows
        cached = (self.cache or [])[low // size : -(-high // size)]
        rest = (low // size + len(cached)) * size
        chunks: Iterator[Any] = iter(cached)
        if rest < high:
            chunks = chain(cached, reduction.read_chunks(self._chunks(rest, high), self.settings))
        try:
            for index, (*_, rows, targets) in enumerate(chunks, start=low // size):
                part = slice(max(low - index * size, 0), min(high - index * size, len(rows)))
                yield rows[part], targets[part]
        except reduction.RowError as error:
            if self.offset or self.first:  # the process that holds the whole source names the place
                raise
            raise error.located(self.source) from error

    def release_memory(self) -> None:
        if self.cache:
            self.cache.clear()


def transformed(table: ChunkedRows, names: Sequence[str]) -> TransformedRows:
    """Source of a table's transformed rows, whose columns have these names."""
    checksums = table.checksums if table.source.may_change else None
    return TransformedRows(table.source, table._settings, checksums, len(names), tuple(names))


def keep_chunks(
    table: ChunkedRows,
    last: reduction.Step,
    count: Reduction,
    width: int,
    cache_limit: float | None = None,
) -> tuple[ChunkedRows, tuple[FloatArray, ...]]:
    """Table of ``width`` columns after a last step, some chunks kept; and counts before it."""
    workers = table.workers
    if cache_limit is None:
        cache_limit = min(CACHE_BYTES, memory_limits.cache_bytes())
    size = 8 * table.rows * (width + 1)
    load = reduction.Load(count, last, table._settings, table.source.may_change, cache_limit / size)
    cache: list[tuple[FloatArray, FloatArray]] | None = None
    on_workers: RowsOnWorkers | None = None
    if isinstance(workers, DaskWorkers):
        on_workers = workers.keep(replace(load, limit=math.inf), table.parts(workers), size)
        loaded = table._with_messages(on_workers.load_all)
    elif isinstance(workers, ThreadWorkers):
        loads = iter((load, replace(load, limit=0.0)))  # without a cache if memory is short
        loaded = table._with_memory(lambda workers: [*table.run(workers, next(loads), None)])
        cache = [chunk for part in loaded for chunk in part.chunks]
    else:
        loaded = [*table.run(workers, replace(load, limit=0.0), None)]
    checksums = tuple(checksum for part in loaded for checksum in part.checksums) or None
    after = replace(table.then(last), checksums=checksums)
    counts = reduce(reduction.add_arrays, (part.counts for part in loaded))
    if cache is None and on_workers is None:
        return after, counts
    source = TransformedRows(
        table.source, after._settings, checksums, width, None, cache, on_workers
    )
    return table.raw(source, checksums=checksums), counts


def read_column(table: ChunkedRows, name: str) -> pd.Series:
    """Read one column of a table by name; needs a few bytes of memory per row."""
    parts = table.raw(table.source.select_column(name)).reduce(_coded, merge=reduction.append_parts)
    return pd.Series(pd.api.types.union_categoricals(list(parts), sort_categories=True), name=name)


def read_targets(table: ChunkedRows) -> NDArray[Any]:
    """Read the targets (n,) of a table from its source."""
    if not table.source.labelled:
        raise TypeError("these rows have no targets: give y, or chunk_rows(..., target=...)")
    return np.concatenate(table.raw().reduce(_targets, merge=reduction.append_parts))


def map_rows(table: ChunkedRows, function: Callable[[Any], NDArray[Any]]) -> NDArray[Any]:
    """Apply a function of rows to all chunks; the result has one or a few entries per row."""
    return np.concatenate(table.reduce(partial(_on_rows, function), merge=reduction.append_parts))


def _on_rows(
    function: Callable[[Any], NDArray[Any]], rows: Any, targets: Any
) -> tuple[NDArray[Any], ...]:
    return (function(rows),)


def _coded(rows: Any, targets: Any) -> tuple[Any, ...]:
    return (pd.Categorical(rows.iloc[:, 0]),)


def _targets(rows: Any, targets: Any) -> tuple[NDArray[Any], ...]:
    return (np.array(targets),)
