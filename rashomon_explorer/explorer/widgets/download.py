"""A file that is made when somebody asks for it, and kept nowhere on the page."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import anywidget
import traitlets


@dataclass(frozen=True)
class Made:
    """A file on its way to the browser.

    Attributes
    ----------
    name : str
        What it will be called.
    content : bytes
        What is in it.
    mime : str
        What it is.
    """

    name: str
    content: bytes
    mime: str = "application/octet-stream"


Making = Callable[[], Made]


class Download(anywidget.AnyWidget):
    """A button that makes a file and hands it to the browser.

    Parameters
    ----------
    label, hint : str
        Words of the button, and what a pointer that rests on it is told.
    prepare : callable
        Called in the page's own thread when the button is pressed: looks at the page and returns
        what makes the file, which then works in another thread.
    failed : callable
        Told of an exception of either.
    primary : bool
        Whether it is the loud button of its place.

    Attributes
    ----------
    making : bool
        Whether a file is being made.
    disabled : bool
        Whether there is nothing to save.

    Examples
    --------
    >>> note = Made("note.txt", b"paid")
    >>> Download("Save", "a note", lambda: lambda: note, print).fetch().name
    'note.txt'
    """

    _esm = (Path(__file__).parent / "download.js").read_text(encoding="utf-8")
    label = traitlets.Unicode("Save").tag(sync=True)
    hint = traitlets.Unicode("").tag(sync=True)
    primary = traitlets.Bool(False).tag(sync=True)
    disabled = traitlets.Bool(False).tag(sync=True)
    making = traitlets.Bool(False).tag(sync=True)

    def __init__(
        self,
        label: str,
        hint: str,
        prepare: Callable[[], Making],
        failed: Callable[[Exception], object],
        *,
        primary: bool = False,
    ) -> None:
        super().__init__(label=label, hint=hint, primary=primary)
        self._prepare = prepare
        self._failed = failed
        self._task: asyncio.Task[None] | None = None
        self.on_msg(self._receive)

    def fetch(self) -> Made:
        """Make the file here and now."""
        return self._prepare()()

    def _receive(self, _widget: object, content: dict[str, str], _buffers: object) -> None:
        if content.get("type") != "asked" or self.making:
            return
        try:
            make = self._prepare()
        except Exception as error:
            self._failed(error)
            return
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:  # a script has no loop
            self._hand_over(make())
            return
        self.making = True
        self._task = loop.create_task(self._make(make))

    async def _make(self, make: Making) -> None:
        try:
            self._hand_over(await asyncio.to_thread(make))
        except Exception as error:
            self._failed(error)
        finally:
            self.making = False

    def _hand_over(self, made: Made) -> None:
        message = {"type": "file", "name": made.name, "mime": made.mime}
        self.send(message, buffers=[made.content])
