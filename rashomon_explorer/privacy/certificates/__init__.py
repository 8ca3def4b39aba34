"""Certificates: what each theorem promises of a Gibbs law or a path, from public numbers alone."""

from rashomon_explorer.privacy.certificates.catalogue import (
    GIBBS,
    PATH,
    best_certificate,
    gibbs_certificates,
    largest_beta,
    path_certificates,
)
from rashomon_explorer.privacy.certificates.certificate import Certificate
from rashomon_explorer.privacy.certificates.finite_time import diffusion_guarantee
from rashomon_explorer.privacy.certificates.law import GibbsLaw
from rashomon_explorer.privacy.certificates.printed import (
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
from rashomon_explorer.privacy.certificates.run import PathRun

__all__ = [
    "GIBBS",
    "PATH",
    "Certificate",
    "GibbsLaw",
    "PathRun",
    "best_certificate",
    "diffusion_guarantee",
    "gibbs_certificates",
    "largest_beta",
    "path_certificates",
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
]
