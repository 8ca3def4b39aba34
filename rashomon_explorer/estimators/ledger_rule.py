"""How the ledger of an estimator adds up, as plans have to know it; reads no row."""

import os

from rashomon_explorer.exceptions import LedgerError
from rashomon_explorer.planning.offers import ZCDP
from rashomon_explorer.privacy import Ledger
from rashomon_explorer.privacy.ledger import LedgerToBe


def rule_of(ledger: str | os.PathLike[str] | Ledger | None, delta: float) -> bool | float | str:
    """Whether prices must add up in a ledger, and at which Rényi order if it has one.

    At δ = 0 prices are pure, and add up alike in every ledger. One that cannot be opened is taken
    for one that would be created for what is asked: whoever charges it hears of it.

    >>> rule_of(None, 1e-6), rule_of("nowhere/at-all.ledger", 1e-6)
    (False, True)
    """
    if ledger is None or delta == 0:
        return ledger is not None
    if isinstance(ledger, LedgerToBe):
        return ledger.order or ZCDP
    try:
        totals = (ledger if isinstance(ledger, Ledger) else Ledger.open(ledger)).totals
    except LedgerError:
        return True
    return ZCDP if totals.order is None or totals.leaks else totals.order
