"""What the buttons do: choose data, plan, draw, stop. No widgets here."""

import os
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

from sklearn.pipeline import make_pipeline
from sklearn.utils import Bunch

from rashomon_explorer.constants import Constants
from rashomon_explorer.estimators import (
    PublicBoundsScaler,
    RashomonClassifier,
    RashomonRegressor,
)
from rashomon_explorer.exceptions import DataError, LedgerError, SamplerError
from rashomon_explorer.explorer.accepted import fitted_estimator
from rashomon_explorer.explorer.account import Account, ledger_path, read_account
from rashomon_explorer.explorer.engine import DrawJob
from rashomon_explorer.explorer.foreteller import Foreteller
from rashomon_explorer.explorer.guard import report
from rashomon_explorer.explorer.known_tables import charged_elsewhere, note_table, was_noted
from rashomon_explorer.explorer.sentences import progress, receipt, refuse_past_budget, same_rows
from rashomon_explorer.explorer.state import SETTINGS, ExplorerState
from rashomon_explorer.explorer.together import shown_together
from rashomon_explorer.planning import Plan
from rashomon_explorer.planning.warn_weak import said_elsewhere
from rashomon_explorer.plots.text import plural
from rashomon_explorer.privacy import Guarantee, Ledger, no_guarantee
from rashomon_explorer.rashomon_set import RashomonSet

HOME_VARIABLE = "RASHOMON_EXPLORER_HOME"
"""Environment variable that names the folder of the ledgers."""

LEDGER_READ = "Reading the ledger"
_NO_DATA = "there is no data set yet: choose one under Data"
_ESTIMATORS: dict[str, Any] = {
    "classification": RashomonClassifier,
    "regression": RashomonRegressor,
}
_USUAL_RADIUS = {"classification": 4.0, "regression": 2.0}


def default_home() -> Path:
    """Return the folder of the ledgers: where the command was started, or the current one."""
    return Path(os.environ.get(HOME_VARIABLE) or Path.cwd())


