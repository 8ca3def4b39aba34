"""Ranges that every number of privacy must keep."""

import math
from numbers import Integral, Real

from rashomon_explorer.constants import as_given, is_finite


def check_delta(delta: float) -> None:
    """Refuse a δ outside [0, 1), and what is no number.

    Examples
    --------
    >>> check_delta(1e-6)
    """
    if not (isinstance(delta, Real) and 0 <= delta < 1):
        raise ValueError(f"delta must be in [0, 1), got {as_given(delta)}")


def check_nonnegative(**values: float) -> None:
    """Refuse values that are negative, NaN, beyond doubles or no numbers.

    Examples
    --------
    >>> check_nonnegative(epsilon=1.0)
    """
    for name, value in values.items():
        if type(value) is float and value >= 0:
            continue  # as nearly always, and faster
        if not isinstance(value, Real):
            raise ValueError(f"{name} must be one number >= 0, got {as_given(value)}")
        if not (value >= 0 and (value == math.inf or is_finite(value))):
            raise ValueError(f"{name} must be >= 0, got {as_given(value)}")


def check_count(**values: int) -> None:
    """Refuse values that are no whole numbers of at least 1, by name.

    Examples
    --------
    >>> check_count(count=20)
    """
    for name, value in values.items():
        if not isinstance(value, Integral) or isinstance(value, bool) or value < 1:
            raise ValueError(f"{name} must be a whole number >= 1, got {as_given(value)}")
