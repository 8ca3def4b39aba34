"""Panel that chooses the data set."""

from collections.abc import Callable
from html import escape

import pandas as pd

from rashomon_explorer.audits import Audit
from rashomon_explorer.audits.audit import audit_table
from rashomon_explorer.data import load_dataset
from rashomon_explorer.data.catalog import fetch_table, read_catalog
from rashomon_explorer.explorer.background import BackgroundTask
from rashomon_explorer.explorer.messages import error_boundary, report
from rashomon_explorer.explorer.panels.card import Panel, column, region
from rashomon_explorer.explorer.panels.schema import SchemaPanel
from rashomon_explorer.explorer.selection import predicted
from rashomon_explorer.explorer.session import Session, is_demo, refuse_in_demo
from rashomon_explorer.explorer.state import ExplorerState
from rashomon_explorer.explorer.streamed_table import streamed_table, table_shape
from rashomon_explorer.explorer.table.editor import TableEditor
from rashomon_explorer.explorer.table.files import last_table, own_tables
from rashomon_explorer.explorer.widgets import basic
from rashomon_explorer.explorer.widgets.basic import display

_FETCHING = "Fetching from OpenML"
_AUDITING = "Auditing a model"
_AUDIT = (
    "Fits a logistic or ridge regression with a cross-validated penalty to the table, and shows "
    "what the models that are as good disagree on. Nothing is charged, and nothing is private."
)


class OpenMLPicker:
    """Fetches a table from OpenML; needs the network."""

    def __init__(self, state: ExplorerState, found: Callable[[str, pd.DataFrame], None]) -> None:
        self.state = state
        self._found = found
        self.task = BackgroundTask(_FETCHING, self._failed, self._lock)
        self.which = basic.Text(
            description="Name or number on OpenML", placeholder="credit-g, or 31"
        )
        self.fetch = basic.Button(description="Fetch the table", button_style="primary")
        self.fetch.on_click(error_boundary(state, _FETCHING, lambda _: self._fetch()))
        self.widget = column([self.which, self.fetch], "rx-schema")

    def _fetch(self) -> None:
        refuse_in_demo("fetches no tables")
        name = self.which.value.strip()
        self.state.message = f"Fetching {name} from OpenML…"
        self.task.start(lambda: fetch_table(name), lambda table: self._found(*table))

    def _failed(self, error: Exception) -> None:
        self.state.message = "Nothing was fetched."
        report(self.state, _FETCHING, error)

    def _lock(self) -> None:
        self.fetch.disabled = self.task.running


OWN_FILE = "your own table…"
OPENML = "a table of OpenML…"
_NOTHING = ""
_OTHERS = ((OPENML, OPENML), (OWN_FILE, OWN_FILE))


