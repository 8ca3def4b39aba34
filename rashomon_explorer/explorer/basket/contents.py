"""What a bundle holds: released models, paid aggregates, public settings."""

from dataclasses import dataclass

from rashomon_explorer.constants import Constants
from rashomon_explorer.explorer.account import Account
from rashomon_explorer.explorer.basket.purchase import Purchase
from rashomon_explorer.explorer.family import paid_delta
from rashomon_explorer.privacy import Guarantee, adaptive_epsilon
from rashomon_explorer.privacy.adaptive import settled
from rashomon_explorer.rashomon_set import ReleasedSet, ReleasedTrees
from rashomon_explorer.schema import TableSchema


@dataclass(frozen=True)
class Contents:
    """What may leave; there is no place in it for a row or a loss.

    Attributes
    ----------
    table : str
        Name of the data set.
    models : ReleasedSet or ReleasedTrees
    n_rows : int or None
        Rows of the table, which is public; None where it is not here.
    purchases : tuple of Purchase
        Aggregates of these models.
    schema : TableSchema or None
        How rows become what the models take.
    constants : Constants or None
        Public constants of the problem.
    account : Account or None
        The ledger, of which number, notion and total of each charge leave.
    """

    table: str
    models: ReleasedSet | ReleasedTrees
    n_rows: int | None
    purchases: tuple[Purchase, ...] = ()
    schema: TableSchema | None = None
    constants: Constants | None = None
    account: Account | None = None

    @property
    def of_trees(self) -> bool:
        """Whether the models are trees."""
        return isinstance(self.models, ReleasedTrees)

    @property
    def linear(self) -> ReleasedSet:
        """The models, where they have coefficients."""
        if isinstance(self.models, ReleasedTrees):
            raise TypeError("trees have no coefficients")
        return self.models

    @property
    def delta(self) -> float:
        """δ that the models were paid for with."""
        return paid_delta(self.models.guarantee)

    @property
    def models_price(self) -> float:
        """ε that the models cost by themselves."""
        return self.models.guarantee.epsilon(self.delta)

    @property
    def guarantees(self) -> tuple[Guarantee, ...]:
        """Of the models, and of each purchase."""
        return (self.models.guarantee, *(one.released.guarantee for one in self.purchases))

    @property
    def total(self) -> float:
        """ε of all of it together, at the models' δ."""
        every = list(self.guarantees)
        order = settled(every) if self.account is None else self.account.totals.order
        return adaptive_epsilon(every, self.delta, order=order)
