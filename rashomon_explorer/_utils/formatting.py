"""Numbers as text, rounded conservatively, and short reprs."""

import math
from collections.abc import Iterable
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal
from html import escape
from typing import Literal

Rounding = Literal["nearest", "up", "down"]

_DIGITS = 4
_PLAIN = (Decimal("1e-4"), Decimal("1e6"))  # range of numbers written without an exponent
_NEAR_THE_ENDS = (Decimal("0.05"), Decimal(1), Decimal(99), Decimal(100))
_ROUNDINGS = {"nearest": ROUND_HALF_EVEN, "up": ROUND_CEILING, "down": ROUND_FLOOR}
_SOMETHING = 1e-6  # of ε; smaller remainders are rounding errors


def rounded_up(value: float) -> str:
    """Return four significant digits, never below ``value``."""
    return _rounded(value, ROUND_CEILING)


def rounded_down(value: float) -> str:
    """Return four significant digits, never above ``value``."""
    return _rounded(value, ROUND_FLOOR)


def epsilon_text(epsilon: float) -> str:
    """Text of a privacy cost: :func:`rounded_up`, and ∞ without a guarantee."""
    return rounded_up(epsilon).replace("inf", "∞")


def left_text(epsilon: float) -> str:
    """Text of a remaining budget, rounded down and not below 0."""
    return rounded_down(epsilon if epsilon >= _SOMETHING else 0.0).replace("inf", "∞")


def hit_rate_text(rate: float) -> str:
    """Text of a guaranteed hit rate in percent, rounded down; one decimal near 0 and 100 %."""
    exact = 100 * as_written(rate)
    none, low, high, certain = _NEAR_THE_ENDS
    step = Decimal("0.1") if none <= exact < low or high < exact < certain else Decimal(1)
    return f"{exact.quantize(step, rounding=ROUND_FLOOR)}%"


def percent(share: float, rounding: Rounding = "nearest") -> str:
    """Format a share as a percentage; unless rounded up, only a share of 1 gives 100 %."""
    if not -1e6 < share < 1e6:
        return "unknown"
    if rounding == "down" and share >= 0:
        return hit_rate_text(share)
    exact = 100 * as_written(share)
    near = Decimal("0.05") <= abs(exact) < 1 or 99 < abs(exact) < 100
    fine = near or (rounding == "up" and 0 < exact < 1)
    step = Decimal("0.1") if fine else Decimal(1)
    rounded = exact.quantize(step, rounding=_ROUNDINGS[rounding])
    if rounding == "nearest" and exact < 100:
        rounded = min(rounded, Decimal("99.9")) or Decimal(0)  # not −0
    return "100%" if rounded == 100 else f"{rounded}%".replace("-", "−")


def number(value: float, digits: int = 3, rounding: Rounding = "nearest") -> str:
    """Format a number with a few significant digits, without an exponent where possible."""
    if value != value or value in (float("inf"), float("-inf")):
        return {"inf": "∞", "-inf": "−∞"}.get(str(value), "unknown")
    exact = Decimal(float(value)) if rounding == "nearest" else as_written(value)
    rounded = float(Context(prec=digits, rounding=_ROUNDINGS[rounding]).plus(exact))
    if rounded and not 1e-3 <= abs(rounded) < 1e6:
        mantissa, power = f"{rounded:.{digits - 1}e}".split("e")
        mantissa = mantissa.rstrip("0").rstrip(".") if "." in mantissa else mantissa
        return f"{mantissa.replace('-', '−')}e{int(power)}"
    return f"{rounded:,.{digits + 3}f}".rstrip("0").rstrip(".").replace("-", "−")


def duration_text(seconds: float) -> str:
    """Approximate duration in hours, minutes or seconds."""
    if seconds < 1:
        return "less than a second"
    for unit, length in (("hour", 3600), ("minute", 60)):
        if seconds >= 2 * length:
            return f"about {seconds / length:.0f} {unit}s"
    return f"about {seconds:.0f} s"


def plural(count: int, noun: str) -> str:
    """Format a count with its noun."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def as_written(value: float) -> Decimal:
    """Shortest decimal that is parsed as this double, so that 0.2 remains 0.2."""
    return Decimal(repr(float(value)))


def _rounded(value: float, rounding: str) -> str:
    if not math.isfinite(value):
        return f"{value:g}"
    rounded = Context(prec=_DIGITS, rounding=rounding).plus(as_written(value)).normalize()
    if not rounded:
        return "0"
    low, high = _PLAIN
    if low <= abs(rounded) < high:
        return f"{rounded:f}"
    mantissa, power = f"{rounded:e}".split("e")
    return f"{mantissa}e{int(power):+03d}"


Fact = tuple[str, str]


class ReprMixin:
    """Mixin that builds text and HTML reprs from a title and facts."""

    def _title(self) -> str:
        return type(self).__name__

    def _facts(self) -> Iterable[Fact]:
        raise NotImplementedError

    def __repr__(self) -> str:
        return as_text(self._title(), self._facts())

    def _repr_html_(self) -> str:
        return as_html(self._title(), self._facts())


def as_text(title: str, facts: Iterable[Fact]) -> str:
    """Return a title and one line for each fact, with aligned values."""
    rows = list(facts)
    width = max((len(name) for name, _ in rows), default=0)
    return "\n".join([title, *(f"  {name:<{width}}  {value}" for name, value in rows)])


def as_html(title: str, facts: Iterable[Fact]) -> str:
    """Return an HTML table of the facts, with all markup escaped."""
    rows = "".join(
        f'<tr><th scope="row" style="text-align:left">{escape(name)}</th>'
        f'<td style="text-align:left">{escape(value)}</td></tr>'
        for name, value in facts
    )
    return f'<table><caption style="text-align:left">{escape(title)}</caption>{rows}</table>'
