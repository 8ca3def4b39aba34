"""Mechanisms: differentially private algorithms, their registries, plans and samplers."""

from typing import TYPE_CHECKING

from rashomon_explorer._utils.imports import lazy_names

if TYPE_CHECKING:
    from rashomon_explorer.mechanisms.bounds import guaranteed_hit_rate
    from rashomon_explorer.mechanisms.certificates.catalogue import (
        best_certificate,
        gibbs_certificates,
        largest_beta,
        path_certificates,
    )
    from rashomon_explorer.mechanisms.exact import ExactSampler
    from rashomon_explorer.mechanisms.finite_grid import FiniteGridSampler
    from rashomon_explorer.mechanisms.hit_and_run import HitAndRunSampler
    from rashomon_explorer.mechanisms.langevin.plan import plan_path
    from rashomon_explorer.mechanisms.langevin.sampler import LangevinSampler
    from rashomon_explorer.mechanisms.planner import explain, pareto_table, plan, plan_options
    from rashomon_explorer.mechanisms.plans import Plan
    from rashomon_explorer.mechanisms.registry import MECHANISMS, register

__all__ = [
    "MECHANISMS",
    "ExactSampler",
    "FiniteGridSampler",
    "HitAndRunSampler",
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
    "register",
]

__getattr__, __dir__ = lazy_names(__name__, __all__)
