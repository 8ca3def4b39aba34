"""What a budget buys: plans, options, certificates and promises, from public numbers alone."""

from rashomon_explorer.planning.advice import explain
from rashomon_explorer.planning.bounds.hit_rate import (
    beta_for_hit_rate,
    expected_excess_bound,
    guaranteed_hit_rate,
    sharp_excess_bound,
)
from rashomon_explorer.planning.certificates import (
    Certificate,
    best_certificate,
    diffusion_guarantee,
    gibbs_certificates,
    largest_beta,
    path_certificates,
)
from rashomon_explorer.planning.mechanisms import MECHANISMS
from rashomon_explorer.planning.offers import Mechanism, Offer, Request
from rashomon_explorer.planning.options import options_of, pareto_table, plan_options
from rashomon_explorer.planning.path_planner import PathPlan, plan_path
from rashomon_explorer.planning.planned import Plan
from rashomon_explorer.planning.planner import plan
from rashomon_explorer.planning.pricing import affordable_eta

_ROOMS = ("bounds", "certificates")

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
    """Names and rooms that are meant to be used."""
    return [*__all__, *_ROOMS]
