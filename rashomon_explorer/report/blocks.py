"""What a section is made of; each block writes itself as HTML with its template."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol

import pandas as pd
import plotly.graph_objects as go
from markupsafe import Markup

from rashomon_explorer.plots.tables import rounded_bounds
from rashomon_explorer.plots.text import number
from rashomon_explorer.report import templating
from rashomon_explorer.report.figures import figure_json

MOST_ROWS = 40
"""Longer tables are cut, and say so: a report is read, not computed with."""


class Sheet(Protocol):
    """The page that blocks are written on."""

    interactive: bool

    def next_id(self) -> str:
        """Name for a figure that no other has."""
        ...


class Block(Protocol):
    """A piece of a section."""

    def html(self, sheet: Sheet) -> Markup:
        """Write it."""
        ...


@dataclass(frozen=True)
class Words:
    """A paragraph; ``kind`` is ``"warning"``, ``"note"`` or nothing."""

    text: str
    kind: str = ""

    def html(self, sheet: Sheet) -> Markup:
        """See `Block.html`."""
        return templating.block("words", self)


@dataclass(frozen=True)
class Facts:
    """Names with values, and a remark on each: (name, value, remark)."""

    rows: Sequence[tuple[str, str, str]]

    def html(self, sheet: Sheet) -> Markup:
        """See `Block.html`."""
        return templating.block("facts", self)


@dataclass(frozen=True)
class Items:
    """A list of sentences, each under a word of its own."""

    rows: Mapping[str, str]

    def html(self, sheet: Sheet) -> Markup:
        """See `Block.html`."""
        return templating.block("items", self)


@dataclass(frozen=True)
class Code:
    """Python lines."""

    lines: Sequence[str]

    def html(self, sheet: Sheet) -> Markup:
        """See `Block.html`."""
        return templating.block("code", self)


@dataclass(frozen=True)
class Table:
    """Numbers in rows; the index is the first column."""

    frame: pd.DataFrame
    caption: str
    note: str = ""

    def html(self, sheet: Sheet) -> Markup:
        """See `Block.html`."""
        return templating.block("table", self)

    @property
    def whole_caption(self) -> str:
        """The caption, and how much of the table is left out."""
        cut = len(self.frame) > MOST_ROWS
        return self.caption + (f" (first {MOST_ROWS} of {len(self.frame):,} rows)" if cut else "")

    @property
    def names(self) -> list[str]:
        """Names of the columns, the index's first."""
        return [str(self._shown.index.name or ""), *map(str, self._shown.columns)]

    @property
    def lines(self) -> list[tuple[str, list[tuple[str, bool]]]]:
        """Rows as text: a name, and for each cell its words and whether they are a number."""
        values = self._shown.to_numpy(dtype=object).tolist()
        return [
            (_written(name), [(_written(value), not isinstance(value, str)) for value in row])
            for name, row in zip(self._shown.index, values, strict=True)
        ]

    @cached_property
    def _shown(self) -> pd.DataFrame:
        return rounded_bounds(self.frame.head(MOST_ROWS))


@dataclass(frozen=True)
class Plot:
    """A figure, what it shows in words, and the numbers behind it."""

    figure: go.Figure
    label: str
    table: Table
    view: str = field(init=False)

    def __post_init__(self) -> None:
        """Read off the figure who may see it."""
        meta = self.figure.layout.meta
        view = meta.get("view", "public") if isinstance(meta, dict) else "public"
        object.__setattr__(self, "view", view)

    def html(self, sheet: Sheet) -> Markup:
        """See `Block.html`."""
        if not sheet.interactive:
            return templating.block("plot_as_table", self)
        return templating.block("plot", self, sheet.next_id())

    @property
    def height(self) -> int:
        """Pixels."""
        return int(self.figure.layout.height or 360)

    @property
    def json(self) -> Markup:
        """The figure for a script element, inside of which nothing is escaped as HTML."""
        return Markup(figure_json(self.figure))


def _written(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return "–" if value != value else number(value, 4)
    return f"{value:,}" if isinstance(value, int) else str(value)
