"""A file chosen in the browser."""

from pathlib import Path

import anywidget
import traitlets

_MEGABYTE = 1_000_000


class FilePicker(anywidget.AnyWidget):
    """One file, as a native input that shows its name.

    Parameters
    ----------
    label : str
        What to choose.
    accept : str
        File types, as HTML's ``accept``.

    Attributes
    ----------
    name : str
        Name of the file chosen.
    content : bytes
        What is in it; empty if it is larger than `most_bytes`.
    size : int
        Its size in bytes.
    most_bytes : int
        Largest file that the page sends.
    picked : int
        Counts the choices; observe this one.
    disabled : bool
        Whether nothing can be chosen.

    Examples
    --------
    >>> FilePicker(label="CSV file", accept=".csv").name
    ''
    """

    _esm = (Path(__file__).parent / "file_picker.js").read_text(encoding="utf-8")
    label = traitlets.Unicode("File").tag(sync=True)
    accept = traitlets.Unicode("").tag(sync=True)
    name = traitlets.Unicode("").tag(sync=True)
    content = traitlets.Bytes().tag(sync=True, from_json=lambda value, _: bytes(value))
    size = traitlets.Int(0).tag(sync=True)
    most_bytes = traitlets.Int(8 * _MEGABYTE).tag(sync=True)
    picked = traitlets.Int(0).tag(sync=True)
    disabled = traitlets.Bool(False).tag(sync=True)

    def __init__(self, label: str, accept: str = "") -> None:
        super().__init__(label=label, accept=accept)

    def choose(self, name: str, content: bytes) -> None:
        """Do what choosing a file in the browser does.

        Parameters
        ----------
        name : str
            The file's name.
        content : bytes
            What is in it.
        """
        with self.hold_trait_notifications():
            self.name, self.size = name, len(content)
            self.content = content if len(content) <= self.most_bytes else b""
            self.picked += 1
