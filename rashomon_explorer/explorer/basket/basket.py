"""What is to be bought of the rows, and what it would cost; reads no row."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from rashomon_explorer.explorer.account import Account
from rashomon_explorer.explorer.basket.choices import AGGREGATES, Paid
from rashomon_explorer.plots.text import price
from rashomon_explorer.release import Query, ReleasePlan, plan_release

_CHOOSE = (
    "it compares groups: choose a column under Groups, or make one sensitive in the view Data and "
    "declare its levels"
)


@dataclass(frozen=True)
class Basket:
    """Aggregates of some models on the rows, at a price that is known beforehand.

    Parameters
    ----------
    models : ReleasedSet or ReleasedTrees
        Paid draws: all of a set, or some that were chosen without a look at the rows.
    n_rows : int
        Rows of the table, which is public.
    names : tuple of str
        Keys of `AGGREGATES`.
    epsilon, delta : float
        What they may cost together, by themselves.
    weights : mapping of str to float
        Shares of the price, 1 each by default.
    categories : tuple
        Declared groups that are told apart.
    """

    models: Paid
    n_rows: int
    names: tuple[str, ...] = ()
    epsilon: float = 0.5
    delta: float = 0.0
    weights: Mapping[str, float] = field(default_factory=dict)
    categories: tuple[Any, ...] = ()

    @cached_property
    def queries(self) -> tuple[Query, ...]:
        """The questions."""
        return tuple(AGGREGATES[name].query(self.models) for name in self.names)

    @cached_property
    def budget(self) -> dict[str, Any]:
        """What `plan_release` and `release` are told: one and the same."""
        shares = {name: float(self.weights.get(name, 1.0)) for name in self.names}
        told = {"epsilon": self.epsilon, "delta": self.delta, "categories": self.categories}
        return {**told, "queries": list(self.queries), "weights": shares}

    @cached_property
    def plan(self) -> ReleasePlan | None:
        """Noise and price by the ledger's rule; None of an empty basket."""
        return plan_release(self.models, self.n_rows, **self.budget) if self.names else None

    def adds(self, account: Account) -> float:
        """Return what paying adds to what is spent, by the ledger's rule: *the* price."""
        return 0.0 if self.plan is None else account.adds(self.plan.guarantee)

    def price(self, account: Account) -> str:
        """Return the price in words, rounded up."""
        return price(self.adds(account))

    def affordable(self, account: Account) -> bool:
        """Whether the budget allows it."""
        return self.plan is None or account.affords(self.plan.guarantee)

    def why_not(self, name: str) -> str:
        """Say why an aggregate cannot be had of these models; empty where it can."""
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
