"""Editor of a table's schema, one row per column: propose, correct, confirm, save."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from html import escape
from pathlib import PurePath
from typing import Any

import pandas as pd
from sklearn.utils import Bunch

from rashomon_explorer.data import TableSchema
from rashomon_explorer.data.schema import data_dependent, labels_unconfirmed, public_part
from rashomon_explorer.data.schema_files import json_values, toml_values
from rashomon_explorer.exceptions import DataError
from rashomon_explorer.explorer import html, messages
from rashomon_explorer.explorer.account import ledger_path
from rashomon_explorer.explorer.panels.card import column, quiet_button, region, row
from rashomon_explorer.explorer.session import Session, refuse_in_demo
from rashomon_explorer.explorer.table.editor import TableEditor, form_rows, release_rows
from rashomon_explorer.explorer.table.files import read_table, saved_schema
from rashomon_explorer.explorer.table.remarks import confirmations, remarks
from rashomon_explorer.explorer.widgets import basic
from rashomon_explorer.explorer.widgets.basic import display
from rashomon_explorer.explorer.widgets.controls import TableForm
from rashomon_explorer.explorer.widgets.files import Download, FileInTransit, FilePicker, Making

_ALL = "all classes"
_PREVIEWED = 8
_HOW = (
    "Public knowledge about each column; click a value to change it. Marked values were read from "
    "the rows: correct and confirm them, or there is no guarantee."
)


class SchemaPanel:
    """Edits the schema of a table, and loads the table as the data set on screen."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.state = session.state
        self.table: TableEditor | None = None
        self.positive_label: Any = None
        self.made: Bunch | None = None
        self._problems: dict[str, str] = {}
        self._chosen_class = _ALL
        self.file = FilePicker(
            "Your own table (CSV, Excel or Parquet)", accept=".csv,.xlsx,.parquet,.pq"
        )
        self.form = TableForm()
        self.notes = region("rx-remarks")
        self.preview = quiet_button("First rows", "Curator: shows private rows", toggles=True)
        self._rows = region("rx-preview")
        self.confirm = basic.Button(
            description="Confirm all",
            tooltip="I have checked that all of this is public knowledge: use the table",
        )
        self.positive = basic.Dropdown(description="Positive class", options=[_ALL])
        self.use = basic.Button(description="Use this table", button_style="primary")
        failed = partial(messages.report, self.state, "Saving the schema")
        self.saver = Download("Save the schema", "The schema as a TOML file", self._file, failed)
        self._fill_dictionary()
        self._connect()
        folded = (self.preview, self.described)
        buttons = row([self.use, self.confirm, self.saver, *folded], "rx-bar")
        how = basic.HTML(f'<p class="rx-note">{_HOW}</p>')
        parts = [how, self.notes, self.form, self.positive, buttons, self._rows, self._dictionary]
        self._details = column(parts, "rx-declared")
        self.widget = column([self.file, self._details], "rx-schema")
        self.refresh()

    def _fill_dictionary(self) -> None:
        self.dictionary = basic.Textarea(
            description="Paste CSV (one line per column), TOML or JSON",
            placeholder=(
                "name,kind,low,high,levels,role\nage,numeric,18,110,,\nhome,categorical,,,own|rent,"
            ),
            rows=3,
        )
        self.dictionary_file = FilePicker("or choose a file", accept=".csv,.toml,.json")
        self.take = basic.Button(description="Apply dictionary")
        parts = [self.dictionary, self.dictionary_file, self.take]
        self._dictionary = column(parts, "rx-dictionary")
        hint = "Paste or choose a description of all columns"
        self.described = quiet_button("Data dictionary", hint, toggles=True)
        self.described.observe(lambda _: display(self._dictionary, self.described.value), "value")
        display(self._dictionary, False)

    def _connect(self) -> None:
        def on(what: str, act: Callable[[], None]) -> Callable[[Any], Any]:
            return messages.error_boundary(self.state, what, lambda _: act())

        self.file.observe(on("Reading the file", self._on_file), "picked")
        self.form.observe(on("Changing the schema", self._edited), "edit")
        self.confirm.on_click(on("Confirming", self._confirm))
        self.take.on_click(on("Reading the dictionary", self._take))
        self.dictionary_file.observe(on("Reading the dictionary", self._take_file), "picked")
        self.use.on_click(on("Loading the table", self.load))
        self.preview.observe(lambda _: self._show_rows(), "value")
        self.state.observe(lambda _: self._lock(), "phase")
        self.state.observe(lambda _: self._remark(), "same_rows")
        self.state.observe(lambda _: self.refresh(), "view")

    def lines(self) -> tuple[str, ...]:
        """Python that loads the same table."""
        name = self.file.name or "table.csv"
        return (
            "from rashomon_explorer.data import load_csv",
            f"load_csv({name!r}, schema={self._file_name!r})",
        )

    def edit(self, table: TableEditor | None) -> None:
        """Show another table in the form, or none."""
        if table is None or self.table is None or table.frame is not self.table.frame:
            self._chosen_class = _ALL
        self.table, self._problems = table, {}
        self.refresh()

    def refresh(self) -> None:
        """Update the form, the remarks and the file; the release hides data-dependent values."""
        table = self.table
        display(self._details, table is not None)
        self._write_form()
        self.confirm.disabled = table is None or not data_dependent(table.schema)
        self._offer_classes()
        self._remark()
        self._show_rows()

    def _write_form(self) -> None:
        if self.table is None:
            self.form.rows = []
        elif self._released:
            self.form.rows = release_rows(self.table)
        else:
            self.form.rows = form_rows(self.table, self._problems)

    @property
    def _file_name(self) -> str:
        return "" if self.table is None else f"{self.table.name}.toml"

    def _file(self) -> Making:
        """Prepare the schema file; in the release view without data-dependent values."""
        if self.table is None:
            raise DataError("there is no table yet: choose a file, or one of the data sets")
        schema = public_part(self.table.schema) if self._released else self.table.schema
        content = schema.to_toml().encode()
        return partial(FileInTransit, self._file_name, content, "application/toml")

    @property
    def _released(self) -> bool:
        return self.state.view == "release"

    def _on_file(self) -> None:
        refuse_in_demo("takes no files")
        file = self.file
        self.edit(None)
        if file.size > file.most_bytes:
            raise DataError(
                f"{file.name} has {file.size / 1e6:.1f} MB; the page reads "
                f"{file.most_bytes / 1e6:g} MB at most: read it in Python, "
                "Explorer(data=load_csv(path, schema=...))"
            )
        frame = read_table(file.name, file.content)
        file.content = b""  # no widget keeps private rows
        self.propose(PurePath(file.name).stem, frame, file.name)

    def propose(self, name: str, frame: pd.DataFrame, called: str = "") -> None:
        """Show a table in the form, with a schema proposed from its rows; unload the old table."""
        self.session.forget()
        written = frame.attrs.pop("written", "")
        known = saved_schema(ledger_path(self.session.home, name))
        same = known is not None and set(known) == set(map(str, frame.columns))
        next_step = "Check the proposed schema and confirm it."
        if known is not None and same:
            self.edit(TableEditor(name, frame, known))
            next_step = "Its schema was confirmed before: press Use this table."
        else:
            self.edit(TableEditor.proposed(name, frame))
        self.state.alert = None
        self.session.set_status(
            f"{called or name}: {len(frame):,} rows, {frame.shape[1]} columns"
            f"{', ' if written else ''}{written}. {next_step}"
        )

    def _edited(self) -> None:
        edit = self.form.edit
        if self.table is None or not edit:
            return
        column, field = str(edit["column"]), str(edit["field"])
        self._problems.pop(column, None)
        before = self.table
        try:
            if field == "confirm":
                self.table = self.table.confirmed(column)
            else:
                self.table = self.table.edited(column, field, str(edit["value"]))
        except DataError as error:
            self._problems[column] = str(error)
        self.refresh()
        if field == "confirm":
            self._confirm_on_screen(before)

    def _confirm(self) -> None:
        if self.table is not None:
            before = self.table
            self.edit(before.confirmed())
            self._confirm_on_screen(before)

    def _confirm_on_screen(self, before: TableEditor) -> None:
        """Apply a confirmation: keep a data set that differs in marks only, else load the table."""
        data = self.state.data
        if self.table is None or self.table.schema.unconfirmed:
            return
        if data is None or not self._on_screen or data.bounds_learnt:
            self.load()
        elif data.schema == before.schema != self.table.schema:
            self.session.confirm(self.table.schema)

    def _take(self) -> None:
        self._declare(self.dictionary.value, _ending_of(self.dictionary.value))

    def _take_file(self) -> None:
        refuse_in_demo("takes no files")
        file = self.dictionary_file
        self._declare(file.content.decode("utf-8-sig"), PurePath(file.name).suffix.lower())

    def _declare(self, text: str, ending: str) -> None:
        if self.table is not None:
            self.edit(self.table.declared(_READERS.get(ending, _READERS[".csv"])(text)))
            self.state.alert = None

    def load(self) -> None:
        """Load the table with its current schema as the data set on screen."""
        if self.table is None:
            raise DataError("there is no table yet: choose a file, or one of the data sets")
        positive = self.positive_label
        if positive is None and self.positive.value != _ALL:
            positive = self.positive.value
        self.made = self.table.data(positive)
        if self.made.schema != self.table.schema:  # labels found in the rows must be confirmed
            self.edit(replace(self.table, schema=self.made.schema))
        self.session.choose(self.made)

    def _offer_classes(self) -> None:
        schema = None if self.table is None else self.table.schema
        classes = () if schema is None else schema.classes or ()
        hidden = self._released and labels_unconfirmed(schema)
        several = len(classes) > 2 and self.positive_label is None and not hidden
        options = [_ALL, *map(str, classes)] if several else [_ALL]
        if self.positive.value != _ALL:
            self._chosen_class = self.positive.value
        if list(self.positive.options) != options:
            self.positive.options = options
            self.positive.value = self._chosen_class if self._chosen_class in options else _ALL
        display(self.positive, len(options) > 1)

    def _remark(self) -> None:
        notes = [] if self.table is None else remarks(self.table)
        notes += [self.state.same_rows] if self.state.same_rows and self._on_screen else []
        notes += [] if self.table is None else confirmations(self.table.schema)
        listed = "".join(f"<li>{escape(one)}</li>" for one in notes)
        band = '<span class="rx-band rx-curator">not private</span>'
        self.notes.value = f"{band}<ul>{listed}</ul>" if listed and not self._released else ""

    @property
    def _on_screen(self) -> bool:
        data = self.state.data
        return data is not None and self.table is not None and data.name == self.table.name

    def _show_rows(self) -> None:
        if self.table is None or not self.preview.value or self._released:
            self._rows.value = ""
            return
        band = '<span class="rx-band rx-curator">private rows</span>'
        preview = html.table_html(self.table.frame.head(_PREVIEWED).astype(str), "First rows")
        self._rows.value = band + preview

    def _lock(self) -> None:
        for control in (self.file, self.form, self.use, self.take, self.dictionary_file):
            control.disabled = self.state.busy


_READERS: dict[str, Callable[[str], TableSchema]] = {
    ".csv": TableSchema.from_data_dictionary,
    ".toml": lambda text: TableSchema.from_dict(toml_values(text)),
    ".json": lambda text: TableSchema.from_dict(json_values(text)),
}


def _ending_of(text: str) -> str:
    start = text.lstrip()[:1]
    return {"[": ".toml", "{": ".json"}.get(start, ".csv")
