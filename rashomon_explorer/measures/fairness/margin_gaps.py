"""Difference of groups' mean linear scores: the one gap whose range is known exactly."""

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from rashomon_explorer.measures.ranges.directions import gap_directions
from rashomon_explorer.measures.ranges.draws import draws_in_range
from rashomon_explorer.measures.ranges.exact import exact_ranges


def margin_gaps(
    models: Any, places: pd.Index, problem: Any, X: Any, groups: ArrayLike, psi: float
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Signed gaps (models, pairs of groups) of linear models, and their exact ranges.

    ``groups`` names the group of each row of ``X``; the ranges are those within ``psi``.

    A model outside its exact range is an error.
    """
    coef = getattr(models, "coef", None)
    if coef is None or coef.shape[1] != problem.p:
        raise TypeError(
            "exact ranges need linear models with the parameters of the problem; leave problem out"
        )
    directions, names = gap_directions(problem, X, np.asarray(groups))
    labels = pd.Index([f"mean_margin: {name}" for name in names])
    exact = exact_ranges(problem, psi, directions, names=labels)
    values = coef[places] @ directions.T
    draws_in_range(values, exact)
    return pd.DataFrame(values, places, labels), exact
