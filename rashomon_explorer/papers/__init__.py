"""Mechanisms and theorems that reproduce statements of papers; imported by name only."""

from importlib import import_module
from typing import Any

_HOMES = {
    "log_sobolev_constant": "theorems",
    "mixing_time": "theorems",
    "start_divergence": "theorems",
    "GridWalkSampler": "grid_walk",
    "IteratedSampler": "localisation",
    "MalaSampler": "mala",
    "MeteredLangevin": "metered",
    "RegularisedSampler": "localisation",
    "cyclic_composition": "batch_theorems",
    "cyclic_convex": "batch_theorems",
    "cyclic_strongly_convex": "batch_theorems",
    "cyclic_strongly_convex_renyi": "batch_theorems",
    "exponential_mechanism_convex": "theorems",
    "exponential_mechanism_strongly_convex": "theorems",
    "gd_composition": "theorems",
    "gd_convex": "theorems",
    "gd_strongly_convex": "theorems",
    "lmc": "theorems",
    "printed_bilevel_slope": "constants",
    "printed_constants": "constants",
    "printed_diffusion_beta": "constants",
    "printed_last_iterate_rho": "constants",
    "printed_mean_loss": "constants",
    "printed_net_beta": "constants",
    "printed_objective_epsilon": "constants",
    "printed_output_sigma": "constants",
    "printed_path_beta": "constants",
    "printed_sensitivity": "constants",
    "sgd_composition": "batch_theorems",
    "sgd_convex": "batch_theorems",
    "sgd_strongly_convex": "batch_theorems",
}

__all__ = [
    "GridWalkSampler",
    "IteratedSampler",
    "MalaSampler",
    "MeteredLangevin",
    "RegularisedSampler",
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
    "log_sobolev_constant",
    "mixing_time",
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
    "start_divergence",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    """Public names of the package."""
    return __all__
