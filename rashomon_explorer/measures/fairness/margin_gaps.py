"""Difference of groups' mean linear scores: the one gap whose range is known exactly."""

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from rashomon_explorer.measures.ranges.directions import gap_directions
from rashomon_explorer.measures.ranges.draws import draws_in_range
from rashomon_explorer.measures.ranges.exact import exact_ranges

if TYPE_CHECKING:
    from rashomon_explorer.measures.fairness.audit import FairnessAudit


def margin_gaps(
    models: Any, places: pd.Index, problem: Any, audit: "FairnessAudit"
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Signed gaps (models, pairs of groups) of linear models, and their exact ranges.

    Raises
    ------
    TypeError
        If the models have no coefficients, or not those of the problem.
    ValueError
        If a model lies outside the exact range.
    """
    coef = getattr(models, "coef", None)
    if coef is None or coef.shape[1] != problem.p:
        raise TypeError(
            "exact ranges need linear models with the parameters of the problem; leave problem out"
        )
    texts = np.asarray(audit.task.groups.texts)[audit.task.groups.codes]
    directions, names = gap_directions(problem, audit.X, texts)
    labels = pd.Index([f"mean_margin: {name}" for name in names])
    exact = exact_ranges(problem, audit.psi, directions, names=labels)
    values = coef[places] @ directions.T
    draws_in_range(values, exact)
    return pd.DataFrame(values, places, labels), exact
