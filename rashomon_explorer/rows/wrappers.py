"""Row sources that wrap another source."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rashomon_explorer._utils.arrays import IntArray
from rashomon_explorer.rows.source import Piece, RowSource


@dataclass(frozen=True, eq=False)
class SourceWrapper:
    """Base class that delegates to a source; subclasses implement :meth:`pieces`."""

    source: RowSource

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and columns."""
        return self.source.shape

    @property
    def names(self) -> Sequence[str] | None:
        """Column names, or None."""
        return self.source.names

    @property
    def reread(self) -> bool:
        """Whether another process may change the data."""
        return self.source.reread

    @property
    def labelled(self) -> bool:
        """Whether the source has targets."""
        return self.source.labelled

    def place(self, row: int) -> str:
        """Name a row as the source does."""
        return self.source.place(row)

    def only(self, column: str) -> RowSource:
        """Return the same rows with one column."""
        return self.source.only(column)


@dataclass(frozen=True, eq=False)
class WithColumns(SourceWrapper):
    """Source whose targets are replaced by columns in memory, a few bytes a row."""

    columns: NDArray[Any]

    @classmethod
    def of(cls, source: RowSource, columns: Mapping[str, ArrayLike]) -> "WithColumns":
        """Combine a source with columns."""
        n, arrays = source.shape[0], {name: np.asarray(given) for name, given in columns.items()}
        for name, array in arrays.items():
            if not array.ndim or len(array) != n:
                raise ValueError(
                    f"{name} must hold one entry for each of {n} rows, got shape {array.shape}"
                )
        fields = [(name, array.dtype, array.shape[1:]) for name, array in arrays.items()]
        whole = np.empty(n, dtype=np.dtype(fields))
        for name, array in arrays.items():
            whole[name] = array
        return cls(source, whole)

    @property
    def labelled(self) -> bool:
        """False: these are not targets to fit."""
        return False

    def pieces(self, low: int, high: int) -> Iterator[Piece]:
        """Yield pieces of the source with the matching rows of the columns."""
        for rows, _ in self.source.pieces(low, high):
            yield rows, self.columns[low : low + len(rows)]
            low += len(rows)


@dataclass(frozen=True, eq=False)
class RowSubset(SourceWrapper):
    """Rows of a source at selected positions, in their order."""

    places: IntArray

    @classmethod
    def of(cls, source: RowSource, most: int, seed: int) -> "RowSubset":
        """Sample this many positions without replacement; all if there are fewer."""
        n = source.shape[0]
        picks = np.random.default_rng(seed)  # selects rows; not privacy noise
        return cls(source, np.sort(picks.choice(n, size=min(most, n), replace=False)))

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and columns."""
        return len(self.places), self.source.shape[1]

    def pieces(self, low: int, high: int) -> Iterator[Piece]:
        """Yield the selected rows of the source's pieces."""
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
        """Name a row as the source does."""
        return self.source.place(int(self.places[row]))

    def only(self, column: str) -> "RowSubset":
        """Return the same rows with one column."""
        return RowSubset(self.source.only(column), self.places)
