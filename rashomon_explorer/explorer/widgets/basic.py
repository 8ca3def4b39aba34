"""Widgets of ipywidgets and anywidget whose layouts and styles are shared.

Each layout and each style is a message to the browser and an object in it; by default every widget
has its own, and these were more than half of all objects of the page.
"""

from functools import cache
from typing import Any

import anywidget
import ipywidgets
import traitlets


@cache
def _only(kind: Any, traits: tuple[tuple[str, Any], ...]) -> Any:
    return kind(**dict(traits))


def _shared(kind: Any, **traits: Any) -> Any:
    """Return the kernel's only widget of this kind and these traits; a new one if it was closed."""
    if _only(kind, tuple(traits.items())).comm is None:
        _only.cache_clear()
    return _only(kind, tuple(traits.items()))


def display(widget: Any, visible: bool) -> None:
    """Show or hide a widget; for the first time before it is on the page.

    A view of anywidget follows changes of its layout, and does not follow another layout.
    """
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


def _sharing(kind: type[ipywidgets.Widget]) -> Any:
    return type(kind.__name__, (Shared, kind), {"__doc__": kind.__doc__})


Box, HBox, VBox = map(_sharing, (ipywidgets.Box, ipywidgets.HBox, ipywidgets.VBox))
HTML, Text, Textarea = map(_sharing, (ipywidgets.HTML, ipywidgets.Text, ipywidgets.Textarea))
Button, Checkbox = map(_sharing, (ipywidgets.Button, ipywidgets.Checkbox))
ToggleButton, ToggleButtons = map(_sharing, (ipywidgets.ToggleButton, ipywidgets.ToggleButtons))
Dropdown = _sharing(ipywidgets.Dropdown)
