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
    """A part of a report.

    Parameters
    ----------
    key : str
        Its address in the page.
    title : str
    view : {"curator", "internal", "release", "public"}
        Who may see it. Internal is what was not computed from rows, and yet is nobody else's.
    make : callable
        From the edition's material to blocks. May raise `Skip`.
    """

    key: str
    title: str
    view: View
    make: Callable[[Any], Iterable[Block]]
