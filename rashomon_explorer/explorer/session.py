"""Actions of the buttons: draw, stop, show. No widgets here."""

import os
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.pipeline import make_pipeline
from sklearn.utils import Bunch

from rashomon_explorer.exceptions import LedgerError, SamplerError
from rashomon_explorer.explorer.background import batch_updates
from rashomon_explorer.explorer.dataset import note_table, other_charged_ledgers, public_constants
from rashomon_explorer.explorer.engine import DrawJob, FeasibilityCheck
from rashomon_explorer.explorer.family import of_trees, tree_rows
from rashomon_explorer.explorer.messages import (
    LEDGER_READ,
    progress,
    receipt,
    refuse_past_budget,
    report,
    same_rows,
)
from rashomon_explorer.explorer.model_inputs import ExternalModel, check_fitted_estimator
from rashomon_explorer.explorer.set_store import SavedSets
from rashomon_explorer.explorer.state import LINEAR, SETTINGS, TREES, ExplorerState, Favourites
from rashomon_explorer.explorer.streamed_table import (
    StreamedTable,
    encoder_as_fitted,
    refuse_other_columns,
    rows_as_fitted,
    streamed_table,
    table_shape,
)
from rashomon_explorer.mechanisms.planning.plan import PublicLaw
from rashomon_explorer.mechanisms.planning.suggestions import suppress_weak_warnings
from rashomon_explorer.plots.text import plural
from rashomon_explorer.privacy import Guarantee
from rashomon_explorer.privacy.notions import no_guarantee
from rashomon_explorer.problem.constants import Constants
from rashomon_explorer.rows import ChunkedRows, Step
from rashomon_explorer.sets import RashomonSet

HOME_VARIABLE = "RASHOMON_EXPLORER_HOME"
"""Environment variable that names the folder of the ledgers."""


def default_home() -> Path:
    """Return the folder of the ledgers: where the command was started, or the current one."""
    return Path(os.environ.get(HOME_VARIABLE) or Path.cwd())


