"""Registry of the aggregates that can be released."""

from collections.abc import Callable, Sequence
from functools import partial

from rashomon_explorer.release import losses
from rashomon_explorer.release.coefficients import Coefficients
from rashomon_explorer.release.groups import BaseRates, GroupGaps, GroupSizes
from rashomon_explorer.release.least_psi import LeastPsi
from rashomon_explorer.release.multiplicity import RELEASABLE, MultiplicityQuery
from rashomon_explorer.release.prediction_sets import ScoreThreshold
from rashomon_explorer.release.query import Query

REFUSED: dict[str, tuple[str, str]] = {
    "hit_rate": (
        "one record can change whether a draw's excess is at most psi: the share can change by "
        "1 for any number of rows",
        "SoftHits(width=..., radius=...), two soft shares with the hit rate between them, or "
        "Excess(radius=...)",
    ),
    "median_loss": (
        "a median over rows can change by its whole range when one record is replaced",
        "'mean_loss' or 'losses'",
    ),
    "loss_quantile": (
        "a quantile over rows can change by its whole range when one record is replaced",
        "the share beyond a declared level, such as 'delta_ambiguity' with a tolerance",
    ),
    "largest_row_range": (
        "the largest value over rows is the value of one record",
        "'range_width', its mean, or 'delta_ambiguity', the share beyond a tolerance",
    ),
    "viable_prediction_range": (
        "it is one interval for each person, and depends only on that person's record",
        "'range_width', its mean over rows; or compute it on public or synthetic rows, at no cost",
    ),
    "row_disagreement": (
        "it is one number for each person, and depends only on that person's record",
        "'disagreement', its mean over rows",
    ),
    "decide_or_abstain": (
        "it is one decision for each person, and depends only on that person's record",
        "'abstention', the share of rows to abstain from",
    ),
    "cohen_kappa": (
        "its denominator can be 0, near which one record changes it without bound",
        "'disagreement'",
    ),
    "pattern_count": (
        "one record can be the only one that distinguishes many draws: the count can double",
        "'disagreement'",
    ),
    "pattern_diversity": (
        "it is a mean over different patterns, and one record can double their number",
        "'disagreement'",
    ),
    "reliance_ratio": (
        "its denominator is a loss that can be 0, near which one record changes it without bound",
        "'reliance', the difference e_switch − e_orig",
    ),
    "largest_selection_gap": (
        "over draws it is the largest of differences of ratios whose denominators are not public",
        "GroupGaps(over='each'), a gap for each draw, or GroupGaps(over='mean')",
    ),
    "exact_ranges": (
        "their ends are optima over the set, which moves with every record, by an amount that "
        "grows without bound where the loss is flat",
        "'psi_sign', the ψ up to which a coefficient keeps its sign over the whole set, or the "
        "spread of the draws' coefficients, which is public: coefficient_spread(released)",
    ),
    "exact_ambiguity": (
        "which labels the whole set allows moves with the set, for all rows at once",
        "LeastPsi(label_of=...), the ψ from which a public person's label can flip, or "
        "'ambiguity' over the draws, a lower bound",
    ),
    "psi_parity": (
        "which models treat the groups alike depends on every record, so that one record can "
        "exclude the best of them: the least excess of the others can be far above it",
        "'psi_avoiding' of the columns that the groups are read from, or 'mean_selection_gap'",
    ),
}


_NEED_TOLERANCE = {"delta_ambiguity", "delta_discrepancy", "delta_obscurity"}
_EXCESS = {"excess": "each", "mean_excess": "mean", "largest_excess": "largest"}

QUERIES: dict[str, Callable[[], Query]] = {
    **{
        measure: partial(MultiplicityQuery, measure)
        for measure in RELEASABLE
        if measure not in _NEED_TOLERANCE
    },
    "losses": losses.Losses,
    "mean_loss": partial(losses.Losses, "mean"),
    "least_loss": partial(losses.Losses, "least"),
    "largest_loss": partial(losses.Losses, "largest"),
    "accuracies": losses.Accuracies,
    "mean_accuracy": partial(losses.Accuracies, "mean"),
    "least_accuracy": partial(losses.Accuracies, "least"),
    "largest_accuracy": partial(losses.Accuracies, "largest"),
    "reliance": losses.Reliance,
    "group_sizes": GroupSizes,
    "base_rates": BaseRates,
    "psi_avoiding": partial(LeastPsi, avoiding=()),
    "psi_sign": partial(LeastPsi, sign=()),
    "coefficients": Coefficients,
    "score_threshold": ScoreThreshold,
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
    "psi_label_of": "LeastPsi(label_of=...)",
    "psi_n_trees": "LeastPsi(n_trees=[...])",
}


def get_query(query: str | Query) -> Query:
    """Return the query with this name, or the query itself."""
    if isinstance(query, Query):
        return query
    if not isinstance(query, str):
        raise TypeError(f"a query must be a name or a Query, got {query!r}")
    if query in REFUSED:
        reason, replacement = REFUSED[query]
        raise ValueError(f"{query} is not released: {reason}. Use {replacement}")
    if query in _WITH_OPTIONS:
        raise ValueError(f"{query} needs options: pass {_WITH_OPTIONS[query]}")
    if query not in QUERIES:
        raise ValueError(f"a query must be one of {sorted(QUERIES)}, got {query!r}")
    return QUERIES[query]()


def get_queries(queries: Sequence[str | Query]) -> tuple[Query, ...]:
    """Return queries with distinct names."""
    if isinstance(queries, str | Query):
        queries = [queries]
    checked = tuple(get_query(query) for query in queries)
    names = [query.name for query in checked]
    twice = sorted({name for name in names if names.count(name) > 1})
    if not checked or twice:
        raise ValueError(
            f"queries must name each query once, got {f'{twice} twice' if twice else 'none'}: "
            "repeat a query in another release, which is charged again"
        )
    return checked
