"""A slider whose number may be left to the rule."""

from typing import Any

import ipywidgets

from rashomon_explorer.explorer.state import ExplorerState
from rashomon_explorer.explorer.widgets import Dial
from rashomon_explorer.planning.rule import AUTO


class OpenDial:
    """A dial and a tick that leaves it to the rule; moving the dial takes the tick away.

    Parameters
    ----------
    state : ExplorerState
        Its setting is linked both ways; while it is ``"auto"`` the dial shows the plan's number.
    name : str
        The setting, also an attribute of plans.
    dial : Dial

    Attributes
    ----------
    auto : ipywidgets.Checkbox
        Ticked while the rule chooses.
    widget : ipywidgets.Widget
        Both.
    """

    def __init__(self, state: ExplorerState, name: str, dial: Dial) -> None:
        self.state, self.name, self.dial = state, name, dial
        self.auto = ipywidgets.Checkbox(
            description=f"{dial.label}: chosen by the rule, from public numbers", indent=False
        )
        self.auto.add_class("rx-auto")
        self._telling, self._first = False, dial.value
        dial.observe(self._moved, "value")
        self.auto.observe(self._ticked, "value")
        state.observe(lambda _: self.tell(), [name, "plan"])
        self.widget = ipywidgets.VBox([dial, self.auto])
        self.tell()

    def tell(self) -> None:
        """Show what the state says."""
        held = getattr(self.state, self.name)
        planned = getattr(self.state.plan, self.name, None) if held == AUTO else held
        if held == AUTO and self.state.withheld:
            planned = self._first
        self._telling = True
        self.auto.value = held == AUTO
        if planned is not None:
            self.dial.value = on_scale(self.dial, float(planned))
        self._telling = False

    def _moved(self, _change: object) -> None:
        if not self._telling:
            self._hold(self.dial.value)

    def _ticked(self, _change: object) -> None:
        if not self._telling:
            self._hold(AUTO if self.auto.value else self.dial.value)

    def _hold(self, value: Any) -> None:
        whole = self.dial.integer and value != AUTO
        setattr(self.state, self.name, int(value) if whole else value)


def on_scale(dial: Dial, value: float) -> float:
    """Move a number to the nearer end of a slider's scale; where zero has a place, it stays.

    >>> on_scale(Dial(low=1.0, high=8.0, value=2.0), 20.0)
    8.0
    """
    if dial.zero and value == 0:
        return value
    return min(max(value, dial.low), dial.high)
