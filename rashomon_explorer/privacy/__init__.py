"""Privacy as numbers: guarantees, composition, planning and the ledger. Never sees a row."""

from rashomon_explorer.exceptions import BudgetExceededError, LedgerError, PrivacyLeakWarning
from rashomon_explorer.privacy.adaptive import adaptive_epsilon
from rashomon_explorer.privacy.guarantee import (
    Guarantee,
    approximate,
    bounded_range,
    compose,
    gdp,
    no_guarantee,
    pure,
    zcdp,
)
from rashomon_explorer.privacy.hit_rate import expected_excess_bound, guaranteed_hit_rate
from rashomon_explorer.privacy.ledger import Charge, Ledger, LedgerEntry
from rashomon_explorer.privacy.path_planner import PathPlan, plan_path
from rashomon_explorer.privacy.planner import Plan, affordable_eta, plan

__all__ = [
    "BudgetExceededError",
    "Charge",
    "Guarantee",
    "Ledger",
    "LedgerEntry",
    "LedgerError",
    "PathPlan",
    "Plan",
    "PrivacyLeakWarning",
    "adaptive_epsilon",
    "affordable_eta",
    "approximate",
    "bounded_range",
    "compose",
    "expected_excess_bound",
    "gdp",
    "guaranteed_hit_rate",
    "no_guarantee",
    "plan",
    "plan_path",
    "pure",
    "zcdp",
]
