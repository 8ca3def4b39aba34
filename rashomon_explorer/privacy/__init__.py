"""Privacy guarantees, composition, ledgers and audits; rows are read only to identify a table."""

from typing import TYPE_CHECKING

from rashomon_explorer._utils.imports import lazy_names
from rashomon_explorer.exceptions import (
    BudgetExceededError,
    LedgerError,
    LedgerWarning,
    PrivacyLeakWarning,
    SameTableWarning,
)
from rashomon_explorer.privacy.composition import (
    adaptive_epsilon,
    affordable_repeated_eta,
    compose,
    rdp,
    repeated_bounded_range,
)
from rashomon_explorer.privacy.guarantee import Guarantee, best_attack
from rashomon_explorer.privacy.ledger.charge import Charge, LedgerEntry
from rashomon_explorer.privacy.ledger.ledger import Ledger
from rashomon_explorer.privacy.notions import approximate, bounded_range, gdp, pure, zcdp

if TYPE_CHECKING:
    from rashomon_explorer.privacy import audit, composition, ledger, tradeoff  # noqa: F401

__all__ = [
    "BudgetExceededError",
    "Charge",
    "Guarantee",
    "Ledger",
    "LedgerEntry",
    "LedgerError",
    "LedgerWarning",
    "PrivacyLeakWarning",
    "SameTableWarning",
    "adaptive_epsilon",
    "affordable_repeated_eta",
    "approximate",
    "best_attack",
    "bounded_range",
    "compose",
    "gdp",
    "pure",
    "rdp",
    "repeated_bounded_range",
    "zcdp",
]

__getattr__, __dir__ = lazy_names(__name__, __all__)
