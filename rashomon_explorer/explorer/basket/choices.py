"""The aggregates that a basket offers, each in a few words."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

from rashomon_explorer.rashomon_set import ReleasedSet, ReleasedTrees
from rashomon_explorer.release import Excess, Query, SoftHits, get_query

Paid = ReleasedSet | ReleasedTrees


@dataclass(frozen=True)
class Aggregate:
    """One thing that can be bought of the rows.

    Attributes
    ----------
    group : str
        Heading under which it stands.
    title : str
        What one learns from it.
    query : callable
        Makes the question for released models.
    """

    group: str
    title: str
    query: Callable[[Paid], Query]

    @property
    def in_rows(self) -> bool:
        """Whether the noise is on counts of rows."""
        return self.group == _GROUPS


def _named(name: str) -> Callable[[Paid], Query]:
    return lambda models: get_query(name)


def _excess(models: Paid, over: str) -> Query:
    linear, radius = _in_a_ball(models)
    return Excess(over=over, radius=radius, ridge=linear.plan.ridge)  # type: ignore[arg-type]


def _soft_hits(models: Paid) -> Query:
    linear, radius = _in_a_ball(models)
    return SoftHits(width=models.psi or 0.01, radius=radius, ridge=linear.plan.ridge)


def _in_a_ball(models: Paid) -> tuple[ReleasedSet, float]:
    if isinstance(models, ReleasedTrees):
        raise ValueError("Noise for this is known of linear models alone: take the mean loss")
    if models.plan.radius is None:
        raise ValueError("these draws are not of a ball of models")
    return models, models.plan.radius


_SET, _GOOD, _LABELS, _SCORES = "The set", "How good", "Who is labelled otherwise", "Scores"
_FEATURES, _COUNTS, _GROUPS = "Features", "Counts", "Groups"

AGGREGATES: Mapping[str, Aggregate] = {
    "ambiguity": Aggregate(
        _LABELS, "share of people whom some model labels otherwise", _named("ambiguity")
    ),
    "discrepancy": Aggregate(_LABELS, "most labels that one model changes", _named("discrepancy")),
    "disagreement": Aggregate(
        _LABELS, "chance that two models differ about a person", _named("disagreement")
    ),
    "abstention": Aggregate(
        _LABELS, "share of people about whom one should not decide", _named("abstention")
    ),
    "mean_accuracy": Aggregate(_GOOD, "accuracy, mean over the models", _named("mean_accuracy")),
    "least_accuracy": Aggregate(_GOOD, "accuracy of the worst model", _named("least_accuracy")),
    "mean_loss": Aggregate(_GOOD, "loss, mean over the models", _named("mean_loss")),
    "accuracies": Aggregate(_GOOD, "accuracy of each model", _named("accuracies")),
    "soft_hits": Aggregate(_SET, "hit rate, from below and from above", _soft_hits),
    "mean_excess": Aggregate(
        _SET, "loss above the best model's, on average", partial(_excess, over="mean")
    ),
    "largest_excess": Aggregate(
        _SET, "loss above the best model's, of the worst", partial(_excess, over="largest")
    ),
    "range_width": Aggregate(
        _SCORES, "how far scores of a person are apart, on average", _named("range_width")
    ),
    "score_std": Aggregate(_SCORES, "standard deviation of a person's scores", _named("score_std")),
    "reliance": Aggregate(_FEATURES, "how much models rely on columns", _named("reliance")),
    "base_rates": Aggregate(_COUNTS, "share of people of each class", _named("base_rates")),
    "clipped_share": Aggregate(_COUNTS, "share of rows shortened", _named("clipped_share")),
    "group_sizes": Aggregate(_GROUPS, "people in each group", _named("group_sizes")),
    "base_gap": Aggregate(_GROUPS, "gap of the outcome itself between groups", _named("base_gap")),
    "mean_selection_gap": Aggregate(
        _GROUPS, "gap of positive labels between groups", _named("mean_selection_gap")
    ),
    "mean_true_positive_gap": Aggregate(
        _GROUPS, "gap of true positives between groups", _named("mean_true_positive_gap")
    ),
}
"""By the names of their queries, in the order of the page."""
