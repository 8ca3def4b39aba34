"""Tables."""

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


class RowTable(anywidget.AnyWidget):
    """Things, one a row: a click on a heading sorts, typing searches, a click on a row picks.

    Attributes
    ----------
    columns : list of dict
        ``name`` and ``hint`` of each column; the first names the row.
    rows : list of dict
        ``id``, ``cells`` (words, one a column) and ``keys`` (what each column is sorted by).
    picked : list of int
        Ids of the picked rows; with Ctrl or Shift several.
    label, hint, note : str
        The table's name for a screen reader, what can be searched for, and what is left out.

    Examples
    --------
    >>> RowTable(label="People").picked
    []
    """

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
    """One row a column, each with native inputs; Python answers every edit with the rows.

    Attributes
    ----------
    rows : list of dict
        What each line shows, as `rashomon_explorer.explorer.table.editor.form_rows` writes it.
    edit : dict
        The last edit: ``column``, ``field``, ``value`` and a ``count``; observe this one.
    disabled : bool
        Whether nothing can be changed.

    Examples
    --------
    >>> TableForm().rows
    []
    """

    _esm = (Path(__file__).parent / "table_form.js").read_text(encoding="utf-8")
    rows = traitlets.List(traitlets.Dict()).tag(sync=True)
    edit = traitlets.Dict().tag(sync=True)
    disabled = traitlets.Bool(False).tag(sync=True)

    def do(self, column: str, field: str, value: str = "") -> None:
        """Do what an edit in the browser does.

        Parameters
        ----------
        column : str
        field : str
            What is said of it, or ``"confirm"``.
        value : str
            As it was typed or chosen.
        """
        count = self.edit.get("count", 0) + 1
        self.edit = {"count": count, "column": column, "field": field, "value": value}
