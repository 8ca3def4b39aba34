"""Rows with transformation steps or column names applied lazily."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from rashomon_explorer.rows.chunked import ChunkedRows
from rashomon_explorer.rows.source import Piece, RowSource, check_column, named


@dataclass(frozen=True, eq=False)
class TransformedRows:
    """Source whose rows are transformed in every pass."""

    table: ChunkedRows
    titles: tuple[str, ...]

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and of transformed columns."""
        return self.table.n, len(self.titles)

    @property
    def names(self) -> Sequence[str]:
        """Names of the transformed columns."""
        return self.titles

    @property
    def is_counted(self) -> bool:
        """As the table's source."""
        return self.table.is_counted

    @property
    def reread(self) -> bool:
        """As the table's source."""
        return self.table.source.reread

    @property
    def labelled(self) -> bool:
        """As the table's source."""
        return self.table.source.labelled

    def pieces(self, low: int, high: int) -> Iterator[Piece]:
        """Yield parts of whole chunks; an error names the row that causes it."""
        size = self.table.rows
        first, last = low // size, -(-high // size)
        for index, (rows, targets) in enumerate(self.table.chunks(first, last), start=first):
            at = index * size
            some = slice(max(low - at, 0), min(high - at, len(rows)))
            yield rows[some], targets[some]

    def place(self, row: int) -> str:
        """Name a row as the table's source does."""
        return self.table.source.place(row)

    def only(self, column: str) -> RowSource:
        """Return the table's source with one untransformed column."""
        return self.table.source.only(column)


@dataclass(frozen=True)
class NamedColumns:
    """Source of DataFrames, from a source of arrays."""

    source: RowSource
    titles: tuple[str, ...]
    column: str | None = None

    @property
    def X(self) -> Any:
        """The source's array, if it has one."""
        return getattr(self.source, "X", None)

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and columns."""
        return self.source.shape[0], len(self.names)

    @property
    def names(self) -> Sequence[str]:
        """Names of the columns."""
        return self.titles if self.column is None else (self.column,)

    @property
    def is_counted(self) -> bool:
        """As the source."""
        return bool(getattr(self.source, "is_counted", True))

    @property
    def reread(self) -> bool:
        """As the source."""
        return self.source.reread

    @property
    def labelled(self) -> bool:
        """As the source; False for a single column."""
        return self.column is None and self.source.labelled

    def pieces(self, low: int, high: int) -> Iterator[Piece]:
        """Pieces of the source, as DataFrames."""
        for rows, targets in self.source.pieces(low, high):
            framed = named(rows, self.titles)
            yield (framed if self.column is None else framed[[self.column]]), targets

    def place(self, row: int) -> str:
        """Name a row as the source does."""
        return self.source.place(row)

    def only(self, column: str) -> RowSource:
        """Return one column; for files, any column that they have."""
        if column not in self.titles:
            return self.source.only(column)
        return NamedColumns(self.source, self.titles, check_column(column, self.titles))
