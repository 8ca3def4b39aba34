"""Composition of guarantees of every notion, including adaptively chosen charges."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import lru_cache

from numpy.typing import ArrayLike
from scipy.optimize import brentq

from rashomon_explorer._utils.validation import check_count, check_delta, check_positive
from rashomon_explorer.privacy import conversions, tradeoff
from rashomon_explorer.privacy.guarantee import Guarantee
from rashomon_explorer.privacy.ledger.totals import Totals
from rashomon_explorer.privacy.notions import bounded_range


def rdp(orders: ArrayLike, epsilons: ArrayLike) -> Guarantee:
    """Rényi DP: D_a ≤ ε(a) in both directions, at each of the given orders a (Mironov 2017).

    Conversion to (ε, δ)-DP follows Proposition 12 of Canonne, Kamath and Steinke 2020. No finite
    number of orders proves a ρ of zCDP, so a ledger counts it only at the order of the ledger.
    Use ``zcdp(rho=)`` if D_a ≤ aρ is proved for all a.

    Parameters
    ----------
    orders : array-like of shape (m,)
        a > 1, distinct, in any order.
    epsilons : array-like of shape (m,)
        ε(a) ≥ 0; infinite values are ignored.

    Raises
    ------
    ValueError
        If a number is out of range, an order occurs twice, or no value is finite.

    Examples
    --------
    >>> part = rdp(orders=[2, 4, 8, 16, 32], epsilons=[0.2, 0.4, 0.8, 1.6, 3.2])
    >>> round(part.epsilon(1e-6), 3), round(part.renyi(3.0), 3), part.rho
    (2.272, 0.35, inf)
    """
    orders, divergences = conversions.check_curve(orders, epsilons)
    pairs = sorted(zip(orders.tolist(), divergences.tolist(), strict=True))
    if len({order for order, _ in pairs}) < len(pairs):
        raise ValueError(f"orders must all be different, got {orders.tolist()!r}")
    finite = tuple(pair for pair in pairs if math.isfinite(pair[1]))
    if not finite:
        raise ValueError("epsilons must be finite at one or more orders; use no_guarantee(reason)")
    return Guarantee("rdp", "Rényi DP (Mironov 2017)", orders=finite)


_STEP = 1e-14  # relative to η: step that lowers the root, doubled until δ is not exceeded


def repeated_bounded_range(eta: float, k: int) -> Guarantee:
    """Guarantee of k independent draws, each with η-bounded range, composed.

    Every composition of k draws is kη-DP and kη²/8-zCDP. Because no draw is chosen after another
    was seen, its (ε, δ) are the exact optimum of Dong, Durfee and Rogers 2020; see
    :class:`~rashomon_explorer.privacy.tradeoff.RepeatedBoundedRange` and docs/composition.md.
    When composed with other mechanisms by :func:`~rashomon_explorer.privacy.compose` or a ledger,
    the kη and the kη²/8 count.

    Parameters
    ----------
    eta : float
        η ≥ 0 of one draw.
    k : int
        Number of draws, ≥ 1, fixed before the first.

    Examples
    --------
    >>> from rashomon_explorer.privacy import compose
    >>> draws = repeated_bounded_range(eta=0.5, k=20)
    >>> round(draws.epsilon(1e-6), 3), round(compose([bounded_range(0.5)] * 20).epsilon(1e-6), 3)
    (5.393, 5.927)
    """
    check_count(k=k)
    draw = bounded_range(eta)
    several = "draw" if k == 1 else "draws"
    return Guarantee(
        "repeated_bounded_range",
        f"exponential mechanism, {k} independent {several} of bounded range (Dong, Durfee and "
        "Rogers 2020; docs/composition.md)",
        pure_epsilon=k * draw.pure_epsilon,
        rho=k * draw.rho,
        assumptions=(
            *draw.assumptions,
            "draws are independent, of one law, and their number was fixed beforehand",
        ),
        curve=tradeoff.RepeatedBoundedRange(eta, int(k)) if math.isfinite(eta) else None,
    )


def affordable_repeated_eta(epsilon: float, delta: float, k: int) -> float:
    """Largest η of each of k independent draws whose total privacy cost is at most (ε, δ).

    Parameters
    ----------
    epsilon, delta : float
        Total budget: ε > 0 and finite, δ in [0, 1).
    k : int
        Number of draws, ≥ 1, fixed before the first.

    Returns
    -------
    float
        The cost of :func:`repeated_bounded_range` with this η is at most ε at δ.

    Examples
    --------
    >>> affordable_repeated_eta(4.0, 0.0, 20)
    0.2
    >>> eta = affordable_repeated_eta(4.0, 1e-6, 20)
    >>> round(eta, 3), repeated_bounded_range(eta, 20).epsilon(1e-6) <= 4.0
    (0.383, True)
    """
    check_positive(epsilon=epsilon)
    check_delta(delta)
    check_count(k=k)
    return _affordable(float(epsilon), float(delta), int(k))


@lru_cache(maxsize=256)  # the same value is needed for every radius
def _affordable(epsilon: float, delta: float, k: int) -> float:
    eta = epsilon / k
    if delta > 0:
        eta = max(eta, _largest_eta(epsilon, delta, k))
    step = _STEP
    while repeated_bounded_range(eta, k).epsilon(delta) > epsilon:
        eta, step = min(eta * (1 - step), math.nextafter(eta, 0.0)), 2 * step
    return eta


def _largest_eta(epsilon: float, delta: float, k: int) -> float:
    """Largest η with δ(ε; η) ≤ δ, by root finding; δ(ε; η) increases with η."""

    def excess(eta: float) -> float:
        profile = float(tradeoff.RepeatedBoundedRange(eta, k).delta(epsilon))
        return math.log(max(profile, 1e-320) / delta)

    low = high = epsilon / k  # where δ(ε) is 0
    while excess(high) <= 0:
        low, high = high, 2 * high
    return float(brentq(excess, low, high, xtol=1e-16 * high, rtol=1e-13))


def compose(parts: Iterable[Guarantee]) -> Guarantee:
    """Guarantee of several mechanisms on the same rows, with privacy costs fixed in advance.

    A mechanism may depend on earlier results, but its privacy cost may not. For costs that depend
    on results, as in a ledger, see :func:`adaptive_epsilon`. ε of pure DP, ρ of zCDP, μ² of
    Gaussian DP, Rényi curves and (ε, δ) parts each add up; at a given δ the least bound counts.

    Parameters
    ----------
    parts : iterable of Guarantee

    Returns
    -------
    Guarantee
        Zero privacy cost if there are no parts.

    Examples
    --------
    >>> compose([]).epsilon(0.0)
    0.0
    """
    parts = list(parts)
    if len(parts) == 1:
        return parts[0]
    theorems = dict.fromkeys(part.theorem for part in parts)
    total = Guarantee(
        "composition",
        f"composition of {len(parts)}: " + ", ".join(theorems) if parts else "nothing spent",
        pure_epsilon=math.fsum(part.pure_epsilon for part in parts),
        rho=math.fsum(part.rho for part in parts),
        mu=math.sqrt(math.fsum(part.mu**2 for part in parts)),
        approximate_epsilon=math.fsum(part.approximate_epsilon for part in parts),
        approximate_delta=min(1.0, math.fsum(part.approximate_delta for part in parts)),
        assumptions=tuple(dict.fromkeys(a for part in parts for a in part.assumptions)),
        seeded=any(part.seeded for part in parts),
        curve=_composed_curve(parts),
        orders=_composed_orders(parts),
    )
    return total if total.holds else replace(total, notion="none")


def _composed_orders(parts: list[Guarantee]) -> tuple[tuple[float, float], ...]:
    """Sum of Rényi curves at all orders that any part lists; empty if no part lists orders."""
    orders = sorted({order for part in parts for order, _ in part.orders})
    if not orders:
        return ()
    # The (ε, δ) parts are counted separately.
    pure_parts = [replace(part, approximate_epsilon=0.0, approximate_delta=0.0) for part in parts]
    sums = [(order, math.fsum(part.renyi(order) for part in pure_parts)) for order in orders]
    return tuple((order, total) for order, total in sums if math.isfinite(total))


def _composed_curve(parts: list[Guarantee]) -> tradeoff.TradeOff | None:
    """⊗ of all curves, G(μ) for parts without one; None if no part has one or one has neither."""
    if all(part.curve is None for part in parts):
        return None
    curves: list[tradeoff.TradeOff] = []
    for part in parts:
        if isinstance(part.curve, tradeoff.GaussianObjectivePerturbation):
            curves.append(part.curve)
        elif math.isfinite(part.mu):
            curves.append(part.curve or tradeoff.Gaussian(part.mu))
        else:
            return None
    return tradeoff.compose_tradeoffs(curves)


def adaptive_epsilon(
    charges: Sequence[Guarantee], delta: float, *, order: float | None = None
) -> float:
    """Total ε of adaptively chosen charges, for use in a stopping rule.

    Charges are admitted as long as this value is at most ε. All admitted charges together are then
    (ε, δ)-DP, although their choice and number may depend on the results (docs/ledger.md). Without
    (ε, δ) parts the value is the minimum of the pure sum and the zCDP sum at δ. (ε, δ) parts leave
    no δ for zCDP. The use of δ must be settled before any result is seen, so the first charge
    settles it. Gaussian DP counts as the zCDP it implies: a sum that ends in μ for one result and
    in ρ for another is not known to be a filter. With an order that is fixed before any result is
    seen, the sum of Rényi divergences at this order is a third bound, which can use δ instead of
    zCDP. With the order of a budget, all of which may be spent in ρ, it admits everything that
    zCDP admits, and more.

    Parameters
    ----------
    charges : sequence of Guarantee
        In the order in which they were reserved.
    delta : float
        δ in [0, 1).
    order : float, optional
        Rényi order; for a budget that of
        :func:`~rashomon_explorer.privacy.conversions.filter_order`.

    Returns
    -------
    float
        Infinity if no bound holds.

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
    return Totals.from_charges(charges, order).epsilon(delta)


def ledger_order(charges: Sequence[Guarantee]) -> float | None:
    """Rényi order at which charges are summed: that of the first charge's request."""
    requested = charges[0].requested if charges else None
    return None if requested is None else conversions.filter_order(*requested)
