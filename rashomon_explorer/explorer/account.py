"""The ledger of the page, and the cost of a draw."""

import math
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from rashomon_explorer._utils.bisection import bisect
from rashomon_explorer.exceptions import LedgerError
from rashomon_explorer.explorer.state import ExplorerState
from rashomon_explorer.mechanisms.planning.plan import Plan
from rashomon_explorer.mechanisms.planning.pricing import draws_guarantee
from rashomon_explorer.mechanisms.planning.weakness import weak_guarantee_reason
from rashomon_explorer.plots.text import cost_text as text_price
from rashomon_explorer.plots.text import number, what_is_left
from rashomon_explorer.privacy import Guarantee, Ledger, LedgerEntry, pure, zcdp
from rashomon_explorer.privacy.conversions import filter_order, zcdp_rho
from rashomon_explorer.privacy.ledger.charge import PendingLedger
from rashomon_explorer.privacy.ledger.totals import ROUNDING, Totals
from rashomon_explorer.privacy.tradeoff import GaussianObjectivePerturbation

_HALVINGS = 40


@dataclass(frozen=True)
class Account:
    """Budget and charges of one data set."""

    path: Path
    exists: bool
    budget: float
    delta: float
    charges: tuple[LedgerEntry, ...] = ()
    totals: Totals = field(default_factory=Totals)

    @property
    def guarantees(self) -> list[Guarantee]:
        """Guarantees of all charges that are not voided."""
        return [entry.guarantee for entry in self.charges if entry.counts]

    @property
    def spent(self) -> float:
        """Total ε of all charges at the budget's δ, as :meth:`Ledger.spent` gives it."""
        return self.totals.epsilon(self.delta)

    @property
    def left(self) -> float:
        """Remaining privacy budget."""
        return max(0.0, self.budget - self.spent)

    def after(self, guarantee: Guarantee) -> float:
        """Return the total ε once `guarantee` is charged too."""
        return self.totals.plus(guarantee).epsilon(self.delta)

    def adds(self, guarantee: Guarantee) -> float:
        """Increase of the ledger's total ε if `guarantee` is charged: its privacy cost."""
        after = self.after(guarantee)
        return max(0.0, after - self.spent) if math.isfinite(after) else math.inf

    def affordable(self, plan: Plan) -> float:
        """Largest ε for this number of draws that the remaining budget allows; 0 if none."""
        priced: Callable[[float], Guarantee]
        columns = getattr(plan, "columns", None)  # beside which η is the price of a part
        if isinstance(
            plan.guarantee.curve, GaussianObjectivePerturbation
        ):  # as much as zCDP of its ε
            most, priced = zcdp_rho(plan.epsilon, plan.delta), zcdp
        elif columns is None and math.isfinite(plan.eta):
            most, priced = plan.eta, partial(draws_guarantee, n_draws=plan.n_draws, ledger=True)
        elif columns is not None and not columns.gaussian:
            most, priced = plan.guarantee.epsilon(0.0), pure
        else:  # a path or an ellipsoid, which a ledger counts by its zCDP
            most, priced = plan.guarantee.rho, zcdp
        if not math.isfinite(most):
            return 0.0
        found = bisect(lambda cost: self.affords(priced(cost)), 0.0, most, halvings=_HALVINGS)
        return priced(found).epsilon(plan.delta)

    def affords(self, guarantee: Guarantee) -> bool:
        """Return whether the budget allows `guarantee`, up to rounding."""
        return self.after(guarantee) <= self.budget * (1 + ROUNDING)


def ledger_path(home: Path, name: str) -> Path:
    """Return where the ledger of a data set is."""
    return home / f"{re.sub(r'[^A-Za-z0-9_.-]+', '-', name).strip('-.') or 'data'}.ledger"


def to_charge(path: Path | None, budget: tuple[float, float]) -> str | PendingLedger | None:
    """Return what an estimator is to charge: a ledger, or what will be one with ``budget``."""
    if path is None or path.exists():
        return None if path is None else str(path)
    return PendingLedger(path, *budget)


def read_account(path: Path, budget: tuple[float, float], *, known: bool = False) -> Account:
    """Read a ledger, or describe the one that the first draw creates."""
    if not path.exists():
        if known:
            raise LedgerError(
                f"the ledger {path}, which this table was charged to, is missing. Restore the "
                f"file from a copy or from where it was moved: without it the spent budget is "
                f"unknown, so nothing more can be drawn or released"
            )
        return Account(path, False, *budget, totals=Totals(order=filter_order(*budget)))
    with Ledger.open(path) as ledger:
        set_once = ledger.budget or (math.inf, budget[1])
        charges = tuple(ledger.entries())
        return Account(path, True, *set_once, charges=charges, totals=ledger.totals)


_LEAST = 1e-3  # an ε below which nothing is worth drawing


@dataclass(frozen=True)
class NextDraw:
    """Privacy cost and guarantee of the next draw, shared by all parts of the page."""

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
        """Increase of the ledger's total ε caused by this draw: its privacy cost."""
        return self.account.adds(self.plan.guarantee)

    @property
    def cost_text(self) -> str:
        """The privacy cost as text, rounded up."""
        return text_price(self.adds)

    @property
    def affordable(self) -> bool:
        """Whether the budget allows it."""
        return self.account.affords(self.plan.guarantee)

    @property
    def suggestion(self) -> str:
        """Suggestion if the budget does not allow the draw."""
        left = what_is_left(self.account.left)
        most = self.account.affordable(self.plan)
        told = f"This draw adds {self.cost_text}, and ε = {left} remains."
        if most < _LEAST:
            return f"{told} The budget is spent."
        return f"{told} Set ε to {number(most, rounding='down')} or less, or draw fewer models."

    @property
    def alone(self) -> str:
        """Privacy cost of the draws alone, if it differs; else empty."""
        apart = self.plan.guarantee.epsilon(self.plan.delta)
        return (
            "" if text_price(apart) == self.cost_text else f"{text_price(apart)} as the only charge"
        )

    @property
    def doubt(self) -> str:
        """Why the guarantee is weak, from public numbers; empty if it is not."""
        return weak_guarantee_reason(self.plan)
