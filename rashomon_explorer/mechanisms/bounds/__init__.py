"""Bounds on draws as functions of public numbers, for comparison with measurements.

They read no row. Symbols are those of the papers: ``n`` rows, ``p`` parameters, ``beta`` inverse
temperature, ``psi`` Rashomon threshold, ``width`` of a smooth threshold (0 for the hard one), ``L``
Lipschitz constant of one row's loss on the domain, ``m`` strong convexity, ``diameter`` of the
domain. All but the closed forms assume a convex loss on a convex domain.
"""

from rashomon_explorer.mechanisms.bounds.excess import (
    accelerated_path_excess,
    accelerated_share,
    expected_excess,
    path_average_excess,
    population_risk,
    uniform_stability,
)
from rashomon_explorer.mechanisms.bounds.hit_rate import (
    convex_law,
    enough_patience,
    hit_probability,
    hit_probability_from_excess,
    least_acceptance,
)

__all__ = [
    "accelerated_path_excess",
    "accelerated_share",
    "convex_law",
    "enough_patience",
    "expected_excess",
    "hit_probability",
    "hit_probability_from_excess",
    "least_acceptance",
    "path_average_excess",
    "population_risk",
    "uniform_stability",
]
