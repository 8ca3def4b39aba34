"""Rows and values that are moved into their declared range, and the one word about it."""

import warnings

import numpy as np

from rashomon_explorer.array_types import FloatArray
from rashomon_explorer.exceptions import RowsClippedWarning
from rashomon_explorer.users_line import users_line

WORTH_A_WORD = 0.01
"""Share of the rows, or targets, above which clipping is said."""

_ROUNDING = 1e-12


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
    # Scaled by the largest entry first: the square of a huge entry would overflow, and so may the
    # norm itself, which is then longer than any bound. Subnormal entries need no scaling.
    largest = np.abs(rows).max(axis=1, initial=1e-300)
    unit = rows / largest[:, None]
    length = np.linalg.norm(unit, axis=1)
    with np.errstate(over="ignore"):
        norm = largest * length
    longer = norm > row_norm
    if not longer.any():
        return rows, 0.0
    shortened = unit * (row_norm / np.where(longer, length, 1.0))[:, None]
    # A row that was shortened before is longer by a rounding at most: it is no news.
    by_more = norm > row_norm * (1 + _ROUNDING)
    return np.where(longer[:, None], shortened, rows), float(by_more.mean())
