"""Rows as the steps of a table in blocks make them, as if they had come so."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rashomon_explorer.blocks.row_blocks import RowBlocks
from rashomon_explorer.blocks.source import Piece, RowSource


@dataclass(frozen=True, eq=False)
class MadeRows:
    """A source of rows that are made anew in every pass.

    Parameters
    ----------
    table : RowBlocks
        With the steps that make them, and, where it was looked at, what its blocks were then.
    titles : tuple of str
        Names of the columns that are made.

    Examples
    --------
    >>> import numpy as np
    >>> from rashomon_explorer.blocks import row_blocks
    >>> table = row_blocks(np.eye(2), np.zeros(2)).then(lambda rows, y: (2 * rows, y))
    >>> [rows.tolist() for rows, _ in MadeRows(table, ("a", "b")).pieces(1, 2)]
    [[[0.0, 2.0]]]
    """

    table: RowBlocks
    titles: tuple[str, ...]

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and of columns that are made."""
        return self.table.n, len(self.titles)

    @property
    def names(self) -> Sequence[str]:
        """Names of the columns that are made."""
        return self.titles

    @property
    def is_counted(self) -> bool:
        """As the table's own source."""
        return self.table.is_counted

    @property
    def reread(self) -> bool:
        """As the table's own source."""
        return self.table.source.reread

    @property
    def labelled(self) -> bool:
        """As the table's own source."""
        return self.table.source.labelled

    def pieces(self, low: int, high: int) -> Iterator[Piece]:
        """Parts of whole blocks, each made as everywhere: a row that cannot be is named."""
        size = self.table.rows
        first, last = low // size, -(-high // size)
        for index, (rows, targets) in enumerate(self.table.blocks(first, last), start=first):
            at = index * size
            some = slice(max(low - at, 0), min(high - at, len(rows)))
            yield rows[some], targets[some]

    def place(self, row: int) -> str:
        """Where a row is in the table's own source."""
        return self.table.source.place(row)

    def only(self, column: str) -> RowSource:
        """As of the table's own source: a column as it came."""
        return self.table.source.only(column)
