"""Rows and values that are moved into their declared range, and the one word about it."""

import warnings

import numpy as np

from rashomon_explorer.array_types import FloatArray
from rashomon_explorer.exceptions import RowsClippedWarning
from rashomon_explorer.users_line import users_line

WORTH_A_WORD = 0.01
"""Share of the rows, or targets, above which clipping is said."""

_ROUNDING = 1e-12
_WELL_INSIDE = 1 - 1e-9
_BLOCK = 4096


def warn_if_clipped(share: float, what: str, remedy: str) -> None:
    """Tell the curator that more than one value in a hundred was moved into its declared range.

    ``share`` is read from private rows and is not in the message.

    >>> warn_if_clipped(0.01, "rows are longer than row_norm=1", "Scale the features first.")
    """
    if share > WORTH_A_WORD:
        warnings.warn(
            f"more than 1 % of the {what}, and were clipped to it. {remedy} (Curator: this was "
            "read from private rows.)",
            RowsClippedWarning,
            stacklevel=users_line(),
        )


def clip_rows(rows: FloatArray, row_norm: float) -> tuple[FloatArray, float]:
    """Rows shortened to ``row_norm``, and the share that was longer (curator information).

    Rows that come shortened to the same norm are not counted, whichever way their last digit went.

    Examples
    --------
    >>> clip_rows(np.array([[3.0, 4.0], [0.1, 0.0]]), 1.0)
    (array([[0.6, 0.8],
           [0.1, 0. ]]), 0.5)
    """
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
    """Rows over their largest entry, the norms of these, and the norms of the rows.

    Scaled by the largest entry first: the square of a huge entry would overflow, and so may the
    norm itself, which is then longer than any bound. Subnormal entries need no scaling.
    """
    largest = np.abs(rows).max(axis=1, initial=1e-300)
    unit = rows / largest[:, None]
    length = np.linalg.norm(unit, axis=1)
    with np.errstate(over="ignore"):
        return unit, length, largest * length
