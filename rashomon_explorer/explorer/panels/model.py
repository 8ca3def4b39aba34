"""Model: loss, threshold, domain, price, number of draws."""

import ipywidgets
import traitlets

from rashomon_explorer.explorer.panels.card import CodeToggle, card
from rashomon_explorer.explorer.panels.open_dial import OpenDial
from rashomon_explorer.explorer.panels.tree_settings import FamilyPicker
from rashomon_explorer.explorer.panels.way import WayPicker
from rashomon_explorer.explorer.state import OPEN, TREES, ExplorerState
from rashomon_explorer.explorer.widgets import Dial
from rashomon_explorer.losses import get_loss

_MAIN = ("psi", "epsilon", "n_draws")
_MORE = ("radius", "ridge", "delta")
_FITTED = ("logistic", "squared")


def losses_for(task: str) -> tuple[str, ...]:
    """Name the losses of a task that the estimators fit.

    >>> losses_for("classification")
    ('logistic',)
    """
    return tuple(name for name in _FITTED if get_loss(name).task == task)


def dials() -> dict[str, Dial]:
    """Make one slider a setting."""
    return {
        "psi": Dial(
            label="Threshold ψ",
            unit="loss",
            help="A model is good if its loss is at most ψ above the best.",
            low=0.001,
            high=1.0,
            log=True,
            value=0.02,
        ),
        "epsilon": Dial(
            label="Privacy price ε",
            unit="in total",
            help="For all draws together; smaller is more private.",
            low=0.01,
            high=100.0,
            log=True,
            value=4.0,
        ),
        "n_draws": Dial(
            label="Draws",
            unit="models",
            help="More draws share the same price.",
            low=1,
            high=500,
            log=True,
            integer=True,
            value=20,
        ),
        "radius": Dial(
            label="Radius",
            unit="of the ball of models",
            help="Bound on the length of the coefficients; public.",
            low=0.25,
            high=32.0,
            log=True,
            value=4.0,
        ),
        "ridge": Dial(
            label="Ridge",
            unit="added to the loss",
            help="Pulls coefficients to zero; costs nothing.",
            low=1e-6,
            high=1.0,
            log=True,
            zero=True,
            value=0.0,
        ),
        "delta": Dial(
            label="Privacy δ",
            unit="in total",
            help="Chance that ε does not hold; 0 asks for pure privacy.",
            low=1e-12,
            high=1e-3,
            log=True,
            zero=True,
            value=1e-6,
        ),
    }


class ModelPanel:
    """Which models count as good, and what the draws may cost.

    Parameters
    ----------
    state : ExplorerState
        Its settings are linked both ways.

    Attributes
    ----------
    dials : dict of str to Dial
        By the estimators' parameter names.
    open : dict of str to OpenDial
        Those that may be left to the rule.
    way : WayPicker
        The way to draw.
    widget : ipywidgets.Widget
        The panel.
    """

    def __init__(self, state: ExplorerState) -> None:
        self.state = state
        self.dials = dials()
        self.loss = ipywidgets.Dropdown(description="Loss", options=losses_for("classification"))
        self.more = ipywidgets.ToggleButton(
            description="More settings", tooltip="Radius, ridge and δ"
        )
        self.more.add_class("rx-quiet")
        self._code = CodeToggle(self.lines, "Model")
        self.way = WayPicker(state)
        self.family = FamilyPicker(state)
        for name, dial in self.dials.items():
            if name not in OPEN:
                traitlets.link((dial, "value"), (state, name))
        self.open = {name: OpenDial(state, name, self.dials[name]) for name in OPEN}
        shown = {**self.dials, **{name: one.widget for name, one in self.open.items()}}
        self._extra = ipywidgets.VBox([shown[name] for name in _MORE])
        self._extra.layout.display = "none"
        traitlets.link((self.loss, "value"), (state, "loss"))
        self.more.observe(self._toggle, "value")
        told = [*self.dials, "sampler", "max_leaves", "leaf_penalty"]
        state.observe(lambda _: self._code.refresh(), told)
        state.observe(self._offer, "data")
        state.observe(self._lock, "phase")
        self.widget = card(
            "",
            "Model",
            [
                self.family.widget,
                self.loss,
                self.way.widget,
                *(shown[name] for name in _MAIN),
                self.more,
                self._extra,
            ],
            self._code,
        )
        self._linear = (self.loss, self.way.widget, shown["radius"], shown["ridge"])
        state.observe(lambda _: self._of_family(), "family")
        self._of_family()

    def lines(self) -> tuple[str, ...]:
        """Python that makes the estimator of these settings."""
        state = self.state
        if state.family == TREES:
            return self.family.lines()
        regression = state.data is not None and state.data.task == "regression"
        kind = "RashomonRegressor" if regression else "RashomonClassifier"
        settings = ", ".join(
            f"{name}={getattr(state, name)!r}" for name in (*self.dials, "sampler")
        )
        bounds = f", target_bounds={state.data.target_bounds!r}" if regression else ""
        several = state.data is not None and len(state.data.classes or ()) > 2
        classes = f", classes=range({len(state.data.classes)})" if several else ""
        return (f"from rashomon_explorer import {kind}", f"{kind}({settings}{bounds}{classes})")

    def _of_family(self) -> None:
        """Hide what trees have not."""
        for control in self._linear:
            control.layout.display = "none" if self.state.family == TREES else None
        self._code.refresh()

    def _toggle(self, _change: object) -> None:
        self._extra.layout.display = None if self.more.value else "none"

    def _offer(self, _change: object) -> None:
        if self.state.data is not None:
            self.loss.options = losses_for(self.state.data.task)
            self._code.refresh()

    def _lock(self, _change: object) -> None:
        ticks = [one.auto for one in self.open.values()]
        for control in (*self.dials.values(), *ticks, self.way.way, self.loss):
            control.disabled = self.state.busy
