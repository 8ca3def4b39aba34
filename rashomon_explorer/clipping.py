"""The one word about values that were outside their declared range and were moved into it."""

import warnings

from rashomon_explorer.exceptions import RowsClippedWarning
from rashomon_explorer.users_line import users_line

WORTH_A_WORD = 0.01
"""Share of the rows, or targets, above which clipping is said."""


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
