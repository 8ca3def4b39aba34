"""Liveness of the page."""

from pathlib import Path
from typing import Any

import anywidget
import traitlets


class KernelWatch(anywidget.AnyWidget):
    """Nothing on the page, until its program gives no sign of life: then an alert."""

    _esm = (Path(__file__).parent / "kernel_watch.js").read_text(encoding="utf-8")
    patience = traitlets.Float(20.0).tag(sync=True)
    words = traitlets.Unicode(
        "The program behind this page does not answer: it is busy, or it has ended. What is on "
        "screen can be read; if these words stay, no button or slider works any more. What was "
        "charged is in the ledger and stays spent. Reload the page to begin again."
    ).tag(sync=True)

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.on_msg(lambda *_: self.send({"kind": "alive"}))


class LiveText(anywidget.AnyWidget):
    """Text in a live region of the page."""

    _esm = (Path(__file__).parent / "live.js").read_text(encoding="utf-8")
    html = traitlets.Unicode("").tag(sync=True)
    role = traitlets.Unicode("status").tag(sync=True)
    kind = traitlets.Unicode("").tag(sync=True)

    def __init__(self, role: str = "status", kind: str = "") -> None:
        super().__init__(role=role, kind=kind)
