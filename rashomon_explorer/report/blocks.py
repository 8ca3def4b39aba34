"""What a section is made of; each block writes itself as HTML and escapes every word in it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any, Protocol

import pandas as pd
import plotly.graph_objects as go

from rashomon_explorer.plots.tables import rounded_bounds
from rashomon_explorer.plots.text import number
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

    def html(self, sheet: Sheet) -> str:
        """Write it."""
        ...


@dataclass(frozen=True)
class Words:
    """A paragraph; ``kind`` is ``"warning"``, ``"note"`` or nothing."""

    text: str
    kind: str = ""

    def html(self, sheet: Sheet) -> str:
        """See `Block.html`."""
        role = ' role="note"' if self.kind == "warning" else ""
        return f'<p class="{escape(self.kind)}"{role}>{escape(self.text)}</p>'


@dataclass(frozen=True)
class Facts:
    """Names with values, and a remark on each: (name, value, remark)."""

    rows: Sequence[tuple[str, str, str]]

    def html(self, sheet: Sheet) -> str:
        """See `Block.html`."""
        return f'<dl class="facts">{"".join(_fact(*row) for row in self.rows)}</dl>'


@dataclass(frozen=True)
class Items:
    """A list of sentences, each under a word of its own."""

    rows: Mapping[str, str]

    def html(self, sheet: Sheet) -> str:
        """See `Block.html`."""
        items = (f"<li><b>{escape(k)}.</b> {escape(v)}</li>" for k, v in self.rows.items())
        return f"<ul>{''.join(items)}</ul>"


@dataclass(frozen=True)
class Code:
    """Python lines."""

    lines: Sequence[str]

    def html(self, sheet: Sheet) -> str:
        """See `Block.html`."""
        return f'<pre tabindex="0"><code>{escape(chr(10).join(self.lines))}</code></pre>'


@dataclass(frozen=True)
class Table:
    """Numbers in rows; the index is the first column."""

    frame: pd.DataFrame
    caption: str
    note: str = ""

    def html(self, sheet: Sheet) -> str:
        """See `Block.html`."""
        shown = rounded_bounds(self.frame.head(MOST_ROWS))
        cut = len(shown) < len(self.frame)
        many = f" (first {MOST_ROWS} of {len(self.frame):,} rows)" if cut else ""
        caption = escape(self.caption + many)
        names = [shown.index.name or "", *map(str, shown.columns)]
        head = "".join(f'<th scope="col">{escape(str(name))}</th>' for name in names)
        body = "".join(map(_row, shown.index, shown.to_numpy(dtype=object).tolist()))
        note = f'<p class="note">{escape(self.note)}</p>' if self.note else ""
        return (
            f'<div class="table" role="region" aria-label="{caption}" tabindex="0"><table>'
            f"<caption>{caption}</caption><thead><tr>{head}</tr></thead><tbody>{body}</tbody>"
            f"</table></div>{note}"
        )


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

    def html(self, sheet: Sheet) -> str:
        """See `Block.html`."""
        if not sheet.interactive:
            return f"<figure>{self.table.html(sheet)}</figure>"
        name, label = sheet.next_id(), escape(self.label)
        return (
            f'<figure><div class="plot" id="{name}" role="img" aria-label="{label}" '
            f'style="height:{int(self.figure.layout.height or 360)}px"></div>'
            f'<script type="application/json" data-figure="{name}">{figure_json(self.figure)}'
            f"</script><figcaption>{label}</figcaption><details><summary>The numbers behind this "
            f"figure</summary>{self.table.html(sheet)}</details></figure>"
        )


def _fact(name: str, value: str, remark: str) -> str:
    small = f'<dd class="note">{escape(remark)}</dd>' if remark else ""
    return f"<div><dt>{escape(name)}</dt><dd>{escape(value)}</dd>{small}</div>"


def _row(name: Any, values: Sequence[Any]) -> str:
    cells = "".join(_cell(value) for value in values)
    return f'<tr><th scope="row">{escape(_written(name))}</th>{cells}</tr>'


def _cell(value: Any) -> str:
    kind = "" if isinstance(value, str) else ' class="number"'
    return f"<td{kind}>{escape(_written(value))}</td>"


def _written(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return "–" if value != value else number(value, 4)
    return f"{value:,}" if isinstance(value, int) else str(value)
