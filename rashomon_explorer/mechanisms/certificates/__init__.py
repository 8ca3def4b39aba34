"""Certificates: what each theorem promises of a Gibbs law or a path, from public numbers alone."""

from rashomon_explorer.mechanisms.certificates.base import Certificate
from rashomon_explorer.mechanisms.certificates.catalogue import (
    GIBBS,
    PATH,
    best_certificate,
    gibbs_certificates,
    largest_beta,
    path_certificates,
)
from rashomon_explorer.mechanisms.certificates.gibbs_laws import GibbsLaw
from rashomon_explorer.mechanisms.certificates.paths import PathRun, diffusion_guarantee

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
]
