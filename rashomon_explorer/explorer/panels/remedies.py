"""What the next better promise would take, a button each, which sets the slider."""

from collections.abc import Mapping
from html import escape

import ipywidgets

from rashomon_explorer.explorer.guard import guarded
from rashomon_explorer.explorer.panels.card import hide_when_empty
from rashomon_explorer.explorer.state import SETTINGS, ExplorerState
from rashomon_explorer.explorer.widgets import Dial
from rashomon_explorer.planning.wishes import Remedy, Wish, wish, wishes

_OF_A_PATH = "For less than a model of zeros loses"


class Remedies:
    """One button a remedy; what no slider can do, such as more rows, stands beside them in words.

    Parameters
    ----------
    state : ExplorerState
        Its plan's remedies are offered; a button writes its setting.
    dials : mapping of str to Dial
        Sliders by setting: a number beyond a slider's end has no button.

    Attributes
    ----------
    buttons : tuple of ipywidgets.Button
        Those offered now.
    widget : ipywidgets.Widget
        Words and buttons; hidden where nothing is known to help.
    """

    def __init__(self, state: ExplorerState, dials: Mapping[str, Dial]) -> None:
        self.state = state
        self._dials = dials
        self._words = ipywidgets.HTML()
        self._words.add_class("rx-note")
        self._rest = ipywidgets.HTML()
        self._rest.add_class("rx-note")
        hide_when_empty(self._rest)
        self._row = ipywidgets.HBox([])
        self._row.add_class("rx-remedies")
        self.buttons: tuple[ipywidgets.Button, ...] = ()
        self.widget = ipywidgets.VBox([self._words, self._row, self._rest])
        self.widget.add_class("rx-wish")
        state.observe(lambda _: self.refresh(), ["plan", "phase", "sampler", "data"])
        self.refresh()

    @property
    def words(self) -> str:
        """What stands before the buttons and behind them."""
        return f"{self._words.value} {self._rest.value}"

    def refresh(self) -> None:
        """Offer what would help the plan as it is now."""
        state = self.state
        silent = state.plan is None or state.busy or bool(state.uncharged)
        found = None if silent else wish(state.plan)
        plain = [] if silent or found is not None else wishes(state.plan)
        self.widget.layout.display = "none" if found is None and not plain else None
        self._words.value = "".join(escape(words) for words in plain)
        self._rest.value, self.buttons = "", ()
        if found is not None:
            self._offer(found)
        self._row.children = self.buttons
        self._row.layout.display = None if self.buttons else "none"

    def _offer(self, found: Wish) -> None:
        pressed = [remedy for remedy in found.remedies if self._settable(remedy)]
        others = [remedy.words for remedy in found.remedies if remedy not in pressed]
        goal = f"{_OF_A_PATH} it takes about" if found.about else f"For {found.goal} it takes"
        if not pressed:
            self._words.value = escape(f"{goal} {' or '.join(others)}.")
            return
        self._words.value = escape(f"{goal}:")
        self._rest.value = escape(f"or {' or '.join(others)}") if others else ""
        self.buttons = tuple(self._button(remedy, found) for remedy in pressed)

    def _settable(self, remedy: Remedy) -> bool:
        dial = self._dials.get(remedy.setting)
        within = dial is not None and dial.low <= remedy.value <= dial.high
        return remedy.setting in SETTINGS and within

    def _button(self, remedy: Remedy, found: Wish) -> ipywidgets.Button:
        short = remedy.words.split(" for ")[0].split(" with ")[0]
        button = ipywidgets.Button(
            description=short,
            tooltip=f"Set {remedy.words}: promises {'' if found.about else found.goal}".rstrip(),
        )
        button.add_class("rx-remedy")
        whole = self._dials[remedy.setting].integer
        value = int(remedy.value) if whole else remedy.value
        button.on_click(
            guarded(
                self.state,
                "Setting it",
                lambda _, name=remedy.setting, value=value: setattr(self.state, name, value),
            )
        )
        return button