class Session(SavedSets):
    """One user's session: draws from the data set on screen, and imported sets."""

    def __init__(self, state: ExplorerState, home: Path) -> None:
        super().__init__(state, home)
        self.job: DrawJob | None = None
        self._foreteller = FeasibilityCheck(state)

    @property
    def guarantee(self) -> Guarantee | None:
        """Guarantee of the draws on screen."""
        models = self.state.rashomon_set
        return None if models is None else models.guarantee

    @property
    def constants(self) -> Constants | None:
        """Public constants of the draws on screen; of the current settings before a draw."""
        return self.state.constants if self.state.rashomon_set is None else self._drawn

    @batch_updates
    def show_fitted(self, estimator: Any, data: Bunch | None = None) -> None:
        """Show the set of a fitted estimator."""
        last = check_fitted_estimator(estimator)
        if data is not None:
            behind = None if streamed_table(data) is None else encoder_as_fitted(estimator, data)
            rows = rows_as_fitted(estimator, data) if behind is None else _encoded(behind, data)
            self.choose(data)
            self.rows, self._behind = rows, behind
        known = last.get_params(deep=False)
        state = self.state
        self.estimator = estimator
        self._drawn = _constants_of(last)
        with state.hold_trait_notifications():
            state.family = LINEAR if isinstance(last.rashomon_set_, RashomonSet) else TREES
            for name in set(SETTINGS) & set(known):
                setattr(state, name, known[name])
            state.in_view = 0
            state.rashomon_set = last.rashomon_set_
            state.plan = last.plan_
            state.n_drawn = last.rashomon_set_.n_draws
            state.drawn_settings = state.draw_settings()
            state.phase = "done"
        if known["ledger"] is not None:
            self._ledger_path = Path(getattr(known["ledger"], "path", known["ledger"])).absolute()
            self._known.add(self._ledger_path)
            if data is not None and streamed_table(data) is None:
                others = other_charged_ledgers(
                    self._ledger_path, lambda: data.X, lambda: self._encoded
                )
                state.same_rows = same_rows(others, self._ledger_path.name)
        try:
            self.refresh_account()
        except LedgerError as error:  # the draws can be shown, but nothing can be charged
            state.account = None
            report(state, LEDGER_READ, error)
        self.set_status(f"Showing {plural(state.n_drawn, 'draw')} of a fitted estimator.")

    @batch_updates
    def show_set(self, models: Any, data: Bunch | None = None, *, rows: Any = None) -> None:
        """Show an imported set, with or without rows in the encoding of its models."""
        if data is None:
            self.forget()
            self.rows = rows
        else:
            self.choose(data)
            refuse_other_columns(models, self.rows)
        state = self.state
        planned = getattr(models, "plan", None) if isinstance(models, RashomonSet) else None
        law = None if planned is None else PublicLaw.of(planned)
        self._drawn = None if law is None else law.constants
        with state.hold_trait_notifications():
            state.rashomon_set = models
            state.n_drawn = models.n_draws
            state.phase = "done"
            if data is None:
                state.plan = planned
        self.set_status(f"Showing an imported set of {plural(models.n_draws, 'model')}.")

    @batch_updates
    def show_external(self, model: ExternalModel) -> None:
        """Show the exact Rashomon set of a fitted model; draw and charge nothing."""
        self.forget()
        self.rows = model.rows
        self.state.outside = model
        self.set_status(
            f"{type(model.model).__name__} on {plural(len(model.rows), 'row')}: exact ranges, "
            f"not private. Nothing is charged."
        )

    def draw(self) -> DrawJob:
        """Charge the ledger and start drawing in a worker thread."""
        job = self.prepare()
        job.start()
        return job

    @batch_updates
    def prepare(self) -> DrawJob:
        """Check the budget and return the job of a draw without starting it."""
        self._check_ready()
        state = self.state
        self._foreteller.refuse()
        estimator = self.make_estimator(ledger=self._open_ledger())
        with suppress_weak_warnings():
            plan = estimator.plan(*table_shape(state.data))
            self._drawn = public_constants(estimator, *table_shape(state.data))
        account = self.refresh_account()
        if not state.uncharged and account is not None:
            refuse_past_budget(account, plan)
            # The draw itself records chunked rows, because it reads them.
            note_table(account.path, None if streamed_table(state.data) else state.data.X)
        self.job = self._job(estimator)
        with state.hold_trait_notifications():
            state.alert = None
            state.n_drawn = 0
            state.selection = ()
            state.favourites = Favourites()
            state.in_view = 0
            state.drawn_settings = state.draw_settings()
            state.phase = "reserved"
        self.set_status(f"Drawing {plural(state.requested_draws, 'model')}…")
        return self.job

    def _job(self, estimator: Any) -> DrawJob:
        data, trees = self.state.data, of_trees(self.state)
        # Trees use the table's own columns.
        self.rows, self._behind = (tree_rows(data) if trees else self._encoded), None
        whole = streamed_table(data)
        if whole is None:
            return DrawJob(estimator, data.frame if trees else self._encoded, data.y)
        return DrawJob(estimator, partial(_validated_chunks, whole, trees))

    def foretell(self) -> bool:
        """Start the test on simulated rows in a worker thread; return False if none is needed."""
        self._check_ready()
        account, plan = self.refresh_account(), self.state.plan
        if not self.state.uncharged and account is not None and plan is not None:
            refuse_past_budget(account, plan)
        return self._foreteller.begin()

    @property
    def foretelling(self) -> bool:
        """Whether a draw waits for the test on simulated rows."""
        return self._foreteller.trying

    def end_trial(self) -> bool:
        """End the wait for the test; return whether the draw is still wanted."""
        return self._foreteller.end()

    def _look_at_ledger(self) -> None:
        """Update the account during or after a draw, even if the ledger cannot be read."""
        try:
            self.refresh_account()
        except Exception as error:
            report(self.state, LEDGER_READ, error)

    def stop(self) -> None:
        """Ask the running draw to stop; its draws are kept and the privacy cost stays spent."""
        if self._foreteller.stop():
            return
        if self.job is not None and self.job.running:
            self.job.stop()
            self.set_status("Stopping…")

    @batch_updates
    def pump(self) -> bool:
        """Copy the newest draws of the job into the state; return whether the job is running."""
        job, state = self.job, self.state
        if job is None or not state.spent:
            return False
        ended = not job.running  # checked before reading the draws, so that none is missed
        partial = job.latest
        if partial is not None and partial.n_draws != state.n_drawn:
            self._take(partial)
        if job.beats and state.phase == "reserved":
            state.phase = "drawing"
            self._look_at_ledger()
        if ended:
            self._finish(job)
        elif not job.stopped:
            self.set_status(progress(job, state))
        return not ended

    def _take(self, models: RashomonSet) -> None:
        self.state.rashomon_set = self._labelled(models)
        self.state.n_drawn = models.n_draws

    def _labelled(self, models: RashomonSet) -> RashomonSet:
        declared = self.state.data.get("feature_groups")
        if declared is not None and isinstance(models, RashomonSet):
            models = models.with_groups(declared)
        if not self.state.unconfirmed:
            return models
        return replace(models, guarantee=no_guarantee(self.state.unconfirmed))

    def _finish(self, job: DrawJob) -> None:
        state = self.state
        self._look_at_ledger()
        if job.stopped and isinstance(job.error, SamplerError):
            state.phase = "stopped"
            charged = "the first model; the whole privacy cost stays spent"
            self.set_status(f"Stopped before {'anything was charged' if job.looking else charged}.")
            return
        if job.error is not None:
            state.phase = "failed"
            self.set_status("The draw failed.")
            report(state, "Drawing", job.error)
            return
        fitted = job.estimator
        fitted.rashomon_set_ = state.rashomon_set  # the set on screen, with its feature groups
        fitted.guarantee_ = fitted.rashomon_set_.guarantee
        linear = isinstance(fitted.rashomon_set_, RashomonSet)
        self.estimator = make_pipeline(self._encoder, fitted) if linear else fitted
        self._keep()
        asked, got = fitted.plan_.n_draws, state.n_drawn
        state.phase = "stopped" if got < asked else "done"
        self.set_status(receipt(state, got, asked))


def _encoded(encoder: Any, data: Bunch) -> pd.DataFrame:
    """Encode the sample of a data set."""
    names = list(map(str, encoder.get_feature_names_out()))
    known = set(getattr(encoder, "schema_", None) or getattr(encoder, "schema", None) or names)
    frame = data.frame[[name for name in data.frame if str(name) in known]]
    return pd.DataFrame(np.asarray(encoder.transform(frame)), columns=names)


def _validated_chunks(whole: StreamedTable, trees: bool, watch: Step) -> ChunkedRows:
    """Check every row before anything is charged; raise an error that names an invalid row."""
    rows = whole.encoded(watch=watch)
    return whole.labelled if trees else rows


def _constants_of(fitted: Any) -> Constants | None:
    rows: int = fitted.plan_.n
    classes = {"n_classes": len(fitted.classes_)} if hasattr(fitted, "classes_") else {}
    return public_constants(fitted, rows, fitted.n_features_in_, **classes)
