"""The queries that a release is made of, found by name."""

from collections.abc import Callable, Sequence
from functools import partial

from rashomon_explorer.release.clipping import ClippedShare
from rashomon_explorer.release.groups import BaseRates, GroupGaps, GroupSizes
from rashomon_explorer.release.losses import Accuracies, LossDifferences, Losses
from rashomon_explorer.release.multiplicity import (
    RELEASABLE,
    Discrepancies,
    MultiplicityQuery,
)
from rashomon_explorer.release.query import Query
from rashomon_explorer.release.refusals import refuse
from rashomon_explorer.release.reliance import Reliance

_NEED_TOLERANCE = {"delta_ambiguity", "delta_discrepancy", "delta_obscurity"}
_EXCESS = {"excess": "each", "mean_excess": "mean", "largest_excess": "largest"}

QUERIES: dict[str, Callable[[], Query]] = {
    **{
        measure: partial(MultiplicityQuery, measure)
        for measure in RELEASABLE
        if measure not in _NEED_TOLERANCE
    },
    "discrepancies": Discrepancies,
    "losses": Losses,
    "mean_loss": partial(Losses, "mean"),
    "least_loss": partial(Losses, "least"),
    "largest_loss": partial(Losses, "largest"),
    "loss_differences": LossDifferences,
    "accuracies": Accuracies,
    "mean_accuracy": partial(Accuracies, "mean"),
    "least_accuracy": partial(Accuracies, "least"),
    "largest_accuracy": partial(Accuracies, "largest"),
    "reliance": Reliance,
    "group_sizes": GroupSizes,
    "base_rates": BaseRates,
    "clipped_share": ClippedShare,
    "selection_gap": GroupGaps,
    "mean_selection_gap": partial(GroupGaps, over="mean"),
    "true_positive_gap": partial(GroupGaps, "true_positive"),
    "mean_true_positive_gap": partial(GroupGaps, "true_positive", "mean"),
    "false_positive_gap": partial(GroupGaps, "false_positive"),
    "accuracy_gap": partial(GroupGaps, "accuracy"),
    "base_gap": partial(GroupGaps, "base"),
}

_WITH_OPTIONS: dict[str, str] = {
    **{name: f"MultiplicityQuery({name!r}, tolerance=...)" for name in sorted(_NEED_TOLERANCE)},
    "soft_hits": "SoftHits(width=..., radius=...)",
    **{name: f"Excess(over={over!r}, radius=...)" for name, over in _EXCESS.items()},
}


def get_query(query: str | Query) -> Query:
    """Query of that name, or the query itself.

    Raises
    ------
    ValueError
        If there is none of that name, it needs options, or it has no useful bound.
    TypeError
        If it is neither name nor query.

    Examples
    --------
    >>> get_query("ambiguity").name
    'ambiguity'
    """
    if isinstance(query, Query):
        return query
    if not isinstance(query, str):
        raise TypeError(f"a query must be a name or a Query, got {query!r}")
    refuse(query)
    if query in _WITH_OPTIONS:
        raise ValueError(f"{query} needs options: pass {_WITH_OPTIONS[query]}")
    if query not in QUERIES:
        raise ValueError(f"a query must be one of {sorted(QUERIES)}, got {query!r}")
    return QUERIES[query]()


def get_queries(queries: Sequence[str | Query]) -> tuple[Query, ...]:
    """Find queries, each with a name of its own."""
    if isinstance(queries, str | Query):
        queries = [queries]
    found = tuple(get_query(query) for query in queries)
    names = [query.name for query in found]
    twice = sorted({name for name in names if names.count(name) > 1})
    if not found or twice:
        raise ValueError(
            f"queries must name each query once, got {f'{twice} twice' if twice else 'none'}: "
            "ask again in another release, which is charged again"
        )
    return found
