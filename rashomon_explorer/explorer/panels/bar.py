"""The bar that stays: data set, budget, who looks, the set in view."""

import ipywidgets

from rashomon_explorer.explorer.panels.budget import gauge_html
from rashomon_explorer.explorer.panels.sets import SetPicker
from rashomon_explorer.explorer.session import Session
from rashomon_explorer.explorer.widgets import Fold, ThemeSwitch

_BRAND = """
<svg viewBox="0 0 40 40" width="28" height="28" aria-hidden="true">
  <ellipse cx="20" cy="20" rx="17" ry="11" transform="rotate(-28 20 20)" class="rx-mark-set"/>
  <circle cx="13" cy="23" r="2.4"/><circle cx="22" cy="13.5" r="2.4"/>
  <circle cx="28" cy="17" r="2.4"/><circle cx="19" cy="26" r="2.4"/>
  <path d="M17.5 17.5l5 5m0-5l-5 5" class="rx-mark-best"/>
</svg><h1>Rashomon Explorer</h1>
"""


class TopBar:
    """Where one is and what is left, in every view.

    Parameters
    ----------
    session : Session
        Its data set, account and sets are told.
    who : ipywidgets.Widget
        The switch between curator and release.
    saver : ipywidgets.Widget
        Saves what may leave.

    Attributes
    ----------
    data : ipywidgets.Button
        Name of the data set; leads to its view.
    gauge : ipywidgets.HTML
        Spent, what the next draw adds, left.
    sets : SetPicker
        The set in view.
    theme : ThemeSwitch
        Light or dark.
    widget : ipywidgets.Widget
        The bar.
    """

    def __init__(self, session: Session, who: ipywidgets.Widget, saver: ipywidgets.Widget) -> None:
        self.state = state = session.state
        brand = ipywidgets.HTML(_BRAND)
        brand.add_class("rx-brand")
        self.data = ipywidgets.Button(tooltip="Choose or describe the data set")
        self.data.on_click(lambda _: setattr(state, "page", "data"))
        self.gauge = ipywidgets.HTML()
        self.gauge.add_class("rx-bar-gauge")
        self.sets = SetPicker(session)
        self.theme = ThemeSwitch()
        self.data.add_class("rx-bar-data")
        menu = Fold(label="Sets, theme and Save", of=".rx-topbar", marks=["☰", "✕"])
        self.widget = ipywidgets.HBox(
            [brand, self.data, self.gauge, menu, self.sets.widget, who, self.theme, saver]
        )
        self.widget.add_class("rx-topbar")
        state.observe(lambda _: self.refresh(), ["data", "account", "plan", "phase", "sampler"])
        self.refresh()

    def refresh(self) -> None:
        """Write the data set's name and the gauge again."""
        data = self.state.data
        self.data.description = "Choose data" if data is None else str(data.name)
        self.gauge.value = gauge_html(self.state, short=True)
