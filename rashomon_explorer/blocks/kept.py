"""Blocks that are ready are kept in memory as far as there is room: they need not be made again."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rashomon_explorer.array_types import FloatArray
from rashomon_explorer.blocks.memory import memory_limit
from rashomon_explorer.blocks.row_blocks import RowBlocks
from rashomon_explorer.blocks.source import Piece, RowSource, as_it_is
from rashomon_explorer.blocks.workers import Threads

KEPT_BYTES = 2**29
"""Memory that the first blocks of a table may take: half a gigabyte."""


@dataclass(frozen=True, eq=False)
class KeptRows:
    """The blocks of a table, the first ones from memory and the others made as before.

    Parameters
    ----------
    table : RowBlocks
    first : tuple
        Rows and targets of its first blocks.
    columns : int
        Of the rows that are made.
    """

    table: RowBlocks
    first: tuple[tuple[FloatArray, FloatArray], ...]
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
        first, last, held = low // size, -(-high // size), len(self.first)
        yield from self.first[first:last]
        if last > held:
            yield from self.table.blocks(max(first, held), last)

    def place(self, row: int) -> str:
        """Where a row is in the table's own source."""
        return self.table.source.place(row)

    def only(self, column: str) -> RowSource:
        """As of the table's own source."""
        return self.table.source.only(column)


def kept(table: RowBlocks, most: float | None = None) -> RowBlocks:
    """Return the same table, with as many of its first blocks in memory as ``most`` bytes hold.

    By default :data:`KEPT_BYTES`, or an eighth of what this process is limited to. Only where
    threads of this process do the work: other processes read for themselves.

    Examples
    --------
    >>> import numpy as np
    >>> from rashomon_explorer.blocks import row_blocks
    >>> table = kept(row_blocks(np.eye(2), np.zeros(2)))
    >>> len(table.source.first), table.reduce(lambda rows, targets: (rows.sum(axis=0),))
    (1, (array([1., 1.]),))
    """
    if not isinstance(table.workers, Threads):
        return table
    first: list[tuple[FloatArray, FloatArray]] = []
    columns, room = 0, min(KEPT_BYTES, memory_limit() / 8) if most is None else most
    for rows, targets in table.blocks():
        columns, room = rows.shape[1], room - rows.nbytes - targets.nbytes
        if room < 0:
            break
        first.append((rows, targets))
    source = KeptRows(table, tuple(first), columns)
    return RowBlocks(source, (as_it_is,), table.workers, table.rows, table.seen)
