"""Three kinds of number that are never mixed, each with its mark."""

from dataclasses import dataclass
from html import escape


@dataclass(frozen=True)
class Mark:
    """What kind of number stands beside it.

    Attributes
    ----------
    sign, name : str
        What is written, never one without the other.
    meaning : str
        What a number of this kind says, in a sentence.
    """

    sign: str
    name: str
    meaning: str

    def __str__(self) -> str:
        """Write sign and name."""
        return f"{self.sign} {self.name}"


EXACT = Mark(
    "▬",
    "exact",
    "Proved of every model within ψ, drawn or not: found by optimising over the whole set. "
    "It reads private rows: for the curator.",
)
SAMPLED = Mark(
    "∙∙∙",
    "sampled",
    "Of the models that were drawn: the whole set reaches at least as far, and perhaps further.",
)
PAID = Mark(
    "✓ε",
    "paid",
    "Made of nothing but what was paid for: at its price it may be shown to others.",
)
MARKS = (EXACT, SAMPLED, PAID)


def marks_html(*marks: Mark) -> str:
    """Return marks as words of the page, each with its meaning as a tooltip.

    >>> marks_html(PAID).split(">")[1].split("<")[0]
    '✓ε paid'
    >>> marks_html()
    ''
    """
    return " ".join(
        f'<abbr class="rx-kind rx-kind-{mark.name}" title="{escape(mark.meaning)}">'
        f"{escape(str(mark))}</abbr>"
        for mark in marks
    )
