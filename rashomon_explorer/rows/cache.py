"""Cache of prepared chunks, as far as memory allows."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer.rows.chunked import ChunkedRows
from rashomon_explorer.rows.memory_budget import room
from rashomon_explorer.rows.source import Piece, RowSource, as_it_is
from rashomon_explorer.rows.workers import Threads

KEPT_BYTES = 2**29
"""Memory that the first blocks of a table may take: half a gigabyte."""


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
        """No names: the columns are encoded ones."""
        return None

    @property
    def reread(self) -> bool:
        """What is read again, the table checks itself."""
        return False

    @property
    def labelled(self) -> bool:
        """As the table's source."""
        return self.table.source.labelled

    def pieces(self, low: int, high: int) -> Iterator[Piece]:
        """Whole blocks."""
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
        """Where a row is in the table's own source."""
        return self.table.source.place(row)

    def only(self, column: str) -> RowSource:
        """As of the table's own source."""
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
