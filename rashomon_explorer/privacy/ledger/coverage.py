"""What a ledger's rule covers: a guarantee is not charged by a much looser one unasked."""

import math

from rashomon_explorer.exceptions import LedgerError
from rashomon_explorer.privacy.guarantee import Guarantee
from rashomon_explorer.privacy.ledger.totals import Totals, takes_delta
from rashomon_explorer.privacy.tradeoff import RepeatedBoundedRange
from rashomon_explorer.privacy.zcdp import zcdp_epsilon
from rashomon_explorer.rounding import epsilon_text

RULES = ("zcdp",)
"""Looser rules that can be asked for by name."""

_USUAL_DELTA = 1e-6
# A ledger's rule costs up to a tenth more than the exact sum of bounded range draws and of
# Gaussian ones, which its page says. Sampled batches cost many times more.
_LOOSE = 1.5
_SLACK = 0.05
_HAIR = 1e-9  # a plan that spends all of what was asked for must not fail by an ulp


def check_covered(
    guarantee: Guarantee, delta: float, rule: str | None, order: float | None = None
) -> None:
    """Refuse what costs far more by the ledger's rule than by its own curve.

    What is chosen as one goes adds up in pure DP and at the ledger's one Rényi order, or in zCDP
    where it has none. A trade-off that bounds no divergence there, as that of composed loss
    distributions does not, is not in the sum (docs/ledger.md).

    Where the budget's δ is 0 the two are compared at 10⁻⁶; ``rule="zcdp"`` asks to be charged by
    the looser one. Who asked for an (ε, δ) and is charged no more for it has what was asked for.

    >>> from rashomon_explorer.privacy import bounded_range, gdp
    >>> check_covered(bounded_range(0.5), 1e-6, None)
    >>> check_covered(gdp(0.5), 1e-6, None)
    """
    if rule is not None:
        if rule not in RULES:
            raise ValueError(f"rule must be one of {RULES} or None, got {rule!r}")
        return
    if guarantee.curve is None or isinstance(guarantee.curve, RepeatedBoundedRange):
        return
    if _as_asked(guarantee, order):
        return
    delta = delta or _USUAL_DELTA
    charged, own = _charged(guarantee, delta, order), guarantee.epsilon(delta)
    if math.isfinite(charged) and charged > _LOOSE * own + _SLACK:
        raise LedgerError(
            f"no rule of the ledger covers this guarantee ({guarantee.theorem}): by its rule it "
            f"would be charged ε={epsilon_text(charged)}, while its own curve says "
            f"ε={epsilon_text(own)} at δ={delta:g}. Pay the higher price with "
            'reserve(..., rule="zcdp"), or leave the ledger out and keep the guarantee itself. '
            "Nothing was run and nothing was spent"
        )


def _as_asked(guarantee: Guarantee, order: float | None) -> bool:
    """Whether the price is within what was asked for, as a plan for this ledger is."""
    epsilon, delta = guarantee.asked or (0.0, 0.0)
    return delta > 0 and _charged(guarantee, delta, order) <= epsilon * (1 + _HAIR)


def _charged(guarantee: Guarantee, delta: float, order: float | None) -> float:
    """Price of a charge beside others, as the ε of a zCDP that costs as much."""
    totals = Totals.of([guarantee], order)
    if order is None or takes_delta(guarantee):
        return totals.epsilon(delta)
    alike = zcdp_epsilon(float(totals.divergences) / order, delta)
    return min(guarantee.pure_epsilon, alike)
