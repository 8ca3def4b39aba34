"""Every way to add guarantees up, each with what keeps it from applying."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from rashomon_explorer.privacy.composition.repeated import repeated_bounded_range
from rashomon_explorer.privacy.gaussian import bounded_range_mu, gdp_epsilon, pure_mu
from rashomon_explorer.privacy.guarantee import Guarantee
from rashomon_explorer.privacy.renyi import renyi_epsilon
from rashomon_explorer.privacy.tradeoff import (
    AdaptiveBoundedRange,
    Approximate,
    BoundedRange,
    Gaussian,
    RepeatedBoundedRange,
    TradeOff,
    compose_tradeoffs,
)
from rashomon_explorer.privacy.zcdp import zcdp_epsilon

_ORDERS = 1 + np.geomspace(1e-2, 1e4, 200)


class DoesNotApply(Exception):
    """A sum that says nothing of these parts, and why."""


@dataclass(frozen=True)
class Method:
    """A sum of guarantees."""

    name: str
    # whether it holds when a mechanism, not its price, may depend on earlier results
    adaptive: bool
    # from parts without (ε, δ) parts, and δ, to ε; raises :class:`DoesNotApply`
    epsilon: Callable[[list[Guarantee], float], float]


def stated(parts: list[Guarantee], delta: float) -> float:
    """ε as a single part states it."""
    if len(parts) != 1:
        raise DoesNotApply(f"there are {len(parts)} parts")
    return parts[0].epsilon(delta)


def pure_sum(parts: list[Guarantee], delta: float) -> float:
    """Σ ε of pure DP."""
    return _finite("pure ε", [part.pure_epsilon for part in parts])


def zcdp_sum(parts: list[Guarantee], delta: float) -> float:
    """Σ ρ of zCDP (Bun and Steinke 2016)."""
    return zcdp_epsilon(_finite("ρ", [part.rho for part in parts]), delta)


def gdp_sum(parts: list[Guarantee], delta: float) -> float:
    """√Σ μ² of Gaussian DP, of pure DP and bounded range by the G(μ) below them."""
    return gdp_epsilon(math.sqrt(_finite("μ", [_mu(part) ** 2 for part in parts])), delta)


def renyi_sum(parts: list[Guarantee], delta: float) -> float:
    """Σ D_a at every order (Mironov 2017)."""
    known = {order for part in parts for order, _ in part.orders}
    orders = np.array(sorted(known.union(_ORDERS.tolist())))
    counts = _counted(parts)
    total = np.array([sum(k * p.renyi(a) for p, k in counts.items()) for a in orders.tolist()])
    if not np.any(np.isfinite(total)):
        raise DoesNotApply("no order has a finite Rényi divergence for every part")
    kept = np.isfinite(total)
    return renyi_epsilon(orders[kept], total[kept], delta)


def loss_distributions(parts: list[Guarantee], delta: float) -> float:
    """⊗ of the trade-off functions, by privacy loss distributions (Doroshenko et al. 2022)."""
    curves = [(_tradeoff(part), count) for part, count in _counted(parts).items()]
    try:
        return compose_tradeoffs(curves).epsilon(delta)
    except ImportError as missing:
        raise DoesNotApply(str(missing)) from missing


def grouped_distributions(parts: list[Guarantee], delta: float) -> float:
    """⊗ of the trade-off functions, after independent draws of one η by their optimum."""
    draws: dict[float, int] = {}
    rest = []
    for part in parts:
        found = _range(part)
        if found is None:
            rest.append(part)
        else:
            draws[found[0]] = draws.get(found[0], 0) + found[1]
    if not draws:
        raise DoesNotApply("no part has a bounded range")
    return loss_distributions([*rest, *map(repeated_bounded_range, draws, draws.values())], delta)


def fixed_ranges(parts: list[Guarantee], delta: float) -> float:
    """Optimum of independent mechanisms of bounded range, none chosen after another."""
    eta, count = _ranges(parts)
    return RepeatedBoundedRange(eta, count).epsilon(delta)


def chosen_ranges(parts: list[Guarantee], delta: float) -> float:
    """Optimum of mechanisms of bounded range that are chosen as one goes, from above."""
    eta, count = _ranges(parts)
    try:
        return AdaptiveBoundedRange(eta, count).epsilon(delta)
    except ValueError as refused:
        raise DoesNotApply(f"too much work: {refused}") from refused


METHODS = (
    Method("as stated", True, stated),
    Method("pure", True, pure_sum),
    Method("zCDP", True, zcdp_sum),
    Method("GDP", True, gdp_sum),
    Method("RDP", True, renyi_sum),
    Method("PLD", True, loss_distributions),
    Method("PLD, independent", False, grouped_distributions),
    Method("bounded range, adaptive", True, chosen_ranges),
    Method("bounded range, independent", False, fixed_ranges),
)


def _finite(name: str, values: list[float]) -> float:
    without = sum(not math.isfinite(value) for value in values)
    if without:
        raise DoesNotApply(f"{without} of {len(values)} parts have no finite {name}")
    return math.fsum(values)


def _range(part: Guarantee) -> tuple[float, int] | None:
    """η and number of the draws in a part of bounded range."""
    if part.notion == "bounded_range" and math.isfinite(part.pure_epsilon):
        return part.pure_epsilon, 1
    if part.notion == "repeated_bounded_range" and isinstance(part.curve, RepeatedBoundedRange):
        return part.curve.eta, part.curve.count
    return None


def _ranges(parts: list[Guarantee]) -> tuple[float, int]:
    """Largest η, which every smaller one is too, and number of all draws."""
    known = [_range(part) for part in parts]
    ranges = [found for found in known if found is not None]
    if not ranges or len(ranges) < len(known):
        missing = len(known) - len(ranges)
        raise DoesNotApply(f"{missing} of {len(known)} parts have no bounded range")
    return max(eta for eta, _ in ranges), sum(count for _, count in ranges)


def _mu(part: Guarantee) -> float:
    bounds = [part.mu, pure_mu(part.pure_epsilon)]
    ranges = _range(part)
    if ranges is not None:
        bounds.append(math.sqrt(ranges[1]) * bounded_range_mu(ranges[0]))
    return min(bounds)


def _tradeoff(part: Guarantee) -> TradeOff:
    if part.curve is not None:
        return part.curve
    if math.isfinite(part.mu):
        return Gaussian(part.mu)
    if part.notion == "bounded_range" and math.isfinite(part.pure_epsilon):
        return BoundedRange(part.pure_epsilon)
    if math.isfinite(part.pure_epsilon):
        return Approximate(part.pure_epsilon)
    raise DoesNotApply(f"no trade-off function is known of {part.theorem}")


def _counted(parts: list[Guarantee]) -> dict[Guarantee, int]:
    counts: dict[Guarantee, int] = {}
    for part in parts:
        counts[part] = counts.get(part, 0) + 1
    return counts
