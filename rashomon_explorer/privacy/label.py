"""The numbers of a guarantee as text, rounded up."""

import math
from typing import TYPE_CHECKING

from rashomon_explorer.privacy.rounding import rounded_up

if TYPE_CHECKING:
    from rashomon_explorer.privacy.guarantee import Guarantee


def numbers_of(guarantee: "Guarantee") -> str:
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
    return f"{said} with a sharper trade-off" if said else "f-DP"


def _numbers(guarantee: "Guarantee") -> str:
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


def _spread(guarantee: "Guarantee") -> list[str]:
    said = [f"{rounded_up(guarantee.rho)}-zCDP"] if math.isfinite(guarantee.rho) else []
    known = len(guarantee.orders)
    return [*said, f"Rényi DP at {known} order{'s' * (known > 1)}"] if known else said
