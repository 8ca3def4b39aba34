"""Ranges over the Rashomon set of a convex loss; exact ranges are for the curator only.

Ranges over a released ellipsoid are post-processing of the release.
"""

from typing import TYPE_CHECKING

from rashomon_explorer._utils.imports import lazy_names

if TYPE_CHECKING:
    from rashomon_explorer.measures.ranges.changes import *
    from rashomon_explorer.measures.ranges.declared import *
    from rashomon_explorer.measures.ranges.exact import *
    from rashomon_explorer.measures.ranges.flips import *
    from rashomon_explorer.measures.ranges.linear_models import *
    from rashomon_explorer.measures.ranges.linear_recourse import *
    from rashomon_explorer.measures.ranges.penalised import *
    from rashomon_explorer.measures.ranges.people import *

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

__getattr__, __dir__ = lazy_names(__name__, __all__)
