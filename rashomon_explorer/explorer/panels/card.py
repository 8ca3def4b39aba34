"""The frame of a panel: a heading, its content, and the Python behind it."""

from collections.abc import Callable, Iterable, Sequence
from html import escape

import ipywidgets

from rashomon_explorer.explorer.html import code_block


def hide_when_empty(region: ipywidgets.HTML) -> None:
    """Take a region without words out of the layout, or its gap would show."""

    def match(_change: object = None) -> None:
        region.layout.display = None if region.value else "none"

    region.observe(match, "value")
    match()


class CodeToggle:
    """A button that shows the Python lines of what a panel shows."""

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
        """Write the lines again if they are shown."""
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
