"""Ranges that every number of privacy must keep."""


def check_delta(delta: float) -> None:
    """Refuse a δ outside [0, 1).

    Examples
    --------
    >>> check_delta(1e-6)
    """
    if not 0 <= delta < 1:
        raise ValueError(f"delta must be in [0, 1), got {delta!r}")


def check_nonnegative(**values: float) -> None:
    """Refuse values that are negative or NaN, by name.

    Examples
    --------
    >>> check_nonnegative(epsilon=1.0)
    """
    for name, value in values.items():
        if not value >= 0:
            raise ValueError(f"{name} must be >= 0, got {value!r}")
