"""Chunks of rows of one size, and sums over them that do not depend on where they run."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NoReturn

from numpy.typing import ArrayLike

from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer._utils.threads import one_blas_thread
from rashomon_explorer._utils.validation import check_count
from rashomon_explorer.exceptions import MemoryLimitError
from rashomon_explorer.rows import memory_budget, reduction
from rashomon_explorer.rows.source import Piece, RowSource, with_names
from rashomon_explorer.rows.views import RowSubset, SourceView, WithColumns
from rashomon_explorer.rows.workers import ThreadWorkers, Workers

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

    source: RowSource
    steps: tuple[reduction.Step, ...] = ()
    workers: Workers = field(default_factory=ThreadWorkers)
    rows: int = BLOCK_ROWS
    checksums: reduction.Checksums | None = None

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
        """Number of chunks."""
        return -(-self.n // self.rows)

    @property
    def assumptions(self) -> tuple[str, ...]:
        """Assumptions of a guarantee about the source and the connection to the workers."""
        steady = (
            "the rows were the same in every pass, as far as a checksum of each block tells"
            if self.source.may_change
            else ""
        )
        return tuple(line for line in (steady, self.workers.assumption) if line)

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
        # Local import: the encoder imports scikit-learn, which is slow.
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
        return replace(self, source=WithColumns.of(self.source, columns), checksums=None)

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
        return replace(self, source=RowSubset.of(self.source, most, seed), checksums=None)

    def to_memory(self) -> Piece:
        """Rows and targets of the source in memory, for tables that fit.

        Returns
        -------
        DataFrame or ndarray of shape (n, d), ndarray of shape (n,)
            A DataFrame if the columns have names.
        """
        parts = self.raw().reduce(_one, merge=reduction.append_parts)
        rows, targets = reduction.concatenate_pieces(list(parts))
        return with_names(rows, self.source.names), targets

    def raw(
        self, source: RowSource | None = None, checksums: reduction.Checksums | None = None
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
        span = first, self.n_chunks if last is None else last
        read = reduction.read_chunks(self.source, self._settings, span)
        while (chunk := self._with_memory_message(lambda: next(read, None))) is not None:
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
        if not isinstance(self.workers, ThreadWorkers):
            return self._reduced(self.workers, function, merge)
        if memory_budget.available_memory() < self._needs():
            self.source.release_memory()
        self.check_room()
        least = ThreadWorkers(memory_budget.threads_within(self.workers.count, self._needs()))
        try:
            return self._reduced(least, function, merge)
        except MemoryLimitError:
            raise
        except MemoryError:
            pass  # retry below, after the error has released its memory
        self.source.release_memory()
        return self._with_memory_message(lambda: self._reduced(ThreadWorkers(1), function, merge))

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
            memory_budget.check_memory(self._needs(columns) + more, self._work)

    def _needs(self, columns: int | None = None) -> int:
        width = max(self.source.shape[1], columns or 0)
        return memory_budget.chunk_bytes(min(self.rows, self.n), width)

    @property
    def _work(self) -> str:
        return f"work on chunks of {min(self.rows, self.n):,} rows of {self.n:,}"

    def _with_memory_message(self, work: Callable[[], Any]) -> Any:
        try:
            return work()
        except MemoryLimitError:
            raise
        except MemoryError:
            pass  # raise outside the handler: a chained error may depend on rows
        raise memory_budget.out_of_memory(self._needs(), self._work)

    def _reduced(self, workers: Workers, function: Reduction, merge: reduction.Merge) -> Any:
        # One thread reads sequentially; a row group that is split would be read from its start.
        alone = isinstance(workers, ThreadWorkers) and workers.count == 1
        branches = reduction.branches(self.n_chunks, workers.count)
        spans = [(0, self.n_chunks)] if alone else list(branches)
        tree, what = reduction.Tree(merge), (self._settings, function, merge)
        with one_blas_thread():  # BLAS rounding depends on its number of threads
            for nodes in workers.run(reduction.branch_sum, self.source, what, spans):
                for level, value in nodes:
                    tree.push(level, value)
        return tree.total()

    @property
    def _settings(self) -> reduction.ReadSettings:
        checksums = self.checksums if self.source.may_change else None
        return reduction.ReadSettings(self.steps, self.rows, self.n, checksums)


def _one(rows: Any, targets: Any) -> tuple[Piece, ...]:
    return ((rows, targets),)


def _identity(rows: Any, targets: Any) -> Piece:
    return rows, targets


CACHE_BYTES = 2**29
"""Default memory limit in bytes for the cached chunks of a table: half a gigabyte."""


@dataclass(frozen=True, eq=False)
class TransformedRows(SourceView):
    """Rows of a table after its steps, in chunks: the first from a cache, others recomputed."""

    table: ChunkedRows
    width: int
    titles: tuple[str, ...] | None = None
    cache: list[tuple[FloatArray, FloatArray]] | None = None

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and of transformed columns."""
        return self.table.n, self.width

    @property
    def names(self) -> Sequence[str] | None:
        """Names of the transformed columns."""
        return self.titles

    @property
    def may_change(self) -> bool:
        """As the source; False with a cache, as the table checks the chunks that it recomputes."""
        return self.cache is None and self.source.may_change

    def pieces(self, low: int, high: int) -> Iterator[Piece]:
        """Yield parts of whole chunks; an error names the row that causes it."""
        size = self.table.rows
        for index, (rows, targets) in enumerate(self._chunks(low, high), start=low // size):
            part = slice(max(low - index * size, 0), min(high - index * size, len(rows)))
            yield rows[part], targets[part]

    def _chunks(self, low: int, high: int) -> Iterator[tuple[FloatArray, FloatArray]]:
        first, last = low // self.table.rows, -(-high // self.table.rows)
        cached = (self.cache or [])[first:last]
        yield from cached
        if last > first + len(cached):
            yield from self.table.chunks(first + len(cached), last)

    def release_memory(self) -> None:
        """Drop all cached chunks."""
        if self.cache:
            self.cache.clear()


def transformed(table: ChunkedRows, names: Sequence[str]) -> TransformedRows:
    """Source of a table's transformed rows, whose columns have these names."""
    return TransformedRows(table.source, table, len(names), tuple(names))


def cache_chunks(table: ChunkedRows, most: float | None = None) -> ChunkedRows:
    """Return the same table with as many of its first chunks in memory as fit in ``most`` bytes."""
    if not isinstance(table.workers, ThreadWorkers):
        return table
    cache: list[tuple[FloatArray, FloatArray]] = []
    width, left = (
        0,
        min(CACHE_BYTES, memory_budget.available_memory() / 4) if most is None else most,
    )
    for rows, targets in table.chunks():
        width, left = rows.shape[1], left - rows.nbytes - targets.nbytes
        if left < 0:
            break
        cache.append((rows, targets))
    return table.raw(
        TransformedRows(table.source, table, width, None, cache), checksums=table.checksums
    )
