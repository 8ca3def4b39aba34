"""What a section is, and how it says that it has nothing to show."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Literal

from rashomon_explorer.report.blocks import Block

View = Literal["curator", "internal", "release", "public"]


class Skip(Exception):
    """A section does not apply; the message says why, in words for a reader of the report."""


@dataclass(frozen=True)
class Section:
    """A part of a report."""

    key: str  # its address in the page
    title: str
    # who may see it. Internal is what was not computed from rows, and yet is nobody else's.
    view: View
    # from the edition's material to blocks. May raise `Skip`.
    make: Callable[[Any], Iterable[Block]]
    # whether models of such a kind have this section at all; where not, it is not even missing
    suits: Callable[[Any], bool] = lambda models: True
