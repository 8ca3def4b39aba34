"""Rényi differential privacy that is known at some orders."""

import math

from numpy.typing import ArrayLike

from rashomon_explorer.privacy.guarantee import Guarantee
from rashomon_explorer.privacy.renyi import check_curve


def rdp(orders: ArrayLike, epsilons: ArrayLike) -> Guarantee:
    """Rényi DP: D_a ≤ ε(a) in both directions, at each of some orders a (Mironov 2017).

    It becomes (ε, δ)-DP by Proposition 12 of Canonne, Kamath and Steinke 2020. No finite number of
    orders proves a ρ of zCDP, so that a ledger counts it at its one order alone; say
    ``zcdp(rho=)`` where D_a ≤ aρ is proved for all a.

    Parameters
    ----------
    orders : array-like of shape (m,)
        a > 1, in any order and all different.
    epsilons : array-like of shape (m,)
        ε(a) ≥ 0; an infinite one is left out.

    Raises
    ------
    ValueError
        If a number is out of range, an order given twice, or nothing finite is left.

    Examples
    --------
    >>> part = rdp(orders=[2, 4, 8, 16, 32], epsilons=[0.2, 0.4, 0.8, 1.6, 3.2])
    >>> round(part.epsilon(1e-6), 3), round(part.renyi(3.0), 3), part.rho
    (2.272, 0.35, inf)
    """
    known, divergences = check_curve(orders, epsilons)
    pairs = sorted(zip(known.tolist(), divergences.tolist(), strict=True))
    if len({order for order, _ in pairs}) < len(pairs):
        raise ValueError(f"orders must all be different, got {known.tolist()!r}")
    finite = tuple(pair for pair in pairs if math.isfinite(pair[1]))
    if not finite:
        raise ValueError("epsilons must be finite at one order at least; use no_guarantee(reason)")
    return Guarantee("rdp", "Rényi DP (Mironov 2017)", orders=finite)
