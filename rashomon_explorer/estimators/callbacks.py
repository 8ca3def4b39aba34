"""Reports each draw through scikit-learn's callbacks, and hears their request to stop."""

from collections.abc import Callable
from typing import Any, Generic, Protocol, Self, TypeVar

from sklearn.base import BaseEstimator

from rashomon_explorer._utils.arrays import FloatArray
from rashomon_explorer._utils.sklearn_compat import CallbackContext


class Drawn(Protocol):
    """Draws so far, with a loss each."""

    @property
    def losses(self) -> FloatArray:
        """Their losses."""
        ...

    def first(self, count: int) -> Self:
        """Keep the first ``count``."""
        ...


Draws = TypeVar("Draws", bound=Drawn)


class DrawReporter(Generic[Draws]):
    """One scikit-learn task a draw, with a subtask a batch of refused proposals."""

    def __init__(
        self,
        estimator: BaseEstimator,
        context: CallbackContext,
        attributes: Callable[[Draws], dict[str, Any]],
    ) -> None:
        self._estimator = estimator
        self._root = context
        self._attributes = attributes
        self._task: CallbackContext | None = self._begin()
        self.reported = 0

    def __call__(self, draws: Draws) -> bool:
        """Report what is new; True asks to stop, after ``reported`` draws."""
        if len(draws.losses) == self.reported:
            return self._heartbeat()
        while self.reported < len(draws.losses):
            self.reported += 1
            if self._end(draws.first(self.reported)):
                return True
        return False

    def _begin(self) -> CallbackContext:
        task = self._root.subcontext(task_name="draw", max_subtasks=None)
        task.call_on_fit_task_begin(estimator=self._estimator)
        return task

    def _open(self) -> CallbackContext:
        """Task of the draw that is to come: begun once the last one has ended."""
        if self._task is None:
            self._task = self._begin()
        return self._task

    def _end(self, draws: Draws) -> bool:
        task, self._task = self._open(), None
        return bool(
            task.call_on_fit_task_end(
                estimator=self._estimator,
                reconstruction_attributes=lambda: self._attributes(draws),
            )
        )

    def _heartbeat(self) -> bool:
        task = self._open().subcontext(task_name="proposals")
        task.call_on_fit_task_begin(estimator=self._estimator)
        return bool(task.call_on_fit_task_end(estimator=self._estimator))
