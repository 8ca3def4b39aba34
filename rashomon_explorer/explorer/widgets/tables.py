"""Tables."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import anywidget
import numpy as np
import traitlets
from numpy.typing import ArrayLike


class ModelTable(anywidget.AnyWidget):
    """One row a model; only the rows in sight are in the page."""

    _esm = (Path(__file__).parent / "model_table.js").read_text(encoding="utf-8")
    columns: traitlets.List[dict[str, Any]] = traitlets.List().tag(sync=True)
    count = traitlets.Int(0).tag(sync=True)
    picked: traitlets.List[int] = traitlets.List().tag(sync=True)
    starred: traitlets.List[int] = traitlets.List().tag(sync=True)
    notes = traitlets.Dict().tag(sync=True)
    inside_only = traitlets.Bool(True).tag(sync=True)
    edit = traitlets.Dict().tag(sync=True)

    def fill(self, count: int, columns: Sequence[Mapping[str, Any]]) -> None:
        """Show other models, or other numbers of them, in one message."""
        with self.hold_sync():
            self.count, self.columns = count, [dict(column) for column in columns]

    def do(self, kind: str, draw: int, text: str = "") -> None:
        """Do what a star or a note in the browser does."""
        count = self.edit.get("count", 0) + 1
        self.edit = {"count": count, "kind": kind, "draw": draw, "text": text}


def table_column(
    name: str,
    title: str,
    values: ArrayLike,
    *,
    kind: str = "number",
    meaning: str = "",
    curator: bool = False,
) -> dict[str, Any]:
    """Return a column as the browser takes it."""
    return {
        "name": name,
        "title": title,
        "help": meaning,
        "kind": kind,
        "curator": curator,
        "values": np.ascontiguousarray(values, dtype="<f8").tobytes(),
    }


class RowTable(anywidget.AnyWidget):
    """Things, one a row: a click on a heading sorts, typing searches, a click on a row picks."""

    _esm = (Path(__file__).parent / "row_table.js").read_text(encoding="utf-8")
    columns = traitlets.List(traitlets.Dict()).tag(sync=True)
    rows = traitlets.List(traitlets.Dict()).tag(sync=True)
    picked = traitlets.List(traitlets.Int()).tag(sync=True)
    label = traitlets.Unicode("").tag(sync=True)
    hint = traitlets.Unicode("Search").tag(sync=True)
    note = traitlets.Unicode("").tag(sync=True)

    def __init__(self, *, label: str, hint: str = "Search") -> None:
        super().__init__(label=label, hint=hint)


class TableForm(anywidget.AnyWidget):
    """One row a column, each with native inputs; Python answers every edit with the rows."""

    _esm = (Path(__file__).parent / "table_form.js").read_text(encoding="utf-8")
    rows = traitlets.List(traitlets.Dict()).tag(sync=True)
    edit = traitlets.Dict().tag(sync=True)
    disabled = traitlets.Bool(False).tag(sync=True)

    def do(self, column: str, field: str, value: str = "") -> None:
        """Do what an edit in the browser does."""
        count = self.edit.get("count", 0) + 1
        self.edit = {"count": count, "column": column, "field": field, "value": value}
