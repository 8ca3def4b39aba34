"""The set in view, and every other that was paid for from the same table."""

import ipywidgets

from rashomon_explorer.explorer.family import paid_delta
from rashomon_explorer.explorer.guard import guarded
from rashomon_explorer.explorer.session import Session
from rashomon_explorer.plots.text import plural, price
from rashomon_explorer.rashomon_set import RashomonSet

_OTHER = 0


class SetPicker:
    """Which set is on screen; another one is opened without a charge.

    Parameters
    ----------
    session : Session
        Opens and deletes sets.

    Attributes
    ----------
    choice : ipywidgets.Dropdown
        The kept sets, newest first.
    delete, sure : ipywidgets.Button
        The first asks, the second deletes the set in view.
    widget : ipywidgets.Widget
        The picker.
    """

    def __init__(self, session: Session) -> None:
        self.session = session
        self.state = session.state
        self.choice = ipywidgets.Dropdown(description="Set in view", options=[("", _OTHER)])
        self.choice.add_class("rx-unlabelled")
        self.delete = ipywidgets.Button(
            description="✕", tooltip="Delete the set in view from this machine: asks first"
        )
        self.sure = ipywidgets.Button(
            description="Delete it for good", tooltip="What it cost stays spent"
        )
        for button in (self.delete, self.sure):
            button.add_class("rx-quiet")
        self._telling = False
        self.choice.observe(guarded(self.state, "Opening the set", self._chosen), "value")
        self.delete.on_click(lambda _: self._ask(not self._asking))
        self.sure.on_click(guarded(self.state, "Deleting the set", self._delete))
        self.state.observe(lambda _: self.refresh(), ["kept", "in_view", "rashomon_set", "phase"])
        self.widget = ipywidgets.HBox([self.choice, self.delete, self.sure])
        self.widget.add_class("rx-sets")
        self.refresh()

    @property
    def _asking(self) -> bool:
        return self.sure.layout.display is None

    def _ask(self, asking: bool) -> None:
        self.sure.layout.display = None if asking else "none"

    def refresh(self) -> None:
        """Offer the sets again."""
        state = self.state
        kept = [(one.label, one.number) for one in reversed(state.kept)]
        in_view = state.in_view if state.in_view in dict(kept).values() else _OTHER
        others = [] if in_view else [(_words(state.rashomon_set), _OTHER)]
        self._telling = True
        self.choice.options = [*others, *kept]
        self.choice.value = in_view
        self._telling = False
        self.choice.disabled = state.busy or len(self.choice.options) < 2
        self.delete.layout.display = "none" if state.busy or not state.in_view else None
        self._ask(False)

    def _chosen(self, _change: object) -> None:
        if not self._telling and self.choice.value != _OTHER:
            try:
                self.session.open_kept(self.choice.value)
            finally:
                self.refresh()

    def _delete(self, _click: object) -> None:
        self.session.delete_kept(self.state.in_view)


def _words(models: RashomonSet | None) -> str:
    if models is None or not models.n_draws:
        return "no models yet"
    held = models.guarantee.holds
    paid = price(models.guarantee.epsilon(paid_delta(models.guarantee))) if held else "no guarantee"
    return f"{plural(models.n_draws, 'model')} · {paid}"
