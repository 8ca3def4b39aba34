"""Warnings about rows that do not fit the declared bounds."""

import warnings

from rashomon_explorer.exceptions import RowsClippedWarning


def warn_if_clipped(share: float, row_norm: float) -> None:
    """Tell the curator when most rows were shortened: the usual sign of unscaled features.

    Parameters
    ----------
    share : float
        Share of rows longer than ``row_norm``.
    row_norm : float

    Examples
    --------
    >>> warn_if_clipped(0.1, 1.0)
    """
    if share > 0.5:
        warnings.warn(
            f"more than half of the rows are longer than row_norm={row_norm:g} and were "
            "shortened. Scale features by their public ranges first: "
            "make_pipeline(PublicBoundsScaler(bounds), ...). (Curator: this was read from "
            "private rows.)",
            RowsClippedWarning,
            stacklevel=4,
        )
