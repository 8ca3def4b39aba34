"""Sources that present the rows of another source or table differently."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rashomon_explorer._utils.arrays import IntArray
from rashomon_explorer.rows.source import Piece, RowSource, check_column, with_names


@dataclass(frozen=True, eq=False, repr=False)
class SourceView(RowSource):
    """Base class that delegates to a source; subclasses implement :meth:`pieces`."""

    source: RowSource

    @property
    def is_counted(self) -> bool:
        """As the source."""
        return self.source.is_counted

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and columns."""
        return self.source.shape

    @property
    def names(self) -> Sequence[str] | None:
        """Column names, or None."""
        return self.source.names

    @property
    def may_change(self) -> bool:
        """As the source."""
        return self.source.may_change

    @property
    def labelled(self) -> bool:
        """As the source."""
        return self.source.labelled

    @property
    def layout_assumption(self) -> str:
        """As the source."""
        return self.source.layout_assumption

    def part(self, low: int, high: int) -> tuple[RowSource, int]:
        """Return the view of a part of the source."""
        source, offset = self.source.part(low, high)
        return replace(self, source=source), offset

    @property
    def root(self) -> RowSource | None:
        """As the source."""
        return self.source.root

    def rebased(self, root: RowSource | None) -> Any:
        """Return the same view of another source."""
        return replace(self, source=self.source.rebased(root))

    def locate(self, row: int) -> str:
        """Name a row as the source does."""
        return self.source.locate(row)

    def select_column(self, column: str) -> RowSource:
        """Return the source with one column."""
        return self.source.select_column(column)


@dataclass(frozen=True, eq=False, repr=False)
class WithColumns(SourceView):
    """Source whose targets are replaced by columns in memory, a few bytes a row."""

    columns: NDArray[Any]

    @classmethod
    def from_columns(cls, source: RowSource, columns: Mapping[str, ArrayLike]) -> "WithColumns":
        """Combine a source with columns."""
        n, arrays = source.shape[0], {name: np.asarray(column) for name, column in columns.items()}
        for name, array in arrays.items():
            if not array.ndim or len(array) != n:
                raise ValueError(
                    f"{name} must hold one entry for each of {n} rows, got shape {array.shape}"
                )
        fields = [(name, array.dtype, array.shape[1:]) for name, array in arrays.items()]
        records = np.empty(n, dtype=np.dtype(fields))
        for name, array in arrays.items():
            records[name] = array
        return cls(source, records)

    @property
    def labelled(self) -> bool:
        """False: these are not targets to fit."""
        return False

    def pieces(self, low: int, high: int) -> Iterator[Piece]:
        """Yield pieces of the source with the matching rows of the columns."""
        for rows, _ in self.source.pieces(low, high):
            yield rows, self.columns[low : low + len(rows)]
            low += len(rows)

    def part(self, low: int, high: int) -> tuple[RowSource, int]:
        """Return a part of the source, with its rows of the columns."""
        source, offset = self.source.part(low, high)
        return WithColumns(source, self.columns[offset:high]), offset


@dataclass(frozen=True, eq=False, repr=False)
class RowSubset(SourceView):
    """Rows of a source at selected positions, in their order."""

    positions: IntArray

    @classmethod
    def random(cls, source: RowSource, max_rows: int, seed: int) -> "RowSubset":
        """Sample this many positions without replacement; all if there are fewer."""
        n = source.shape[0]
        rng = np.random.default_rng(seed)  # selects rows; not privacy noise
        return cls(source, np.sort(rng.choice(n, size=min(max_rows, n), replace=False)))

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and columns."""
        return len(self.positions), self.source.shape[1]

    def pieces(self, low: int, high: int) -> Iterator[Piece]:
        """Yield the selected rows of the source's pieces."""
        selected = self.positions[low:high]
        at = int(selected[0])
        for X, y in self.source.pieces(at, int(selected[-1]) + 1):
            first, last = np.searchsorted(selected, [at, at + len(X)])
            here = selected[first:last] - at
            at += len(X)
            if len(here):
                rows = X.iloc[here] if hasattr(X, "iloc") else X[here]
                yield rows, y.iloc[here] if hasattr(y, "iloc") else y[here]

    def part(self, low: int, high: int) -> tuple[RowSource, int]:
        """Return the selected rows of a part of the source."""
        selected = self.positions[low:high]
        source, offset = self.source.part(int(selected[0]), int(selected[-1]) + 1)
        return RowSubset(source, selected - offset), low

    def locate(self, row: int) -> str:
        """Name a row as the source does."""
        return self.source.locate(int(self.positions[row]))

    def select_column(self, column: str) -> "RowSubset":
        """Return the same rows with one column."""
        return RowSubset(self.source.select_column(column), self.positions)


@dataclass(frozen=True, eq=False, repr=False)
class NamedColumns(SourceView):
    """Source of DataFrames, from a source of arrays."""

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
    def labelled(self) -> bool:
        """As the source; False for a single column."""
        return self.column is None and self.source.labelled

    def pieces(self, low: int, high: int) -> Iterator[Piece]:
        """Pieces of the source, as DataFrames."""
        for rows, targets in self.source.pieces(low, high):
            frame = with_names(rows, self.titles)
            yield (frame if self.column is None else frame[[self.column]]), targets

    def select_column(self, column: str) -> RowSource:
        """Return one column; for files, any column that they have."""
        if column not in self.titles:
            return self.source.select_column(column)
        return NamedColumns(self.source, self.titles, check_column(column, self.titles))
