"""What a bundle holds: released models, paid aggregates, public settings."""

from dataclasses import dataclass

from rashomon_explorer.constants import Constants
from rashomon_explorer.explorer.account import Account
from rashomon_explorer.explorer.basket.purchase import Purchase
from rashomon_explorer.privacy import Guarantee, adaptive_epsilon
from rashomon_explorer.rashomon_set import ReleasedSet
from rashomon_explorer.schema import TableSchema


@dataclass(frozen=True)
class Contents:
    """What may leave; there is no place in it for a row or a loss.

    Attributes
    ----------
    table : str
        Name of the data set.
    models : ReleasedSet
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
    models: ReleasedSet
    purchases: tuple[Purchase, ...] = ()
    schema: TableSchema | None = None
    constants: Constants | None = None
    account: Account | None = None

    @property
    def models_price(self) -> float:
        """ε that the models cost by themselves."""
        return self.models.guarantee.epsilon(self.models.plan.delta)

    @property
    def guarantees(self) -> tuple[Guarantee, ...]:
        """Of the models, and of each purchase."""
        return (self.models.guarantee, *(one.released.guarantee for one in self.purchases))

    @property
    def total(self) -> float:
        """ε of all of it together, at the models' δ."""
        return adaptive_epsilon(list(self.guarantees), self.models.plan.delta)
