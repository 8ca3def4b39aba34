"""Conversion of other notions of privacy, and of JSON, to trade-off functions."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from rashomon_explorer._utils.validation import check_nonnegative_or_infinite
from rashomon_explorer.privacy.conversions import check_curve, renyi_delta, zcdp_delta
from rashomon_explorer.privacy.tradeoff.bounded_range import (
    AdaptiveBoundedRange,
    BoundedRange,
    RepeatedBoundedRange,
)
from rashomon_explorer.privacy.tradeoff.composition import Composition
from rashomon_explorer.privacy.tradeoff.curves import Approximate, Gaussian, Laplace, TradeOff
from rashomon_explorer.privacy.tradeoff.objective_perturbation import GaussianObjectivePerturbation
from rashomon_explorer.privacy.tradeoff.piecewise import Piecewise, from_profile
from rashomon_explorer.privacy.tradeoff.sampled import PoissonSampled, Subsampled

_SIMPLE: tuple[type[TradeOff], ...] = (
    Gaussian,
    Laplace,
    Approximate,
    BoundedRange,
    RepeatedBoundedRange,
    AdaptiveBoundedRange,
    PoissonSampled,
    GaussianObjectivePerturbation,
)


def from_renyi(orders: ArrayLike, divergences: ArrayLike) -> Piecewise:
    """Lower bound on the trade-off function that a Rényi curve proves.

    δ(ε) ≤ e^((a − 1)(D_a − ε)) (1 − 1/a)^a/(a − 1) for every order a (Canonne, Kamath and Steinke
    2020, Proposition 12), on a grid of ε.

    Parameters
    ----------
    orders, divergences : array-like
        a > 1 and D_a ≥ 0 in both directions.

    Raises
    ------
    ValueError
        If a number is out of range.

    Examples
    --------
    >>> orders = np.linspace(1.1, 60, 600)
    >>> curve = from_renyi(orders, orders / 2)
    >>> round(curve.epsilon(1e-5), 1), round(Gaussian(1.0).epsilon(1e-5), 1)
    (4.7, 4.4)
    """
    orders, divergences = check_curve(orders, divergences)
    if not orders.size:
        raise ValueError("orders must have at least one order")
    return _from_deltas(lambda epsilon: renyi_delta(orders, divergences, epsilon))


def from_zcdp(rho: float) -> Piecewise:
    """Lower bound on the trade-off function that ρ-zCDP proves; G(√(2ρ)) is above it.

    Examples
    --------
    >>> bool(from_zcdp(0.5)(0.05) < Gaussian(1.0)(0.05))
    True
    """
    check_nonnegative_or_infinite(rho=rho)
    return _from_deltas(lambda epsilon: zcdp_delta(rho, epsilon))


def from_dict(values: dict[str, Any]) -> TradeOff:
    """Create a curve from the values of its ``to_dict``.

    Raises
    ------
    ValueError
        If the kind is unknown.

    Examples
    --------
    >>> from_dict(Gaussian(1.0).to_dict())
    Gaussian(mu=1.0)
    """
    plain = {key: value for key, value in values.items() if key != "kind"}
    kind = values.get("kind")
    if kind == Composition.kind:
        parts = tuple((from_dict(curve), count) for curve, count in plain["parts"])
        return Composition(parts, plain["grid"])
    if kind == Subsampled.kind:
        return Subsampled(from_dict(plain["of"]), plain["rate"])
    if kind == Piecewise.kind:
        corners = tuple((a, b) for a, b in plain.pop("corners"))
        return Piecewise(corners, **plain)
    simple = {curve.kind: curve for curve in _SIMPLE}
    if kind not in simple:
        raise ValueError(f"kind must be a known trade-off, got {kind!r}")
    return simple[kind](**plain)


def _from_deltas(delta: Callable[[float], float]) -> Piecewise:
    """Curve that δ(ε) proves on a grid that ends where δ is negligible."""
    top = 1.0
    while delta(top) > 1e-15 and top < 100:
        top *= 2
    epsilons = np.linspace(0.0, min(top, 100.0), 2001)
    return from_profile(epsilons, np.array([delta(e) for e in epsilons]))
