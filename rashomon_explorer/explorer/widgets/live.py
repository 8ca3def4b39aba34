"""A line or box of text that assistive technology announces when it changes."""

from pathlib import Path

import anywidget
import traitlets


class LiveText(anywidget.AnyWidget):
    """Text in a live region of the page.

    Parameters
    ----------
    role : {"status", "alert"}
        ``status`` waits for a pause, ``alert`` interrupts.
    kind : str
        CSS class of the region.

    Attributes
    ----------
    html : str
        The words; an empty string hides the region. Escape what users typed.

    Examples
    --------
    >>> LiveText(role="alert").html
    ''
    """

    _esm = (Path(__file__).parent / "live.js").read_text(encoding="utf-8")
    html = traitlets.Unicode("").tag(sync=True)
    role = traitlets.Unicode("status").tag(sync=True)
    kind = traitlets.Unicode("").tag(sync=True)

    def __init__(self, role: str = "status", kind: str = "") -> None:
        super().__init__(role=role, kind=kind)
