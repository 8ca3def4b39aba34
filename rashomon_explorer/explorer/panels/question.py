"""A question in words before something that cannot be taken back."""

from collections.abc import Callable
from html import escape

import ipywidgets

from rashomon_explorer.explorer.widgets import LiveText


class Question:
    """Words, a button that goes on and one that does not; hidden while nothing is asked.

    Parameters
    ----------
    words : str
        Of the button that goes on.
    go_on : callable
        What it does.

    Attributes
    ----------
    said : LiveText
        The question, which a screen reader announces.
    yes, no : ipywidgets.Button
        The two answers.
    widget : ipywidgets.Widget
        All of it.

    Examples
    --------
    >>> done = []
    >>> question = Question("Delete it", lambda: done.append(True))
    >>> question.ask("For good?")
    >>> question.open, question.yes.click(), question.open, done
    (True, None, False, [True])
    """

    def __init__(self, words: str, go_on: Callable[[], object]) -> None:
        self._go_on = go_on
        self.said = LiveText(role="alert", kind="rx-question-words")
        self.yes = ipywidgets.Button(description=words)
        self.no = ipywidgets.Button(description="Not now")
        for button in (self.yes, self.no):
            button.add_class("rx-quiet")
        self.yes.on_click(lambda _: self._answered())
        self.no.on_click(lambda _: self.close())
        self.widget = ipywidgets.VBox([self.said, ipywidgets.HBox([self.yes, self.no])])
        self.widget.add_class("rx-ask")
        self.close()

    @property
    def open(self) -> bool:
        """Whether it is being asked."""
        return self.widget.layout.display is None

    def ask(self, words: str) -> None:
        """Show the question."""
        self.said.html = escape(words)
        self.widget.layout.display = None

    def close(self) -> None:
        """Take it away."""
        self.said.html = ""
        self.widget.layout.display = "none"

    def _answered(self) -> None:
        self.close()
        self._go_on()
