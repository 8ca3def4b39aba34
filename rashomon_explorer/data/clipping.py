"""Rows clipped to a norm bound, and columns mapped by public numbers."""

import warnings
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer.exceptions import RowsClippedWarning, warn_stacklevel

WORTH_A_WORD = 0.01
"""Share of the rows, or targets, above which clipping is said."""

_ROUNDING = 1e-12
_WELL_INSIDE = 1 - 1e-9
_BLOCK = 4096


def warn_if_clipped(share: float, what: str, remedy: str) -> None:
    """Tell the curator that more than one value in a hundred was moved into its declared range."""
    if share > WORTH_A_WORD:
        warnings.warn(
            f"more than 1 % of the {what}, and were clipped to it. {remedy} (Curator: this was "
            "read from private rows.)",
            RowsClippedWarning,
            stacklevel=warn_stacklevel(),
        )


def clip_rows(rows: FloatArray, row_norm: float) -> tuple[FloatArray, float]:
    """Rows clipped to ``row_norm``, and the share that exceeded it (curator information)."""
    clipped, by_more = rows, 0
    for start in range(0, len(rows), _BLOCK):  # whole tables would be copied several times
        block = rows[start : start + _BLOCK]
        # A sum of squares that is well inside, and no overflow, needs no closer look.
        square = np.einsum("ij,ij->i", block, block)
        near = np.flatnonzero(~(square < row_norm**2 * _WELL_INSIDE))
        if not near.size:
            continue
        unit, length, norm = _lengths(block[near])
        longer = norm > row_norm
        # A row that was shortened before is longer by a rounding at most: it is no news.
        by_more += int((norm > row_norm * (1 + _ROUNDING)).sum())
        if longer.any():
            clipped = rows.copy() if clipped is rows else clipped
            shortened = unit[longer] * (row_norm / length[longer])[:, None]
            clipped[start + near[longer]] = shortened
    return clipped, by_more / max(1, len(rows))


def _lengths(rows: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Rows over their largest entry, the norms of these, and the norms of the rows."""
    largest = np.abs(rows).max(axis=1, initial=1e-300)
    unit = rows / largest[:, None]
    length = np.linalg.norm(unit, axis=1)
    with np.errstate(over="ignore"):
        return unit, length, largest * length


@dataclass(frozen=True, eq=False)
class ColumnMap:
    """x ↦ (x − centre)/spread, with rows clipped to ``row_norm`` before and after."""

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
        """Give models (…, n_features + 1) of mapped columns in units of the columns."""
        slopes = theta[..., :-1] / self.spread
        moved = theta[..., -1:] - (slopes * self.centre).sum(axis=-1, keepdims=True)
        return np.concatenate([slopes, moved], axis=-1)

    def scaled(self, theta: FloatArray) -> FloatArray:
        """Inverse of :meth:`original`."""
        moved = theta[..., -1:] + (theta[..., :-1] * self.centre).sum(axis=-1, keepdims=True)
        return np.concatenate([theta[..., :-1] * self.spread, moved], axis=-1)
