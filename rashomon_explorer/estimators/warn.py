"""Warnings of a fit: rows shortened or made with what was learnt, and prices nobody charged."""

import warnings

from rashomon_explorer.clipping import warn_if_clipped
from rashomon_explorer.exceptions import LedgerWarning, PrivacyLeakWarning, RadiusBindsWarning
from rashomon_explorer.privacy import Guarantee
from rashomon_explorer.rashomon_set.linear import sphere_in_words
from rashomon_explorer.users_line import users_line


def warn_if_shortened(share: float, row_norm: float) -> None:
    """Tell the curator that rows were shortened: the usual sign of unscaled features.

    >>> warn_if_shortened(0.01, 1.0)
    """
    warn_if_clipped(
        share,
        f"rows are longer than row_norm={row_norm:g}",
        "Scale features by their public ranges first: make_pipeline(PublicBoundsScaler(bounds), "
        "...); or declare a larger row_norm.",
    )


def warn_if_uncharged(guarantee: Guarantee, leak: str) -> None:
    """Tell who gave a ledger that nothing is charged, for nothing can be promised.

    >>> from rashomon_explorer.privacy import pure
    >>> warn_if_uncharged(pure(1.0), "")
    """
    if guarantee.holds:
        return
    remedy = "Declare the bounds instead" if leak else "Take another sampler, or no ledger"
    warnings.warn(
        f"{guarantee.theorem}: these draws have no privacy guarantee and cannot be released, so "
        f"that the ledger is not charged. {remedy}",
        PrivacyLeakWarning if leak else LedgerWarning,
        stacklevel=users_line(),
    )


def warn_of_a_leak(leak: str) -> None:
    """Tell what the numbers themselves told, after the price was charged."""
    warnings.warn(
        f"{leak}: the rows hold numbers that were made with it, which no container said and only a "
        "look at them showed. These draws have no privacy guarantee and cannot be released; a "
        "ledger that was given is charged already. Declare the bounds instead",
        PrivacyLeakWarning,
        stacklevel=users_line(),
    )


def warn_of_sphere(radius: float) -> None:
    """Warn the curator that the Rashomon set goes on beyond the ball of models."""
    warnings.warn(
        f"{sphere_in_words(radius)}. (Curator: this was read from private rows.)",
        RadiusBindsWarning,
        stacklevel=users_line(),
    )
