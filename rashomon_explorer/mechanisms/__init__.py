"""Mechanisms: differentially private algorithms, their registries, plans and samplers."""

from rashomon_explorer._utils.imports import lazy_names

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

__getattr__, __dir__ = lazy_names(__name__, _HOMES, __all__)
