"""Bound on the power of the best membership attack under a guarantee."""

from typing import TYPE_CHECKING

import numpy as np

from rashomon_explorer._utils.validation import check_share
from rashomon_explorer.privacy.tradeoff.bounded_range import BoundedRange
from rashomon_explorer.privacy.tradeoff.curves import envelope

if TYPE_CHECKING:
    from rashomon_explorer.privacy.guarantee import Guarantee

_GRID = np.linspace(0.0, 25.0, 251)


def best_attack(guarantee: "Guarantee", false_alarms: float) -> float:
    """Largest share of members that any attacker detects at a given false positive rate.

    The attacker knows all records but one, the mechanism and what it released, and tests whether
    the last one is a given person's or a given other's. At type I error α no test has a power
    above 1 − f(α), f being the guarantee's trade-off function (Wasserman and Zhou 2010; Dong, Roth
    and Su 2022, Definition 2.3). For pure ε-DP it is min{e^ε α, 1 − e^(−ε)(1 − α)}.

    Parameters
    ----------
    guarantee : Guarantee
    false_alarms : float
        α in [0, 1]: the share of people who are no members and are taken for some.

    Returns
    -------
    float
        From above; never below ``false_alarms``, and 1 where nothing is guaranteed.

    Raises
    ------
    ValueError
        If ``false_alarms`` is out of range.

    Examples
    --------
    >>> from rashomon_explorer.privacy import gdp, pure
    >>> round(best_attack(pure(1.0), 0.05), 4), round(best_attack(gdp(1.0), 0.05), 4)
    (0.1359, 0.2595)
    """
    check_share(false_alarms=false_alarms)
    if not guarantee.holds:
        return 1.0
    proved = [float(np.asarray(guarantee.tradeoff(false_alarms)))]
    # Of several notions that hold at once, the pairs of (ε, δ) take the best at every ε.
    deltas = np.array([guarantee.delta(float(epsilon)) for epsilon in _GRID])
    proved.append(float(envelope(false_alarms, _GRID, deltas)))
    if guarantee.notion == "bounded_range" and not guarantee.approximate_epsilon:
        if not guarantee.approximate_delta:
            proved.append(float(BoundedRange(guarantee.pure_epsilon)(false_alarms)))
    return 1.0 - max(proved)
