"""Ranges over the Rashomon set of a convex loss; exact ranges are for the curator only.

Ranges over a released ellipsoid are post-processing of the release.
"""

from rashomon_explorer.measures.ranges.changes import Recourse
from rashomon_explorer.measures.ranges.declared import declared_problem, set_problem
from rashomon_explorer.measures.ranges.exact import (
    exact_coefficient_ranges,
    exact_group_gap,
    exact_ranges,
    exact_score_ranges,
    relative_psi,
)
from rashomon_explorer.measures.ranges.flips import (
    ExactAmbiguity,
    FlipPsi,
    exact_ambiguity,
    exact_flips,
    flip_psi,
)
from rashomon_explorer.measures.ranges.linear_models import penalised_problem
from rashomon_explorer.measures.ranges.linear_recourse import recourse
from rashomon_explorer.measures.ranges.penalised import PenalisedProblem
from rashomon_explorer.measures.ranges.people import (
    draws_in_range,
    people_ranges,
    proved_people,
    released_flips,
    released_ranges,
)

__all__ = [
    "ExactAmbiguity",
    "FlipPsi",
    "PenalisedProblem",
    "Recourse",
    "declared_problem",
    "draws_in_range",
    "exact_ambiguity",
    "exact_coefficient_ranges",
    "exact_flips",
    "exact_group_gap",
    "exact_ranges",
    "exact_score_ranges",
    "flip_psi",
    "penalised_problem",
    "people_ranges",
    "proved_people",
    "recourse",
    "relative_psi",
    "released_flips",
    "released_ranges",
    "set_problem",
]
