"""Privacy as numbers: guarantees, plans, ledgers. Sees rows only to know a table again."""

from rashomon_explorer.exceptions import (
    BudgetExceededError,
    LedgerError,
    LedgerWarning,
    PrivacyLeakWarning,
    SameTableWarning,
)
from rashomon_explorer.privacy import audit
from rashomon_explorer.privacy.adaptive import adaptive_epsilon, running_epsilon
from rashomon_explorer.privacy.advice import explain
from rashomon_explorer.privacy.certificates import (
    Certificate,
    best_certificate,
    diffusion_guarantee,
    gibbs_certificates,
    largest_beta,
    path_certificates,
    printed_constants,
)
from rashomon_explorer.privacy.charge import Charge, LedgerEntry
from rashomon_explorer.privacy.composition import (
    affordable_repeated_eta,
    composition_report,
    least_epsilon,
    rdp,
    repeated_bounded_range,
)
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
from rashomon_explorer.privacy.hit_rate import (
    beta_for_hit_rate,
    expected_excess_bound,
    guaranteed_hit_rate,
    sharp_excess_bound,
)
from rashomon_explorer.privacy.ledger import Ledger
from rashomon_explorer.privacy.options import Option, pareto_table, plan_options
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
from rashomon_explorer.privacy.withheld import may_fail, withheld

__all__ = [
    "BudgetExceededError",
    "Certificate",
    "Charge",
    "Guarantee",
    "Ledger",
    "LedgerEntry",
    "LedgerError",
    "LedgerWarning",
    "Option",
    "PathPlan",
    "Plan",
    "PrivacyLeakWarning",
    "SameTableWarning",
    "adaptive_epsilon",
    "affordable_eta",
    "affordable_repeated_eta",
    "approximate",
    "audit",
    "best_certificate",
    "beta_for_hit_rate",
    "bounded_range",
    "compose",
    "composition_report",
    "cyclic_composition",
    "cyclic_convex",
    "cyclic_strongly_convex",
    "cyclic_strongly_convex_renyi",
    "diffusion_guarantee",
    "expected_excess_bound",
    "explain",
    "exponential_mechanism_convex",
    "exponential_mechanism_strongly_convex",
    "gd_composition",
    "gd_convex",
    "gd_strongly_convex",
    "gdp",
    "gibbs_certificates",
    "guaranteed_hit_rate",
    "largest_beta",
    "least_epsilon",
    "lmc",
    "may_fail",
    "no_guarantee",
    "pareto_table",
    "path_certificates",
    "plan",
    "plan_options",
    "plan_path",
    "printed_constants",
    "pure",
    "rdp",
    "repeated_bounded_range",
    "running_epsilon",
    "sgd_composition",
    "sgd_convex",
    "sgd_strongly_convex",
    "sharp_excess_bound",
    "withheld",
    "zcdp",
]