class Session:
    """One person's work with one data set after another.

    Parameters
    ----------
    state : ExplorerState
        Read and written here.
    home : pathlib.Path
        Folder of the ledgers.

    Attributes
    ----------
    estimator : sklearn.pipeline.Pipeline or estimator or None
        What made the draws on screen; takes rows as they come in ``state.data.X``.
    rows : DataFrame or None
        ``state.data.X`` as the models on screen were fitted: scaled by its public bounds.
    job : DrawJob or None
        The draw under way, or the last one.
    together : callable
        Makes a context in which nothing is drawn until it ends; who draws sets it.
    """

    def __init__(self, state: ExplorerState, home: Path) -> None:
        self.state = state
        self.home = home
        self.estimator: Any = None
        self.rows: Any = None
        self.job: DrawJob | None = None
        self.together: Callable[[], AbstractContextManager[None]] = nullcontext
        self._scaler: Any = None
        self._scaled: Any = None
        self._ledger_path: Path | None = None
        self._known: set[Path] = set()  # ledgers that existed: one that is missing was lost
        self._drawn: Constants | None = None
        self._foreteller = Foreteller(state)
        state.observe(lambda _: self.replan(), [*SETTINGS])
        state.observe(lambda _: self.refresh_account(), ["budget_epsilon", "budget_delta"])

    @property
    def ledger(self) -> Ledger | None:
        """The data set's ledger, or None before its first draw."""
        account = self.state.account
        return Ledger.open(account.path) if account is not None and account.exists else None

    @property
    def guarantee(self) -> Guarantee | None:
        """What the draws on screen reveal at most."""
        models = self.state.rashomon_set
        return None if models is None else models.guarantee

    @property
    def constants(self) -> Constants | None:
        """Public constants of the draws on screen, of the settings before there are any."""
        return self.state.constants if self.state.rashomon_set is None else self._drawn

    @shown_together
    def choose(self, data: Bunch) -> None:
        """Take a data set; draws of the one before leave the screen, its ledger stays.

        Parameters
        ----------
        data : sklearn.utils.Bunch
            As `load_dataset` and `load_csv` return it.

        Raises
        ------
        DataError
            If it has only one class, or a draw is under way.
        LedgerError
            If its ledger is empty or no ledger; the data set before is put away too.
        """
        self._check_free()
        if data.task == "classification" and len(data.classes) < 2:
            raise DataError(f"{data.name} has one class, expected at least two: nothing to tell")
        state = self.state
        scaler = PublicBoundsScaler(data.bounds).set_output(transform="pandas")
        scaled = scaler.fit_transform(data.X)
        own = ledger_path(self.home, data.name)
        others = charged_elsewhere(own, data.X, scaled)
        try:
            account = self._account_for(own, others)
        except LedgerError:
            self.forget()
            raise
        self.rows = self._scaled = scaled
        self._scaler = scaler
        self._ledger_path = account.path
        changed_task = state.data is None or state.data.task != data.task
        self._clear()
        with state.hold_trait_notifications():
            state.data = data
            state.alert = None
            if changed_task:
                state.radius = _USUAL_RADIUS[data.task]
                state.loss = "logistic" if data.task == "classification" else "squared"
            state.account = account
            state.delta = account.delta
            state.same_rows = same_rows(others, account.path.name)
        self.replan()
        self.say(
            f"{data.name}: {plural(len(data.X), 'row')}, {plural(data.X.shape[1], 'feature')}. "
            "Scaled by its public bounds; no draw has read it, and moving a slider costs nothing."
        )

    @shown_together
    def forget(self) -> None:
        """Put the data set away: what is drawn next must not be drawn from it by mistake."""
        self._clear()
        self.rows = self._scaler = None
        with self.state.hold_trait_notifications():
            self.state.data = self.state.plan = self.state.constants = None
            self.state.account = self.state.alert = None
            self.state.same_rows = ""
        self.say("No data yet.")

    def _clear(self) -> None:
        self.estimator = None
        with self.state.hold_trait_notifications():
            self.state.rashomon_set = None
            self.state.n_drawn = 0
            self.state.drawn_settings = {}
            self.state.selection = ()
            self.state.phase = "empty"

    @shown_together
    def show_fitted(self, estimator: Any, data: Bunch | None = None) -> None:
        """Show the set of an estimator that was fitted elsewhere.

        Parameters
        ----------
        estimator : RashomonClassifier, RashomonRegressor or Pipeline ending in one
            Fitted.
        data : sklearn.utils.Bunch, optional
            Its rows, for the figures that need them.

        Raises
        ------
        TypeError
            If it is another kind of model or set.
        """
        last = fitted_estimator(estimator)
        if data is not None:
            self.choose(data)
        if data is not None:
            self.rows = estimator[:-1].transform(data.X) if last is not estimator else data.X
        known = last.get_params(deep=False)
        state = self.state
        self.estimator = estimator
        self._drawn = _constants_of(last)
        with state.hold_trait_notifications():
            for name in set(SETTINGS) & set(known):
                setattr(state, name, known[name])
            state.rashomon_set = last.rashomon_set_
            state.plan = last.plan_
            state.n_drawn = last.rashomon_set_.n_draws
            state.drawn_settings = state.settings()
            state.phase = "done"
        if known["ledger"] is not None:
            self._ledger_path = Path(getattr(known["ledger"], "path", known["ledger"])).absolute()
            self._known.add(self._ledger_path)
            if data is not None:
                others = charged_elsewhere(self._ledger_path, data.X, self._scaled)
                state.same_rows = same_rows(others, self._ledger_path.name)
        try:
            self.refresh_account()
        except LedgerError as error:  # its draws can be shown, but nothing can be charged
            state.account = None
            report(state, "Reading the ledger", error)
        self.say(f"Showing {plural(last.rashomon_set_.n_draws, 'draw')} of a fitted estimator.")

    def make_estimator(self, *, ledger: Path | None = None) -> Any:
        """Return an unfitted estimator with the settings of the sliders.

        Parameters
        ----------
        ledger : pathlib.Path, optional
            The ledger it will charge.

        Returns
        -------
        RashomonClassifier or RashomonRegressor
            The data set's task decides which.
        """
        state = self.state
        if state.data is None:
            raise DataError(_NO_DATA)
        kind = _ESTIMATORS[state.data.task]
        settings = {k: v for k, v in state.settings().items() if k in kind().get_params()}
        if state.data.target_bounds is not None:
            settings["target_bounds"] = state.data.target_bounds
        if state.data.classes is not None:
            settings["classes"] = tuple(range(len(state.data.classes)))
        return kind(**settings, ledger=None if ledger is None else str(ledger))

    @shown_together
    def replan(self) -> Plan | None:
        """Compute what the settings buy; reads no row.

        Returns
        -------
        Plan or None
            None without data.
        """
        state = self.state
        if state.data is None:
            return None
        if not state.busy and state.phase in ("empty", "failed"):
            state.phase = "planning"
        # Planned as it would be charged: a ledger's rule buys less than a plan fixed in advance.
        to_charge = None if state.data.bounds_learnt else self._ledger_path
        estimator = self.make_estimator(ledger=to_charge)
        state.constants = estimator.constants(*state.data.X.shape)
        with said_elsewhere():  # by the panels, while a slider moves
            state.plan = estimator.plan(*state.data.X.shape)
        return state.plan

    def refresh_account(self) -> Account | None:
        """Read the ledger again; another process may have charged it."""
        if self._ledger_path is not None:
            self.state.account = self._read_account(self._ledger_path)
        return self.state.account

    def _account_for(self, own: Path, others: tuple[str, ...]) -> Account:
        """Read the ledger of a data set's name; before there is one, that of the same rows."""
        account = self._read_account(own)
        known = [self.home / name for name in others if (self.home / name).exists()]
        if account.exists or not known:
            return account
        return min(map(self._read_account, known), key=lambda found: found.left)

    def _read_account(self, path: Path) -> Account:
        budget = self.state.budget_epsilon, self.state.budget_delta
        account = read_account(path, budget, known=path in self._known or was_noted(path))
        if account.exists:
            self._known.add(path)
        return account

    def draw(self) -> DrawJob:
        """Charge the ledger and start drawing in a worker thread.

        Returns
        -------
        DrawJob
            Already started; call `pump` to bring its draws on screen.

        Raises
        ------
        DataError
            Without data, or while another draw is under way.
        BudgetExceededError
            If the price is not left; nothing is read and nothing is spent.
        """
        job = self.prepare()
        job.start()
        return job

    @shown_together
    def prepare(self) -> DrawJob:
        """Check the budget and make the job of a draw, not started."""
        self._check_ready()
        state = self.state
        self._foreteller.refuse()
        estimator = self.make_estimator(ledger=self._open_ledger())
        with said_elsewhere():
            plan = estimator.plan(*state.data.X.shape)
        account = self.refresh_account()
        if not state.data.bounds_learnt and account is not None:
            refuse_past_budget(account, plan)
            note_table(account.path, state.data.X)
        self.rows = self._scaled
        self._drawn = estimator.constants(*state.data.X.shape)
        self.job = DrawJob(estimator, self.rows, state.data.y)
        with state.hold_trait_notifications():
            state.alert = None
            state.n_drawn = 0
            state.selection = ()
            state.drawn_settings = state.settings()
            state.phase = "reserved"
        self.say(f"Drawing {plural(state.n_draws, 'model')}…")
        return self.job

    def foretell(self) -> bool:
        """Start the trial on simulated rows that `prepare` asks about, in a worker thread.

        Returns
        -------
        bool
            Whether there is one to wait for, while `foretelling`; `foretold` ends the waiting.

        Raises
        ------
        DataError, BudgetExceededError
            As `prepare` raises them: nothing is tried of what will be refused.
        """
        self._check_ready()
        account, plan = self.refresh_account(), self.state.plan
        if not self.state.data.bounds_learnt and account is not None and plan is not None:
            refuse_past_budget(account, plan)
        return self._foreteller.begin()

    @property
    def foretelling(self) -> bool:
        """Whether a draw waits for its trial."""
        return self._foreteller.trying

    def foretold(self) -> bool:
        """End the waiting for a trial; whether the draw is still wanted."""
        return self._foreteller.end()

    def _check_free(self) -> None:
        if self.state.busy:
            raise DataError("a draw is under way: wait for it or press Stop")

    def _check_ready(self) -> None:
        self._check_free()
        if self.state.data is None:
            raise DataError(_NO_DATA)

    def _open_ledger(self) -> Path | None:
        path = self._ledger_path
        if path is None or self.state.data.bounds_learnt:
            return None
        if not self._read_account(path).exists:
            budget = self.state.budget_epsilon, self.state.budget_delta
            Ledger.create(path, epsilon=budget[0], delta=budget[1]).close()
        return path

    def _look_at_ledger(self) -> None:
        """Refresh the account of a draw that goes on, or has ended, whatever the ledger says."""
        try:
            self.refresh_account()
        except Exception as error:
            report(self.state, LEDGER_READ, error)

    def stop(self) -> None:
        """Ask the draw under way to end; draws so far are kept, the price stays spent."""
        if self._foreteller.stop():
            return
        if self.job is not None and self.job.running:
            self.job.stop()
            self.say("Stopping…")

    @shown_together
    def pump(self) -> bool:
        """Bring the job's newest draws into the state.

        Returns
        -------
        bool
            Whether the job is still running.
        """
        job, state = self.job, self.state
        if job is None or not state.spent:
            return False
        ended = not job.running  # asked before the draws are read, or the last ones could be missed
        partial = job.latest
        if partial is not None and partial.n_draws != state.n_drawn:
            self._take(partial)
        if job.beats and state.phase == "reserved":
            state.phase = "drawing"
            self._look_at_ledger()
        if ended:
            self._finish(job)
        elif not job.stopped:
            self.say(progress(job, state))
        return not ended

    def _take(self, models: RashomonSet) -> None:
        self.state.rashomon_set = self._labelled(models)
        self.state.n_drawn = models.n_draws

    def _labelled(self, models: RashomonSet) -> RashomonSet:
        declared = self.state.data.get("feature_groups")
        if declared is not None:
            models = models.with_groups(declared)
        if not self.state.data.bounds_learnt:
            return models
        return replace(models, guarantee=no_guarantee("the bounds were learnt from the rows"))

    def _finish(self, job: DrawJob) -> None:
        state = self.state
        self._look_at_ledger()
        if job.stopped and isinstance(job.error, SamplerError):
            state.phase = "stopped"
            self.say("Stopped before the first model; the whole price stays spent.")
            return
        if job.error is not None:
            state.phase = "failed"
            self.say("The draw failed.")
            report(state, "Drawing", job.error)
            return
        fitted = job.estimator
        fitted.rashomon_set_ = state.rashomon_set  # what is on screen, its groups and all
        fitted.guarantee_ = fitted.rashomon_set_.guarantee
        self.estimator = make_pipeline(self._scaler, fitted)
        asked, got = state.drawn_settings["n_draws"], state.n_drawn
        state.phase = "stopped" if got < asked else "done"
        self.say(receipt(state, got, asked))

    def say(self, message: str) -> None:
        """Write the status line."""
        self.state.message = message


def _constants_of(fitted: Any) -> Constants:
    rows: int = fitted.plan_.n
    classes = {"n_classes": len(fitted.classes_)} if hasattr(fitted, "classes_") else {}
    return fitted.constants(rows, fitted.n_features_in_, **classes)
