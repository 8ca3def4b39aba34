"""What was read of one column: a value a row, and where it was not what is declared."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rashomon_explorer.array_types import FloatArray, Mask


@dataclass(frozen=True)
class Reading:
    """One column's cells as its declaration understands them.

    Attributes
    ----------
    values : ndarray of shape (n_rows,)
        Numbers inside the bounds, or places among the levels; NaN for the middle.
    missing : ndarray of bool, shape (n_rows,)
        Where no value is.
    outside : ndarray of bool, shape (n_rows,)
        Where a number was beyond the bounds and was moved to the nearer one.
    undeclared : ndarray of bool, shape (n_rows,)
        Where a cell holds what is not declared: an unknown level, text in place of a number, or
        no value although none was to be missing.
    """

    values: FloatArray
    missing: Mask
    outside: Mask
    undeclared: Mask


def indicators(places: FloatArray, how_many: int) -> FloatArray:
    """0/1 columns (n_rows, how_many) with a 1 at each place; none where the place is NaN.

    Examples
    --------
    >>> indicators(np.array([1.0, np.nan]), 2).tolist()
    [[0.0, 1.0], [0.0, 0.0]]
    """
    table: NDArray[np.bool_] = places[:, None] == np.arange(how_many)
    return table.astype(float)
