"""What the browser does when the program behind the page is silent, and when it is a new one."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import anywidget
import traitlets


class KernelWatch(anywidget.AnyWidget):
    """Nothing on the page, until its program gives no sign of life: then an alert.

    The browser asks every five seconds. A busy program answers when it is free again, and the
    alert goes away; one that was killed never does, and a button loads the page again. The new
    page is told what the one before it showed. A page that is left during a draw leaves its
    program to finish what was paid for.

    Attributes
    ----------
    patience : float
        Seconds without an answer before the alert.
    words, button : str
        What the alert says, and its button.
    served : bool
        Whether the command serves the page, so that loading it again starts a new program.
    last : str
        Name of the table on screen, which stays in the browser's tab.
    reopen : callable
        Called with the name of the table that the page before this one showed.

    Examples
    --------
    >>> KernelWatch().words.startswith("The program behind this page does not answer")
    True
    """

    _esm = (Path(__file__).parent / "kernel_watch.js").read_text(encoding="utf-8")
    patience = traitlets.Float(20.0).tag(sync=True)
    words = traitlets.Unicode(
        "The program behind this page does not answer: it is busy, or it has ended. What is on "
        "screen can be read; if these words stay, no button or slider works any more. What was "
        "charged is in the ledger and stays spent; what came of it is kept beside the ledger."
    ).tag(sync=True)
    button = traitlets.Unicode("Start again where you were").tag(sync=True)
    served = traitlets.Bool(False).tag(sync=True)
    last = traitlets.Unicode("").tag(sync=True)

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.reopen: Callable[[str], None] = lambda name: None
        self.on_msg(self._asked)

    def _asked(self, _widget: object, message: Any, _buffers: object) -> None:
        if message.get("kind") == "reopen":
            self.reopen(str(message.get("name", "")))
        self.send({"kind": "alive"})
