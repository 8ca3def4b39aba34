"""A button that opens what has no room on a phone."""

from pathlib import Path

import anywidget
import traitlets


class Fold(anywidget.AnyWidget):
    """Opens and closes the box it stands in, by the box's attribute ``data-open``.

    What that hides, and on which widths, is the style sheet's (``phone.css``).

    Attributes
    ----------
    label : str
        What the button is called by a screen reader; begins with its words.
    words : str
        What stands on it beside its mark.
    of : str
        Selector of the box, the nearest one around the button.
    marks : list of str
        What stands on the button while the box is closed, and open.
    unfolded : bool
        Whether the box is open.
    escapes : bool
        Whether the Escape key closes it.

    Examples
    --------
    >>> Fold(label="Menu", of=".rx-topbar", marks=["☰", "✕"]).marks
    ['☰', '✕']
    """

    _esm = (Path(__file__).parent / "fold.js").read_text(encoding="utf-8")
    label = traitlets.Unicode("").tag(sync=True)
    words = traitlets.Unicode("").tag(sync=True)
    unfolded = traitlets.Bool(False).tag(sync=True)
    escapes = traitlets.Bool(True).tag(sync=True)
    of = traitlets.Unicode("").tag(sync=True)
    marks: traitlets.List[str] = traitlets.List(["▾", "▴"]).tag(sync=True)
