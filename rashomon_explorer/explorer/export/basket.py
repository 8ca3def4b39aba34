"""Aggregates that can be released, and the basket that holds them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any, NamedTuple

from rashomon_explorer.explorer.account import Account
from rashomon_explorer.plots.text import cost_text
from rashomon_explorer.release import Excess, LeastPsi, Query, SoftHits, plan_release
from rashomon_explorer.release.catalogue import get_query
from rashomon_explorer.release.plan import ReleasePlan
from rashomon_explorer.sets import ReleasedSet, ReleasedTrees
from rashomon_explorer.trees.private import planned_class

Paid = ReleasedSet | ReleasedTrees


def _excess(models: Paid, over: str) -> Query:
    linear, radius = _in_a_ball(models)
    return Excess(over=over, radius=radius, ridge=linear.plan.ridge)  # type: ignore[arg-type]


def _soft_hits(models: Paid) -> Query:
    linear, radius = _in_a_ball(models)
    return SoftHits(width=models.psi or 0.01, radius=radius, ridge=linear.plan.ridge)


def _in_a_ball(models: Paid) -> tuple[ReleasedSet, float]:
    if isinstance(models, ReleasedTrees):
        raise ValueError("this aggregate needs linear models: use the mean loss")
    if models.plan.radius is None:
        raise ValueError("this aggregate needs draws from a ball of models: use the mean loss")
    return models, models.plan.radius


def _counts(models: Paid) -> Query:
    """Query for the ψ of 10, 100, 1,000, … trees."""
    planned = models.planned if isinstance(models, ReleasedTrees) else None
    most = 10 if planned is None else planned_class(planned).size
    return LeastPsi(n_trees=[10**k for k in range(1, len(str(most)))])


_OF_MODELS: Mapping[str, Callable[[Paid], Query]] = {
    "soft_hits": _soft_hits,
    "mean_excess": partial(_excess, over="mean"),
    "largest_excess": partial(_excess, over="largest"),
    "psi_n_trees": _counts,
}

_SET, _GOOD, _LABELS, _SCORES = "The set", "How good", "Conflicting predictions", "Scores"
_EVERY, _FEATURES, _COUNTS, _GROUPS = "Every model of the set", "Features", "Counts", "Groups"


class Aggregate(NamedTuple):
    """One aggregate that can be released: its name, its group on the page, and its title."""

    name: str
    group: str
    title: str

    @property
    def in_rows(self) -> bool:
        """Whether the noise is on counts of rows in groups."""
        return self.group == _GROUPS

    def query(self, models: Paid) -> Query:
        """Query for these models; raise a ValueError if it does not apply to them."""
        find = _OF_MODELS.get(self.name)
        return get_query(self.name) if find is None else find(models)


_AGGREGATES = (
    ("ambiguity", _LABELS, "ambiguity: share of people with a conflicting prediction"),
    ("discrepancy", _LABELS, "discrepancy: largest share of labels that one model changes"),
    ("disagreement", _LABELS, "disagreement: probability that two models differ on a person"),
    ("abstention", _LABELS, "abstention: share of people without a stable decision"),
    ("mean_accuracy", _GOOD, "accuracy, mean over the models"),
    ("least_accuracy", _GOOD, "accuracy of the worst model"),
    ("mean_loss", _GOOD, "loss, mean over the models"),
    ("accuracies", _GOOD, "accuracy of each model"),
    ("soft_hits", _SET, "hit rate, lower and upper bound"),
    ("mean_excess", _SET, "mean excess loss"),
    ("largest_excess", _SET, "largest excess loss"),
    ("psi_avoiding", _EVERY, "least ψ at which a model does without a feature"),
    ("psi_sign", _EVERY, "ψ up to which a coefficient keeps its sign"),
    ("psi_n_trees", _EVERY, "ψ at which the set has 10, 100, … trees"),
    ("range_width", _SCORES, "mean range of a person's scores"),
    ("score_std", _SCORES, "standard deviation of a person's scores"),
    ("reliance", _FEATURES, "feature importance"),
    ("base_rates", _COUNTS, "share of people of each class"),
    ("group_sizes", _GROUPS, "people in each group"),
    ("base_gap", _GROUPS, "gap in the outcome between groups"),
    ("mean_selection_gap", _GROUPS, "gap in positive predictions between groups"),
    ("mean_true_positive_gap", _GROUPS, "gap in true-positive rates between groups"),
)
AGGREGATES: Mapping[str, Aggregate] = {one[0]: Aggregate(*one) for one in _AGGREGATES}
"""Aggregates by the names of their queries, in the order of the page."""


_CHOOSE = (
    "needs groups: choose a column under Groups, or mark one as sensitive under Data and declare "
    "its levels"
)


@dataclass(frozen=True)
class Basket:
    """Aggregates of models on the rows, with their planned privacy cost."""

    models: Paid
    n_rows: int
    names: tuple[str, ...] = ()
    epsilon: float = 0.5
    delta: float = 0.0
    weights: Mapping[str, float] = field(default_factory=dict)
    categories: tuple[Any, ...] = ()
    draws: tuple[int, ...] | None = None
    group: str = ""
    by_zcdp: bool = True  # whether the ledger counts zCDP, as all but those of Gaussian DP do

    @cached_property
    def queries(self) -> tuple[Query, ...]:
        """Queries of the basket."""
        return tuple(AGGREGATES[name].query(self.models) for name in self.names)

    @cached_property
    def budget(self) -> dict[str, Any]:
        """Arguments of both `plan_release` and `release`."""
        shares = {name: float(self.weights.get(name, 1.0)) for name in self.names}
        parameters = {"epsilon": self.epsilon, "delta": self.delta, "categories": self.categories}
        return {**parameters, "queries": list(self.queries), "weights": shares}

    @cached_property
    def plan(self) -> ReleasePlan | None:
        """Noise and privacy cost under the ledger's rule; None for an empty basket."""
        settings = {**self.budget, "ledger": self.by_zcdp}
        return plan_release(self.models, self.n_rows, **settings) if self.names else None

    def cost_text(self, account: Account) -> str:
        """Increase of the ledger's total ε caused by this release, as text."""
        return cost_text(0.0 if self.plan is None else account.adds(self.plan.guarantee))

    def why_not(self, name: str) -> str:
        """Explain why an aggregate is unavailable for these models; empty if it is available."""
        if AGGREGATES[name].in_rows and not self.categories:
            return _CHOOSE
        try:
            query = AGGREGATES[name].query(self.models)
            plan_release(
                self.models, self.n_rows, queries=[query], epsilon=1.0, categories=self.categories
            )
        except ValueError as error:
            return str(error)
        return ""
