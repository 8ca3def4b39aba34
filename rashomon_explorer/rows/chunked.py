"""Chunks of rows of one size, and sums over them that do not depend on where they are computed."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, NoReturn

from numpy.typing import ArrayLike

from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer._utils.threads import one_blas_thread
from rashomon_explorer._utils.validation import check_count
from rashomon_explorer.exceptions import MemoryLimitError
from rashomon_explorer.rows.memory_budget import (
    check_room,
    chunk_bytes,
    ran_out,
    room,
    threads_within,
)
from rashomon_explorer.rows.reduction import (
    ChunkChecksums,
    How,
    Merge,
    Step,
    Tree,
    added,
    branch_sum,
    branches,
    glued,
    look,
    read_chunks,
)
from rashomon_explorer.rows.source import Piece, RowSource, as_it_is, named
from rashomon_explorer.rows.workers import Threads, Workers
from rashomon_explorer.rows.wrappers import RowSubset, WithColumns

BLOCK_ROWS = 2**14
"""Rows of every block but the last, whatever pieces the source has: a few megabytes."""

Reduction = Callable[[FloatArray, FloatArray], Any]
"""What a block's rows (m, d) and targets (m,) come to."""


@dataclass(frozen=True)
class ChunkedRows:
    """Rows and targets that are read in chunks and never in memory together.

    Blocks have a fixed size and order, and are added up along a fixed binary tree, each on one
    thread: a sum has the same digits from an array, a folder of files or a cluster, with one
    worker or eight.

    Parameters
    ----------
    source : RowSource
    steps : tuple of callables
        What is done to each block's rows, in order; the last must give numbers.
    workers : Workers
        By default threads of this process.
    rows : int
        Rows in a block.
    seen : ChunkChecksums, optional
        What the blocks were when they were looked at: a block that has changed since is an error.

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
    steps: tuple[Step, ...] = ()
    workers: Workers = field(default_factory=Threads)
    rows: int = BLOCK_ROWS
    seen: ChunkChecksums | None = None

    @property
    def n(self) -> int:
        """Number of rows; public."""
        return self.source.shape[0]

    @property
    def is_counted(self) -> bool:
        """Whether the number of rows is known; otherwise finding it computes Dask's partitions."""
        return bool(getattr(self.source, "is_counted", True))

    @property
    def n_chunks(self) -> int:
        """Number of chunks."""
        return -(-self.n // self.rows)

    @property
    def assumptions(self) -> tuple[str, ...]:
        """Assumptions of a guarantee about the source and the connection to the workers."""
        steady = (
            "the rows were the same in every pass, as far as a checksum of each block tells"
            if self.source.reread
            else ""
        )
        return tuple(said for said in (steady, self.workers.assumed) if said)

    def then(self, *steps: Step) -> "ChunkedRows":
        """Return the table whose rows are these, taken further.

        Parameters
        ----------
        *steps : callable
            Picklable, for other processes.
        """
        return replace(self, steps=(*self.steps, *steps), seen=None)

    def through(self, encoder: Any) -> "ChunkedRows":
        """Return the table as a fitted encoder makes it, such as ``clf.encoder_``.

        Parameters
        ----------
        encoder : TableEncoder, or another fitted transformer of scikit-learn
            It must map each row by itself.

        Examples
        --------
        >>> import numpy as np
        >>> from rashomon_explorer.rows import chunk_rows
        >>> from sklearn.preprocessing import FunctionTransformer
        >>> table = chunk_rows(np.eye(2), np.zeros(2)).through(FunctionTransformer(np.negative))
        >>> next(table.chunks())[0].tolist()
        [[-1.0, -0.0], [-0.0, -1.0]]
        """
        # Here and not at the top: a schema's encoder is one of scikit-learn's, slow to import.
        from rashomon_explorer.rows.steps import encoder_step

        return self.then(encoder_step(encoder, self.source.names))

    def with_targets(self, **columns: ArrayLike) -> "ChunkedRows":
        """Return the table with other columns in the place of its targets.

        Parameters
        ----------
        **columns : array-like of shape (n,) or (n, k)
            Of numbers. A block's targets are then an array of shape (m,) with a field each.

        Raises
        ------
        ValueError
            If a column has not an entry a row.

        Examples
        --------
        >>> import numpy as np
        >>> from rashomon_explorer.rows import chunk_rows
        >>> table = chunk_rows(np.eye(2), np.zeros(2)).with_targets(group=[0, 1])
        >>> next(table.chunks())[1]["group"].tolist()
        [0, 1]
        """
        return replace(self, source=WithColumns.of(self.source, columns), seen=None)

    def sample(self, most: int, seed: int = 0) -> "ChunkedRows":
        """Return some of the rows, picked by their places alone: each is as likely as another.

        Parameters
        ----------
        most : int
            How many, or all if there are fewer.
        seed : int, default=0
            The same seed picks the same rows of a table of this size.

        Examples
        --------
        >>> import numpy as np
        >>> from rashomon_explorer.rows import chunk_rows
        >>> rows, _ = chunk_rows(np.arange(100.0)[:, None], np.zeros(100)).sample(3).to_memory()
        >>> rows.ravel().tolist() == sorted(set(rows.ravel().tolist())), len(rows)
        (True, 3)
        """
        check_count(most=most)
        return replace(self, source=RowSubset.of(self.source, most, seed), seen=None)

    def to_memory(self) -> Piece:
        """Rows and targets of the source in memory, for tables that fit.

        Returns
        -------
        DataFrame or ndarray of shape (n, d), ndarray of shape (n,)
            A DataFrame where columns have names.
        """
        parts = replace(self, steps=(as_it_is,), seen=None).reduce(_one, merge=_joined)
        rows, targets = glued(list(parts))
        return named(rows, self.source.names), targets

    def __array__(self, *given: Any, **options: Any) -> NoReturn:
        """Refuse the conversion to an array.

        Raises
        ------
        TypeError
            With the way out.
        """
        raise TypeError(
            "rows in blocks are never held whole, and this needs an array: take a fixed random "
            "sample, X, y = rows.sample(5_000).to_memory(), and name it as one"
        )

    def chunks(
        self, first: int = 0, last: int | None = None
    ) -> Iterator[tuple[FloatArray, FloatArray]]:
        """Rows (m, d) and targets (m,) of each chunk, in order, read in this process.

        Parameters
        ----------
        first, last : int
            From which block on, and before which to end; by default all.

        Raises
        ------
        DataError
            If a row cannot be used; the message says where it is.
        RowsChangedError
            If a block is not what it was when it was looked at.
        MemoryLimitError
            If memory does not suffice.
        """
        self.check_room()
        span = first, self.n_chunks if last is None else last
        made = read_chunks(self.source, self._how, span)
        while (block := self._in_words(lambda: next(made, None))) is not None:
            yield block[1:]

    def reduce(self, function: Reduction, merge: Merge = added) -> Any:
        """Reduce all chunks along a tree that depends on their number only.

        Parameters
        ----------
        function : callable
            Takes rows (m, d) and targets (m,) of a block, which it must not keep; picklable, for
            other processes. By default it returns a tuple of arrays, always of the same shapes.
        merge : callable, optional
            Joins two neighbours, the earlier one first; by default arrays are added up.

        Raises
        ------
        DataError, RowsChangedError
            As :meth:`blocks`.
        ClusterError
            If workers were lost.
        MemoryLimitError
            If memory does not suffice, for one thread and with nothing kept ready.
        """
        if not isinstance(self.workers, Threads):
            return self._reduced(self.workers, function, merge)
        self._release_memory(room() < self._needs())
        self.check_room()
        least = Threads(threads_within(self.workers.count, self._needs()))
        try:
            return self._reduced(least, function, merge)
        except MemoryLimitError:
            raise
        except MemoryError:
            pass  # the next try is made when what this one held is gone with its error
        self._release_memory(True)
        return self._in_words(lambda: self._reduced(Threads(1), function, merge))

    def with_checksums(self) -> "ChunkedRows":
        """Return the same table with checksums of its chunks; reads every row once."""
        return replace(self, seen=ChunkChecksums(self.reduce(look, merge=_joined)))

    def check_room(self, columns: int | None = None, more: int = 0) -> None:
        """Refuse these rows if this process's limits leave no room for one thread's work on them.

        Looks at shapes alone; where others do the work, at nothing.

        Parameters
        ----------
        columns : int, optional
            Of the rows that the steps make, where they are more than the source's.
        more : int, default=0
            Bytes that are needed beside it.

        Raises
        ------
        MemoryLimitError
            With what would suffice.
        """
        if isinstance(self.workers, Threads):
            check_room(self._needs(columns) + more, self._work)

    def _release_memory(self, needed: bool) -> None:
        if needed and hasattr(
            self.source, "release_memory"
        ):  # what was kept ready can be made again
            self.source.release_memory()

    def _needs(self, columns: int | None = None) -> int:
        made = max(self.source.shape[1], columns or 0)
        return chunk_bytes(min(self.rows, self.n), made)

    @property
    def _work(self) -> str:
        return f"work on blocks of {min(self.rows, self.n):,} rows of {self.n:,}"

    def _in_words(self, work: Callable[[], Any]) -> Any:
        try:
            return work()
        except MemoryLimitError:
            raise
        except MemoryError:
            pass  # outside of the handler nothing is chained: what failed may depend on rows
        raise ran_out(self._needs(), self._work)

    def _reduced(self, workers: Workers, function: Reduction, merge: Merge) -> Any:
        # One thread reads on where it is; a row group that is cut would be read from its start.
        alone = isinstance(workers, Threads) and workers.count == 1
        spans = [(0, self.n_chunks)] if alone else list(branches(self.n_chunks, workers.count))
        tree, what = Tree(merge), (self._how, function, merge)
        with one_blas_thread():  # how BLAS rounds depends on its threads
            for nodes in workers.run(branch_sum, self.source, what, spans):
                for level, value in nodes:
                    tree.push(level, value)
        return tree.total()

    @property
    def _how(self) -> How:
        held = self.seen if self.source.reread else None
        return How(self.steps, self.rows, self.n, held)


def _one(rows: Any, targets: Any) -> tuple[Piece, ...]:
    return ((rows, targets),)


def _joined(one: tuple[Any, ...], other: tuple[Any, ...]) -> tuple[Any, ...]:
    return one + other
