"""Figures: pure functions from a set, a plan or a ledger to a Plotly figure in a common style.

Figures of private rows take a `RashomonSet` and have an amber band. Figures of coefficients and of
trees also take a release, which has a green band with the privacy cost and no value from the rows.
"""

from rashomon_explorer._utils.imports import missing_package

try:
    from rashomon_explorer.plots.budget import attack_in_words, plot_budget, plot_tradeoff
    from rashomon_explorer.plots.coefficients import plot_coefficient_spread, plot_released
    from rashomon_explorer.plots.comparison import plot_pair, plot_two_sets
    from rashomon_explorer.plots.decomposition import plot_decomposition
    from rashomon_explorer.plots.fairness import plot_burden, plot_fairness_range, plot_frontier
    from rashomon_explorer.plots.guarantees import list_guarantees, plot_bounds, plot_guarantee
    from rashomon_explorer.plots.importance import (
        plot_class_reliance,
        plot_importance,
        plot_importance_distribution,
        plot_importance_pair,
    )
    from rashomon_explorer.plots.losses import plot_losses
    from rashomon_explorer.plots.map import plot_map
    from rashomon_explorer.plots.people import plot_people
    from rashomon_explorer.plots.person import plot_people_ranges, plot_person, plot_what_if
    from rashomon_explorer.plots.prices import plot_costs
    from rashomon_explorer.plots.profile import plot_profile, plot_shapes
    from rashomon_explorer.plots.ranges import plot_exact_ranges, plot_ranges
    from rashomon_explorer.plots.registry import FigureSpec
    from rashomon_explorer.plots.rules import plot_rules, rules_table
    from rashomon_explorer.plots.trees import plot_tree_use, plot_trees
except ModuleNotFoundError as error:
    raise missing_package("A figure", error.name) from error

__all__ = [
    "FigureSpec",
    "attack_in_words",
    "list_guarantees",
    "plot_bounds",
    "plot_budget",
    "plot_burden",
    "plot_class_reliance",
    "plot_coefficient_spread",
    "plot_costs",
    "plot_decomposition",
    "plot_exact_ranges",
    "plot_fairness_range",
    "plot_frontier",
    "plot_guarantee",
    "plot_importance",
    "plot_importance_distribution",
    "plot_importance_pair",
    "plot_losses",
    "plot_map",
    "plot_pair",
    "plot_people",
    "plot_people_ranges",
    "plot_person",
    "plot_profile",
    "plot_ranges",
    "plot_released",
    "plot_rules",
    "plot_shapes",
    "plot_tradeoff",
    "plot_tree_use",
    "plot_trees",
    "plot_two_sets",
    "plot_what_if",
    "rules_table",
]
