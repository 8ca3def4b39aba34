"""The one price of a draw on the page: what it adds to the ledger, and whether it is worth it."""

from dataclasses import dataclass

from rashomon_explorer.explorer.account import Account
from rashomon_explorer.explorer.state import ExplorerState
from rashomon_explorer.planning import Plan
from rashomon_explorer.planning.weakness import weakness
from rashomon_explorer.plots.text import number, price, what_is_left

_LEAST = 1e-3  # an ε below which nothing is worth drawing


@dataclass(frozen=True)
class NextDraw:
    """What the next draw costs and promises, as every part of the page says it.

    Parameters
    ----------
    plan : Plan
        What it promises.
    account : Account
        The ledger now, or what it would be.
    """

    plan: Plan
    account: Account

    @classmethod
    def of(cls, state: ExplorerState) -> "NextDraw | None":
        """Take it from a state; None without data, or where nothing is charged."""
        if state.plan is None or state.account is None or state.data is None:
            return None
        return None if state.uncharged else cls(state.plan, state.account)

    @property
    def adds(self) -> float:
        """What the draw adds to what is spent, by the ledger's rule: *the* price."""
        return self.account.adds(self.plan.guarantee)

    @property
    def price(self) -> str:
        """The price in words, rounded up."""
        return price(self.adds)

    @property
    def affordable(self) -> bool:
        """Whether the budget allows it."""
        return self.account.affords(self.plan.guarantee)

    @property
    def remedy(self) -> str:
        """What to set where the budget does not allow it."""
        left = what_is_left(self.account.left)
        most = self.account.affordable(self.plan)
        told = f"This draw would add {self.price}, and ε = {left} is left."
        if most < _LEAST:
            return f"{told} The budget is spent."
        return f"{told} Set ε to {number(most, rounding='down')} or less, or draw fewer models."

    @property
    def alone(self) -> str:
        """What as many draws cost by themselves, where that is another number; empty otherwise."""
        apart = self.plan.guarantee.epsilon(self.plan.delta)
        return "" if price(apart) == self.price else f"{price(apart)} if it were the only charge"

    @property
    def doubt(self) -> str:
        """Why the draw may buy nothing, from public numbers; empty where it promises enough."""
        return weakness(self.plan)
