"""Privacy ledger: a file that records the spending on one table before any of its rows is read."""

from rashomon_explorer.privacy.ledger.charge import Charge, LedgerEntry
from rashomon_explorer.privacy.ledger.ledger import Ledger

__all__ = ["Charge", "Ledger", "LedgerEntry"]
