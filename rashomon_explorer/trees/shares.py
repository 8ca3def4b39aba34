"""Shares of all good trees that say something, from uniform draws.  Curator: not private."""

import numpy as np
import pandas as pd
from scipy.stats import beta

from rashomon_explorer.exceptions import DataError
from rashomon_explorer.rashomon_set.models import DecisionTrees
from rashomon_explorer.trees.counted import CountedTrees
from rashomon_explorer.validation import check_count, check_inner_share


def label_shares(
    counted: CountedTrees,
    psi: float,
    n_draws: int = 2000,
    *,
    label: int = 1,
    confidence: float = 0.95,
    random_state: int | None = None,
) -> pd.DataFrame:
    """Share of the trees within ψ that give each row a label, with its interval.

    Draws are uniform and independent, so that a count of them is binomial: the interval is that of
    Clopper and Pearson, which holds at any number of draws, for each row by itself. Rows of one
    combination of features have one share.

    Parameters
    ----------
    counted : CountedTrees
    psi : float
    n_draws : int, default=2000
        The half width is at most about 1/√n_draws.
    label : int, default=1
        Place of the class.
    confidence : float, default=0.95
    random_state : int, optional

    Returns
    -------
    pandas.DataFrame
        A row a row of the table: ``share``, ``low`` and ``high``.

    Raises
    ------
    DataError
        If there is no such class.

    Examples
    --------
    >>> counted = CountedTrees([[1, 0], [1, 1], [0, 1]], [1, 0, 0], max_leaves=2)
    >>> found = label_shares(counted, psi=0.4, n_draws=500, random_state=0)
    >>> bool(found["low"][0] < 2 / 3 < found["high"][0])
    True
    """
    check_count(n_draws=n_draws)
    check_inner_share(confidence=confidence)
    if not 0 <= label < len(counted.classes):
        raise DataError(f"label must be below {len(counted.classes)}, got {label!r}")
    drawn, _ = counted.uniform_trees(n_draws, psi, random_state)
    models = DecisionTrees(tuple(drawn), len(counted.classes))
    says = models.labels(counted.rows.patterns)
    hits = (says == label).sum(axis=0)
    edge = (1 - confidence) / 2
    low = np.where(hits == 0, 0.0, beta.ppf(edge, hits, n_draws - hits + 1))
    high = np.where(hits == n_draws, 1.0, beta.ppf(1 - edge, hits + 1, n_draws - hits))
    table = pd.DataFrame({"share": hits / n_draws, "low": low, "high": high})
    return table.iloc[counted.rows.place].reset_index(drop=True)
