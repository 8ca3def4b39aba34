"""How far each coefficient can move: the draws, inside exact ranges where there are any."""

from typing import Any

from rashomon_explorer.measures import draws_in_range, exact_coefficient_ranges
from rashomon_explorer.plots import (
    plot_coefficient_spread,
    plot_coefficients,
    plot_ranges,
    plot_released_coefficients,
    plot_released_spread,
)
from rashomon_explorer.plots.tables import coefficients_table, spread_table
from rashomon_explorer.rashomon_set import RashomonSet
from rashomon_explorer.report.blocks import Block, Plot, Table, Words
from rashomon_explorer.report.material import Curator, Release
from rashomon_explorer.report.sections.base import Skip
from rashomon_explorer.report.sections.rows import need_linear

_SPREAD = "Range, middle 90 % and median of every coefficient over the draws"
_CLOUD = "Scatter plot of the two coefficients that vary most; each dot is a draw."


def curator(given: Curator) -> list[Block]:
    """Show coefficients of all draws, and of those inside ψ within their exact ranges."""
    models = need_linear(given)
    blocks: list[Block] = [
        Words(
            "Ranges over the draws inside the Rashomon set; in the scatter plot those outside are "
            "diamonds. A coefficient is per unit of the scaled feature."
        ),
        _spread(models),
        Plot(
            plot_coefficients(models),
            f"{_CLOUD} The best model is marked by a cross.",
            Table(coefficients_table(models), "Coefficients of each draw"),
        ),
    ]
    return [_exact(given, models), *blocks] if given.problem is not None else blocks


def release(given: Release) -> list[Block]:
    """Show coefficients of released draws."""
    models: Any = given.models
    if not models.n_draws:
        raise Skip("the release holds no models")
    return [
        Plot(
            plot_released_spread(models),
            f"{_SPREAD}, inside the set or not.",
            Table(spread_table(models), "Coefficients over all draws"),
        ),
        Plot(
            plot_released_coefficients(models),
            _CLOUD,
            Table(coefficients_table(models), "Coefficients of each draw"),
        ),
    ]


def _spread(models: RashomonSet) -> Block:
    if not models.hit_rate:
        return Words(f"None of {models.n_draws} draws lies inside, so that none spans a range.")
    return Plot(
        plot_coefficient_spread(models),
        f"{_SPREAD} inside. The best model is marked by a cross.",
        Table(spread_table(models), "Coefficients over the draws inside"),
    )


def _exact(given: Curator, models: RashomonSet) -> Block:
    names = models.feature_names[:-1]
    exact = exact_coefficient_ranges(
        given.problem,  # type: ignore[arg-type]  # asked for only where there is one
        models.psi,
        feature_names=names,
    )
    if not models.hit_rate:
        return Table(exact, "Exact ranges of the coefficients; no draw lies in the set")
    table = draws_in_range(models, exact)
    return Plot(
        plot_ranges(models, exact),
        "Exact range of every coefficient over the whole Rashomon set, with the part that draws "
        "inside it reached.",
        Table(table, "Exact ranges, the draws inside them, and the share they miss"),
    )
