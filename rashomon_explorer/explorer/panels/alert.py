"""Alert: what failed, what is kept, what to do."""

from html import escape

import ipywidgets

from rashomon_explorer.explorer.state import ExplorerState
from rashomon_explorer.explorer.widgets import LiveText


class AlertPanel:
    """The last failure in words, until it is dismissed or something succeeds.

    Parameters
    ----------
    state : ExplorerState
        Its alert is shown.

    Attributes
    ----------
    text : LiveText
        Empty when nothing failed.
    dismiss : ipywidgets.Button
        Takes the alert away.
    widget : ipywidgets.Widget
        The panel.
    """

    def __init__(self, state: ExplorerState) -> None:
        self.state = state
        self.text = LiveText(role="alert", kind="rx-alert-text")
        self.dismiss = ipywidgets.Button(description="Dismiss", tooltip="Hide this message")
        self.dismiss.add_class("rx-quiet")
        self.dismiss.on_click(lambda _: setattr(state, "alert", None))
        state.observe(lambda _: self.refresh(), ["alert", "view"])
        self.widget = ipywidgets.HBox([self.text, self.dismiss])
        self.widget.add_class("rx-alert")
        self.refresh()

    def refresh(self) -> None:
        """Show the state's alert."""
        alert = self.state.alert
        self.widget.layout.display = "none" if alert is None else None
        if alert is None:
            self.text.html = ""
            return
        told = (self.state.view == "release" and alert.public) or alert.reason
        reason = escape(told).replace("\n", "<br>")
        self.text.html = (
            f"<b>{escape(alert.failed)} did not work.</b> {reason} "
            f'<span class="rx-note">{escape(alert.kept)}</span>'
        )
