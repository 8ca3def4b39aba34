"""Numbers as text, rounded on the safe side, and short reprs."""

import math
from collections.abc import Iterable
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from html import escape

_DIGITS = 4
_PLAIN = (Decimal("1e-4"), Decimal("1e6"))  # between them no exponent is written
_NEAR_THE_ENDS = (Decimal("0.05"), Decimal(1), Decimal(99), Decimal(100))
_SOMETHING = 1e-6  # of ε; less is what rounding left


def rounded_up(value: float) -> str:
    """Four significant digits, never below ``value``.

    The number that is read back is never the smaller double, not even by an ulp; a value that has
    a decimal of four digits, such as 0.2, is written as that decimal.

    Examples
    --------
    >>> rounded_up(6.46142), rounded_up(0.2), rounded_up(float("inf"))
    ('6.462', '0.2', 'inf')
    >>> rounded_up(1.0), rounded_up(1.0000000000000002)
    ('1', '1.001')
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


def epsilon_text(epsilon: float) -> str:
    """Write a privacy price for people: :func:`rounded_up`, and ∞ where nothing is promised.

    Examples
    --------
    >>> epsilon_text(6.46142), epsilon_text(float("inf"))
    ('6.462', '∞')
    """
    return rounded_up(epsilon).replace("inf", "∞")


def left_text(epsilon: float) -> str:
    """Write what is left of a budget for people, rounded down and never below nothing.

    What rounding leaves of a budget that was spent whole is nothing: no plan is made of it.

    Examples
    --------
    >>> left_text(1.53951), left_text(-0.2), left_text(4.7e-9)
    ('1.539', '0', '0')
    """
    return rounded_down(epsilon if epsilon >= _SOMETHING else 0.0).replace("inf", "∞")


def hit_rate_text(rate: float) -> str:
    """Write a guaranteed hit rate as a percentage, rounded down: whole, or finer near the ends.

    Examples
    --------
    >>> hit_rate_text(0.6697), hit_rate_text(0.99999), hit_rate_text(0.0042), hit_rate_text(1e-55)
    ('66%', '99.9%', '0.4%', '0%')
    """
    exact = 100 * as_written(rate)
    none, low, high, certain = _NEAR_THE_ENDS
    step = Decimal("0.1") if none <= exact < low or high < exact < certain else Decimal(1)
    return f"{exact.quantize(step, rounding=ROUND_FLOOR)}%"


def as_written(value: float) -> Decimal:
    """Shortest decimal that is read back as this double: what was meant by 0.2, to the last bit.

    Examples
    --------
    >>> as_written(0.2), as_written(0.1 + 0.2)
    (Decimal('0.2'), Decimal('0.30000000000000004'))
    """
    return Decimal(repr(float(value)))


def _rounded(value: float, rounding: str) -> str:
    if not math.isfinite(value):
        return f"{value:g}"
    rounded = Context(prec=_DIGITS, rounding=rounding).plus(as_written(value)).normalize()
    if not rounded:
        return "0"
    least, most = _PLAIN
    if least <= abs(rounded) < most:
        return f"{rounded:f}"
    mantissa, power = f"{rounded:e}".split("e")
    return f"{mantissa}e{int(power):+03d}"


Fact = tuple[str, str]


class Shown:
    """An object that tells its title and facts, and is shown by them.

    A dataclass that is one says ``repr=False``, or its generated repr would win.

    Examples
    --------
    >>> class Coin(Shown):
    ...     def _title(self):
    ...         return "Coin"
    ...
    ...     def _facts(self):
    ...         return [("sides", "2"), ("up", "heads")]
    >>> Coin()
    Coin
      sides  2
      up     heads
    """

    def _title(self) -> str:
        return type(self).__name__

    def _facts(self) -> Iterable[Fact]:
        raise NotImplementedError

    def __repr__(self) -> str:
        return as_text(self._title(), self._facts())

    def _repr_html_(self) -> str:
        return as_html(self._title(), self._facts())


def as_text(title: str, facts: Iterable[Fact]) -> str:
    """Write a title and a line a fact, the values one below the other.

    >>> print(as_text("Plan", [("price", "ε = 4"), ("β", "1,600")]))
    Plan
      price  ε = 4
      β      1,600
    """
    known = list(facts)
    width = max((len(name) for name, _ in known), default=0)
    return "\n".join([title, *(f"  {name:<{width}}  {value}" for name, value in known)])


def as_html(title: str, facts: Iterable[Fact]) -> str:
    """Write the same as a table; whatever markup is in it stays text.

    >>> as_html("<b>", [])
    '<table><caption style="text-align:left">&lt;b&gt;</caption></table>'
    """
    rows = "".join(
        f'<tr><th scope="row" style="text-align:left">{escape(name)}</th>'
        f'<td style="text-align:left">{escape(value)}</td></tr>'
        for name, value in facts
    )
    return f'<table><caption style="text-align:left">{escape(title)}</caption>{rows}</table>'
