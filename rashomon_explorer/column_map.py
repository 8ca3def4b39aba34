"""Columns centred and scaled by public numbers, row by row."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from rashomon_explorer.array_types import FloatArray
from rashomon_explorer.clipping import clip_rows

_BLOCK = 4096


@dataclass(frozen=True, eq=False)
class ColumnMap:
    """x ↦ (x − centre)/spread, with rows shortened to ``row_norm`` before and after.

    Centres and spreads are public: declared, or paid for and released. What is then done to a row
    depends on that row alone.

    Parameters
    ----------
    centre, spread : ndarray of shape (n_features,)
        In units of the columns; spreads are above 0. A spread is 1 where a column keeps its unit.
    row_norm : float
        Bound of a row's norm, before and after.

    Examples
    --------
    >>> half = ColumnMap(np.array([0.25, 0.0]), np.array([0.5, 1.0]), row_norm=1.0)
    >>> half.rows([[0.5, 0.25], [0.25, 3.0]]).tolist()
    [[0.5, 0.25], [-0.3..., 0.9...]]
    >>> half.original(np.array([1.0, 3.0, 0.5])).tolist()
    [2.0, 3.0, 0.0]
    >>> half.scaled(np.array([2.0, 3.0, 0.0])).tolist()
    [1.0, 3.0, 0.5]
    """

    centre: FloatArray
    spread: FloatArray
    row_norm: float

    def rows(self, X: ArrayLike) -> FloatArray:
        """Rows (n, n_features) as models of the mapped columns look at them."""
        given = np.asarray(X, dtype=float)
        mapped = np.empty(given.shape)
        for start in range(0, len(given), _BLOCK):  # a whole table would be copied several times
            some = slice(start, start + _BLOCK)
            shortened = clip_rows(given[some], self.row_norm)[0]
            mapped[some] = clip_rows((shortened - self.centre) / self.spread, self.row_norm)[0]
        return mapped

    def original(self, theta: FloatArray) -> FloatArray:
        """Give models (…, n_features + 1) of mapped columns in units of the columns.

        Their scores are the same on every row that is not shortened once it is mapped.
        """
        slopes = theta[..., :-1] / self.spread
        moved = theta[..., -1:] - (slopes * self.centre).sum(axis=-1, keepdims=True)
        return np.concatenate([slopes, moved], axis=-1)

    def scaled(self, theta: FloatArray) -> FloatArray:
        """Inverse of :meth:`original`."""
        moved = theta[..., -1:] + (theta[..., :-1] * self.centre).sum(axis=-1, keepdims=True)
        return np.concatenate([theta[..., :-1] * self.spread, moved], axis=-1)
