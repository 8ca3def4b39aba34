"""A title with one line below it, which opens or leads to the whole."""

from pathlib import Path

import anywidget
import traitlets


class Step(anywidget.AnyWidget):
    """A step of the story in one line.

    Attributes
    ----------
    title : str
        Its name, on the button.
    summary : str
        The line, as HTML. Escape what users typed.
    opens : bool
        Whether the button opens what stands below; else its owner leads elsewhere.
    unfolded : bool
        Whether what stands below is open.
    pressed : int
        Counts the presses.

    Examples
    --------
    >>> Step(title="Model", summary="logistic").unfolded
    False
    """

    _esm = (Path(__file__).parent / "step.js").read_text(encoding="utf-8")
    title = traitlets.Unicode("").tag(sync=True)
    summary = traitlets.Unicode("").tag(sync=True)
    opens = traitlets.Bool(True).tag(sync=True)
    unfolded = traitlets.Bool(False).tag(sync=True)
    pressed = traitlets.Int(0).tag(sync=True)
