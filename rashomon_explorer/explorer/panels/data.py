"""Panel that chooses the data set, and edits its schema."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from html import escape
from pathlib import PurePath
from typing import Any

import pandas as pd
from sklearn.utils import Bunch

from rashomon_explorer.data import TableSchema, load_dataset
from rashomon_explorer.data.catalog import fetch_table, read_catalog
from rashomon_explorer.data.numerals import UnclearMarkError
from rashomon_explorer.data.schema import data_dependent, labels_unconfirmed, public_part
from rashomon_explorer.data.schema_files import SCHEMA_READERS
from rashomon_explorer.exceptions import DataError
from rashomon_explorer.explorer import html, messages, table_editor, table_files
from rashomon_explorer.explorer.account import ledger_path
from rashomon_explorer.explorer.background import BackgroundTask
from rashomon_explorer.explorer.panels.card import Panel, column, quiet_button, region, row
from rashomon_explorer.explorer.selection import predicted
from rashomon_explorer.explorer.session import Session, is_demo, refuse_in_demo
from rashomon_explorer.explorer.state import ExplorerState
from rashomon_explorer.explorer.table_rows import table_rows, table_shape
from rashomon_explorer.explorer.widgets import controls as ui
from rashomon_explorer.explorer.widgets.files import Download, FileInTransit, FilePicker, Making

_FETCHING = "Fetching from OpenML"


class OpenMLPicker:
    """Fetches a table from OpenML; needs the network."""

    def __init__(self, state: ExplorerState, fetched: Callable[[str, pd.DataFrame], None]) -> None:
        self.state = state
        self._found = fetched
        self.task = BackgroundTask(_FETCHING, self._failed, self._started_or_ended)
        self.which = ui.Text(description="Name or number on OpenML", placeholder="credit-g, or 31")
        self.fetch = ui.Button(description="Fetch the table", button_style="primary")
        self.fetch.on_click(messages.error_boundary(state, _FETCHING, lambda _: self._fetch()))
        self.widget = column([self.which, self.fetch], "rx-schema")

    def _fetch(self) -> None:
        refuse_in_demo("fetches no tables")
        name = self.which.value.strip()
        self.state.message = f"Fetching {name} from OpenML…"
        self.task.start(lambda: fetch_table(name), lambda table: self._found(*table))

    def _failed(self, error: Exception) -> None:
        self.state.message = "Nothing was fetched."
        messages.report(self.state, _FETCHING, error)

    def _started_or_ended(self) -> None:
        self.fetch.disabled = self.task.running


OWN_FILE = "your own table…"
OPENML = "a table of OpenML…"
_NOTHING = ""


class DataPanel(Panel):
    """Panel that loads a data set."""

    title = "Data"
    needs = ("data", "view", "phase", "loading")

    def __init__(self, session: Session) -> None:
        self.session = session
        self.state = session.state
        self.name = ui.Dropdown(
            description="Data set", options=_all_choices(session), value=_NOTHING
        )
        self.positive = ui.Dropdown(description="Positive class", options=[])
        self.about = region()
        self.schema = SchemaPanel(session)
        self.openml = OpenMLPicker(self.state, self._fetched)
        for hidden in (self.positive, self.schema.file, self.openml.widget):
            ui.display(hidden, False)
        self._updating = False
        parts = [self.name, self.openml.widget, self.positive, self.about]
        super().__init__(self.state, *parts, self.schema.widget)
        self.name.observe(self.on("Loading the data", self._on_dataset), "value")
        self.positive.observe(self.on("Loading the data", self._on_positive_label), "value")
        self.state.observe(self.on("Showing the schema", self._show), "data")

    def lines(self) -> tuple[str, ...]:
        data = self.state.data
        if data is None:
            return ("from rashomon_explorer.data import list_datasets", "list_datasets()")
        if (table := table_rows(data)).is_chunked:
            return (
                "from rashomon_explorer import Explorer",
                "from rashomon_explorer.rows import chunk_rows",
                f"rows = chunk_rows({data.name!r}, target={table.sampled.target!r})",
                f"explorer = Explorer(rows, schema={data.name + '.toml'!r})",
                "explorer.data.frame, explorer.chunks",
            )
        if _is_own(self.name.value):
            return (*self.schema.lines(), "explorer.data")
        positive = f", positive={self.positive.value!r}" if self.positive.options else ""
        return (
            "from rashomon_explorer import load_dataset",
            f"load_dataset({data.name!r}{positive})",
            "explorer.data",
        )

    def _on_dataset(self) -> None:
        name = self.name.value
        needs_file = _is_own(name)
        ui.display(self.schema.file, needs_file and name != OPENML)
        ui.display(self.openml.widget, name == OPENML)
        self._offer_classes([])
        if needs_file or name == _NOTHING:
            self.session.forget()
            self.schema.edit(None)
            if name.startswith(_AGAIN):
                table = name.removeprefix(_AGAIN)
                self.session.set_status(
                    f"Give the file of {table} again: no rows are kept, but its schema, its "
                    "ledger and its sets are."
                )
            return
        self.session.set_status(f"Loading {name}…")
        with self.session.loading():
            data = load_dataset(name)
            if data.task == "classification" and len(data.classes) > 2:
                self._offer_classes(list(data.classes))
                data = load_dataset(name, positive=self.positive.value)
            self.session.choose(data)

    def reopen(self, first: str) -> bool:
        """Choose the table that was charged last, else `first`; return whether a file is needed."""
        options = _all_choices(self.session)
        if options != list(self.name.options):  # another page charged a table of one's own
            self.name.options = options
        values = [value for _, value in options]
        last = table_files.last_table(self.session.home)
        choice = next((v for v in (last, _AGAIN + last) if last and v in values), first)
        self.name.value = choice
        return _is_own(choice)

    def _fetched(self, name: str, frame: pd.DataFrame) -> None:
        self.state.alert = None
        self.schema.propose(name, frame)

    def _on_positive_label(self) -> None:
        if not self._updating and self.positive.value is not None:
            self.schema.positive_label = self.positive.value
            with self.session.loading():
                self.session.choose(load_dataset(self.name.value, positive=self.positive.value))

    def _offer_classes(self, classes: list[object]) -> None:
        self._updating = True
        self.positive.options = [(str(label), label) for label in classes]
        if classes:
            self.positive.value = classes[0]
        ui.display(self.positive, bool(classes))
        self.schema.positive_label = self.positive.value
        self._updating = False

    def _show(self) -> None:
        """Show the data set's schema in the form, unless it came from there."""
        data = self.state.data
        if data is not None and data is not self.schema.made:
            self.schema.edit(table_editor.TableEditor.from_dataset(data))

    def refresh(self) -> None:
        self.name.disabled = self.positive.disabled = self.state.busy
        data = self.state.data
        if data is None:
            self.about.value = ""
            return
        n, columns = table_shape(data)
        if self.state.unconfirmed_reason:
            rows = f"<p><b>{escape(data.name)}</b>: {n:,} rows</p>"
            self.about.value = (
                f'{rows}<p class="rx-note">{escape(self.state.unconfirmed_reason)}.</p>'
            )
            return
        facts = [f"<b>{escape(data.name)}</b>: {n:,} rows, {columns} features"]
        table = table_rows(data)
        facts[0] += ", in chunks" * table.is_chunked
        facts += [f"people and figures: {table.words}"] if table.words else []
        facts.append(f"predicts <b>{escape(predicted(data))}</b>")
        if data.classes is None:
            facts[-1] += " from {:g} to {:g}".format(*data.target_bounds)
        if len(data.sensitive.columns):
            facts.append(f"sensitive: {escape(', '.join(map(str, data.sensitive.columns)))}")
        first = escape(data.DESCR.splitlines()[0])
        why = self.state.unconfirmed
        warning = f'<p class="rx-band rx-none">no guarantee: {escape(why)}</p>' if why else ""
        self.about.value = f'{warning}<p>{" · ".join(facts)}</p><p class="rx-note">{first}</p>'


