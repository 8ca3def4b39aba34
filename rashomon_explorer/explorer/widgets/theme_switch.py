"""A button that turns the page dark or light."""

from pathlib import Path

import anywidget


class ThemeSwitch(anywidget.AnyWidget):
    """Turns the page; the browser remembers it. A notebook has its own theme and needs none.

    Examples
    --------
    >>> ThemeSwitch().comm is None
    False
    """

    _esm = (Path(__file__).parent / "theme_switch.js").read_text(encoding="utf-8")
