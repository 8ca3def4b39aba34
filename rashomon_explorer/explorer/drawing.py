"""The draw of a set: test on simulated rows, charge, draws with progress, and Stop."""

import asyncio
import math
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer._utils.memory_limits import release_freed_memory
from rashomon_explorer._utils.progress import ChainState, watch_chains
from rashomon_explorer.exceptions import DataError, SamplerError
from rashomon_explorer.explorer import dataset, messages, table_rows
from rashomon_explorer.explorer.background import (
    FRAMES_A_SECOND,
    BackgroundTask,
    chain_observer,
    has_event_loop,
)
from rashomon_explorer.explorer.paid import PaidAction, Quote
from rashomon_explorer.explorer.session import Session
from rashomon_explorer.explorer.state import SIMULATING, ExplorerState, Favourites
from rashomon_explorer.mechanisms.langevin.states import StatesDetails
from rashomon_explorer.mechanisms.plans import Plan
from rashomon_explorer.mechanisms.registry import MECHANISMS, mechanism_traits
from rashomon_explorer.mechanisms.simulation.feasibility import infeasibility_message, is_tried
from rashomon_explorer.networks.path import NetworkPlan
from rashomon_explorer.plots.path import PathView
from rashomon_explorer.plots.text import at_most, cost_text, guaranteed_hits, plural
from rashomon_explorer.privacy.conversions import gdp_epsilon, gdp_mu
from rashomon_explorer.privacy.notions import no_guarantee
from rashomon_explorer.rows import ChunkedRows, Step
from rashomon_explorer.rows.workers import ThreadWorkers
from rashomon_explorer.sets import RashomonSet


class DrawJob:
    """One fit of an estimator in a worker thread, with progress and a stop request."""

    def __init__(
        self,
        estimator: BaseEstimator,
        X: Any | Callable[[Step], ChunkedRows],
        y: Any = None,
        *,
        adds: float = 0.0,
        measure: Callable[[], Any] = lambda: None,
        observer: Callable[[ChainState], None] | None = None,
        as_path: bool = False,
    ) -> None:
        self._observer = observer
        self.as_path = as_path
        self.path: PathView | None = None
        self.estimator = estimator
        self.measured: Any = None
        self._measure = measure
        self.adds = adds
        self.latest: RashomonSet | None = None
        self.error: Exception | None = None
        self.beats = 0
        self.rows_read = 0
        self.checking = callable(X)
        self._rows = (X, y)
        self._counting = threading.Lock()
        self._stop = threading.Event()
        self._started = time.monotonic()
        self._thread: threading.Thread | None = None

    @property
    def running(self) -> bool:
        return self._thread is not None and self._thread.is_alive()

    @property
    def stopped(self) -> bool:
        return self._stop.is_set()

    @property
    def seconds(self) -> float:
        return time.monotonic() - self._started

    def start(self) -> None:
        """Start the worker thread, which does not keep a closing kernel alive."""
        self._thread = threading.Thread(target=self.run, name="rashomon-draw", daemon=True)
        self._thread.start()

    def run(self) -> "DrawJob":
        watcher = _Watcher(self)
        try:
            if self.as_path:
                self._follow_path()
            else:
                self.estimator.set_callbacks(watcher)
                try:
                    with watch_chains(self._observer):
                        self.estimator.fit(*self._rows_and_targets())
                finally:
                    self.estimator.set_callbacks()
            self.latest = self.estimator.rashomon_set_
            with suppress(Exception):  # the draws are paid for, whatever becomes of this number
                self.measured = self._measure()
        except Exception as error:
            self.error = error
        return self

    def _follow_path(self) -> None:
        """Publish released states as they are made; no figure of private rows is made meanwhile."""
        states = list[FloatArray]()
        with self.estimator.draw_path(*self._rows_and_targets()) as path:
            whole, delta = self.adds or path.plan.epsilon, path.plan.delta
            mu = gdp_mu(whole, delta)
            for block in path:
                states.append(block)
                share = path.n_steps_run / path.n_steps
                self.path = PathView(
                    states=np.concatenate(states),
                    names=path.parameter_names,
                    n_draws=path.plan.n_draws,
                    step=path.n_steps_run,
                    n_steps=path.n_steps,
                    spent=gdp_epsilon(mu * math.sqrt(share), delta),
                    epsilon=whole,
                )
                self.beats += 1
                if self.stopped:
                    break

    def _rows_and_targets(self) -> tuple[Any, Any]:
        """Rows and targets; chunked rows are validated first and then counted as they are read."""
        rows, targets = self._rows
        if not callable(rows):
            return rows, targets
        try:
            blocks = rows(self._read)
        except DataError as error:
            raise DataError(f"{error}. Nothing was charged.") from error
        if self.stopped:
            raise SamplerError("stopped before anything was charged")
        self.checking, self.rows_read = False, 0
        # Worker processes cannot report progress.
        here = isinstance(blocks.workers, ThreadWorkers)
        return (blocks.then(self._read) if here else blocks), None

    def _read(self, rows: Any, targets: Any) -> tuple[Any, Any]:
        """Count rows read; end the pass if a stop was requested before the first draw."""
        if self.stopped and self.latest is None:
            raise SamplerError("stopped before the first draw: there is no model to save")
        with self._counting:
            self.rows_read += len(rows)
        return rows, targets

    def stop(self) -> None:
        """Ask the sampler to stop after the current draw or proposal."""
        self._stop.set()

    def _publish(self, partial: RashomonSet | None) -> None:
        self.beats += 1
        if partial is not None:
            self.latest = partial

    def wait(self, timeout: float | None = None) -> bool:
        if self._thread is not None:
            self._thread.join(timeout)
        return not self.running


