"""Parts that several panels share."""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from html import escape
from typing import TypeVar

import ipywidgets

from rashomon_explorer.explorer.html import code_block
from rashomon_explorer.explorer.messages import LEDGER_READ, error_boundary, report
from rashomon_explorer.explorer.session import Session
from rashomon_explorer.explorer.state import ExplorerState
from rashomon_explorer.explorer.widgets.controls import LiveText
from rashomon_explorer.plots.text import plural


def hide_when_empty(region: ipywidgets.HTML) -> None:
    """Hide a region while it is empty, so that it leaves no gap."""

    def match(_change: object = None) -> None:
        region.layout.display = None if region.value else "none"

    region.observe(match, "value")
    match()


class CodeToggle:
    """Button that shows the Python code for a panel."""

    def __init__(self, lines: Callable[[], Sequence[str]], of: str) -> None:
        self.lines = lines
        self.button = ipywidgets.ToggleButton(
            description="Python", tooltip=f"Show the Python lines of “{of}”"
        )
        self.button.add_class("rx-quiet")
        self.code = ipywidgets.HTML()
        hide_when_empty(self.code)
        self.button.observe(lambda _: self.refresh(), "value")

    def refresh(self) -> None:
        """Update the code if it is shown."""
        self.code.value = code_block(self.lines()) if self.button.value else ""


def card(
    step: str,
    title: str,
    children: Iterable[ipywidgets.Widget],
    code: CodeToggle | None = None,
) -> ipywidgets.VBox:
    """Return a framed panel."""
    number = f'<span class="rx-step" aria-hidden="true">{escape(step)}</span>' if step else ""
    heading = ipywidgets.HTML(f"<h2>{number}{escape(title)}</h2>")
    heading.add_class("rx-heading")
    head = ipywidgets.HBox([heading, *([code.button] if code else [])])
    head.add_class("rx-head")
    box = ipywidgets.VBox([head, *children, *([code.code] if code else [])])
    box.add_class("rx-card")
    return box


class Question:
    """Confirmation dialog; hidden while there is no question."""

    def __init__(self, words: str, go_on: Callable[[], object]) -> None:
        self._go_on = go_on
        self.said = LiveText(role="alert", kind="rx-question-words")
        self.yes = ipywidgets.Button(description=words)
        self.no = ipywidgets.Button(description="Cancel")
        for button in (self.yes, self.no):
            button.add_class("rx-quiet")
        self.yes.on_click(lambda _: self._answered())
        self.no.on_click(lambda _: self.close())
        self.widget = ipywidgets.VBox([self.said, ipywidgets.HBox([self.yes, self.no])])
        self.widget.add_class("rx-ask")
        self.close()

    @property
    def open(self) -> bool:
        """Whether the dialog is open."""
        return self.widget.layout.display is None

    def ask(self, words: str) -> None:
        """Show the question."""
        self.said.html = escape(words)
        self.widget.layout.display = None

    def close(self) -> None:
        """Hide the question."""
        self.said.html = ""
        self.widget.layout.display = "none"

    def _answered(self) -> None:
        self.close()
        self._go_on()


class AlertPanel:
    """Message of the last failure, until it is dismissed or an action succeeds.

    Parameters
    ----------
    state : ExplorerState
        Its alert is shown.

    Attributes
    ----------
    text : LiveText
        Empty when nothing failed.
    dismiss : ipywidgets.Button
        Hides the alert.
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
            f"<b>{escape(alert.failed)} failed.</b> {reason} "
            f'<span class="rx-note">{escape(alert.kept)}</span>'
        )


class SelectionChip:
    """Selected models, groups and people, in every view; hidden without a selection.

    Parameters
    ----------
    state : ExplorerState
        Its selection is shown.

    Attributes
    ----------
    words : LiveText
        "3 of 20 models · sex = f · 2 people".
    clear : ipywidgets.Button
        Empties the selection.
    widget : ipywidgets.Widget
        The chip.
    """

    def __init__(self, state: ExplorerState) -> None:
        self.state = state
        self.words = LiveText(role="status", kind="rx-chip-words")
        self.clear = ipywidgets.Button(description="clear ✕", tooltip="Clear the selection")
        self.clear.add_class("rx-quiet")
        self.clear.on_click(lambda _: state.pick_nothing())
        self.widget = ipywidgets.HBox([self.words, self.clear])
        self.widget.add_class("rx-chip")
        picked = ["selection", "people", "groups", "rashomon_set", "view"]
        state.observe(lambda _: self.refresh(), picked)
        self.refresh()

    def refresh(self) -> None:
        """Update the text."""
        words = " · ".join(selection_text(self.state))
        self.widget.layout.display = None if words else "none"
        self.words.html = escape(words)


def selection_text(state: ExplorerState) -> list[str]:
    """Describe the selected models, groups and people; empty if nothing is selected."""
    chosen, models = state.selection, state.rashomon_set
    parts = [f"{len(chosen):,} of {plural(models.n_draws, 'model')}"] if chosen and models else []
    if state.view == "release":  # selected people are not public
        return parts
    columns = dict.fromkeys(column for column, _ in state.groups)
    for column in columns:
        levels = [level for own, level in state.groups if own == column]
        parts.append(f"{column} = {' or '.join(levels)}")
    if state.people:
        parts.append("1 person" if len(state.people) == 1 else f"{len(state.people):,} people")
    return parts


T = TypeVar("T")


class AsyncCharge:
    """Runs an action that charges: in a thread if there is an event loop, else at once."""

    def __init__(self, session: Session, what: str, changed: Callable[[], object]) -> None:
        self._session = session
        self._what = what
        self._changed = changed
        self.under_way = False
        self.task: asyncio.Task[None] | None = None

    def start(self, pay: Callable[[], T], received: Callable[[T], object]) -> None:
        """Run the action and pass its result on."""
        self._session.state.alert = None
        self._set(True)
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            try:
                received(pay())
            finally:
                self._end()
        else:
            self.task = loop.create_task(self._in_thread(pay, received))

    async def _in_thread(self, pay: Callable[[], T], received: Callable[[T], object]) -> None:
        try:
            received(await asyncio.to_thread(pay))
        except Exception as error:
            report(self._session.state, self._what, error)
        finally:
            self._end()

    def _end(self) -> None:
        self._set(False)
        error_boundary(self._session.state, LEDGER_READ, self._session.refresh_account)()

    def _set(self, under_way: bool) -> None:
        self.under_way = under_way
        self._changed()