_AGAIN = "again:"


def _is_own(name: str) -> bool:
    return name in (OWN_FILE, OPENML) or name.startswith(_AGAIN)


def _all_choices(session: Session) -> list[tuple[str, str]]:
    """Tables to choose from; in a demo those that need neither a network nor a file."""
    entries, first = read_catalog().values(), ("choose…", _NOTHING)
    shipped = [(f"{e.name} ({e.rows:,} rows)", e.name) for e in entries if e.offline]
    if is_demo():
        return [first, *shipped]
    fetched = [(f"{e.name} (needs the network)", e.name) for e in entries if not e.offline]
    charged = [
        (f"{n}: give the file again", _AGAIN + n) for n in table_files.own_tables(session.home)
    ]
    return [first, *shipped, *fetched, (OPENML, OPENML), (OWN_FILE, OWN_FILE), *charged]


_ALL = "all classes"
_PREVIEWED = 8
_DECIMALS = [("as each column shows", None), ("point: 1,549.5", "."), ("comma: 1.549,5", ",")]
_HOW = (
    "Public knowledge about each column; click a value to change it. Marked values were read from "
    "the rows: correct and confirm them, or there is no guarantee."
)


class SchemaPanel:
    """Edits the schema of a table, and loads the table as the data set on screen."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.state = session.state
        self.table: table_editor.TableEditor | None = None
        self.positive_label: Any = None
        self.made: Bunch | None = None
        self._problems: dict[str, str] = {}
        self._chosen_class = _ALL
        self.file = FilePicker(
            "Your own table (CSV, Excel or Parquet)", accept=",".join(table_files.READERS)
        )
        self.decimal = ui.Dropdown(description="Decimal mark", options=_DECIMALS)
        ui.display(self.decimal, False)
        self.form = ui.TableForm()
        self.notes = region("rx-remarks")
        self.preview = quiet_button("First rows", "Curator: shows private rows", toggles=True)
        self._rows = region("rx-preview")
        self.confirm = ui.Button(
            description="Confirm all",
            tooltip="I have checked that all of this is public knowledge: use the table",
        )
        self.positive = ui.Dropdown(description="Positive class", options=[_ALL])
        self.use = ui.Button(description="Use this table", button_style="primary")
        failed = partial(messages.report, self.state, "Saving the schema")
        self.saver = Download("Save the schema", "The schema as a TOML file", self._file, failed)
        self._fill_dictionary()
        self._connect()
        folded = (self.preview, self.described)
        buttons = row([self.use, self.confirm, self.saver, *folded], "rx-bar")
        how = ui.HTML(f'<p class="rx-note">{_HOW}</p>')
        parts = [how, self.notes, self.form, self.positive, buttons, self._rows, self._dictionary]
        self._details = column(parts, "rx-declared")
        self.widget = column([self.file, self.decimal, self._details], "rx-schema")
        self.refresh()

    def _fill_dictionary(self) -> None:
        self.dictionary = ui.Textarea(
            description="Paste CSV (one line per column) or TOML",
            placeholder=(
                "name,kind,low,high,levels,role\nage,numeric,18,110,,\nhome,categorical,,,own|rent,"
            ),
            rows=3,
        )
        self.dictionary_file = FilePicker("or choose a file", accept=".csv,.toml")
        self.take = ui.Button(description="Apply dictionary")
        parts = [self.dictionary, self.dictionary_file, self.take]
        self._dictionary = column(parts, "rx-dictionary")
        hint = "Paste or choose a description of all columns"
        self.described = quiet_button("Data dictionary", hint, toggles=True)
        self.described.observe(
            lambda _: ui.display(self._dictionary, self.described.value), "value"
        )
        ui.display(self._dictionary, False)

    def _connect(self) -> None:
        def on(what: str, act: Callable[[], None]) -> Callable[[Any], Any]:
            return messages.error_boundary(self.state, what, lambda _: act())

        self.file.observe(on("Reading the file", self._on_file), "picked")
        self.decimal.observe(on("Reading the file", self._on_mark), "value")
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
        name = self.file.name or "table.csv"
        mark = self.decimal.value
        decimal = "" if mark is None else f", decimal={mark!r}"
        return (
            "from rashomon_explorer.data import load_csv",
            f"load_csv({name!r}, schema={self._file_name!r}{decimal})",
        )

    def edit(self, table: table_editor.TableEditor | None) -> None:
        if table is None or self.table is None or table.frame is not self.table.frame:
            self._chosen_class = _ALL
        self.table, self._problems = table, {}
        self.refresh()

    def refresh(self) -> None:
        table = self.table
        ui.display(self._details, table is not None)
        if self.table is None:
            self.form.rows = []
        elif self._released:
            self.form.rows = table_editor.release_rows(self.table)
        else:
            self.form.rows = table_editor.form_rows(self.table, self._problems)
        self.confirm.disabled = table is None or not data_dependent(table.schema)
        self._offer_classes()
        self._remark()
        self._show_rows()

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
        self.decimal.value = None
        ui.display(self.decimal, False)
        self._read_file()

    def _on_mark(self) -> None:
        if self.decimal.value is not None and self.file.content:
            self._read_file()

    def _read_file(self) -> None:
        refuse_in_demo("takes no files")
        file = self.file
        self.edit(None)
        if file.size > file.most_bytes:
            raise DataError(
                f"{file.name} has {file.size / 1e6:.1f} MB; the page reads "
                f"{file.most_bytes / 1e6:g} MB at most: read it in Python, "
                "Explorer(data=load_csv(path, schema=...))"
            )
        try:
            frame = table_files.read_table(file.name, file.content, self.decimal.value)
        except UnclearMarkError:
            ui.display(self.decimal, True)
            raise
        file.content = b""  # no widget keeps private rows
        self.propose(PurePath(file.name).stem, frame, file.name)

    def propose(self, name: str, frame: pd.DataFrame, called: str = "") -> None:
        """Show a table in the form, with a schema proposed from its rows; unload the old table."""
        self.session.forget()
        written = frame.attrs.pop("written", "")
        stored = table_files.saved_schema(ledger_path(self.session.home, name))
        is_known = stored is not None and set(stored) == set(map(str, frame.columns))
        next_step = "Check the proposed schema and confirm it."
        if stored is not None and is_known:
            self.edit(table_editor.TableEditor(name, frame, stored))
            next_step = "Its schema was confirmed before: press Use this table."
        else:
            self.edit(table_editor.TableEditor.proposed(name, frame))
        self.state.alert = None
        self.session.set_status(
            f"{called or name}: {len(frame):,} rows, {frame.shape[1]} columns. {next_step}",
            f"The file is {written}." if written else "",
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

    def _confirm_on_screen(self, before: table_editor.TableEditor) -> None:
        """Apply a confirmation: keep a data set that differs in marks only, else load the table."""
        data = self.state.data
        if self.table is None or self.table.schema.unconfirmed:
            return
        if data is None or not self._on_screen or data.bounds_learnt:
            self.load()
        elif data.schema == before.schema != self.table.schema:
            self.session.confirm(self.table.schema)

    def _take(self) -> None:
        is_toml = self.dictionary.value.lstrip().startswith("[")
        self._declare(self.dictionary.value, ".toml" if is_toml else ".csv")

    def _take_file(self) -> None:
        refuse_in_demo("takes no files")
        file = self.dictionary_file
        self._declare(file.content.decode("utf-8-sig"), PurePath(file.name).suffix.lower())

    def _declare(self, text: str, ending: str) -> None:
        if self.table is not None:
            values = SCHEMA_READERS.get(ending, SCHEMA_READERS[".csv"])(text)
            self.edit(self.table.with_schema(TableSchema.from_dict(values)))
            self.state.alert = None

    def load(self) -> None:
        if self.table is None:
            raise DataError("there is no table yet: choose a file, or one of the data sets")
        positive = self.positive_label
        if positive is None and self.positive.value != _ALL:
            positive = self.positive.value
        with self.session.loading():
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
        ui.display(self.positive, len(options) > 1)

    def _remark(self) -> None:
        notes = [] if self.table is None else table_editor.remarks(self.table)
        notes += [self.state.same_rows] if self.state.same_rows and self._on_screen else []
        notes += [] if self.table is None else table_editor.confirmations(self.table.schema)
        listed = "".join(f"<li>{escape(note)}</li>" for note in notes)
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
