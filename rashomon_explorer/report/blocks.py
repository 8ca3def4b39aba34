"""Building blocks of a report."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import pandas as pd
import plotly.graph_objects as go
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from rashomon_explorer.plots.figures import FIGURES
from rashomon_explorer.plots.text import number, rounded_bounds
from rashomon_explorer.plots.theme import CATEGORIES, VERMILLION, curator_band, new_figure
from rashomon_explorer.report.material import Curator

# WebGL traces compile code, which the page's content security policy forbids.
_DRAWN_AS = {"scattergl": "scatter"}


def figure_json(figure: go.Figure) -> str:
    """Return a figure as JSON that is safe inside a script element."""
    content: dict[str, Any] = json.loads(figure.to_json())
    content["layout"].pop("template", None)
    for trace in content["data"]:
        trace["type"] = _DRAWN_AS.get(trace.get("type", "scatter"), trace.get("type", "scatter"))
    return json_for_script(content)


def json_for_script(values: Any) -> str:
    """Return plain values as JSON without any ``<``."""
    text = json.dumps(values, ensure_ascii=False, separators=(",", ":"), sort_keys=True)
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def plot_curves(table: pd.DataFrame, psi: float, *, guaranteed: bool) -> go.Figure:
    """Plot measures against the Rashomon threshold (curator only)."""
    figure = new_figure(
        "Multiplicity over the threshold", "nested sets, from the same draws: no further sampling"
    )
    for name, colour in zip(table.columns, CATEGORIES, strict=False):
        figure.add_scatter(
            x=table.index.to_numpy(),
            y=table[name].to_numpy(),
            mode="lines+markers",
            name=str(name),
            line={"color": colour, "width": 2},
            marker={"size": 5},
            hovertemplate=f"{name} at ψ = %{{x:.3g}}: %{{y:.3g}}<extra></extra>",
        )
    figure.add_vline(x=psi, line={"color": VERMILLION, "dash": "dash", "width": 2})
    figure.update_layout(
        xaxis={"title": "ψ", "rangemode": "tozero"},
        yaxis={"title": "measure", "rangemode": "tozero"},
        margin={"b": 96},
    )
    return curator_band(figure, guaranteed=guaranteed)


def render_block(kind: str, *values: Any) -> Markup:
    """Render a block with the macro of that name."""
    return Markup(getattr(_environment().get_template("blocks.html").module, kind)(*values))


def render_page(**values: Any) -> str:
    """Render the whole file."""
    return _environment().get_template("page.html").render(**values)


@cache
def _environment() -> Environment:
    return Environment(
        loader=FileSystemLoader(Path(__file__).parent / "templates"),
        autoescape=True,
        undefined=StrictUndefined,  # a mistyped name is an error, not a gap
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )


MOST_ROWS = 40
"""Maximum number of rows; longer tables are cut, with a note in the caption."""


class Block:
    """Part of a section."""

    def html(self, ids: Iterator[str] | None) -> Markup:
        """Render the block with the macro of its class; without names figures are tables."""
        return render_block(type(self).__name__.lower(), self)


@dataclass(frozen=True)
class Words(Block):
    """Paragraph; ``kind`` is ``"warning"``, ``"note"`` or empty."""

    text: str
    kind: str = ""


@dataclass(frozen=True)
class Facts(Block):
    """Names with values and remarks: (name, value, remark)."""

    rows: Sequence[tuple[str, str, str]]


@dataclass(frozen=True)
class Items(Block):
    """List of sentences, each with a heading."""

    rows: Mapping[str, str]


@dataclass(frozen=True)
class Code(Block):
    """Python lines."""

    lines: Sequence[str]


@dataclass(frozen=True)
class Table(Block):
    """Table of numbers; the index is the first column."""

    frame: pd.DataFrame
    caption: str
    note: str = ""

    @property
    def full_caption(self) -> str:
        """Caption, with the number of rows shown if some are omitted."""
        cut = len(self.frame) > MOST_ROWS
        return self.caption + (f" (first {MOST_ROWS} of {len(self.frame):,} rows)" if cut else "")

    @property
    def names(self) -> list[str]:
        """Names of the columns; the first is that of the index."""
        return [str(self._visible_rows.index.name or ""), *map(str, self._visible_rows.columns)]

    @property
    def lines(self) -> list[tuple[str, list[tuple[str, bool]]]]:
        """Rows as text: a name, and for each cell its text and whether it is a number."""
        values = self._visible_rows.to_numpy(dtype=object).tolist()
        return [
            (_written(name), [(_written(value), not isinstance(value, str)) for value in row])
            for name, row in zip(self._visible_rows.index, values, strict=True)
        ]

    @cached_property
    def _visible_rows(self) -> pd.DataFrame:
        return rounded_bounds(self.frame.head(MOST_ROWS))


@dataclass(frozen=True)
class Plot(Block):
    """Figure with its description and the table of its numbers."""

    figure: go.Figure
    label: str
    table: Table
    view: str = field(init=False)

    def __post_init__(self) -> None:
        meta = self.figure.layout.meta
        view = meta.get("view", "public") if isinstance(meta, dict) else "public"
        object.__setattr__(self, "view", view)

    def html(self, ids: Iterator[str] | None) -> Markup:
        if ids is None:
            return render_block("plot_as_table", self)
        return render_block("plot", self, next(ids))

    @property
    def height(self) -> int:
        return int(self.figure.layout.height or 360)

    @property
    def json(self) -> Markup:
        """Figure as JSON for a script element, in which HTML is not escaped."""
        return Markup(figure_json(self.figure))


def registered_figures(material: Any, section: str) -> list[Plot]:
    """Figures that were registered for a section, with the rows and groups that they need."""
    curator = isinstance(material, Curator)
    edition = "curator" if curator else "release"
    material = material.people if curator else material
    inputs = {"rows": "X", "targets": "y", "groups": "groups"}
    there = {need for need, name in inputs.items() if getattr(material, name, None) is not None}
    return [
        figure(material, spec.name)
        for spec in FIGURES.values()
        if spec.section == section
        and edition in spec.audience
        and set(spec.needs) & set(inputs) <= there
    ]


def figure(
    material: Any, name: str, note: str = "", *, numbers: Table | None = None, **arguments: Any
) -> Plot:
    """Figure of the registry with the table of its numbers; of a release from its models alone."""
    spec = FIGURES[name]
    arguments_known = {
        "models": material.models,
        "released": material.models,
        "source": material.models,
    }
    plot = spec.plot
    if isinstance(material, Curator):
        arguments_known |= {"X": material.X, "groups": material.groups}
        arguments_known |= (
            {"y": material.y} if "targets" in spec.needs else {}
        )  # y may name an axis
    elif "release" not in spec.audience:
        raise AssertionError(f"{name} is a curator figure and cannot be part of a release")
    else:
        plot = spec.release_plot or spec.plot
    measure = None if spec.result in arguments else spec.measure
    call = spec.call(arguments_known | arguments, plot=plot, measure=measure)
    table = numbers or Table(call.table(), spec.title, note)
    return Plot(call.figure(), f"{spec.label}.", table)


def _written(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return "–" if value != value else number(value, 4)
    return f"{value:,}" if isinstance(value, int) else str(value)
