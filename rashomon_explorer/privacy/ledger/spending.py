"""ε that a ledger shows as spent by its charges, beside the rule that admits them."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import accumulate

import numpy as np

from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer.privacy import conversions
from rashomon_explorer.privacy.guarantee import ROUNDING, Divergence, Guarantee, bounded_range_draws
from rashomon_explorer.privacy.ledger.charge import LedgerEntry
from rashomon_explorer.privacy.ledger.totals import Totals, is_approximate

_ORDERS = tuple((1 + np.geomspace(0.05, 1e4, 40)).tolist())

Budget = tuple[float, float]  # ε and δ


@dataclass(frozen=True)
class Spending:
    """Charges that count, their totals by the ledger's rule, and its budget (ledger-proofs.md)."""

    totals: Totals
    charges: tuple[tuple[Guarantee, int], ...] = ()
    """Guarantees, and how often each was charged."""
    budget: Budget | None = None

    @classmethod
    def from_entries(
        cls, entries: Sequence[LedgerEntry], totals: Totals, budget: Budget | None
    ) -> Spending:
        """Spending of a ledger's entries; voided ones do not count."""
        counted = counted_guarantees([entry for entry in entries if entry.counts])
        return cls(totals, tuple(Counter(counted).items()), budget)

    def plus(self, guarantee: Guarantee) -> Spending:
        """Return the spending after one more charge."""
        charges = (*self.charges, (guarantee, 1))
        return Spending(self.totals.plus(guarantee), charges, self.budget)

    def epsilon(self, delta: float | None = None) -> float:
        """Total ε of all charges at δ, by default the budget's; above it only if it is exceeded."""
        if delta is None:
            delta = 0.0 if self.budget is None else self.budget[1]
        if sum(count for _, count in self.charges) != self.totals.live:
            return self.totals.epsilon(delta)  # another program changed the file
        orders = _orders((charge for charge, _ in self.charges), self.totals.order)
        sums = np.zeros_like(orders)
        for guarantee, count in self.charges:
            sums += count * _divergences(guarantee, orders)
        return _spent_epsilon(self.totals, sums, orders, delta, self.budget)


def running_epsilon(
    charges: Sequence[Guarantee],
    delta: float,
    *,
    totals: Totals | None = None,
    divergences: Sequence[Divergence | None] | None = None,
    budget: float = math.inf,
) -> list[float]:
    """ε after none, one, … and all of the charges, as a ledger with this rule shows it."""
    recorded = divergences or [None] * len(charges)
    steps = accumulate(
        zip(charges, recorded, strict=True),
        lambda before, charge: before.plus(*charge),
        initial=(totals or Totals()).cleared(),
    )
    orders = _orders(charges, None if totals is None else totals.order)
    each = [np.zeros_like(orders), *(_divergences(charge, orders) for charge in charges)]
    return [
        _spent_epsilon(after, sums, orders, delta, (budget, delta))
        for after, sums in zip(steps, accumulate(each), strict=True)
    ]


def counted_guarantees(entries: Sequence[LedgerEntry]) -> list[Guarantee]:
    """Guarantees of entries as they add up: of a run with two entries only the zCDP does."""
    linked = {entry.extends for entry in entries} - {None}
    linked |= {entry.id for entry in entries if entry.extends is not None}
    return [
        zcdp_part(entry.guarantee) if entry.id in linked else entry.guarantee for entry in entries
    ]


def zcdp_part(guarantee: Guarantee) -> Guarantee:
    """Return the guarantee of which only zCDP adds up with the other entry of one run."""
    return replace(guarantee, notion="zcdp", curve=None, orders=())


def _spent_epsilon(
    totals: Totals, sums: FloatArray, orders: FloatArray, delta: float, budget: Budget | None
) -> float:
    by_rule = totals.epsilon(delta)
    if totals.leaks or totals.accounting in ("gdp", "pure"):
        return by_rule
    pure, rho = float(totals.sums["pure_epsilon"]), float(totals.sums["rho"])
    bounds = [pure, conversions.zcdp_epsilon(rho, delta)]
    if delta > 0:
        bounds.append(max(0.0, float((sums + conversions.conversion(orders, delta, np)).min())))
    if budget is None or delta != budget[1]:
        return min(by_rule, *bounds)
    if by_rule > budget[0] * (1 + ROUNDING):
        return by_rule
    return min(max(by_rule, budget[0]), *bounds)


def _orders(charges: Iterable[Guarantee], order: float | None) -> FloatArray:
    """Rényi orders to try, with that of the ledger and those of the requests."""
    requests = {charge.requested for charge in charges}
    planned = (conversions.filter_order(*request) for request in requests if request is not None)
    return np.array(sorted({*_ORDERS, order, *planned} - {None}))


def _divergences(guarantee: Guarantee, orders: FloatArray) -> FloatArray:
    return np.array([_divergence(guarantee, order) for order in orders.tolist()])


_LEAST_SHARE = 0.5  # of the requested ε that a plan costs by its own guarantee; .8 is usual
_MOST_DRAWS = 1e6  # into which a pure ε may be split


def least_charge(totals: Totals, epsilon: float, delta: float) -> Totals:
    """Return the totals after the least that a plan for (ε, δ) costs, for any number of rows."""
    pure = _LEAST_SHARE * epsilon
    rho = conversions.zcdp_rho(pure, delta) if delta else pure**2 / 8 / _MOST_DRAWS
    charge = Guarantee("composition", "least cost of a plan", pure_epsilon=pure, rho=rho)
    if totals.accounting == "gdp":
        mu = conversions.gdp_mu(pure, delta) if delta else math.sqrt(2 * rho)
        return totals.plus(charge, Divergence(mu**2))
    if totals.order is None:
        return totals.plus(charge)
    return totals.plus(charge, Divergence(min(totals.order * rho, pure)))


@lru_cache(maxsize=2**16)  # a ledger is shown many times
def _divergence(guarantee: Guarantee, order: float) -> float:
    """Bound on D_a that a plan for a ledger counts: of exact draws, pure DP and zCDP only."""
    if is_approximate(guarantee):
        return math.inf
    if guarantee.notion == "zcdp":
        return order * guarantee.rho
    if bounded_range_draws(guarantee) is not None:
        return min(order * guarantee.rho, guarantee.pure_epsilon)
    return guarantee.renyi(order)
