"""Mechanisms: differentially private algorithms, their registries, plans and samplers."""

from importlib import import_module
from typing import Any

_HOMES = {
    "ExactSampler": "samplers.exponential",
    "FiniteGridSampler": "samplers.finite_grid",
    "HitAndRunSampler": "samplers.hit_and_run",
    "LangevinAverageSampler": "langevin.sampler",
    "LangevinSampler": "langevin.sampler",
    "MECHANISMS": "planning.registry",
    "Plan": "planning.plan",
    "best_certificate": "certificates.catalogue",
    "explain": "planning.advice",
    "gibbs_certificates": "certificates.catalogue",
    "guaranteed_hit_rate": "bounds.hit_rate",
    "largest_beta": "certificates.catalogue",
    "pareto_table": "planning.options",
    "path_certificates": "certificates.catalogue",
    "plan": "planning.planner",
    "plan_options": "planning.options",
    "plan_path": "langevin.plan",
}

__all__ = [
    "MECHANISMS",
    "ExactSampler",
    "FiniteGridSampler",
    "HitAndRunSampler",
    "LangevinAverageSampler",
    "LangevinSampler",
    "Plan",
    "best_certificate",
    "explain",
    "gibbs_certificates",
    "guaranteed_hit_rate",
    "largest_beta",
    "pareto_table",
    "path_certificates",
    "plan",
    "plan_options",
    "plan_path",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    """Public names of the package."""
    return __all__
