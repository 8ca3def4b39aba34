"""How objects show themselves: a title and aligned facts, as text and as a small table."""

from collections.abc import Iterable
from html import escape

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
