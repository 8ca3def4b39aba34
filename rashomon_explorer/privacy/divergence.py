"""Rényi divergences that a guarantee proves, for composition at one order."""

import math
from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np

from rashomon_explorer.privacy.conversions import bounded_range_renyi, pure_renyi
from rashomon_explorer.privacy.tradeoff.bounded_range import RepeatedBoundedRange
from rashomon_explorer.privacy.tradeoff.curves import TradeOff


class Proved(Protocol):
    """The fields of a guarantee that bound divergences."""

    @property
    def notion(self) -> str:
        """The notion in which it was proved."""

    @property
    def pure_epsilon(self) -> float:
        """ε of pure ε-DP."""

    @property
    def rho(self) -> float:
        """ρ of zero-concentrated DP."""

    @property
    def approximate_epsilon(self) -> float:
        """ε of the (ε, δ) parts."""

    @property
    def approximate_delta(self) -> float:
        """δ of the (ε, δ) parts."""

    @property
    def curve(self) -> TradeOff | None:
        """Trade-off function, if one is known."""

    @property
    def orders(self) -> Sequence[tuple[float, float]]:
        """Orders at which Rényi DP is known, with their D_a."""


class Divergence(NamedTuple):
    """D_a at one order a."""

    value: float
    steady: bool = True


def divergence(guarantee: Proved, order: float) -> Divergence:
    """Bound on D_a between neighbours, in both directions, for a sum at one order.

    It is the least bound that pure DP, bounded range, zCDP, a trade-off and known orders prove. It
    is steady if it comes from pure DP, bounded range, zCDP, a Gaussian mechanism or Gaussian
    objective perturbation, whose bounds divided by a decrease in a (docs/theory.md §4).
    """
    if not 1 < order < math.inf:
        raise ValueError(f"order must be > 1 and finite, got {order!r}")
    if guarantee.approximate_delta > 0:
        return Divergence(math.inf)
    steady = [order * guarantee.rho, pure_renyi(guarantee.pure_epsilon, order)]
    others = [math.inf]
    curve = guarantee.curve
    if guarantee.notion == "bounded_range":
        steady.append(bounded_range_renyi(guarantee.pure_epsilon, order))
    if guarantee.notion == "repeated_bounded_range" and isinstance(curve, RepeatedBoundedRange):
        steady.append(curve.count * bounded_range_renyi(curve.eta, order))
    if curve is not None:
        (steady if curve.steady else others).append(curve.renyi_bound(order))
    if guarantee.orders and order <= guarantee.orders[-1][0]:
        known, divergences = np.array(guarantee.orders).T
        chords = np.interp(order, [1.0, *known], [0.0, *((known - 1) * divergences)])
        others.append(float(chords) / (order - 1))
    lost = guarantee.approximate_epsilon
    if min(steady) <= min(others):
        return Divergence(lost + min(steady))
    return Divergence(lost + min(others), steady=False)
