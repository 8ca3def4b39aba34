"""Numbers of privacy as text that stays true: prices rounded up, what is left rounded down."""

from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal

# A double such as 0.2 lies a hair above its decimal: that hair must not become a digit.
_EXACT = Context(prec=12)
_DIGITS = 4


def rounded_up(value: float) -> str:
    """Four significant digits, never below ``value``.

    Examples
    --------
    >>> rounded_up(6.46142), rounded_up(0.2), rounded_up(float("inf"))
    ('6.462', '0.2', 'inf')
    """
    return _rounded(value, ROUND_CEILING)


def rounded_down(value: float) -> str:
    """Four significant digits, never above ``value``.

    Examples
    --------
    >>> rounded_down(0.39996), rounded_down(1.5)
    ('0.3999', '1.5')
    """
    return _rounded(value, ROUND_FLOOR)


def _rounded(value: float, rounding: str) -> str:
    exact = _EXACT.plus(Decimal(value))
    return f"{float(Context(prec=_DIGITS, rounding=rounding).plus(exact)):.{_DIGITS}g}"
