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
from rashomon_explorer.privacy.guarantee import ROUNDING
from rashomon_explorer.privacy.ledger.charge import PendingLedger
from rashomon_explorer.privacy.ledger.totals import Totals
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
        """Total ε of the ledger after `guarantee` is charged."""
        return self.totals.plus(guarantee).epsilon(self.delta)

    def adds(self, guarantee: Guarantee) -> float:
        """Increase of the ledger's total ε if `guarantee` is charged: its privacy cost."""
        after = self.after(guarantee)
        return max(0.0, after - self.spent) if math.isfinite(after) else math.inf

    def affordable(self, plan: Plan) -> float:
        """Largest ε for this number of draws that the remaining budget allows; 0 if none."""
        priced: Callable[[float], Guarantee]
        columns = getattr(plan, "columns", None)  # if set, η covers only part of the cost
        if isinstance(
            plan.guarantee.curve, GaussianObjectivePerturbation
        ):  # charged as zCDP with the same (ε, δ)
            most, priced = zcdp_rho(plan.epsilon, plan.delta), zcdp
        elif columns is None and math.isfinite(plan.eta):
            most, priced = plan.eta, partial(draws_guarantee, n_draws=plan.n_draws, ledger=True)
        elif columns is not None and not columns.gaussian:
            most, priced = plan.guarantee.epsilon(0.0), pure
        else:  # a path or an ellipsoid: the ledger composes its zCDP guarantee
            most, priced = plan.guarantee.rho, zcdp
        if not math.isfinite(most):
            return 0.0
        found = bisect(lambda cost: self.affords(priced(cost)), 0.0, most, halvings=_HALVINGS)
        return priced(found).epsilon(plan.delta)

    def affords(self, guarantee: Guarantee) -> bool:
        """Whether the budget allows `guarantee`, up to rounding."""
        return self.after(guarantee) <= self.budget * (1 + ROUNDING)


def ledger_path(home: Path, name: str) -> Path:
    """Path of a data set's ledger."""
    return home / f"{re.sub(r'[^A-Za-z0-9_.-]+', '-', name).strip('-.') or 'data'}.ledger"


def to_charge(path: Path | None, budget: tuple[float, float]) -> str | PendingLedger | None:
    """Ledger that an estimator charges: an existing one, or a pending one with ``budget``."""
    if path is None or path.exists():
        return None if path is None else str(path)
    return PendingLedger(path, *budget)


def read_account(path: Path, budget: tuple[float, float], *, known: bool = False) -> Account:
    """Read a ledger, or describe the ledger that the first draw will create."""
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


_LEAST = 1e-3  # if no larger ε is affordable, the budget counts as spent


@dataclass(frozen=True)
class NextDraw:
    """Privacy cost and guarantee of the next draw, shared by all parts of the page."""

    plan: Plan
    account: Account

    @classmethod
    def of(cls, state: ExplorerState) -> "NextDraw | None":
        """Next draw of the current plan; None without data or if nothing is charged."""
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
        """Whether the remaining budget allows the draw."""
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
        """Privacy cost if the draw were the only charge; empty if it is the same."""
        apart = self.plan.guarantee.epsilon(self.plan.delta)
        return (
            "" if text_price(apart) == self.cost_text else f"{text_price(apart)} as the only charge"
        )

    @property
    def doubt(self) -> str:
        """Why the guarantee is weak, from public parameters; empty if it is not weak."""
        return weak_guarantee_reason(self.plan)
