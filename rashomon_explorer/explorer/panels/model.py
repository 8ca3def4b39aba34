"""Model: family, loss, threshold, domain, price, number of draws."""

from collections.abc import Callable, Mapping

import ipywidgets
import traitlets

from rashomon_explorer.explorer.family import TREE_SETTINGS
from rashomon_explorer.explorer.panels.card import CodeToggle, card
from rashomon_explorer.explorer.panels.dials import LINEAR_ALONE, TREES_ALONE, dials, follow
from rashomon_explorer.explorer.panels.open_dial import OpenDial
from rashomon_explorer.explorer.panels.questions import QuestionsEditor
from rashomon_explorer.explorer.panels.way import WayPicker
from rashomon_explorer.explorer.state import LINEAR, OPEN, TREES, ExplorerState
from rashomon_explorer.losses import get_loss

_MAIN = ("psi", "epsilon", "n_draws")
_MORE = ("radius", "ridge", "delta")
_FITTED = ("logistic", "squared")
_FAMILIES = {"linear models": LINEAR, "sparse trees": TREES}


def losses_for(task: str) -> tuple[str, ...]:
    """Name the losses of a task that the estimators fit.

    >>> losses_for("classification")
    ('logistic',)
    """
    return tuple(name for name in _FITTED if get_loss(name).task == task)


def linear_lines(state: ExplorerState) -> tuple[str, ...]:
    """Python that makes the estimator of linear models of these settings.

    >>> linear_lines(ExplorerState())[0]
    'from rashomon_explorer import RashomonClassifier'
    """
    regression = state.data is not None and state.data.task == "regression"
    kind = "RashomonRegressor" if regression else "RashomonClassifier"
    names = (*_MAIN, *_MORE, "sampler")
    settings = ", ".join(f"{name}={getattr(state, name)!r}" for name in names)
    bounds = f", target_bounds={state.data.target_bounds!r}" if regression else ""
    several = state.data is not None and len(state.data.classes or ()) > 2 and not state.withheld
    classes = f", classes=range({len(state.data.classes)})" if several else ""
    return (f"from rashomon_explorer import {kind}", f"{kind}({settings}{bounds}{classes})")


def tree_lines(state: ExplorerState) -> tuple[str, ...]:
    """Python that makes the estimator of trees of these settings.

    >>> "max_depth=None" in tree_lines(ExplorerState())[1]
    True
    """
    names = (*TREE_SETTINGS, "n_draws")
    settings = ", ".join(f"{name}={getattr(state, name)!r}" for name in names)
    return (
        "from rashomon_explorer import RashomonTreeClassifier",
        f"RashomonTreeClassifier({settings}, schema=explorer.data.schema)",
    )


LINES: Mapping[str, Callable[[ExplorerState], tuple[str, ...]]] = {
    LINEAR: linear_lines,
    TREES: tree_lines,
}


class ModelPanel:
    """Which models count as good, and what the draws may cost.

    Parameters
    ----------
    state : ExplorerState
        Its settings are linked both ways.

    Attributes
    ----------
    family : ipywidgets.Dropdown
        Linear models or sparse trees; trees are offered where classes are predicted.
    dials : dict of str to Dial
        By the estimators' parameter names.
    open : dict of str to OpenDial
        Those that may be left to the rule.
    way : WayPicker
        The way to draw.
    questions : QuestionsEditor
        What trees ask, and how many of them there are.
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
        self.questions = QuestionsEditor(state)
        self.family = ipywidgets.Dropdown(description="Models", options=[*_FAMILIES.items()])
        for name, dial in self.dials.items():
            if name not in OPEN:
                follow(dial, state, name)
        self.open = {name: OpenDial(state, name, self.dials[name]) for name in OPEN}
        shown = {**self.dials, **{name: one.widget for name, one in self.open.items()}}
        self._extra = ipywidgets.VBox([shown[name] for name in _MORE])
        self._extra.layout.display = "none"
        traitlets.link((self.loss, "value"), (state, "loss"))
        traitlets.link((self.family, "value"), (state, "family"))
        self._of = {
            LINEAR: (self.loss, self.way.widget, *(shown[name] for name in LINEAR_ALONE)),
            TREES: (self.questions.widget, *(shown[name] for name in TREES_ALONE)),
        }
        self._watch()
        self.widget = card(
            "",
            "Model",
            [
                self.family,
                self.loss,
                self.way.widget,
                *(shown[name] for name in TREES_ALONE),
                self.questions.widget,
                *(shown[name] for name in _MAIN),
                self.more,
                self._extra,
            ],
            self._code,
        )
        self._of_family()
        self._lock()

    def _watch(self) -> None:
        state = self.state
        self.more.observe(self._toggle, "value")
        state.observe(lambda _: self._code.refresh(), [*self.dials, "sampler"])
        state.observe(self._offer, "data")
        state.observe(lambda _: self._lock(), ["phase", "data"])
        state.observe(lambda _: self._of_family(), "family")

    def lines(self) -> tuple[str, ...]:
        """Python that makes the estimator of these settings."""
        return LINES[str(self.state.family)](self.state)

    def _of_family(self) -> None:
        """Hide what the other family alone has."""
        for family, controls in self._of.items():
            for control in controls:
                control.layout.display = None if family == self.state.family else "none"
        self._code.refresh()

    def _toggle(self, _change: object) -> None:
        self._extra.layout.display = None if self.more.value else "none"

    def _offer(self, _change: object) -> None:
        if self.state.data is not None:
            self.loss.options = losses_for(self.state.data.task)
            self._code.refresh()

    def _lock(self) -> None:
        ticks = [one.auto for one in self.open.values()]
        for control in (*self.dials.values(), *ticks, self.way.way, self.loss):
            control.disabled = self.state.busy
        numbers = self.state.data is not None and self.state.data.task == "regression"
        self.family.disabled = self.state.busy or numbers
