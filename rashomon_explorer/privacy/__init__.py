"""Privacy guarantees, composition, ledgers and audits; rows are read only to identify a table."""

from importlib import import_module
from typing import Any

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

_ROOMS = ("audit", "composition", "ledger", "tradeoff")

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


def __getattr__(name: str) -> Any:
    if name not in _ROOMS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return import_module(f"{__name__}.{name}")


def __dir__() -> list[str]:
    """List the public names and subpackages."""
    return [*__all__, *_ROOMS]
