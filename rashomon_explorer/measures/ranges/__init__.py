"""Exact ranges over the Rashomon set of a convex loss.  Curator: they read private rows."""

from rashomon_explorer.measures.ranges.declared import declared_problem
from rashomon_explorer.measures.ranges.draws import draws_in_range
from rashomon_explorer.measures.ranges.exact import (
    exact_coefficient_ranges,
    exact_group_gap,
    exact_ranges,
    exact_score_ranges,
    relative_psi,
)
from rashomon_explorer.measures.ranges.flips import ExactAmbiguity, exact_ambiguity, exact_flips
from rashomon_explorer.measures.ranges.penalised import PenalisedProblem
from rashomon_explorer.measures.ranges.sklearn_problem import penalised_problem

__all__ = [
    "ExactAmbiguity",
    "PenalisedProblem",
    "declared_problem",
    "draws_in_range",
    "exact_ambiguity",
    "exact_coefficient_ranges",
    "exact_flips",
    "exact_group_gap",
    "exact_ranges",
    "exact_score_ranges",
    "penalised_problem",
    "relative_psi",
]
