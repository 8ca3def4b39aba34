"""Ranges that every number of privacy must keep."""

import math
from numbers import Integral, Real


def is_finite(value: Real | float) -> bool:
    """Whether a number is finite and one that a double can hold.

    Examples
    --------
    >>> is_finite(1.0), is_finite(10**400)
    (True, False)
    """
    try:
        return math.isfinite(value)
    except OverflowError:  # a whole number beyond the largest double
        return False


def as_given(value: object) -> str:
    """Quote a value that is refused, and not the hundreds of digits of one no double holds.

    Examples
    --------
    >>> as_given(-0.5), as_given(10**400)
    ('-0.5', 'a whole number beyond the largest double')
    """
    if isinstance(value, int) and value.bit_length() > 1024:
        return "a whole number beyond the largest double"
    return repr(value)


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
