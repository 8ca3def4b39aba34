"""Cache of prepared chunks, as far as memory allows."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer.rows.chunked import ChunkedRows
from rashomon_explorer.rows.memory_budget import room
from rashomon_explorer.rows.source import Piece, RowSource, as_it_is
from rashomon_explorer.rows.workers import Threads

KEPT_BYTES = 2**29
"""Default memory limit in bytes for the cached chunks of a table: half a gigabyte."""


@dataclass(frozen=True, eq=False)
class CachedRows:
    """Chunks of a table: the first from memory, the others recomputed."""

    table: ChunkedRows
    first: list[tuple[FloatArray, FloatArray]]
    columns: int

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and columns."""
        return self.table.n, self.columns

    @property
    def names(self) -> Sequence[str] | None:
        """None: the columns are encoded."""
        return None

    @property
    def reread(self) -> bool:
        """False: the table checks the chunks that it reads again."""
        return False

    @property
    def labelled(self) -> bool:
        """Whether the table's source has targets."""
        return self.table.source.labelled

    def pieces(self, low: int, high: int) -> Iterator[Piece]:
        """Yield whole chunks."""
        size = self.table.rows
        first, last = low // size, -(-high // size)
        held = self.first[first:last]
        yield from held
        if last > first + len(held):
            yield from self.table.chunks(first + len(held), last)

    def release_memory(self) -> None:
        """Drop all cached chunks."""
        self.first.clear()

    def place(self, row: int) -> str:
        """Name a row as the table's source does."""
        return self.table.source.place(row)

    def only(self, column: str) -> RowSource:
        """Return the table's source with one column."""
        return self.table.source.only(column)


def cache_chunks(table: ChunkedRows, most: float | None = None) -> ChunkedRows:
    """Return the same table with as many of its first chunks in memory as fit in ``most`` bytes."""
    if not isinstance(table.workers, Threads):
        return table
    first: list[tuple[FloatArray, FloatArray]] = []
    columns, left = 0, min(KEPT_BYTES, room() / 4) if most is None else most
    for rows, targets in table.chunks():
        columns, left = rows.shape[1], left - rows.nbytes - targets.nbytes
        if left < 0:
            break
        first.append((rows, targets))
    source = CachedRows(table, first, columns)
    return ChunkedRows(source, (as_it_is,), table.workers, table.rows, table.seen)
