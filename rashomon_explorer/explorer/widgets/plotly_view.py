"""Plotly figures."""

import asyncio
from collections.abc import Callable
from functools import cache
from typing import Any

import ipywidgets
import plotly
import plotly.graph_objects as go
import traitlets

from rashomon_explorer._utils.assets import plotly_module
from rashomon_explorer.explorer.widgets import controls as ui
from rashomon_explorer.plots.theme import templates


class PlotlyBundle(ui.AnyWidget):
    """Send plotly.js to a browser on request, once for all figures."""

    _esm = "export default { render() {} }"
    code = traitlets.Bytes().tag(sync=True)

    def __init__(self) -> None:
        super().__init__()
        self.on_msg(lambda *_: setattr(self, "code", plotly_module()))


@cache
def _bundle_for(_connection: object) -> PlotlyBundle:
    return PlotlyBundle()


def shared_bundle() -> PlotlyBundle:
    """Return the kernel's only bundle widget, created again if it was closed."""
    bundle = _bundle_for(None)
    if bundle.comm is None:
        _bundle_for.cache_clear()
        bundle = _bundle_for(None)
    return bundle


_LONG = 200  # length from which texts and lists are compared to find a common beginning
KEPT, NEW = "$kept", "new"
"""Keys of a patch: length of the kept beginning of a text or list, and what follows it."""


def piece(before: Any, after: Any) -> Any:
    if isinstance(after, dict):
        before_parts = before if isinstance(before, dict) else {}
        return {key: piece(before_parts.get(key), value) for key, value in after.items()}
    if not isinstance(after, str | list | tuple) or type(before) is not type(after):
        return after
    if len(after) < _LONG:
        if isinstance(after, str):
            return after
        padded = [*before, *[None] * len(after)]
        return [piece(*both) for both in zip(padded, after, strict=False)]
    n_common = _shared(before, after)
    return {KEPT: n_common, NEW: after[n_common:]} if 2 * n_common > len(after) else after


def size(figure: Any) -> int:
    if isinstance(figure, str):
        return len(figure)
    if isinstance(figure, dict):
        return sum(map(size, figure.values()))
    return sum(map(size, figure)) if isinstance(figure, list | tuple) else 1


def _shared(before: Any, after: Any) -> int:
    low, high = 0, min(len(before), len(after))
    while low < high:
        middle = (low + high + 1) // 2
        if before[low:middle] == after[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


_BUTTONS = ["zoom2d", "pan2d", "resetScale2d"]
_PICKING = ["select2d", "lasso2d"]
_QUIET = 1.0  # seconds after the last patch until the figure is sent whole


class PlotlyView(ui.AnyWidget):
    """Figure that follows the page's theme and width and reports when it is drawn."""

    _esm = ui.script("plotly_library.js", "plot_handle.js", "lit.js", "plotly_view.js")
    figure = traitlets.Dict().tag(sync=True)
    rev = traitlets.Int(0).tag(sync=True)
    label = traitlets.Unicode("figure").tag(sync=True)
    name = traitlets.Unicode("").tag(sync=True)
    config = traitlets.Dict().tag(sync=True)
    templates = traitlets.Dict().tag(sync=True)
    plotly_version = traitlets.Unicode(plotly.__version__).tag(sync=True)
    bundle = traitlets.Instance(ipywidgets.Widget).tag(sync=True, **ipywidgets.widget_serialization)
    selected: traitlets.List[Any] = traitlets.List().tag(sync=True)
    hovered = traitlets.Dict().tag(sync=True)
    clicked = traitlets.Dict().tag(sync=True)
    dragged = traitlets.Dict().tag(sync=True)

    def __init__(
        self,
        figure: go.Figure | None = None,
        *,
        label: str = "figure",
        name: str = "",
        selectable: bool = False,
    ) -> None:
        self._drag = "select" if selectable else False
        buttons = (_PICKING if selectable else []) + _BUTTONS
        super().__init__(
            label=label,
            name=name,
            templates=templates(),
            bundle=shared_bundle(),
            config={
                "displaylogo": False,
                "responsive": False,
                # An explicit list, because plotly.js adds a button that uploads the figure.
                "modeBarButtons": [buttons],
                "plotlyServerURL": "",
            },
        )
        self._drawn_rev = 0
        self._views = 0
        self._apart = False
        self._whole: asyncio.TimerHandle | None = None
        self.appeared: Callable[[], None] = lambda: None
        self._waiting: list[tuple[int, asyncio.Future[bool]]] = []
        self.on_msg(self._receive)
        if figure is not None:
            self.show(figure)

    @property
    def visible(self) -> bool:
        return self._views > 0

    def show(self, figure: go.Figure, *, whole: bool = False) -> int:
        """Send a figure, as a patch of the last one where that is shorter and not ``whole``."""
        content = figure.to_dict()
        layout = content.setdefault("layout", {})
        layout.pop("template", None)  # the browser adds the page's template
        layout.setdefault("dragmode", self._drag)  # a zoom by dragging ends in an empty plot
        grown = self.visible and not whole
        new = piece(self.figure, content) if grown else content
        self._apart = grown and 2 * size(new) < size(content)
        with self.hold_sync():  # one message; otherwise the browser redraws the old figure
            self.figure = content
            self.rev += 1
        if self._apart:
            self._apart = False
            self.send({"type": "grown", "since": self.rev - 1, "rev": self.rev, "figure": new})
            self._sync_state_when_idle()
        return self.rev

    def _should_send_property(self, key: str, value: Any) -> bool:
        """Hold back a figure that is sent as a patch; later views receive it whole."""
        if self._apart and key in ("figure", "rev"):
            return False
        return bool(super()._should_send_property(key, value))

    def _sync_state_when_idle(self) -> None:
        """Send the whole figure soon, because notebooks are saved with the browser's state."""
        if self._whole is not None:
            self._whole.cancel()
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:  # another thread, or no event loop
            return
        self._whole = loop.call_later(_QUIET, self._sync_state)

    def _sync_state(self) -> None:
        if self.comm is not None:
            self.send_state(["figure", "rev"])

    async def drawn(self, rev: int | None = None, timeout: float = 1.0) -> bool:
        rev = self.rev if rev is None else rev
        if self._drawn_rev >= rev:
            return True
        if not self._views:
            return False
        future: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._waiting.append((rev, future))
        try:
            return await asyncio.wait_for(future, timeout)
        except TimeoutError:
            return False

    def _receive(self, _widget: object, content: dict[str, Any], _buffers: object) -> None:
        kind = content.get("type")
        if kind == "shown":
            self._views += 1
            self.appeared()
        elif kind == "hidden":
            self._views = max(0, self._views - 1)
            if not self._views:
                self._release_waiters(everyone=True)
        elif kind == "whole":
            self._sync_state()
        elif kind == "drawn":
            self._drawn_rev = max(self._drawn_rev, int(content["rev"]))
            self._release_waiters()

    def _release_waiters(self, *, everyone: bool = False) -> None:
        waiting = []
        for rev, future in self._waiting:
            if rev > self._drawn_rev and not everyone:
                waiting.append((rev, future))
            elif not future.done():
                drawn = rev <= self._drawn_rev
                # Some front ends deliver messages in another thread than that of the event loop.
                future.get_loop().call_soon_threadsafe(_settle, future, drawn)
        self._waiting = waiting


def _settle(future: "asyncio.Future[bool]", drawn: bool) -> None:
    if not future.done():
        future.set_result(drawn)
