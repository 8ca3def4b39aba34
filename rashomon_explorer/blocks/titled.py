"""Rows of an array under names, so that their columns can be declared."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from rashomon_explorer.blocks.source import Piece, RowSource, check_column, named


@dataclass(frozen=True)
class Titled:
    """A source of DataFrames, of one whose pieces are arrays.

    Parameters
    ----------
    source : RowSource
    titles : tuple of str
        A name for each of its columns.
    column : str, optional
        The only one that is handed out, without targets.

    Examples
    --------
    >>> import numpy as np
    >>> from rashomon_explorer.blocks.source import ArrayRows
    >>> rows = Titled(ArrayRows(np.eye(2)), ("a", "b"))
    >>> [X.columns.tolist() for X, _ in rows.pieces(0, 2)], rows.only("b").shape
    ([['a', 'b']], (2, 1))
    """

    source: RowSource
    titles: tuple[str, ...]
    column: str | None = None

    @property
    def X(self) -> Any:
        """The array itself, where there is one."""
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
        """As the source, unless it is one column alone."""
        return self.column is None and self.source.labelled

    def pieces(self, low: int, high: int) -> Iterator[Piece]:
        """Pieces of the source, as DataFrames."""
        for rows, targets in self.source.pieces(low, high):
            framed = named(rows, self.titles)
            yield (framed if self.column is None else framed[[self.column]]), targets

    def place(self, row: int) -> str:
        """Where the source has the row."""
        return self.source.place(row)

    def only(self, column: str) -> RowSource:
        """Return one column by itself; of files any that they have."""
        if column not in self.titles:
            return self.source.only(column)
        return Titled(self.source, self.titles, check_column(column, self.titles))
