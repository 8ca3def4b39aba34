"""Draws in a background thread, and the feasibility test before a draw."""

import threading
import time
from collections.abc import Callable
from typing import Any

from sklearn.base import BaseEstimator

from rashomon_explorer.estimators.feasibility import infeasibility_message, is_tried
from rashomon_explorer.exceptions import DataError, SamplerError
from rashomon_explorer.explorer.state import FORETELLING, ExplorerState
from rashomon_explorer.mechanisms.planning.plan import Plan
from rashomon_explorer.mechanisms.planning.suggestions import suppress_weak_warnings
from rashomon_explorer.mechanisms.planning.trees import TreePlan
from rashomon_explorer.mechanisms.samplers.registry import sampler_traits
from rashomon_explorer.rows import ChunkedRows, Step
from rashomon_explorer.rows.workers import Threads
from rashomon_explorer.sets import RashomonSet


class DrawJob:
    """One fit of an estimator in a worker thread, with progress and a stop request."""

    def __init__(
        self, estimator: BaseEstimator, X: Any | Callable[[Step], ChunkedRows], y: Any = None
    ) -> None:
        self.estimator = estimator
        self.latest: RashomonSet | None = None
        self.error: Exception | None = None
        self.beats = 0
        self.rows_read = 0
        self.looking = callable(X)
        self._rows = (X, y)
        self._counting = threading.Lock()
        self._stop = threading.Event()
        self._started = time.monotonic()
        self._ended: float | None = None
        self._thread: threading.Thread | None = None

    @property
    def running(self) -> bool:
        """Whether the worker has started and not ended."""
        return self._ended is None and self._thread is not None

    @property
    def stopped(self) -> bool:
        """Whether a stop was requested."""
        return self._stop.is_set()

    @property
    def seconds(self) -> float:
        """Seconds since the start, or from start to end."""
        return (self._ended or time.monotonic()) - self._started

    def start(self) -> None:
        """Start the worker thread and return at once."""
        self._started = time.monotonic()
        self._thread = threading.Thread(target=self.run, name="rashomon-draw", daemon=True)
        self._thread.start()

    def run(self) -> None:
        """Fit in the calling thread."""
        watcher = _Watcher(self._publish, self._stop.is_set)
        try:
            self.estimator.set_callbacks(watcher)
            try:
                with suppress_weak_warnings():  # the page showed them before the button was pressed
                    self.estimator.fit(*self._rows_and_targets())
            finally:
                self.estimator.set_callbacks()
            self.latest = self.estimator.rashomon_set_
        except Exception as error:
            self.error = error
        finally:
            self._ended = time.monotonic()

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
        self.looking, self.rows_read = False, 0
        # Worker processes cannot report progress.
        here = isinstance(blocks.workers, Threads)
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

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until the worker ends; return whether it ended."""
        if self._thread is not None:
            self._thread.join(timeout)
        return not self.running

    def _publish(self, partial: RashomonSet | None) -> None:
        self.beats += 1
        if partial is not None:
            self.latest = partial


class _Watcher:
    """scikit-learn callback that publishes each partial set and forwards the stop request."""

    def __init__(
        self, publish: Callable[[RashomonSet | None], None], asked_to_stop: Callable[[], bool]
    ) -> None:
        self._publish = publish
        self._asked_to_stop = asked_to_stop

    def setup(self, estimator: BaseEstimator, context: Any) -> None:
        """Do nothing."""

    def teardown(self, estimator: BaseEstimator, context: Any) -> None:
        """Do nothing."""

    def on_fit_task_begin(self, estimator: BaseEstimator, context: Any) -> None:
        """Do nothing."""

    def on_fit_task_end(
        self, estimator: BaseEstimator, context: Any, *, fitted_estimator: Any = None
    ) -> bool:
        """Publish the draws so far; return True to stop the estimator."""
        self._publish(getattr(fitted_estimator, "rashomon_set_", None))
        return self._asked_to_stop()


_TRYING = "Testing the exact sampler on simulated rows of this shape. Nothing is charged yet…"
_STOPPED = "Stopped before anything was charged."
_ENDED = "The exact sampler was tested on simulated rows."


class FeasibilityCheck:
    """Test the exact sampler on simulated rows; refuse a plan once if it is likely to fail."""

    def __init__(self, state: ExplorerState) -> None:
        self._state = state
        self._before = state.phase
        self._trials: dict[str, threading.Thread] = {}
        self._refused: set[str] = set()

    @property
    def trying(self) -> bool:
        """Whether a draw waits for a running test; Stop ends the wait, not the test."""
        plan = self._state.plan
        return self._waits and plan is not None and self._is_tried_now(plan)

    def _is_tried_now(self, plan: Plan) -> bool:
        trial = self._trials.get(repr(plan))  # None if a setting changed in the meantime
        return trial is not None and trial.is_alive()

    def _is_to_be_tried(self, plan: Plan) -> bool:
        if isinstance(plan, TreePlan):
            return False
        named = sampler_traits(self._state.mechanism)  # "auto" has tested such samplers already
        return named.may_give_up and is_tried(plan) and repr(plan) not in self._refused

    @property
    def _waits(self) -> bool:
        return self._state.phase == FORETELLING

    def begin(self) -> bool:
        """Start the test of the current plan in a worker; return False if none is needed."""
        state, plan = self._state, self._state.plan
        if plan is None or not self._is_to_be_tried(plan):
            return False
        trial = self._trials.get(repr(plan))
        if trial is None:
            trial = threading.Thread(target=_try, args=(plan,), name="rashomon-trial", daemon=True)
            self._trials[repr(plan)] = trial
            trial.start()
        elif not trial.is_alive():
            return False
        self._before = state.phase
        with state.hold_trait_notifications():
            state.phase, state.alert = FORETELLING, None
        state.message = _TRYING
        return True

    def end(self) -> bool:
        """Restore the previous phase; return False if Stop was pressed during the test."""
        return self._back(_ENDED)

    def stop(self) -> bool:
        """End the wait and keep the test's result; return whether a draw was waiting."""
        return self._back(_STOPPED)

    def _back(self, message: str) -> bool:
        if not self._waits:
            return False
        self._state.phase = self._before
        self._state.message = message
        return True

    def refuse(self) -> None:
        """Raise a SamplerError once per plan, before any charge, if draws are likely to fail."""
        plan = self._state.plan
        if plan is None or not self._is_to_be_tried(plan):
            return
        told = infeasibility_message(plan)
        if told:
            self._refused.add(repr(plan))
            raise SamplerError(
                f"{told} Nothing was charged. Press Draw again to try anyway: the privacy cost "
                f"is spent even if sampling fails."
            )


def _try(plan: Plan) -> None:
    """Run the test; `refuse` raises any error again in the caller's thread."""
    try:
        infeasibility_message(plan)
    except Exception:
        return
