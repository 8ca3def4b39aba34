"""How far the models of the set disagree about each coefficient."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from rashomon_explorer.measures import coefficient_spread
from rashomon_explorer.plots._checks import need_curator, need_release
from rashomon_explorer.plots.bands import models_band
from rashomon_explorer.plots.coefficients import paid_band
from rashomon_explorer.plots.counted import counted, nobody_inside, of_all_draws
from rashomon_explorer.plots.range_bars import range_bars, ring
from rashomon_explorer.rashomon_set import RashomonSet, ReleasedSet

_TITLE = "How far each coefficient can move"


def plot_coefficient_spread(models: RashomonSet, *, highlight: Sequence[int] = ()) -> go.Figure:
    """Plot the range of every coefficient over the draws inside the set, with the best model's.

    Parameters
    ----------
    models : RashomonSet
        The draws and the certified best model (curator only).
    highlight : sequence of int
        Draws to ring, by row number; those outside the set are not shown.

    Returns
    -------
    plotly.graph_objects.Figure
        One row a coefficient, widest first; without a draw inside it says what to do.

    Raises
    ------
    TypeError
        If given a `ReleasedSet`.
    """
    models = need_curator(models, "plot_coefficient_spread")
    kept = counted(models)
    if kept.nobody:
        return nobody_inside(_TITLE, models)
    table = coefficient_spread(kept.models)
    figure = _coefficient_ranges(table, kept.words, over=kept.span)
    ring(figure, table, np.asarray(kept.models.coef)[kept.highlighted(highlight)])
    return models_band(figure, models)


def plot_released_spread(released: ReleasedSet) -> go.Figure:
    """Plot the range of every coefficient over released draws, inside the set or not.

    Parameters
    ----------
    released : ReleasedSet
        The draws, already paid.

    Returns
    -------
    plotly.graph_objects.Figure
        One row a coefficient, under a green band with the price.

    Raises
    ------
    TypeError
        If given a `RashomonSet`.
    """
    released = need_release(released, "plot_released_spread")
    figure = _coefficient_ranges(coefficient_spread(released), of_all_draws(released))
    return paid_band(figure, released)


def _coefficient_ranges(
    table: pd.DataFrame, counted_as: str, *, over: str = "all draws"
) -> go.Figure:
    unit = "coefficient, per scaled unit"
    return range_bars(table, _TITLE, unit, counted_as, of="coefficient", over=over)
