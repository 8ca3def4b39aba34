"""Which object a plot may be made of: curator plots and release plots take different types."""

import math
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from rashomon_explorer.planning import Plan
from rashomon_explorer.planning.trees import TreePlan
from rashomon_explorer.rashomon_set import CuratorSet, RashomonSet, ReleasedSet, ReleasedTrees

MOST_POINTS = 20_000
"""More points than this are drawn as a fixed random subsample, and the figure says so."""

_OF_TREES = "released trees to plot_trees, plot_rules or plot_tree_use"


def need_curator(given: object, plot: str) -> RashomonSet:
    """Return `given` if it is a curator's set, else raise a TypeError that names the remedy.

    A `PredictorSet` passes too; what a figure asks of linear draws alone, it refuses by name.
    """
    if isinstance(given, CuratorSet):
        return cast(RashomonSet, given)
    raise TypeError(
        f"{plot} shows values computed from private rows and needs a RashomonSet, got "
        f"{type(given).__name__}; a ReleasedSet goes to plot_released_coefficients or "
        f"plot_released_spread, and {_OF_TREES}"
    )


def need_release(given: object, plot: str) -> ReleasedSet:
    """Return `given` if it is a `ReleasedSet`, else raise a TypeError that names the remedy."""
    if isinstance(given, ReleasedSet):
        return given
    if isinstance(given, ReleasedTrees):
        raise TypeError(f"{plot} is of linear models: {_OF_TREES}")
    raise TypeError(
        f"{plot} makes a figure that may leave the building and needs a ReleasedSet, got "
        f"{type(given).__name__}; call .release() on a RashomonSet first"
    )


def need_as_drawn(given: object, plot: str) -> None:
    """Raise a ValueError for models of which nothing was promised: chosen ones, and others'."""
    if not isinstance(given, CuratorSet):
        return
    planned: Any = getattr(given, "plan", None)
    if isinstance(planned, TreePlan):
        need_exact_draws(planned, plot)
    if not isinstance(given, RashomonSet) or math.isnan(given.plan.beta):
        raise ValueError(f"{plot} needs draws of an estimator: nothing was promised of these")
    need_exact_draws(given.plan, plot)
    if not given.as_drawn:
        raise ValueError(
            f"{plot} sets draws beside what was promised of all of them, and here some were "
            f"chosen ({'; '.join(given.steps)}): pass the set as it was drawn"
        )


def need_exact_draws(planned: Plan | TreePlan, plot: str) -> None:
    """Raise a ValueError for a plan of other draws: no theorem of exact draws holds of them."""
    if isinstance(planned, TreePlan):
        raise ValueError(
            f"{plot} shows what is promised of linear draws: plot_prices(plan) and explain(plan) "
            "say what is promised of trees"
        )
    if not planned.of_exact_draws:
        raise ValueError(
            f"{plot} shows what is promised of exact draws, and this plan is of "
            f"{planned.sampler or 'others'}: explain(plan) says what is promised of them, and a "
            "plan for sampler='exact' can be shown"
        )


def shown_points(n_points: int) -> tuple[NDArray[np.intp], str]:
    """Return which points to draw and the words that say so, empty when all are drawn."""
    if n_points <= MOST_POINTS:
        return np.arange(n_points), ""
    # A fixed seed: the same points at every redraw, or the figure would flicker.
    chosen = np.random.default_rng(0).choice(n_points, MOST_POINTS, replace=False)
    return np.sort(chosen), f"showing {MOST_POINTS:,} of {n_points:,}, chosen at random"
