"""Ranges that every number of privacy must keep."""

from numbers import Integral, Real


def check_delta(delta: float) -> None:
    """Refuse a δ outside [0, 1), and what is no number.

    Examples
    --------
    >>> check_delta(1e-6)
    """
    if not (isinstance(delta, Real) and 0 <= delta < 1):
        raise ValueError(f"delta must be in [0, 1), got {delta!r}")


def check_nonnegative(**values: float) -> None:
    """Refuse values that are negative, NaN or no numbers, by name.

    Examples
    --------
    >>> check_nonnegative(epsilon=1.0)
    """
    for name, value in values.items():
        if not isinstance(value, Real):
            raise ValueError(f"{name} must be one number >= 0, got {value!r}")
        if not value >= 0:
            raise ValueError(f"{name} must be >= 0, got {value!r}")


def check_count(**values: int) -> None:
    """Refuse values that are no whole numbers of at least 1, by name.

    Examples
    --------
    >>> check_count(count=20)
    """
    for name, value in values.items():
        if not isinstance(value, Integral) or isinstance(value, bool) or value < 1:
            raise ValueError(f"{name} must be a whole number >= 1, got {value!r}")
