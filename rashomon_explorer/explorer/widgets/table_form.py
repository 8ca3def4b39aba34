"""A declaration as a table of inputs."""

from pathlib import Path

import anywidget
import traitlets


class TableForm(anywidget.AnyWidget):
    """One row a column, each with native inputs; Python answers every edit with the rows.

    Attributes
    ----------
    rows : list of dict
        What each line shows, as `rashomon_explorer.explorer.table.rows.form_rows` writes it.
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
