"""Controls and tables of the page, and widgets of ipywidgets and anywidget that share layouts.

Each layout and each style is a message to the browser and an object in it; by default every widget
has its own, and these were more than half of all objects of the page.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import anywidget
import ipywidgets
import numpy as np
import traitlets
from numpy.typing import ArrayLike


@cache
def _only(kind: Any, traits: tuple[tuple[str, Any], ...]) -> Any:
    return kind(**dict(traits))


def _shared(kind: Any, **traits: Any) -> Any:
    """Return the kernel's only widget of this kind and these traits; a new one if it was closed."""
    if _only(kind, tuple(traits.items())).comm is None:
        _only.cache_clear()
    return _only(kind, tuple(traits.items()))


def display(widget: Any, visible: bool) -> None:
    """Show or hide a widget; for the first time before it is on the page."""
    # A view of anywidget follows changes of its layout, and does not follow another layout.
    value = None if visible else "none"
    if isinstance(widget, AnyWidget) and not widget.sizes_itself:
        own_layout(widget)
    if not isinstance(widget, Shared) or widget.sizes_itself:
        widget.layout.display = value
    else:
        widget.layout = _shared(ipywidgets.Layout, display=value)


class Shared(traitlets.HasTraits):
    """Base of widgets that share layout and style; `own_layout` gives one to a widget."""

    layout: Any
    sizes_itself = False

    @traitlets.default("layout")
    def _default_layout(self) -> Any:
        return _shared(ipywidgets.Layout, display=None)

    @traitlets.default("style")
    def _default_style(self) -> Any:
        trait: Any = getattr(type(self), "style")  # noqa: B009
        return _shared(trait.klass)


def own_layout(widget: Any) -> Any:
    """Return the widget with a layout of its own, for those that users place and size."""
    widget.layout, widget.sizes_itself = ipywidgets.Layout(display=widget.layout.display), True
    return widget


class AnyWidget(Shared, anywidget.AnyWidget):
    """Widget with a script of its own."""


def sharing(kind: type[ipywidgets.Widget]) -> Any:
    return type(kind.__name__, (Shared, kind), {"__doc__": kind.__doc__})


Box, HBox, VBox = map(sharing, (ipywidgets.Box, ipywidgets.HBox, ipywidgets.VBox))
HTML, Text, Textarea = map(sharing, (ipywidgets.HTML, ipywidgets.Text, ipywidgets.Textarea))
Button, Checkbox = map(sharing, (ipywidgets.Button, ipywidgets.Checkbox))
ToggleButton, ToggleButtons = map(sharing, (ipywidgets.ToggleButton, ipywidgets.ToggleButtons))
Dropdown = sharing(ipywidgets.Dropdown)


def script(*names: str) -> str:
    return "".join((Path(__file__).parent / name).read_text(encoding="utf-8") for name in names)


class Slider(AnyWidget):
    """Number chosen by slider, keyboard or text box."""

    _esm = script("dial.js")
    value = traitlets.Float(1.0).tag(sync=True)
    low = traitlets.Float(0.0).tag(sync=True)
    high = traitlets.Float(1.0).tag(sync=True)
    log = traitlets.Bool(False).tag(sync=True)
    zero = traitlets.Bool(False).tag(sync=True)
    step = traitlets.Float(0.01).tag(sync=True)
    integer = traitlets.Bool(False).tag(sync=True)
    label = traitlets.Unicode("").tag(sync=True)
    unit = traitlets.Unicode("").tag(sync=True)
    help = traitlets.Unicode("").tag(sync=True)
    disabled = traitlets.Bool(False).tag(sync=True)

    @traitlets.validate("value")
    def _within(self, proposal: dict[str, Any]) -> float:
        value = float(proposal["value"])
        if self.low <= value <= self.high or (self.zero and value == 0.0):
            return value
        raise traitlets.TraitError(
            f"{self.label or 'value'} must be between {self.low:g} and {self.high:g}, got {value:g}"
        )


class OfferButton(AnyWidget):
    """Button that sells what it shows: a press returns the offer that its reader could read."""

    _esm = script("offer_button.js")
    description = traitlets.Unicode("").tag(sync=True)
    tooltip = traitlets.Unicode("").tag(sync=True)
    button_style = traitlets.Unicode("").tag(sync=True)
    kind = traitlets.Unicode("").tag(sync=True)
    disabled = traitlets.Bool(False).tag(sync=True)
    offer = traitlets.Unicode("").tag(sync=True)

    def __init__(self, press: Callable[[str], object], **traits: Any) -> None:
        super().__init__(**traits)
        self._press = press
        self.on_msg(self._receive)

    def click(self) -> None:
        """Do what a press in the browser does, by somebody who reads the newest label."""
        self._press(self.offer)

    def _receive(self, _widget: object, content: dict[str, Any], _buffers: object) -> None:
        if content.get("type") == "pressed":
            self._press(str(content.get("offer")))


