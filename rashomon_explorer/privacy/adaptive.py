"""Guarantees for charges that are each chosen after seeing the earlier results."""

from collections.abc import Sequence
from itertools import accumulate

from rashomon_explorer.privacy.conversions import filter_order
from rashomon_explorer.privacy.divergence import Divergence
from rashomon_explorer.privacy.guarantee import Guarantee
from rashomon_explorer.privacy.ledger.totals import ROUNDING, Totals, takes_delta

__all__ = ["ROUNDING", "adaptive_epsilon", "ledger_order", "running_epsilon", "takes_delta"]


def adaptive_epsilon(
    charges: Sequence[Guarantee], delta: float, *, order: float | None = None
) -> float:
    """Total ε of adaptively chosen charges, as a stopping rule may use it.

    Charges are admitted as long as this stays within ε; then everything that was admitted is
    (ε, δ)-DP, although both which charges came and how many depended on the results
    (docs/ledger.md). Without (ε, δ) parts it is the less of the pure sum and of the zCDP sum at
    δ. (ε, δ) parts leave no δ for zCDP: which of the two δ pays for has to be settled before
    anything is seen, so it is settled by the first charge. Gaussian DP counts as the zCDP that
    it implies: a sum that one result lets end in μ and another in ρ is not known to be a filter.
    With an order, settled before anything is seen, Rényi divergences at it are a third sum, which
    δ may pay for in place of zCDP; of the order of a budget, all of which may be spent in ρ, it
    admits what zCDP admits, and more.

    Parameters
    ----------
    charges : sequence of Guarantee
        In the order in which they were reserved.
    delta : float
        δ in [0, 1).
    order : float, optional
        The one order, that of :func:`~rashomon_explorer.privacy.conversions.filter_order` for the
        budget.

    Returns
    -------
    float
        Infinity if nothing can be claimed.

    Examples
    --------
    >>> from rashomon_explorer.privacy import approximate, bounded_range, pure
    >>> round(adaptive_epsilon([bounded_range(eta=0.1)] * 100, 1e-6), 3)
    2.419
    >>> adaptive_epsilon([approximate(1.0, 1e-7), pure(0.5)], 1e-6)
    1.5
    >>> adaptive_epsilon([pure(0.5), approximate(1.0, 1e-7)], 1e-6)
    inf
    """
    return Totals.of(charges, order).epsilon(delta)


def running_epsilon(
    charges: Sequence[Guarantee],
    delta: float,
    *,
    order: float | None = None,
    told: Sequence[Divergence | None] | None = None,
) -> list[float]:
    """Total ε after none, one, … and all of the charges, as :func:`adaptive_epsilon` has it."""
    entered = told or [None] * len(charges)
    steps = accumulate(
        zip(charges, entered, strict=True),
        lambda totals, charge: totals.plus(*charge),
        initial=Totals(order=order),
    )
    return [totals.epsilon(delta) for totals in steps]


def ledger_order(charges: Sequence[Guarantee]) -> float | None:
    """Rényi order at which charges are added up: that of the request of the first charge."""
    asked = charges[0].requested if charges else None
    return None if asked is None else filter_order(*asked)
