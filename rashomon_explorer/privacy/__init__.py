"""Privacy as numbers: guarantees, composition, planning and the ledger. Never sees a row."""

from rashomon_explorer.exceptions import (
    BudgetExceededError,
    LedgerError,
    LedgerWarning,
    PrivacyLeakWarning,
)
from rashomon_explorer.privacy.adaptive import adaptive_epsilon
from rashomon_explorer.privacy.charge import Charge, LedgerEntry
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
from rashomon_explorer.privacy.ledger import Ledger
from rashomon_explorer.privacy.path_planner import PathPlan, plan_path
from rashomon_explorer.privacy.planner import Plan, affordable_eta, plan
from rashomon_explorer.privacy.theorems import (
    cyclic_composition,
    cyclic_convex,
    cyclic_strongly_convex,
    cyclic_strongly_convex_renyi,
    exponential_mechanism_convex,
    exponential_mechanism_strongly_convex,
    gd_composition,
    gd_convex,
    gd_strongly_convex,
    lmc,
    sgd_composition,
    sgd_convex,
    sgd_strongly_convex,
)

__all__ = [
    "BudgetExceededError",
    "Charge",
    "Guarantee",
    "Ledger",
    "LedgerEntry",
    "LedgerError",
    "LedgerWarning",
    "PathPlan",
    "Plan",
    "PrivacyLeakWarning",
    "adaptive_epsilon",
    "affordable_eta",
    "approximate",
    "bounded_range",
    "compose",
    "cyclic_composition",
    "cyclic_convex",
    "cyclic_strongly_convex",
    "cyclic_strongly_convex_renyi",
    "expected_excess_bound",
    "exponential_mechanism_convex",
    "exponential_mechanism_strongly_convex",
    "gd_composition",
    "gd_convex",
    "gd_strongly_convex",
    "gdp",
    "guaranteed_hit_rate",
    "lmc",
    "no_guarantee",
    "plan",
    "plan_path",
    "pure",
    "sgd_composition",
    "sgd_convex",
    "sgd_strongly_convex",
    "zcdp",
]
