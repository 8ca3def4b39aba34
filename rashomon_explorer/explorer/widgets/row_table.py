"""A table that is sorted, searched and picked from in the browser."""

from pathlib import Path

import anywidget
import traitlets


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
