"""Thousands of models as a table that scrolls, sorts and searches in the browser."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import anywidget
import numpy as np
import traitlets
from numpy.typing import ArrayLike


class ModelTable(anywidget.AnyWidget):
    """One row a model; only the rows in sight are in the page.

    Attributes
    ----------
    columns : list of dict
        ``name``, ``title``, ``help``, ``kind`` (``"number"``, ``"share"``, ``"count"`` or
        ``"yes"``), ``curator`` (whether private rows were read) and ``values``, binary numbers.
    count : int
        Models.
    picked : list of int
        Rows that are ticked, in both directions.
    starred : list of int
        Rows with a star.
    notes : dict
        Words by row.
    inside_only : bool
        Whether rows with 0 in the column ``inside`` are hidden.
    edit : dict
        The last star or note: ``kind``, ``draw``, ``text`` and a ``count``; observe this one.

    Examples
    --------
    >>> table = ModelTable()
    >>> table.fill(2, [table_column("size", "non-zero", [3, 4], kind="count")])
    >>> table.count, [column["title"] for column in table.columns]
    (2, ['non-zero'])
    """

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
    """Return a column as the browser takes it.

    >>> len(table_column("inside", "within ψ", [True, False], kind="yes")["values"])
    16
    """
    return {
        "name": name,
        "title": title,
        "help": meaning,
        "kind": kind,
        "curator": curator,
        "values": np.ascontiguousarray(values, dtype="<f8").tobytes(),
    }