class _Watcher:
    """scikit-learn callback that publishes each partial set and forwards the stop request."""

    def __init__(self, job: DrawJob) -> None:
        self._job = job

    def setup(self, estimator: BaseEstimator, context: Any) -> None:
        """Do nothing."""

    teardown = on_fit_task_begin = setup

    def on_fit_task_end(
        self, estimator: BaseEstimator, context: Any, *, fitted_estimator: Any = None
    ) -> bool:
        self._job._publish(getattr(fitted_estimator, "rashomon_set_", None))
        return self._job.stopped


_TESTING = "Testing the exact sampler on simulated rows of this shape. Nothing is charged yet…"


class SetDraw(PaidAction[DrawJob]):
    """Draw of a set of models from the table on screen."""

    name, verb, doing = "these settings", "Draw", "Drawing"
    remedy = "Set ε to {most} or less, or draw fewer models."

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self.job: DrawJob | None = None
        self._following = BackgroundTask("showing the draws", self._following_failed)
        self._test = BackgroundTask("testing the sampler on simulated rows")
        self._spent_before = 0.0
        self._infeasible: dict[str, str] = {}  # reasons by plan; empty if feasible or told
        self._testing = threading.Lock()
        self._phase_before = self.state.phase

    def planned(self) -> Quote:
        state, plan = self.state, self.state.plan
        if plan is None:
            return Quote(unavailable=state.no_plan, free=state.uncharged)
        if isinstance(plan, NetworkPlan):
            share = "the released losses measure the share within ψ"
            texts = f"No closeness is promised: {share}.", share
        elif plan.hit_rate is not None:
            hits = f"<b>{guaranteed_hits(plan)}</b>"
            texts = f"Each draw is within ψ with probability {hits}.", f"{hits} within ψ"
        else:
            excess = at_most(plan.stated_excess)
            texts = "", f"excess {escape(excess)}"
        weakness = "" if state.uncharged else plan.weakness
        label = f"Draw {plural(state.requested_draws, 'model')}"
        return Quote(plan, None, label, state.no_plan, state.uncharged, weakness, *texts)

    def start(self, offer: str | None = None) -> None:
        """Draw; inside an event loop, first test the sampler in a worker thread if it may fail."""
        plan = self.state.plan
        if has_event_loop() and self._may_fail(plan) and repr(plan) not in self._infeasible:
            self._test_and_start(offer)
            return
        with self.session.together():
            job = self.prepare(offer)
            if self.state.page in ("data", "plan"):
                self.state.page = "set"
            if has_event_loop():
                job.start()
                self._following.spawn(self._follow)
            else:
                job.run()
                self.pump()

    def prepare(self, offer: str | None = None) -> DrawJob:
        """Check the offer and the budget and return the job of a draw without starting it."""
        with self.session.together():
            self.session.check_ready()
            self.session.replan()
            self._refuse_if_infeasible()
            if self.state.uncharged:
                self.check(offer)
                self.sales += 1
                self.work(None, 0.0)
            else:
                self.order(offer)
        assert self.job is not None
        return self.job

    def work(self, ledger: Path | None, adds: float) -> Callable[[], DrawJob]:
        state, session = self.state, self.session
        estimator = session.make_estimator(ledger=ledger)
        if ledger is not None:  # a draw itself records chunked rows, because it reads them
            dataset.note_table(ledger, None if session.is_chunked else state.data.X)
        table = table_rows.table_rows(state.data)
        inputs = session.draw_inputs(estimator)
        as_path = self.is_path(state.plan) and ledger is not None
        self._spent_before = state.account.spent if as_path else 0.0
        if as_path:
            state.chains = ()
        self.job = DrawJob(
            estimator,
            *inputs,
            adds=adds,
            measure=lambda: table.clipped_share,
            observer=None if as_path else chain_observer(state),
            as_path=as_path,
        )
        with state.hold_trait_notifications():
            state.alert = None
            state.audit = None  # exact results are of the draws from here on
            state.n_drawn = 0
            state.path = None
            state.selection = ()
            state.favourites = Favourites()
            state.in_view = 0
            state.drawn_settings = state.draw_settings()
            state.phase = "reserved"
        session.set_status(f"Drawing {plural(state.requested_draws, 'model')}…")
        return self.job.run

    @staticmethod
    def is_path(plan: Plan | NetworkPlan | None) -> bool:
        """Whether a plan's models are states of one path, which is charged in parts."""
        if isinstance(plan, NetworkPlan):
            return True
        if plan is None or plan.of_trees:
            return False
        return isinstance(plan.details, StatesDetails) and plan.columns is None

    @property
    def follows_path(self) -> bool:
        """Whether the draw that runs, or ran last, shows released states as they are made."""
        return self.job is not None and self.job.as_path

    def stop(self) -> None:
        """Ask the running draw to stop; its draws are kept and the privacy cost stays spent."""
        if self.state.phase == SIMULATING:
            self._test.drop()
            self.state.phase = self._phase_before
            self.session.set_status("Stopped before anything was charged.")
        elif self.job is not None and self.job.running:
            self.job.stop()
            self.session.set_status("Stopping…")

    async def wait_until_idle(self) -> None:
        await self._test.wait_until_idle()  # starts a draw before it ends
        await self._following.wait_until_idle()

    async def _follow(self) -> None:
        while self.pump():
            await asyncio.sleep(1 / FRAMES_A_SECOND)

    def _following_failed(self, error: Exception) -> None:
        self.state.phase = "failed"
        messages.report(self.state, "Showing the draws", error)

    def pump(self) -> bool:
        """Copy the newest draws of the job into the state; return whether the job is running."""
        with self.session.together():
            job, state = self.job, self.state
            if job is None or not state.spent:
                return False
            ended = not job.running  # checked before reading the draws, so that none is missed
            partial = job.latest
            if job.path is not None and job.path is not state.path:
                state.path = job.path
            if partial is not None and partial.n_draws != state.n_drawn:
                with state.hold_trait_notifications():  # until then the numbers are of the last set
                    state.set_number += not state.n_drawn
                    state.charged = None if job.estimator.ledger is None else job.adds
                    state.rashomon_set = self._labelled(partial)
                state.n_drawn = partial.n_draws
            if job.beats and state.phase == "reserved":
                state.phase = "drawing"
                self._read_ledger()
            if ended:
                self._read_ledger()
                self.receive(job)
                release_freed_memory()
            elif not job.stopped:
                self.session.set_status(progress(job, state))
            return not ended

    def _labelled(self, models: RashomonSet) -> RashomonSet:
        groups = self.state.data.get("feature_groups")
        if groups is not None and isinstance(models, RashomonSet):
            models = models.with_groups(groups)
        if not self.state.unconfirmed:
            return models
        return replace(models, guarantee=no_guarantee(self.state.unconfirmed))

    def _read_ledger(self) -> None:
        """Update the account during or after a draw, even if the ledger cannot be read."""
        messages.error_boundary(self.state, messages.LEDGER_READ, self.session.refresh_account)()

    def receive(self, result: DrawJob) -> None:
        state, job = self.state, result
        if job.stopped and isinstance(job.error, SamplerError):
            state.phase = "stopped"
            charged = "the first model; the whole privacy cost stays spent"
            before = "anything was charged" if job.checking else charged
            self.session.set_status(f"Stopped before {before}.")
        elif job.error is not None:
            state.phase = "failed"
            self.session.set_status("The draw failed.")
            messages.report(state, "Drawing", job.error)
        else:
            self.session.set_status(self.show(job))

    def show(self, result: DrawJob) -> str:
        state, fitted = self.state, result.estimator
        if isinstance(state.rashomon_set, RashomonSet) and result.measured is not None:
            state.rashomon_set = replace(state.rashomon_set, clipped_share=result.measured)
        fitted.rashomon_set_ = state.rashomon_set  # the set on screen, with its feature groups
        fitted.guarantee_ = state.rashomon_set.guarantee
        if result.as_path:  # stopped early, it cost less
            result.adds = state.charged = max(0.0, state.account.spent - self._spent_before)
        self.session.keep_draw(fitted)
        requested, drawn = fitted.plan_.n_draws, state.n_drawn
        state.phase = "stopped" if drawn < requested else "done"
        # The line is also visible in the release view, so it omits the hit rate and the run time,
        # which depend on the rows.
        summary = f"Drew {plural(drawn, 'model')}"
        if drawn < requested:
            summary = f"Stopped after {drawn} of {plural(requested, 'model')}"
        if state.uncharged:
            return f"{summary}. No guarantee and no privacy cost: {state.uncharged}."
        return messages.receipt(summary, result.adds, state.account)

    def _may_fail(self, plan: Plan | None) -> bool:
        """Whether a named sampler may fail on this plan; "auto" tests such samplers itself."""
        if not isinstance(plan, Plan) or plan.of_trees:
            return False
        return mechanism_traits(self.state.mechanism).may_give_up and is_tried(plan)

    def _test_and_start(self, offer: str | None) -> None:
        if self.state.uncharged:
            self.check(offer)
        else:
            self.affordable_cost(offer)
        self._phase_before = self.state.phase
        with self.state.hold_trait_notifications():
            self.state.phase, self.state.alert = SIMULATING, None
        self.session.set_status(_TESTING)
        plan = self.state.plan

        def test() -> None:
            with suppress(Exception):  # raised again by `prepare`
                self._reason(plan)

        def draw(_result: None) -> None:
            self.state.phase = self._phase_before
            self.session.set_status("The exact sampler was tested on simulated rows.")
            messages.error_boundary(self.state, self.doing, self.start)(offer)

        self._test.start(test, draw)

    def _reason(self, plan: Plan) -> str:
        with self._testing:
            if repr(plan) not in self._infeasible:
                self._infeasible[repr(plan)] = infeasibility_message(plan)
            return self._infeasible[repr(plan)]

    def _refuse_if_infeasible(self) -> None:
        """Raise a SamplerError once per plan, before any charge, if draws are likely to fail."""
        plan = self.state.plan
        if not self._may_fail(plan):
            return
        reason, self._infeasible[repr(plan)] = self._reason(plan), ""
        if reason:
            raise SamplerError(
                f"{reason} Nothing was charged. Press Draw again to try anyway: the privacy cost "
                f"is spent even if sampling fails."
            )


