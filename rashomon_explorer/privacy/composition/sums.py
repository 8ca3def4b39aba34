"""Several mechanisms on the same rows: in every notion the prices add up."""

import math
from collections.abc import Iterable
from dataclasses import replace

from rashomon_explorer.privacy.guarantee import Guarantee
from rashomon_explorer.privacy.tradeoff import Gaussian, GaussianTilt, TradeOff, compose_tradeoffs


def compose(parts: Iterable[Guarantee]) -> Guarantee:
    """Guarantee of several mechanisms on the same rows, with prices fixed beforehand.

    A mechanism may depend on what the earlier ones returned, its price may not: for prices that
    depend on results, as in a ledger, see :func:`adaptive_epsilon`. ε of pure DP, ρ of zCDP, μ² of
    Gaussian DP, Rényi curves and (ε, δ) parts each add up; at a given δ the least bound counts.
    Parts that share no notion are translated by :func:`least_epsilon`, which also knows sums that
    cost more time.

    Parameters
    ----------
    parts : iterable of Guarantee

    Returns
    -------
    Guarantee
        Nothing spent, for no parts.

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
    """Rényi curves add up, at all orders that a part knows only there; none without such a part."""
    known = sorted({order for part in parts for order, _ in part.orders})
    if not known:
        return ()
    # What is lost outright is counted apart.
    whole = [replace(part, approximate_epsilon=0.0, approximate_delta=0.0) for part in parts]
    sums = [(order, math.fsum(part.renyi(order) for part in whole)) for order in known]
    return tuple((order, total) for order, total in sums if math.isfinite(total))


def _composed_curve(parts: list[Guarantee]) -> TradeOff | None:
    """⊗ of all curves, G(μ) for a part without one; None where a part has neither, or none one."""
    if all(part.curve is None for part in parts):
        return None
    curves = [_curve(part) for part in parts]
    known = [curve for curve in curves if curve is not None]
    return compose_tradeoffs(known) if len(known) == len(parts) else None


def _curve(part: Guarantee) -> TradeOff | None:
    """Curve of one part as it is composed: only a tilt's counts without a finite μ."""
    if isinstance(part.curve, GaussianTilt):
        return part.curve
    if not math.isfinite(part.mu):
        return None
    return part.curve or Gaussian(part.mu)
