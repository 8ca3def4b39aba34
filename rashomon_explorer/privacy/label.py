"""The numbers of a guarantee as text, rounded up."""

import math
from collections.abc import Sized
from typing import Protocol

from rashomon_explorer.rounding import rounded_up

_HAIR = 1e-9  # a plan that spends all of what was asked for must not fail by an ulp


class Said(Protocol):
    """A trade-off function, in words."""

    @property
    def said(self) -> str:
        """The notion in which it is proved."""


class Numbers(Protocol):
    """What of a guarantee is said."""

    @property
    def pure_epsilon(self) -> float:
        """ε of pure ε-DP."""

    @property
    def rho(self) -> float:
        """ρ of zero-concentrated DP."""

    @property
    def mu(self) -> float:
        """μ of Gaussian DP."""

    @property
    def approximate_epsilon(self) -> float:
        """ε of the (ε, δ) parts."""

    @property
    def approximate_delta(self) -> float:
        """δ of the (ε, δ) parts."""

    @property
    def curve(self) -> Said | None:
        """Trade-off function, where one is known."""

    @property
    def orders(self) -> Sized:
        """Orders at which Rényi DP is known."""

    @property
    def asked(self) -> tuple[float, float] | None:
        """The (ε, δ) that was asked for."""

    def epsilon(self, delta: float) -> float:
        """Least proved ε at a δ."""


def numbers_of(guarantee: Numbers) -> str:
    """Say what holds, in numbers that are rounded up.

    Examples
    --------
    >>> from rashomon_explorer.privacy import compose, gdp, pure
    >>> numbers_of(pure(1.0)), numbers_of(compose([gdp(3.0), gdp(4.0)]))
    ('1-DP and 0.5-zCDP', '5-GDP')
    """
    said = _numbers(guarantee)
    if guarantee.curve is None:
        return said
    return f"{said} with a sharper trade-off" if said else guarantee.curve.said


def asked_for(guarantee: Numbers) -> str:
    """Say what was asked for, if anything was and no less holds; empty otherwise.

    Examples
    --------
    >>> from dataclasses import replace
    >>> from rashomon_explorer.privacy import pure
    >>> asked_for(replace(pure(0.5), asked=(0.5, 1e-6))), asked_for(pure(0.5))
    ('ε = 0.5 at δ = 1e-6', '')
    >>> asked_for(replace(pure(0.5), asked=(0.4, 1e-6)))
    ''
    """
    if guarantee.asked is None:
        return ""
    epsilon, delta = guarantee.asked
    if not guarantee.epsilon(delta) <= epsilon * (1 + _HAIR):
        return ""
    return price_of(epsilon, delta)


def price_of(epsilon: float, delta: float) -> str:
    """ε rounded up and, above 0, δ.

    Examples
    --------
    >>> price_of(4.0, 1e-6), price_of(0.12341, 0.0)
    ('ε = 4 at δ = 1e-6', 'ε = 0.1235')
    """
    return f"ε = {rounded_up(epsilon)}" + (f" at δ = {short(delta)}" if delta > 0 else "")


def short(value: float) -> str:
    """Write a number rounded up, without the zeros of its exponent.

    Examples
    --------
    >>> short(1e-06), short(0.02), short(2.5e7)
    ('1e-6', '0.02', '2.5e7')
    """
    mantissa, e, power = rounded_up(value).partition("e")
    return f"{mantissa}e{int(power)}" if e else mantissa


def _numbers(guarantee: Numbers) -> str:
    pure = guarantee.pure_epsilon
    if not (guarantee.approximate_epsilon or guarantee.approximate_delta):
        surely = [f"{rounded_up(pure)}-DP"] if math.isfinite(pure) else []
        # Gaussian DP says all that its zCDP says, and more.
        if math.isfinite(guarantee.mu):
            return " and ".join([*surely, f"{rounded_up(guarantee.mu)}-GDP"])
        return " and ".join([*surely, *_spread(guarantee)])
    delta = rounded_up(guarantee.approximate_delta)
    if math.isfinite(pure):
        return f"({rounded_up(guarantee.approximate_epsilon + pure)}, {delta})-DP"
    spread = " and ".join(_spread(guarantee))
    return f"({rounded_up(guarantee.approximate_epsilon)}, {delta})-DP with {spread}"


def _spread(guarantee: Numbers) -> list[str]:
    said = [f"{rounded_up(guarantee.rho)}-zCDP"] if math.isfinite(guarantee.rho) else []
    known = len(guarantee.orders)
    return [*said, f"Rényi DP at {known} order{'s' * (known > 1)}"] if known else said
