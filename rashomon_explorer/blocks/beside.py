"""Columns that stand beside rows in blocks, such as each row's group."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rashomon_explorer.blocks.handed_on import HandedOn
from rashomon_explorer.blocks.source import Piece, RowSource


@dataclass(frozen=True, eq=False)
class Beside(HandedOn):
    """A source whose targets are other columns, which are held: a few bytes a row.

    Parameters
    ----------
    source : RowSource
    columns : ndarray of shape (n,), with a field a column
    """

    columns: NDArray[Any]

    @classmethod
    def of(cls, source: RowSource, columns: Mapping[str, ArrayLike]) -> "Beside":
        """Put columns beside a source.

        Raises
        ------
        ValueError
            If a column has not an entry a row.
        """
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
        """No: these are no targets to fit."""
        return False

    def pieces(self, low: int, high: int) -> Iterator[Piece]:
        """Pieces of the source, with their part of the columns."""
        for rows, _ in self.source.pieces(low, high):
            yield rows, self.columns[low : low + len(rows)]
            low += len(rows)