class Fold(AnyWidget):
    """Button that folds and unfolds the box around it, by the attribute ``data-open``."""

    _esm = script("fold.js")
    label = traitlets.Unicode("").tag(sync=True)
    words = traitlets.Unicode("").tag(sync=True)
    unfolded = traitlets.Bool(False).tag(sync=True)
    escapes = traitlets.Bool(True).tag(sync=True)
    of = traitlets.Unicode("").tag(sync=True)
    marks: traitlets.List[str] = traitlets.List(["▾", "▴"]).tag(sync=True)


class Tabs(AnyWidget):
    """One view of several, chosen by link, by address (``#set``), or from Python."""

    _esm = script("tabs.js")
    options: traitlets.List[list[str]] = traitlets.List().tag(sync=True)
    value = traitlets.Unicode("").tag(sync=True)
    label = traitlets.Unicode("").tag(sync=True)

    def __init__(self, options: Sequence[tuple[str, str]], label: str) -> None:
        super().__init__(options=[list(pair) for pair in options], label=label)
        self.value = options[0][0]

    @traitlets.validate("value")
    def _known(self, proposal: dict[str, str]) -> str:
        names = [name for name, _ in self.options]
        if proposal["value"] in names:
            return proposal["value"]
        raise traitlets.TraitError(
            f"there is no view {proposal['value']!r}, expected one of {names}"
        )


class Step(AnyWidget):
    """Step of the page, shown as a button and one line."""

    _esm = script("step.js")
    title = traitlets.Unicode("").tag(sync=True)
    summary = traitlets.Unicode("").tag(sync=True)
    opens = traitlets.Bool(True).tag(sync=True)
    unfolded = traitlets.Bool(False).tag(sync=True)
    pressed = traitlets.Int(0).tag(sync=True)


MenuEntries = Mapping[str, tuple[str, Callable[[], object]]]
"""Hint and action of each entry of a menu, by name; an action may return HTML to show."""


class CardMenu(AnyWidget):
    """The ⋯ menu of a card; a chosen entry acts, or shows its HTML in a box over the page."""

    _esm = script("card_menu.js")
    label = traitlets.Unicode("").tag(sync=True)
    entries: traitlets.List[dict[str, Any]] = traitlets.List().tag(sync=True)
    chosen = traitlets.Unicode("").tag(sync=True)
    html = traitlets.Unicode("").tag(sync=True)

    def __init__(self, label: str, entries: MenuEntries) -> None:
        self._find = {name: find for name, (_, find) in entries.items()}
        hints = [(name, hint) for name, (hint, _) in entries.items()]
        listed = [{"name": name, "hint": hint, "disabled": False} for name, hint in hints]
        super().__init__(label=label, entries=listed)
        self.observe(lambda _: self.refresh(), "chosen")

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self._find)

    def refresh(self) -> None:
        """Update the text of the chosen entry; an entry without text is done at once."""
        self.html = str(self._find[self.chosen]() or "") if self.chosen else ""
        if not self.html:
            self.chosen = ""

    def enabled(self, name: str) -> bool:
        return not next(entry["disabled"] for entry in self.entries if entry["name"] == name)

    def enable(self, name: str, enabled: bool) -> None:
        self.entries = [
            {**entry, "disabled": not enabled} if entry["name"] == name else entry
            for entry in self.entries
        ]


class Introduction(AnyWidget):
    """Introduction of the page and its tour; the browser remembers that they were seen."""

    _esm = script("introduction.js")


class ThemeSwitch(AnyWidget):
    """Switch between light and dark, stored in the browser; notebooks have their own theme."""

    _esm = script("theme_switch.js")


class ChoiceTable(AnyWidget):
    """Table of aggregates with check boxes, their noise and their share of the cost."""

    _esm = script("choice_table.js")
    rows = traitlets.List(traitlets.Dict()).tag(sync=True)
    ticked = traitlets.Dict().tag(sync=True)
    headings = traitlets.List(traitlets.List(traitlets.Unicode())).tag(sync=True)
    label = traitlets.Unicode("").tag(sync=True)
    disabled = traitlets.Bool(False).tag(sync=True)


