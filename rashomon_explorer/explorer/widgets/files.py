"""Downloads and uploads."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import ipywidgets
import plotly
import plotly.graph_objects as go
import traitlets

from rashomon_explorer.exceptions import CuratorOnlyError
from rashomon_explorer.explorer.background import BackgroundTask
from rashomon_explorer.explorer.widgets import controls as ui
from rashomon_explorer.explorer.widgets.plotly_view import shared_bundle

_BEGUN, _BETWEEN = 20.0, 60.0
"""Seconds to wait for a browser's first picture, and for each further one."""


@dataclass(frozen=True)
class FileInTransit:
    """File to be sent to the browser."""

    name: str
    content: bytes
    mime: str = "application/octet-stream"


@dataclass(frozen=True)
class ToPicture:
    """File that needs pictures of figures, which a browser draws first."""

    figures: Mapping[str, go.Figure]
    finish: Callable[[Mapping[str, bytes]], FileInTransit]


Making = Callable[[], FileInTransit | ToPicture]


class Download(ui.AnyWidget):
    """Button that makes a file and sends it to the browser, if its ``epoch`` is still the same."""

    _esm = ui.script("plotly_library.js", "pictures.js", "download.js")
    label = traitlets.Unicode("Save").tag(sync=True)
    hint = traitlets.Unicode("").tag(sync=True)
    primary = traitlets.Bool(False).tag(sync=True)
    disabled = traitlets.Bool(False).tag(sync=True)
    making = traitlets.Bool(False).tag(sync=True)
    of = traitlets.Unicode("").tag(sync=True)
    """Table and set of the button; the name of a saved file goes with them."""

    plotly_version = traitlets.Unicode(plotly.__version__).tag(sync=True)
    bundle = traitlets.Instance(ipywidgets.Widget).tag(sync=True, **ipywidgets.widget_serialization)

    def __init__(
        self,
        label: str,
        hint: str,
        prepare: Callable[[], Making],
        failed: Callable[[Exception], object],
        *,
        primary: bool = False,
        epoch: Callable[[], object] = lambda: None,
    ) -> None:
        super().__init__(label=label, hint=hint, primary=primary, bundle=shared_bundle())
        self._epoch = epoch
        self._prepare = prepare
        self._task = BackgroundTask(label, failed, self._started_or_ended)
        self._pictures: asyncio.Queue[tuple[str, bytes]] = asyncio.Queue()
        self.on_msg(self._receive)

    def fetch(self) -> FileInTransit:
        return _finished(self._prepare()(), {})

    def _receive(self, _widget: object, content: dict[str, Any], buffers: Sequence[Any]) -> None:
        if content.get("type") == "picture":
            self._pictures.put_nowait((str(content.get("name")), b"".join(map(bytes, buffers))))
        if content.get("type") != "asked" or self.making:
            return
        try:
            make = self._prepare()
        except Exception as error:
            self._task.failed(error)
        else:
            hand_over = partial(self._hand_over, self._epoch())
            if not self._task.spawn(partial(self._make, make), hand_over):
                hand_over(_finished(make(), {}))

    def _started_or_ended(self) -> None:
        self.making = self._task.running

    async def _make(self, make: Making) -> FileInTransit:
        result = await asyncio.to_thread(make)
        if isinstance(result, FileInTransit):
            return result
        pictures = await self._drawn(result.figures)
        return await asyncio.to_thread(result.finish, pictures)

    async def _drawn(self, figures: Mapping[str, go.Figure]) -> dict[str, bytes]:
        self._pictures = asyncio.Queue()
        self.send({"type": "draw", "figures": {n: f.to_dict() for n, f in figures.items()}})
        pictures: dict[str, bytes] = {}
        patience = _BEGUN
        try:
            while True:
                name, content = await asyncio.wait_for(self._pictures.get(), patience)
                if not name:  # end of the pictures
                    return pictures
                pictures[name], patience = content, _BETWEEN
        except TimeoutError:
            return pictures

    def _hand_over(self, epoch: object, file: FileInTransit) -> None:
        if epoch != self._epoch():
            raise CuratorOnlyError(
                "the view, the table or the set changed while the file was made, so it was not "
                "sent: press the button again"
            )
        message = {"type": "file", "name": file.name, "mime": file.mime}
        self.send(message, buffers=[file.content])


def _finished(result: FileInTransit | ToPicture, pictures: Mapping[str, bytes]) -> FileInTransit:
    return result.finish(pictures) if isinstance(result, ToPicture) else result


_MEGABYTE = 1_000_000


class FilePicker(ui.AnyWidget):
    """Native input for one file, with its name."""

    _esm = ui.script("file_picker.js")
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
        with self.hold_trait_notifications():
            self.name, self.size = name, len(content)
            self.content = content if len(content) <= self.most_bytes else b""
            self.picked += 1
