"""Sensitivities that are larger than what rounding does to the answers."""

import math
from collections.abc import Sequence

from rashomon_explorer.release.losses import loss_ranges
from rashomon_explorer.release.query import Query, Sensitivity
from rashomon_explorer.release.table import Public

_LEAST_SHARE = 2.0**-40  # of the largest term; means in doubles are right to about 2⁻⁵⁰ of it


def sensitivities_of(queries: Sequence[Query], public: Public) -> tuple[Sensitivity, ...]:
    """Sensitivity of each query, 0 or well above the rounding of a mean of losses or scores.

    Draws that almost coincide on rows that are almost 0 differ by less than the last bit of what
    they are computed from. One record then moves the answer *in doubles* by more than it moves
    the exact one, and noise in proportion to the latter would be too little.

    >>> from rashomon_explorer import RashomonClassifier
    >>> from rashomon_explorer.release import get_query
    >>> X, y = [[0.9], [0.6], [-0.7], [-0.5]] * 50, [1, 1, 0, 0] * 50
    >>> models = RashomonClassifier(n_draws=5, epsilon=80.0).fit(X, y).rashomon_set_.release()
    >>> sensitivities_of([get_query("ambiguity")], Public(models, 200))
    (Sensitivity(l1=0.005, l2=0.005),)
    """
    found = tuple(query.sensitivity(public) for query in queries)
    least = _LEAST_SHARE * _largest_term(public)
    for query, sensitivity in zip(queries, found, strict=True):
        if 0 < sensitivity.l2 < least:
            raise ValueError(
                f"{query.name} moves by {sensitivity.l2:.2g} at most when a record is replaced, "
                f"less than {least:.2g}, near which rounding moves it too: the draws almost "
                "coincide on rows of this norm, so leave the query out"
            )
    return found


def _largest_term(public: Public) -> float:
    """Bound of a loss or a score of one row; at least 1, for probabilities."""
    ends = public.linear.target_bounds if public.models.task == "regression" else (1.0,)
    return max(1.0, *map(math.fabs, ends), float(loss_ranges(public)[1].max()))
