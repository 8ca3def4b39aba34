"""ψ moved over draws that are there already: free for the curator, and never part of a release."""

import math

import ipywidgets
import traitlets

from rashomon_explorer.explorer.guard import guarded
from rashomon_explorer.explorer.state import ExplorerState
from rashomon_explorer.explorer.widgets import Dial
from rashomon_explorer.rashomon_set import CuratorSet

_STEPS = 400
_ROOM = 1.25


class ThresholdControl:
    """A slider of ψ over the stored draws.

    Parameters
    ----------
    state : ExplorerState
        Its set is held against another ψ; everything that says "the set" follows.

    Attributes
    ----------
    dial : Dial
        The threshold.
    widget : ipywidgets.Widget
        It; hidden in the release, where nobody may tell which draws lie inside.
    """

    def __init__(self, state: ExplorerState) -> None:
        self.state = state
        self.dial = Dial(label="ψ")
        self.dial.add_class("rx-dial-line")
        self._telling = False
        self.dial.observe(guarded(state, "Moving ψ", self._moved), "value")
        self.widget = ipywidgets.HBox([self.dial])
        self.widget.add_class("rx-threshold")
        state.observe(lambda _: self.tell(), ["rashomon_set", "view", "phase"])
        self.tell()

    def tell(self) -> None:
        """Show the ψ that the set in view is held against."""
        state, models = self.state, self.state.rashomon_set
        usable = isinstance(models, CuratorSet) and models.n_draws and math.isfinite(models.least)
        hidden = state.view == "release" or not usable
        self.widget.layout.display = "none" if hidden else None
        if hidden and state.view != "release":
            return
        psi = models.psi if usable else 0.0
        # Hidden or not, the browser gets the scale: its end is a draw's loss but in the release.
        end = 1.0 if hidden else _end(models)
        self._telling = True
        with self.dial.hold_trait_notifications():
            self.dial.high = max(end, psi)
            self.dial.step = self.dial.high / _STEPS
            self.dial.value = psi
        self._telling = False
        self.dial.disabled = state.busy

    def _moved(self, _change: object) -> None:
        models = self.state.rashomon_set
        if not self._telling and models is not None and self.dial.value != models.psi:
            self.state.rashomon_set = models.rethreshold(self.dial.value)


def inside_only(state: ExplorerState) -> ipywidgets.Checkbox:
    """Make a tick that leaves out the draws outside ψ where single models are shown."""
    tick = ipywidgets.Checkbox(
        description="Inside ψ only",
        indent=False,
        tooltip="Leave out the draws outside ψ where single models are shown",
    )
    tick.add_class("rx-tick")
    traitlets.link((state, "inside_only"), (tick, "value"))

    def match(_change: object = None) -> None:
        tick.layout.display = "none" if state.view == "release" else None

    state.observe(match, "view")
    match()
    return tick


def _end(models: CuratorSet) -> float:
    """Where the slider ends: beyond the worst draw, in two digits, the same wherever ψ is.

    A complete set ends at the ψ that it was made for.
    """
    planned = getattr(getattr(models, "plan", None), "psi", models.psi)
    if getattr(models, "complete", False):
        return float(models.excess.max(initial=planned))
    far = _ROOM * max(float(models.excess.max(initial=0.0)), planned, 1e-6)
    power = 10.0 ** (math.floor(math.log10(far)) - 1)
    return math.ceil(far / power) * power
