"""A text saved as a file by the browser."""

from pathlib import Path

import anywidget
import traitlets


class Saver(anywidget.AnyWidget):
    """A button; off while there is nothing to save.

    Attributes
    ----------
    label, name, content : str
        Words of the button, name of the file, and what is in it.

    Examples
    --------
    >>> Saver(label="Save", name="loans.toml", content="[columns]").name
    'loans.toml'
    """

    _esm = (Path(__file__).parent / "saver.js").read_text(encoding="utf-8")
    label = traitlets.Unicode("Save").tag(sync=True)
    name = traitlets.Unicode("").tag(sync=True)
    content = traitlets.Unicode("").tag(sync=True)
