"""Rows that stand on a device, and sums over them in pieces."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from rashomon_explorer.array_types import FloatArray
from rashomon_explorer.arrays import ArrayBackend

GROUP = 16  # rows come in whole groups of so many
# Scores of a piece: a GiB of them where memory is wide, a core's cache where it is not.
_CELLS_ACCELERATED, _CELLS_CPU = 2**27, 2**18


@dataclass(frozen=True)
class PlacedRows:
    """Rows on a device, filled up with rows of zeros to a multiple of 16.

    Parameters
    ----------
    arrays : ArrayBackend
    rows : array of shape (n_filled, p)
        In the backend's library.
    n : int
        How many are rows of the table.
    cells : int
        Scores that are worked on at a time.
    """

    arrays: ArrayBackend
    rows: Any
    n: int
    cells: int

    @classmethod
    def of(cls, arrays: ArrayBackend, rows: FloatArray, signs: FloatArray | None) -> "PlacedRows":
        """Place ``rows`` (n, p), each times its sign, in one copy."""
        n, p = rows.shape
        filled = np.zeros((n + -n % GROUP, p))
        if signs is None:
            filled[:n] = rows
        else:
            np.multiply(rows, signs[:, None], out=filled[:n])
        cells = _CELLS_ACCELERATED if arrays.accelerated else _CELLS_CPU
        return cls(arrays, arrays.put(filled), n, cells)

    @property
    def p(self) -> int:
        """Entries of a row."""
        return int(self.rows.shape[1])

    @property
    def padding(self) -> int:
        """Rows of zeros at the end."""
        return int(self.rows.shape[0]) - self.n

    def beside(self, values: FloatArray) -> Any:
        """Place one number a row (n,), 0 for the rows of zeros."""
        filled = np.zeros(self.n + self.padding)
        filled[: self.n] = values
        return self.arrays.put(filled)

    def total(self, work: Callable[[slice], tuple[Any, ...]], width: int) -> tuple[Any, ...]:
        """Add up ``work`` over slices of rows, in their order.

        ``width`` scores a row are made on the way.
        """
        filled = self.n + self.padding
        pieces = -(-filled * width // self.cells)
        size = -(-filled // (pieces * GROUP)) * GROUP
        sums = work(slice(0, size))
        for low in range(size, filled, size):
            more = work(slice(low, min(low + size, filled)))
            sums = tuple(total + part for total, part in zip(sums, more, strict=True))
        return sums

    def gram(self) -> Any:
        """Sum of zzᵀ (p, p)."""
        return self.rows.T @ self.rows
