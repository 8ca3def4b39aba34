"""Volumes in logarithms, for proposals whose masses are compared."""

import math


def log_ball_volume(p: int) -> float:
    """Logarithm of the volume of the unit ball of R^p, 0 for p = 0.

    Examples
    --------
    >>> round(math.exp(log_ball_volume(2)), 6), log_ball_volume(0)
    (3.141593, 0.0)
    """
    return p / 2 * math.log(math.pi) - math.lgamma(p / 2 + 1)
