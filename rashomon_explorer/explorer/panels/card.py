"""Parts that the panels share, and the panels of alerts and of the selection."""

from collections.abc import Callable, Iterable
from html import escape
from typing import Any, ClassVar

import ipywidgets

from rashomon_explorer.explorer.html import code_block
from rashomon_explorer.explorer.messages import error_boundary
from rashomon_explorer.explorer.state import ExplorerState
from rashomon_explorer.explorer.widgets import controls as ui
from rashomon_explorer.plots.text import plural


def region(*kinds: str) -> ipywidgets.HTML:
    html = styled(ui.HTML(), *kinds)
    ui.display(html, False)
    html.observe(lambda _: ui.display(html, bool(html.value)), "value")
    return html


def styled(widget: Any, *kinds: str) -> Any:
    for kind in kinds:
        widget.add_class(kind)
    return widget


def row(children: Iterable[ipywidgets.Widget], *kinds: str) -> ipywidgets.HBox:
    return styled(ui.HBox(tuple(children)), *kinds)


def column(children: Iterable[ipywidgets.Widget], *kinds: str) -> ipywidgets.VBox:
    return styled(ui.VBox(tuple(children)), *kinds)


def quiet_button(label: str, hint: str = "", *, toggles: bool = False) -> Any:
    kind = ui.ToggleButton if toggles else ui.Button
    return styled(kind(description=label, tooltip=hint or None), "rx-quiet")


def slider(
    label: str, unit: str, hint: str, scale: tuple[float, float], value: float, *kinds: str
) -> ui.Slider:
    low, high = scale
    traits = dict.fromkeys(kinds, True)
    return ui.Slider(label=label, unit=unit, help=hint, low=low, high=high, value=value, **traits)


class Panel:
    """Part of the page that follows the state, in a frame with its title and Python code."""

    title: ClassVar[str] = ""
    needs: ClassVar[tuple[str, ...]] = ()  # traits of the state with which the panel is updated

    def __init__(self, state: ExplorerState, *children: ipywidgets.Widget, kind: str = "") -> None:
        self.state = state
        self.menu = ui.CardMenu(self.title, self.menu_entries())
        self.widget = ui.own_layout(self.frame(children))
        if kind:
            self.widget.add_class(kind)
        if self.needs:
            state.observe(lambda _: self.update(), [*self.needs])
        self.update()

    def frame(self, children: Iterable[ipywidgets.Widget]) -> ipywidgets.Widget:
        heading = styled(ui.HTML(f"<h2>{escape(self.title)}</h2>"), "rx-heading")
        return column([row([heading], "rx-head"), self.menu, *children], "rx-card")

    def menu_entries(self) -> ui.MenuEntries:
        return {"Python": ("Python that shows the same", lambda: code_block(self.lines()))}

    def update(self) -> None:
        self.refresh()
        self.menu.refresh()

    def lines(self) -> tuple[str, ...]:
        return ()

    def refresh(self) -> None:
        """Update the panel from the state."""

    def on(self, what: str, action: Callable[[], object]) -> Callable[..., Any]:
        """Return a callback of a control; its errors are shown as alerts that name ``what``."""
        return error_boundary(self.state, what, lambda *_: action())


class Question:
    """Confirmation dialog; hidden while there is no question. Yes answers the question it shows."""

    def __init__(self, go_on: Callable[[str], object], label: str = "Draw anyway") -> None:
        self._go_on = go_on
        self.text = ui.LiveText(role="alert", kind="rx-question-words")
        self.yes = ui.OfferButton(self._confirmed, description=label, kind="rx-quiet")
        self.no = quiet_button("Cancel")
        self.no.on_click(lambda _: self.close())
        self.widget = column([self.text, ui.HBox([self.yes, self.no])], "rx-ask")
        self.close()

    @property
    def open(self) -> bool:
        return self.widget.layout.display is None

    def ask(self, question: str, label: str, offer: str) -> None:
        """Show a question about an offer, with the label of the button that agrees."""
        self.text.html, self.yes.description = escape(question), label
        self.yes.offer = offer
        ui.display(self.widget, True)

    def close(self) -> None:
        self.text.html = ""
        ui.display(self.widget, False)

    def _confirmed(self, offer: str) -> None:
        if self.open and offer == self.yes.offer:
            self.close()
            self._go_on(offer)


class AlertPanel:
    """Message of the last failure, until it is dismissed or an action succeeds."""

    def __init__(self, state: ExplorerState) -> None:
        self.state = state
        self.text = ui.LiveText(role="alert", kind="rx-alert-text")
        self.dismiss = quiet_button("Dismiss", "Hide this message")
        self.dismiss.on_click(lambda _: setattr(state, "alert", None))
        state.observe(lambda _: self.refresh(), ["alert", "view"])
        self.widget = row([self.text, self.dismiss], "rx-alert")
        self.refresh()

    def refresh(self) -> None:
        alert = self.state.alert
        ui.display(self.widget, alert is not None)
        if alert is None:
            self.text.html = ""
            return
        reason = alert.public if self.state.view == "release" else alert.reason
        self.text.html = (
            f"<b>{escape(alert.failed)} failed.</b> {escape(reason).replace(chr(10), '<br>')} "
            f'<span class="rx-note">{escape(alert.kept)}</span>'
        )


class SelectionChip:
    """Selected models, groups and people, in every view; hidden without a selection."""

    def __init__(self, state: ExplorerState) -> None:
        self.state = state
        self.words = ui.LiveText(role="status", kind="rx-chip-words")
        self.clear = quiet_button("clear ✕", "Clear the selection")
        self.clear.on_click(lambda _: state.clear_selection())
        self.widget = row([self.words, self.clear], "rx-chip")
        needs = ["selection", "people", "groups", "rashomon_set", "view"]
        state.observe(lambda _: self.refresh(), needs)
        self.refresh()

    def refresh(self) -> None:
        text = " · ".join(selection_text(self.state))
        ui.display(self.widget, bool(text))
        self.words.html = escape(text)


def selection_text(state: ExplorerState) -> list[str]:
    """Describe the selected models, groups and people; empty if nothing is selected."""
    selected, models = state.selection, state.rashomon_set
    parts = []
    # How many refits of an audit are good is private; so no set without a guarantee is counted.
    if selected and models and not state.has_no_guarantee:
        parts.append(f"{len(selected):,} of {plural(models.n_draws, 'model')}")
    if state.view == "release":  # selected people are not public
        return parts
    for column in dict.fromkeys(column for column, _ in state.groups):
        levels = [level for group_column, level in state.groups if group_column == column]
        parts.append(f"{column} = {' or '.join(levels)}")
    if state.people:
        parts.append("1 person" if len(state.people) == 1 else f"{len(state.people):,} people")
    return parts
