"""Plan of a release."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rashomon_explorer._utils.validation import check_count
from rashomon_explorer.mechanisms.planning.suggestions import warn_of_large_delta
from rashomon_explorer.privacy import Guarantee
from rashomon_explorer.release.budget import Budget, Priced, price
from rashomon_explorer.release.catalogue import get_queries
from rashomon_explorer.release.losses import loss_ranges
from rashomon_explorer.release.query import Paid, PublicShape, Query, Sensitivity

if TYPE_CHECKING:
    import pandas as pd

_LEAST_SHARE = 2.0**-40  # of the largest term; means in doubles are right to about 2⁻⁵⁰ of it


def sensitivities_of(queries: Sequence[Query], public: PublicShape) -> tuple[Sensitivity, ...]:
    """Sensitivity of each query, 0 or well above the rounding of a mean of losses or scores."""
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


def _largest_term(public: PublicShape) -> float:
    """Bound of a loss or a score of one row; at least 1, for probabilities."""
    ends = public.linear.target_bounds if public.models.task == "regression" else (1.0,)
    return max(1.0, *map(math.fabs, ends), float(loss_ranges(public)[1].max()))


@dataclass(frozen=True)
class ReleasePlan:
    """Noise and price of a release that has not taken place."""

    queries: tuple[Query, ...]
    sensitivities: tuple[Sensitivity, ...]
    priced: tuple[Priced, ...]
    guarantee: Guarantee

    def table(self) -> "pd.DataFrame":
        """Return sensitivity, standard deviation of the noise and share of the price, by query."""
        import pandas as pd

        rows = {
            query.name: {
                "sensitivity": sensitivity.l1 if priced.noise.law == "Laplace" else sensitivity.l2,
                "standard_error": priced.noise.deviation,
                "price_share": priced.share,
            }
            for query, sensitivity, priced in zip(
                self.queries, self.sensitivities, self.priced, strict=True
            )
        }
        return pd.DataFrame.from_dict(rows, orient="index").rename_axis("query")


def plan_release(
    models: Paid,
    n_rows: int,
    *,
    queries: Sequence[str | Query],
    epsilon: float | None = None,
    delta: float = 0.0,
    rho: float | None = None,
    mu: float | None = None,
    standard_error: float | Mapping[str, float] | None = None,
    weights: Mapping[str, float] | None = None,
    categories: Sequence[Any] = (),
    ledger: bool = True,
) -> ReleasePlan:
    """Price a release, or find its accuracy, from public numbers alone; it costs nothing.

    Parameters
    ----------
    models : ReleasedSet or ReleasedTrees
    n_rows : int
        Number of private rows.
    queries, epsilon, delta, rho, mu, standard_error, weights, categories
        As for :func:`~rashomon_explorer.release.release`.
    ledger : bool, default=True
        Whether a ledger is to be charged, which counts zCDP.

    Raises
    ------
    ValueError
        If a query is refused or does not suit the models, or a number is out of range.

    Examples
    --------
    >>> from rashomon_explorer import RashomonClassifier
    >>> X, y = [[0.9], [0.6], [-0.7], [-0.5]] * 50, [1, 1, 0, 0] * 50
    >>> models = RashomonClassifier(n_draws=5, epsilon=80.0).fit(X, y).rashomon_set_.release()
    >>> planned = plan_release(
    ...     models, 10_000, queries=["ambiguity", "mean_accuracy"], epsilon=0.1
    ... )
    >>> planned.table()["standard_error"].round(5).tolist()
    [0.00283, 0.00283]
    >>> wanted = plan_release(models, 10_000, queries=["ambiguity"], standard_error=0.001)
    >>> round(wanted.guarantee.mu, 3)
    0.1
    """
    check_count(n_rows=n_rows)
    public = PublicShape(models, n_rows, True, bool(categories), tuple(categories))
    asked = get_queries(queries)
    for query in asked:
        query.check(public)
    sensitivities = sensitivities_of(asked, public)
    budget = Budget(epsilon, delta, rho, mu, standard_error)
    warn_of_large_delta(delta, n_rows)
    return ReleasePlan(
        asked, sensitivities, *price(asked, sensitivities, budget, weights, ledger=ledger)
    )
