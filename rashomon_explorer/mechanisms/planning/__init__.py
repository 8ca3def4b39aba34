"""What a budget buys: plans, options, certificates and promises, from public numbers alone."""

from rashomon_explorer.mechanisms.bounds.hit_rate import (
    beta_for_hit_rate,
    expected_excess_bound,
    guaranteed_hit_rate,
    sharp_excess_bound,
)
from rashomon_explorer.mechanisms.certificates.base import Certificate
from rashomon_explorer.mechanisms.certificates.catalogue import (
    best_certificate,
    gibbs_certificates,
    largest_beta,
    path_certificates,
)
from rashomon_explorer.mechanisms.certificates.paths import diffusion_guarantee
from rashomon_explorer.mechanisms.langevin.plan import PathPlan, plan_path
from rashomon_explorer.mechanisms.planning.advice import explain
from rashomon_explorer.mechanisms.planning.offers import Mechanism, Offer, Request
from rashomon_explorer.mechanisms.planning.options import options_of, pareto_table, plan_options
from rashomon_explorer.mechanisms.planning.plan import Plan
from rashomon_explorer.mechanisms.planning.planner import plan
from rashomon_explorer.mechanisms.planning.pricing import affordable_eta
from rashomon_explorer.mechanisms.planning.registry import MECHANISMS

__all__ = [
    "MECHANISMS",
    "Certificate",
    "Mechanism",
    "Offer",
    "PathPlan",
    "Plan",
    "Request",
    "affordable_eta",
    "best_certificate",
    "beta_for_hit_rate",
    "diffusion_guarantee",
    "expected_excess_bound",
    "explain",
    "gibbs_certificates",
    "guaranteed_hit_rate",
    "largest_beta",
    "options_of",
    "pareto_table",
    "path_certificates",
    "plan",
    "plan_options",
    "plan_path",
    "sharp_excess_bound",
]


def __dir__() -> list[str]:
    """Names that are meant to be used."""
    return __all__
