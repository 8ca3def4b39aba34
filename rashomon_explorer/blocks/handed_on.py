"""A source made of another: what it does not change, it hands on."""

from collections.abc import Sequence
from dataclasses import dataclass

from rashomon_explorer.blocks.source import RowSource


@dataclass(frozen=True, eq=False)
class HandedOn:
    """All of a source but its rows, which :meth:`pieces` of what derives from this must give.

    Parameters
    ----------
    source : RowSource
    """

    source: RowSource

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and columns."""
        return self.source.shape

    @property
    def names(self) -> Sequence[str] | None:
        """Column names, where they have any."""
        return self.source.names

    @property
    def reread(self) -> bool:
        """Whether somebody else may change what is read."""
        return self.source.reread

    @property
    def labelled(self) -> bool:
        """Whether the targets are the rows' own."""
        return self.source.labelled

    def place(self, row: int) -> str:
        """Where the source has the row."""
        return self.source.place(row)

    def only(self, column: str) -> RowSource:
        """Return the same rows with one column."""
        return self.source.only(column)
