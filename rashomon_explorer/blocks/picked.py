"""Some rows of a table in blocks, picked by their places alone."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from rashomon_explorer.array_types import IntArray
from rashomon_explorer.blocks.handed_on import HandedOn
from rashomon_explorer.blocks.source import Piece, RowSource


@dataclass(frozen=True, eq=False)
class Picked(HandedOn):
    """Rows of a source at some places, in their order.

    Parameters
    ----------
    source : RowSource
    places : ndarray of shape (m,)
        Ascending.

    Examples
    --------
    >>> from rashomon_explorer.blocks.source import ArrayRows
    >>> rows = Picked(ArrayRows(np.arange(6.0)[:, None]), np.array([1, 4]))
    >>> [X.ravel().tolist() for X, _ in rows.pieces(0, 2)], rows.place(1)
    ([[1.0, 4.0]], 'row 4')
    """

    places: IntArray

    @classmethod
    def of(cls, source: RowSource, most: int, seed: int) -> "Picked":
        """Pick so many places without replacement, all if there are fewer."""
        n = source.shape[0]
        picks = np.random.default_rng(seed)  # which rows are shown; no noise
        return cls(source, np.sort(picks.choice(n, size=min(most, n), replace=False)))

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and columns."""
        return len(self.places), self.source.shape[1]

    def pieces(self, low: int, high: int) -> Iterator[Piece]:
        """Take what is picked from the source's pieces."""
        wanted = self.places[low:high]
        at = int(wanted[0])
        for X, y in self.source.pieces(at, int(wanted[-1]) + 1):
            first, last = np.searchsorted(wanted, [at, at + len(X)])
            here = wanted[first:last] - at
            at += len(X)
            if len(here):
                rows = X.iloc[here] if hasattr(X, "iloc") else X[here]
                yield rows, y.iloc[here] if hasattr(y, "iloc") else y[here]

    def place(self, row: int) -> str:
        """Where the source has the row."""
        return self.source.place(int(self.places[row]))

    def only(self, column: str) -> "Picked":
        """Return the same rows with one column."""
        return Picked(self.source.only(column), self.places)
