"""The ledger of the page, and the cost of a draw."""

import math
import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from rashomon_explorer._utils.bisection import bisect
from rashomon_explorer._utils.formatting import left_text
from rashomon_explorer.exceptions import LedgerError
from rashomon_explorer.explorer.state import ExplorerState
from rashomon_explorer.mechanisms.costs import draws_guarantee
from rashomon_explorer.plots.text import cost_text, number
from rashomon_explorer.privacy import Guarantee, Ledger, LedgerEntry, gdp, pure, zcdp
from rashomon_explorer.privacy.conversions import filter_order, zcdp_rho
from rashomon_explorer.privacy.guarantee import ROUNDING
from rashomon_explorer.privacy.ledger.charge import PendingLedger
from rashomon_explorer.privacy.ledger.totals import (
    Spending,
    Totals,
    counted_guarantees,
    running_epsilon,
)
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
        return [entry.guarantee for entry in self.charges if entry.counts]

    @cached_property
    def spent(self) -> float:
        """Total ε of all charges at the budget's δ, as :meth:`Ledger.spent` gives it."""
        return self.spending.epsilon()

    @cached_property
    def spending(self) -> Spending:
        return Spending.from_entries(self.charges, self.totals, (self.budget, self.delta))

    @property
    def left(self) -> float:
        return max(0.0, self.budget - self.spent)

    def after(self, guarantee: Guarantee) -> float:
        """Total ε after one more charge, computed once for every plan that the page shows."""
        if guarantee not in self._totals_after:
            self._totals_after[guarantee] = self.spending.plus(guarantee).epsilon()
        return self._totals_after[guarantee]

    @cached_property
    def _totals_after(self) -> dict[Guarantee, float]:
        return {}

    def adds(self, guarantee: Guarantee) -> float:
        after = self.after(guarantee)
        return max(0.0, after - self.spent) if math.isfinite(after) else math.inf

    def charged(self, guarantee: Guarantee) -> float | None:
        """Increase of the total ε when `guarantee` was charged; None if no charge has it."""
        counted = [entry for entry in self.charges if entry.counts]
        guarantees = [entry.guarantee for entry in counted]
        if guarantee not in guarantees:
            return None
        divergences = [entry.divergence for entry in counted]
        totals = running_epsilon(
            counted_guarantees(counted),
            self.delta,
            totals=self.totals,
            divergences=divergences,
            budget=self.budget,
        )
        position = guarantees.index(guarantee)
        return max(0.0, totals[position + 1] - totals[position])

    def affordable(self, plan: Any) -> float:
        """Largest ε of a plan of this kind that the remaining budget allows; 0 if none."""
        priced: Callable[[float], Guarantee]
        columns = getattr(plan, "columns", None)  # if set, η covers only part of the cost
        eta = getattr(plan, "eta", math.inf)
        if isinstance(plan.guarantee.curve, GaussianObjectivePerturbation):
            return self._affordable_perturbation(plan, plan.guarantee.curve)
        if columns is None and math.isfinite(eta):
            upper, priced = eta, partial(draws_guarantee, n_draws=plan.n_draws, ledger=True)
        elif math.isfinite(plan.guarantee.epsilon(0.0)):
            upper, priced = plan.guarantee.epsilon(0.0), pure
        elif self.totals.accounting == "gdp":
            upper, priced = plan.guarantee.mu, gdp
        else:  # a path, an ellipsoid or Gaussian noise: the ledger composes its zCDP guarantee
            upper, priced = plan.guarantee.rho, zcdp
        if not math.isfinite(upper):
            return 0.0
        cost_limit = bisect(lambda cost: self.affords(priced(cost)), 0.0, upper, halvings=_HALVINGS)
        return priced(cost_limit).epsilon(plan.delta)

    def _affordable_perturbation(self, plan: Any, curve: GaussianObjectivePerturbation) -> float:
        """Largest ε whose plan has less noise than fits, with the plan's change of variables."""

        def shrunk(share: float) -> Guarantee:
            smaller = replace(curve, ratio=share * curve.ratio, mu=share * curve.mu)
            return replace(plan.guarantee, curve=smaller, rho=math.inf, mu=math.inf)

        share = bisect(lambda share: self.affords(shrunk(share)), 0.0, 1.0, halvings=_HALVINGS)
        divergence = shrunk(share).renyi

        def exceeds(epsilon: float) -> bool:
            order = filter_order(epsilon, plan.delta)
            return order is None or divergence(order) > order * zcdp_rho(epsilon, plan.delta)

        return bisect(exceeds, 0.0, plan.epsilon, halvings=_HALVINGS)

    def affords(self, guarantee: Guarantee) -> bool:
        return self.totals.plus(guarantee).epsilon(self.delta) <= self.budget * (1 + ROUNDING)


def ledger_path(home: Path, name: str) -> Path:
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
class Cost:
    """Privacy cost of a plan by the ledger's rule: the one number of all parts of the page."""

    plan: Any
    account: Account

    @property
    def adds(self) -> float:
        return self.account.adds(self.plan.guarantee)

    @property
    def text(self) -> str:
        return cost_text(self.adds)

    @property
    def affordable(self) -> bool:
        return self.account.affords(self.plan.guarantee)

    @property
    def left_after(self) -> float:
        return self.account.budget - self.account.after(self.plan.guarantee)

    def explained(self, requested: float) -> str:
        """Why the cost differs from the requested ε, in one sentence; empty if it does not."""
        account = self.account
        if self.text == cost_text(requested):
            return ""
        if self.adds > requested:
            return f"The ledger's rule counts more than the {cost_text(requested)} set here."
        if account.spent > 0:
            after = cost_text(account.after(self.plan.guarantee)).removeprefix("ε = ")
            return (
                f"This adds {self.text} to the ledger ({number(account.spent)} → {after}), not "
                f"{cost_text(requested).removeprefix('ε = ')}: charges of the same rows cost less "
                f"together."
            )
        return f"The mechanism needs {self.text} of the {cost_text(requested)} set here."

    def shortage(self, remedy: str) -> str:
        """Describe a cost over the budget; ``remedy`` may refer to the affordable ``{most}``."""
        message = f"This adds {self.text}, and ε = {left_text(self.account.left)} remains."
        if "{most}" not in remedy:
            return f"{message} {remedy}"
        affordable_epsilon = self.account.affordable(self.plan)
        if affordable_epsilon < _LEAST:
            return f"{message} The budget is spent."
        return f"{message} {remedy.format(most=number(affordable_epsilon, rounding='down'))}"


def draw_cost(state: ExplorerState) -> Cost | None:
    """Cost of the next draw of a set; None without a plan or if nothing is charged."""
    if state.plan is None or state.account is None or state.data is None or state.uncharged:
        return None
    return Cost(state.plan, state.account)