def progress(job: DrawJob, state: ExplorerState) -> str:
    models = plural(state.requested_draws, "model")
    if job.path is not None:
        spent = f"about {cost_text(job.path.spent)} of {cost_text(job.path.epsilon)} spent"
        return f"{len(job.path.states):,} of {models} of one path; {spent}. Stop ends it."
    if state.n_drawn:
        return f"Drawing: {state.n_drawn} of {models}, {job.seconds:.0f} s."
    if job.checking:
        return (
            f"Checking all rows, {job.rows_read:,} so far. An invalid row is reported before "
            f"anything is charged."
        )
    first = f"Sampling the first of {models}, {job.seconds:.0f} s"
    if job.rows_read:
        plan, read = state.plan, f"{first}: {job.rows_read:,} rows read"
        if plan.of_trees:
            return f"{read}; every pass reads them again."
        return f"{read}. About {plan.passes:,.0f} passes; rows kept in memory are not read again."
    if state.chains:
        last = state.chains[-1]
        chains = plural(len(last.excess), "chain")
        return f"Step {last.step:,} of {last.n_steps:,} of {chains}, {job.seconds:.0f} s."
    if isinstance(state.plan, NetworkPlan):
        return f"{first}. {state.plan.n_steps:,} steps, of which the second half is kept."
    if state.plan.of_trees:
        return f"{first}. All trees are counted before the first draw."
    mechanism = MECHANISMS[state.plan.mechanism or state.mechanism] if state.plan else None
    if mechanism is None or mechanism.traits.may_give_up:
        return f"{first}. The sampler rejects proposals until one is accepted."
    return f"{first}. A model is {mechanism.summary}."