class KernelWatch(AnyWidget):
    """Alert that appears if the kernel does not respond; otherwise invisible."""

    _esm = script("kernel_watch.js")
    patience = traitlets.Float(2.4).tag(sync=True)
    words = traitlets.Unicode(
        "The kernel of this page does not respond: it is busy or has ended. If this message "
        "stays, buttons and sliders do not work. All charges are in the ledger and stay spent; "
        "saved sets are shown again after a reload."
    ).tag(sync=True)
    unheard = traitlets.Unicode(
        "No kernel answers, so buttons and sliders do not work. In a saved notebook or its HTML, "
        "run the cell again in JupyterLab; in the dashboard, wait or reload the page."
    ).tag(sync=True)

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.seen = asyncio.Event()  # set by the first message of a browser
        self.on_msg(self._answer)

    def _answer(self, *_message: object) -> None:
        self.seen.set()
        self.send({"kind": "alive"})


class LiveText(AnyWidget):
    """Text in a live region of the page."""

    _esm = script("live.js")
    html = traitlets.Unicode("").tag(sync=True)
    role = traitlets.Unicode("status").tag(sync=True)
    kind = traitlets.Unicode("").tag(sync=True)


class ModelTable(AnyWidget):
    """Table with one row per model; only visible rows are in the document."""

    _esm = script("lit.js", "model_table.js")
    columns: traitlets.List[dict[str, Any]] = traitlets.List().tag(sync=True)
    count = traitlets.Int(0).tag(sync=True)
    picked: traitlets.List[int] = traitlets.List().tag(sync=True)
    starred: traitlets.List[int] = traitlets.List().tag(sync=True)
    notes = traitlets.Dict().tag(sync=True)
    inside_only = traitlets.Bool(True).tag(sync=True)
    edit = traitlets.Dict().tag(sync=True)

    def fill(self, count: int, columns: Sequence[Mapping[str, Any]]) -> None:
        with self.hold_sync():
            self.count, self.columns = count, [dict(column) for column in columns]

    def do(self, kind: str, draw: int, text: str = "") -> None:
        """Do what a star or a note in the browser does."""
        count = self.edit.get("count", 0) + 1
        self.edit = {"count": count, "kind": kind, "draw": draw, "text": text}


def table_column(
    name: str,
    title: str,
    values: ArrayLike,
    *,
    kind: str = "number",
    meaning: str = "",
    curator: bool = False,
) -> dict[str, Any]:
    return {
        "name": name,
        "title": title,
        "help": meaning,
        "kind": kind,
        "curator": curator,
        "values": np.ascontiguousarray(values, dtype="<f8").tobytes(),
    }


class RowTable(AnyWidget):
    """Table that is sorted by its headings, searched by text, and selected by row."""

    _esm = script("row_table.js")
    columns = traitlets.List(traitlets.Dict()).tag(sync=True)
    rows = traitlets.List(traitlets.Dict()).tag(sync=True)
    picked = traitlets.List(traitlets.Int()).tag(sync=True)
    label = traitlets.Unicode("").tag(sync=True)
    hint = traitlets.Unicode("Search").tag(sync=True)
    note = traitlets.Unicode("").tag(sync=True)


class FieldForm(AnyWidget):
    """Form with one field a feature; Python answers every edit with all fields."""

    _esm = script("field_form.js")
    fields = traitlets.List(traitlets.Dict()).tag(sync=True)
    edit = traitlets.Dict().tag(sync=True)
    count = traitlets.Int(0).tag(sync=True)
    label = traitlets.Unicode("").tag(sync=True)
    words = traitlets.Unicode("").tag(sync=True)
    sliders = traitlets.Int(0).tag(sync=True)  # number of features that are always in view
    moves = traitlets.Bool(False).tag(sync=True)

    def do(self, name: str, value: str = "") -> None:
        """Do what an edit in the browser does; without a name, take all changes back."""
        self.edit = {"at": self.edit.get("at", 0) + 1, "name": name, "value": value}


class TableForm(AnyWidget):
    """Form with one row per column; Python answers every edit with all rows."""

    _esm = script("table_form.js")
    rows = traitlets.List(traitlets.Dict()).tag(sync=True)
    edit = traitlets.Dict().tag(sync=True)
    disabled = traitlets.Bool(False).tag(sync=True)

    def do(self, column: str, field: str, value: str = "") -> None:
        count = self.edit.get("count", 0) + 1
        self.edit = {"count": count, "column": column, "field": field, "value": value}
