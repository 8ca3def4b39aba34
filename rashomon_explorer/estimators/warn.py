"""Warnings about rows: longer than declared, or made with what was learnt from them."""

import warnings

from rashomon_explorer.exceptions import PrivacyLeakWarning, RowsClippedWarning


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


def warn_if_uncharged(leak: str) -> None:
    """Tell who gave a ledger that nothing is charged, for nothing can be promised.

    Parameters
    ----------
    leak : str
        What was learnt from the rows; empty for nothing.

    Examples
    --------
    >>> warn_if_uncharged("")
    """
    if leak:
        warnings.warn(
            f"{leak}: these draws have no privacy guarantee and cannot be released, so that the "
            "ledger is not charged. Declare the bounds instead",
            PrivacyLeakWarning,
            stacklevel=4,
        )
