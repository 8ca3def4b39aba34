"""Printed constants, theorems and a walk of the papers, to compare with; no product uses them."""

from rashomon_explorer.papers.batch_theorems import (
    cyclic_composition,
    cyclic_convex,
    cyclic_strongly_convex,
    cyclic_strongly_convex_renyi,
    sgd_composition,
    sgd_convex,
    sgd_strongly_convex,
)
from rashomon_explorer.papers.constants import (
    printed_bilevel_slope,
    printed_constants,
    printed_diffusion_beta,
    printed_last_iterate_rho,
    printed_mean_loss,
    printed_net_beta,
    printed_objective_epsilon,
    printed_output_sigma,
    printed_path_beta,
    printed_sensitivity,
)
from rashomon_explorer.papers.grid_walk import GridWalkSampler
from rashomon_explorer.papers.theorems import (
    exponential_mechanism_convex,
    exponential_mechanism_strongly_convex,
    gd_composition,
    gd_convex,
    gd_strongly_convex,
    lmc,
)

__all__ = [
    "GridWalkSampler",
    "cyclic_composition",
    "cyclic_convex",
    "cyclic_strongly_convex",
    "cyclic_strongly_convex_renyi",
    "exponential_mechanism_convex",
    "exponential_mechanism_strongly_convex",
    "gd_composition",
    "gd_convex",
    "gd_strongly_convex",
    "lmc",
    "printed_bilevel_slope",
    "printed_constants",
    "printed_diffusion_beta",
    "printed_last_iterate_rho",
    "printed_mean_loss",
    "printed_net_beta",
    "printed_objective_epsilon",
    "printed_output_sigma",
    "printed_path_beta",
    "printed_sensitivity",
    "sgd_composition",
    "sgd_convex",
    "sgd_strongly_convex",
]