class DataPanel(Panel):
    """Panel that loads a data set."""

    title = "Data"
    needs = ("data", "view", "phase")

    def __init__(self, session: Session) -> None:
        self.session = session
        self.state = session.state
        self.name = basic.Dropdown(
            description="Data set", options=_all_choices(session), value=_NOTHING
        )
        self.positive = basic.Dropdown(description="Positive class", options=[])
        self.about = region()
        self.schema = SchemaPanel(session)
        self.audit = basic.Button(
            description="Fit and audit a model (free, not private)", tooltip=_AUDIT
        )
        self.audit.on_click(error_boundary(self.state, _AUDITING, lambda _: self._audit()))
        self._auditing = BackgroundTask(_AUDITING, self._not_audited, self.refresh)
        self.openml = OpenMLPicker(self.state, self._fetched)
        for hidden in (self.positive, self.schema.file, self.openml.widget):
            display(hidden, False)
        self._updating = False
        parts = [self.name, self.openml.widget, self.positive, self.about]
        super().__init__(self.state, *parts, self.audit, self.schema.widget)
        self.name.observe(self.on("Loading the data", self._on_dataset), "value")
        self.positive.observe(self.on("Loading the data", self._on_positive_label), "value")
        self.state.observe(self.on("Showing the schema", self._show), "data")

    def lines(self) -> tuple[str, ...]:
        """Python that loads the same rows."""
        data = self.state.data
        if data is None:
            return ("from rashomon_explorer.data import list_datasets", "list_datasets()")
        if (stream := streamed_table(data)) is not None:
            return (
                "from rashomon_explorer import Explorer",
                "from rashomon_explorer.rows import chunk_rows",
                f"rows = chunk_rows({data.name!r}, target={stream.sampled.target!r})",
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
        own = _is_own(name)
        display(self.schema.file, own and name != OPENML)
        display(self.openml.widget, name == OPENML)
        self._offer_classes([])
        if own or name == _NOTHING:
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
        last = last_table(self.session.home)
        found = next((one for one in (last, _AGAIN + last) if last and one in values), first)
        self.name.value = found
        return _is_own(found)

    def _fetched(self, name: str, frame: pd.DataFrame) -> None:
        """Propose a schema for a fetched table."""
        self.state.alert = None
        self.schema.propose(name, frame)

    def _audit(self) -> None:
        """Fit a linear model with a cross-validated penalty to the table, and show its audit."""
        data = self.session.data_or_error()
        rows = self.session.rows
        self.state.message = "Fitting a model and looking for others that are as good…"

        def find() -> Audit:
            found = audit_table(rows, data.y, data.task, class_names=data.classes or ())
            _ = found.models  # drawn here, not in the thread that answers the browser
            return found

        def show(found: Audit) -> None:
            self.session.show_audit(found, data)
            self.state.page = "set"

        self._auditing.start(find, show)

    def _not_audited(self, error: Exception) -> None:
        self.state.message = "Nothing was audited."
        report(self.state, _AUDITING, error)

    def _on_positive_label(self) -> None:
        if not self._updating and self.positive.value is not None:
            self.schema.positive_label = self.positive.value
            self.session.choose(load_dataset(self.name.value, positive=self.positive.value))

    def _offer_classes(self, classes: list[object]) -> None:
        self._updating = True
        self.positive.options = [(str(label), label) for label in classes]
        if classes:
            self.positive.value = classes[0]
        display(self.positive, bool(classes))
        self.schema.positive_label = self.positive.value
        self._updating = False

    def _show(self) -> None:
        """Show the data set's schema in the form, unless it came from there."""
        data = self.state.data
        if data is not None and data is not self.schema.made:
            self.schema.edit(TableEditor.from_dataset(data))

    def refresh(self) -> None:
        """Describe the data set, and lock the choice during a draw."""
        self.name.disabled = self.positive.disabled = self.state.busy
        data = self.state.data
        in_memory = data is not None and streamed_table(data) is None
        display(self.audit, in_memory and self.state.view == "curator")
        self.audit.disabled = self.state.busy or self._auditing.running
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
        if (stream := streamed_table(data)) is not None:
            facts[0] += ", in chunks"
            facts += [f"people and column shapes: {stream.words}"] if stream.words else []
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
    return [("choose…", _NOTHING), *_choices(), *_own_tables(session)]


def _own_tables(session: Session) -> list[tuple[str, str]]:
    """Tables of one's own that were charged before; their files are not kept."""
    if is_demo():
        return []
    return [(f"{name}: give the file again", _AGAIN + name) for name in own_tables(session.home)]


def _choices() -> list[tuple[str, str]]:
    """Tables to choose from; in a demo those that need neither a network nor a file."""
    entries = read_catalog().values()
    shipped = [(f"{one.name} ({one.rows:,} rows)", one.name) for one in entries if one.offline]
    fetched = [(f"{one.name} (needs the network)", one.name) for one in entries if not one.offline]
    return shipped if is_demo() else [*shipped, *fetched, *_OTHERS]
