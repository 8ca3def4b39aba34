"""Before a charge: exact draws tried on simulated rows, beside the page and not in its way."""

import threading

from rashomon_explorer.estimators.beforehand import foretold, is_tried
from rashomon_explorer.exceptions import SamplerError
from rashomon_explorer.explorer.state import FORETELLING, ExplorerState
from rashomon_explorer.planning import Plan
from rashomon_explorer.planning.trees import TreePlan
from rashomon_explorer.samplers import traits_of

_TRYING = "Trying the exact sampler on simulated rows of this shape. Nothing is charged yet…"
_STOPPED = "Stopped before anything was charged."
_ENDED = "The exact sampler was tried on simulated rows."


class Foreteller:
    """Tries the exact sampler on simulated rows, and refuses once a plan that seems hopeless."""

    def __init__(self, state: ExplorerState) -> None:
        self._state = state
        self._before = state.phase
        self._trials: dict[str, threading.Thread] = {}
        self._refused: set[str] = set()

    @property
    def trying(self) -> bool:
        """Whether a draw waits for a trial that goes on; Stop ends the waiting, not the trial."""
        plan = self._state.plan
        return self._waits and plan is not None and self._is_tried_now(plan)

    def _is_tried_now(self, plan: Plan) -> bool:
        trial = self._trials.get(repr(plan))  # none where a setting changed meanwhile
        return trial is not None and trial.is_alive()

    def _is_to_be_tried(self, plan: Plan) -> bool:
        if isinstance(plan, TreePlan):
            return False
        named = traits_of(self._state.sampler)  # "auto" has tried what may give up
        return named.may_give_up and is_tried(plan) and repr(plan) not in self._refused

    @property
    def _waits(self) -> bool:
        return self._state.phase == FORETELLING

    def begin(self) -> bool:
        """Start the trial of the settings' plan in a worker; False where none is needed.

        None is where few parameters need none, where it was made, and where the plan was refused.
        """
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
        """Bring back the phase before; whether the draw is still wanted: Stop was not pressed."""
        return self._back(_ENDED)

    def stop(self) -> bool:
        """Wait no longer; whether anything was waited for. The trial's answer is kept."""
        return self._back(_STOPPED)

    def _back(self, message: str) -> bool:
        if not self._waits:
            return False
        self._state.phase = self._before
        self._state.message = message
        return True

    def refuse(self) -> None:
        """Refuse once, before anything is charged, draws that are not to be expected."""
        plan = self._state.plan
        if plan is None or not self._is_to_be_tried(plan):
            return
        told = foretold(plan)
        if told:
            self._refused.add(repr(plan))
            raise SamplerError(
                f"{told} Nothing was charged. Press Draw again to try all the same: the price is "
                "spent even if no draw comes."
            )


def _try(plan: Plan) -> None:
    """Let the answer be known; an error comes again where it can be told, in `refuse`."""
    try:
        foretold(plan)
    except Exception:
        return
