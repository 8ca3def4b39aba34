"""Data set on the page: its default settings, its plan and its ledger."""

import math
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Any, TypeVar, cast

from sklearn.utils import Bunch

from rashomon_explorer._utils.memory_limits import release_freed_memory
from rashomon_explorer.data import TableSchema
from rashomon_explorer.estimators import RashomonClassifier, RashomonRegressor
from rashomon_explorer.estimators.base import quiet
from rashomon_explorer.exceptions import DataError, LedgerError, SamplerError
from rashomon_explorer.explorer.account import Account, ledger_path, read_account, to_charge
from rashomon_explorer.explorer.answers import ExactAnswers, TreeAnswers
from rashomon_explorer.explorer.background import BackgroundTask, batch_updates
from rashomon_explorer.explorer.family import DRAWS, draws_trees, network_estimator, tree_estimator
from rashomon_explorer.explorer.messages import LEDGER_READ, LOGGER, error_boundary, same_rows
from rashomon_explorer.explorer.selection import CurrentSelection, ModelInputs, WhatIf
from rashomon_explorer.explorer.state import BUDGET, LINEAR, NETWORKS, SETTINGS, ExplorerState
from rashomon_explorer.explorer.table_editor import OWN_SOURCE
from rashomon_explorer.explorer.table_files import save_schema
from rashomon_explorer.explorer.table_rows import encoded, scaled, table_rows, table_shape
from rashomon_explorer.mechanisms.plans import WEAK_HIT_RATE, Plan
from rashomon_explorer.mechanisms.request import AUTO
from rashomon_explorer.plots.text import plural
from rashomon_explorer.privacy import Ledger
from rashomon_explorer.privacy.ledger.tables import TableRegistry, warn_unkept
from rashomon_explorer.problem.constants import Constants

T = TypeVar("T")

_MANY: Mapping[str, dict[str, Any]] = {
    "classification": {"radius": 4.0, "ridge": 0.0, "n_draws": DRAWS[LINEAR], "mechanism": AUTO},
    "regression": {"radius": 2.0, "ridge": 0.0, "n_draws": DRAWS[LINEAR], "mechanism": AUTO},
}


def default_settings(task: str, planned: Callable[[Mapping[str, Any]], Plan]) -> Mapping[str, Any]:
    """Choose the ball for a set: a fixed one if their hit rate or excess is good enough."""
    fixed = _MANY[task]
    choices = (fixed, {**fixed, "radius": AUTO, "ridge": AUTO})
    excess = []
    for settings in choices:
        try:
            plan = planned(settings)
        except SamplerError:  # no mechanism is feasible for so many draws
            excess.append(math.inf)
            continue
        if plan.hit_rate_bound >= WEAK_HIT_RATE:
            return settings
        excess.append(plan.stated_excess)
    return choices[int(excess[1] < excess[0])]


def _ask_registry(ledger: Path, ask: Callable[[TableRegistry], T], otherwise: T) -> T:
    """Use the folder's registry of tables; warn and go on if it cannot be used."""
    try:
        return ask(TableRegistry(ledger.parent))
    except (OSError, sqlite3.Error) as error:
        warn_unkept(ledger.parent, error)
        return otherwise


def was_noted(ledger: Path) -> bool:
    """Whether a ledger of this path was used before; if so, a missing file is an error."""
    return _ask_registry(ledger, lambda registry: registry.knows(ledger.name), False)


def other_charged_ledgers(ledger: Path, *tables: Callable[[], Any]) -> tuple[str, ...]:
    """File names of other ledgers in the folder to which any of the tables was charged."""

    def find(registry: TableRegistry) -> set[str]:
        if not registry.path.exists():  # avoids creating tables without anything to compare
            return set()
        return {name for make_table in tables for name in registry.ledgers_charged(make_table())}

    nothing: set[str] = set()
    return tuple(sorted(_ask_registry(ledger, find, nothing) - {ledger.name}))


def note_table(ledger: Path, rows: Any) -> None:
    _ask_registry(ledger, lambda registry: registry.note(ledger.name, rows), None)


_ESTIMATORS: dict[str, Any] = {
    "classification": RashomonClassifier,
    "regression": RashomonRegressor,
}


