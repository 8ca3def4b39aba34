"""What each feature is to the whole set of sparse trees.  Curator: computed from private rows."""

from fractions import Fraction

import pandas as pd

from rashomon_explorer.cores import one_blas_thread
from rashomon_explorer.progress import progress
from rashomon_explorer.trees.answers import above_best, least_of_some, losses_by_leaves
from rashomon_explorer.trees.best import avoiding
from rashomon_explorer.trees.counted import CountedTrees
from rashomon_explorer.trees.counting import count
from rashomon_explorer.trees.least import TwoBest, least_errors
from rashomon_explorer.trees.using import Using


def feature_table(counted: CountedTrees, psi: float | None = None) -> pd.DataFrame:
    """Say what each feature is to the set, exactly.  Curator: not private.

    Parameters
    ----------
    counted : CountedTrees
    psi : float, optional
        For the share of the trees within ψ that ask for the feature.

    Returns
    -------
    DataFrame
        A row a feature: ``psi_using`` and ``psi_avoiding``, the least ψ at which the set has a tree
        that asks for it, and one that does not (above 0, all better trees do); and
        ``share_using`` with ``psi``.

    Examples
    --------
    >>> counted = CountedTrees([[1, 0], [1, 1], [0, 1]], [1, 0, 0], max_leaves=2)
    >>> feature_table(counted, psi=0.34).round(3)
        psi_using  psi_avoiding  share_using
    x0      0.333         0.000        0.333
    x1      0.000         0.333        0.333
    """
    rows = []
    whole = None if psi is None else counted.size(psi)
    best = [TwoBest.of(level) for level in counted.levels]
    for feature in progress(range(counted.trees.n_features), "features"):
        levels, trees = avoiding(counted.levels, counted.trees, feature)
        stumps = [two.without(feature) for two in best]
        least = least_errors(levels, trees, stumps)
        using = Using(counted.levels, counted.trees, counted.least_errors, feature)
        without = float(losses_by_leaves(counted, least.whole).min())
        found = {
            "psi_using": above_best(least_of_some(counted, using.whole), counted),
            "psi_avoiding": above_best(without, counted),
        }
        if psi is not None and whole is not None:
            limit = counted.limits(psi)[: len(least.whole)]
            with one_blas_thread():
                histograms = count(levels, trees, least, limit).by_leaves()
            left = sum(sum(map(int, one[1].tolist())) for one in histograms if one is not None)
            found["share_using"] = float(1 - Fraction(left, whole))
        rows.append(found)
    return pd.DataFrame(rows, index=list(counted.feature_names))