class DatasetController(ModelInputs):
    """Load data sets, plan their draws, and read the ledger of the current one."""

    def __init__(self, state: ExplorerState, home: Path) -> None:
        self.state = state
        self.home = home
        self.estimator: Any = None
        self.rows: Any = None
        self.together: Callable[[], AbstractContextManager[None]] = nullcontext
        self.picked = CurrentSelection(self)
        self.exact = ExactAnswers(self)
        self.what_if = WhatIf(self)
        self.tree_answers = TreeAnswers(self.state)
        self._encoder: Any = None
        self._chunk_encoder: Any = None  # encoder of chunked rows, if it is not the page's own
        self._comparison = BackgroundTask("comparing the rows with other ledgers")
        self._encoded: Any = None
        self._defaults: Mapping[str, Any] = {}
        self._ledger_path: Path | None = None
        self._ledgers_seen: set[Path] = set()  # ledgers that existed: a missing one is an error
        self._planned: tuple[Any, ...] = ()
        state.observe(lambda _: self._follow_settings(), [*SETTINGS])
        reread = error_boundary(state, LEDGER_READ, lambda _: self.refresh_account())
        state.observe(reread, BUDGET)
        # The budget of a new ledger determines its Rényi order, and so the plan.
        state.observe(lambda _: self._follow_settings(), BUDGET)
        state.observe(lambda _: self.replan() if state.unconfirmed else None, "view")

    @property
    def ledger(self) -> Ledger | None:
        account = self.state.account
        return Ledger.open(account.path) if account is not None and account.exists else None

    @contextmanager
    def loading(self) -> Iterator[None]:
        """Lock the buttons that charge the ledger while another table is loaded."""
        before, self.state.loading = self.state.loading, True
        try:
            yield
        finally:
            self.state.loading = before

    @batch_updates
    def choose(self, data: Bunch) -> None:
        """Load a data set; clear the previous draws from the screen, and keep their ledger."""
        with self.loading():
            self._choose(data)

    def _choose(self, data: Bunch) -> None:
        self._check_free()
        if data.task == "classification" and len(data.classes) < 2:
            raise DataError(f"{data.name} has one class, expected at least two")
        state = self.state
        encoder, rows = encoded(data)
        default_path = ledger_path(self.home, data.name)
        is_chunked = table_rows(data).is_chunked
        tables = (lambda: data.X, lambda: rows, lambda: scaled(data))
        other_ledgers = () if is_chunked else other_charged_ledgers(default_path, *tables)
        try:
            account = self._account_for(default_path, other_ledgers)
        except LedgerError:
            self.forget()
            raise
        self.rows = self._encoded = rows
        self._encoder, self._chunk_encoder = encoder, None
        self.state.table_number += 1
        self._ledger_path = account.path
        changed_task = state.data is None or state.data.task != data.task
        other_table = state.data is None or state.data.name != data.name
        if other_table:
            self._reset_set_settings()
        self._clear()
        with state.hold_trait_notifications():
            state.data = data
            state.alert = None
            if changed_task:
                state.family = LINEAR
                state.loss = "logistic" if data.task == "classification" else "squared"
            state.account = account
            state.delta = account.delta
            state.same_rows = same_rows(other_ledgers, account.path.name)
            self._open(anew=changed_task or other_table)
        self.replan()
        n, columns = table_shape(data)
        size, kind = f"{data.name}: {plural(n, 'row')}", ""
        if not state.unconfirmed:  # otherwise the number of features may be data-dependent
            size, kind = f"{size}, {plural(columns, 'feature')}", "public "
        self.set_status(f"{size}. Encoded by its {kind}schema. Sliders cost nothing.")
        release_freed_memory()
        if is_chunked and not data.bounds_learnt:
            self._recognise(data, account.path)

    def _recognise(self, data: Bunch, path: Path) -> None:
        """Hash all rows in the background, and warn of other ledgers they were charged to."""
        table = data.chunked

        def show(other_ledgers: tuple[str, ...]) -> None:
            if self.state.data is data:
                self.state.same_rows = same_rows(other_ledgers, path.name)

        self._comparison.start(lambda: other_charged_ledgers(path, table.hashes), show)

    @batch_updates
    def redeclare(self, schema: TableSchema) -> None:
        """Change the schema of the table; keep its rows, its ledger and the set on screen."""
        self.check_ready()
        self.state.data = Bunch(**{**self.state.data, "schema": schema})
        self.replan()

    @batch_updates
    def forget(self) -> None:
        """Unload the data set, so that nothing is drawn from it by mistake."""
        self._check_free()
        self.state.table_number += 1
        self._reset_set_settings()
        self._clear()
        self.rows = self._encoder = self._chunk_encoder = None
        with self.state.hold_trait_notifications():
            self.state.data = self.state.plan = self.state.constants = None
            self.state.account = self.state.alert = None
            self.state.saved_sets = ()
            self.state.same_rows = self.state.no_plan = ""
        self.set_status("No data yet.")

    def _open(self, *, anew: bool) -> None:
        """Set defaults of a new data set, unless the user changed a setting of the last one."""
        state = self.state
        if not anew and any(
            getattr(state, name) != setting for name, setting in self._defaults.items()
        ):
            return

        def planned(settings: Mapping[str, Any]) -> Plan:
            estimator = linear_estimator(state, self._to_charge).set_params(**settings)
            return cast(Plan, estimator.plan(*table_shape(state.data)))

        self._defaults = default_settings(state.data.task, planned)
        for name, value in self._defaults.items():
            setattr(state, name, value)

    @property
    def _to_charge(self) -> Path | None:
        """Ledger that the next draw is charged to; None where nothing is."""
        return None if self.state.uncharged else self._ledger_path

    def _reset_set_settings(self) -> None:
        """Reset threshold and privacy cost where they are those of the set on screen."""
        for name in ("psi", "epsilon"):
            if self.state.drawn_settings.get(name) == getattr(self.state, name):
                setattr(self.state, name, self.state.traits()[name].default_value)

    def _clear(self) -> None:
        self.estimator = None
        self.exact.forget()
        self.tree_answers.forget()
        with self.state.hold_trait_notifications():
            self.state.set_number += 1
            self.state.rashomon_set = self.state.audit = None
            self.state.n_drawn = 0
            self.state.charged = None
            self.state.drawn_settings = {}
            self.state.in_view = 0
            self.state.chains, self.state.path = (), None
            self.state.clear_selection()
            self.state.group_column = ""
            self.state.phase = "empty"

    def make_estimator(self, *, ledger: Path | None = None) -> Any:
        self.data_or_error()
        if self.state.family in NETWORKS:
            return network_estimator(self.state, ledger)
        make = tree_estimator if draws_trees(self.state) else linear_estimator
        return make(self.state, ledger)

    def _follow_settings(self) -> None:
        """Plan again, once if several settings changed together."""
        if self._planned_now() != self._planned:
            self.replan()

    def _planned_now(self) -> tuple[Any, ...]:
        to_be = to_charge(self._to_charge, self.state.planned_budget)
        return (id(self.state.data), to_be, *self.state.settings().values())

    @batch_updates
    def replan(self) -> Plan | None:
        state = self.state
        if state.data is None:
            return None
        if state.unconfirmed_reason:
            self._planned = ()
            with state.hold_trait_notifications():
                state.plan, state.constants, state.no_plan = None, None, state.unconfirmed_reason
            return None
        if not state.busy and state.phase in ("empty", "failed"):
            state.phase = "planning"
        # Plan with the ledger: its composition rule costs more than a plan fixed in advance.
        self._planned = self._planned_now()
        try:
            estimator = self.make_estimator(ledger=self._to_charge)
            plan = estimator.plan(*table_shape(state.data))
            constants = public_constants(estimator, *table_shape(state.data))
        except (SamplerError, ValueError) as error:
            plan, constants, why = None, None, str(error)
        else:
            why = ""
        with state.hold_trait_notifications():
            state.plan, state.constants, state.no_plan = plan, constants, why
        return plan

    def refresh_account(self) -> Account | None:
        """Read the ledger again; another process may have charged it."""
        if self._ledger_path is not None:
            self.state.account = self._read_account(self._ledger_path)
        return self.state.account

    def _account_for(self, path: Path, other_ledgers: tuple[str, ...]) -> Account:
        """Read the data set's ledger; if missing, that of the same rows with the least left."""
        account = self._read_account(path)
        charged_paths = [self.home / name for name in other_ledgers if (self.home / name).exists()]
        if account.exists or not charged_paths:
            return account
        return min(map(self._read_account, charged_paths), key=lambda copied: copied.left)

    def _read_account(self, path: Path) -> Account:
        budget = self.state.planned_budget
        account = read_account(path, budget, known=path in self._ledgers_seen or was_noted(path))
        if account.exists:
            self._ledgers_seen.add(path)
        return account

    def ledger_to_charge(self) -> Path | None:
        """Return the ledger of the table, created if missing; None without a table."""
        path = self._ledger_path
        if path is None:
            return None
        if not self._read_account(path).exists:
            epsilon, delta = self.state.planned_budget
            try:
                Ledger.create(path, epsilon=epsilon, delta=delta).close()
            except LedgerError:
                if not self._read_account(path).exists:
                    raise
                # Another page created it at the same time: its budget applies to both.
        if self.state.data.get("source") == OWN_SOURCE:
            try:
                save_schema(path, self.state.data.schema)
            except OSError as error:  # then it is proposed again
                LOGGER.error("the schema of %s was not saved", path, exc_info=error)
        return path

    def _check_free(self) -> None:
        if self.state.busy:
            raise DataError("a draw is running: wait for it or press Stop")

    def check_ready(self) -> None:
        self._check_free()
        self.data_or_error()

    def data_or_error(self) -> Bunch:
        if self.state.data is None:
            raise DataError("no data set is selected: choose one under Data")
        return self.state.data

    def set_status(self, message: str, detail: str = "") -> None:
        """Show a message; what is read off the rows goes into its detail, for the curator."""
        with self.state.hold_trait_notifications():
            self.state.message, self.state.detail = message, detail


def public_constants(estimator: Any, n: int, columns: int, **classes: Any) -> Constants | None:
    if not hasattr(estimator, "constants"):
        return None
    return cast(Constants, estimator.constants(n, columns, **classes))


def linear_estimator(state: ExplorerState, ledger: Path | None = None) -> Any:
    kind = _ESTIMATORS[state.data.task]
    settings = {k: v for k, v in state.settings().items() if k in kind().get_params()}
    if state.data.target_bounds is not None:
        settings["target_bounds"] = state.data.target_bounds
    if state.data.classes is not None:
        settings["classes"] = tuple(range(len(state.data.classes)))
    return quiet(kind(**settings, ledger=to_charge(ledger, state.planned_budget)))
