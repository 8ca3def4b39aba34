"""The page around the views: the bar, the rail, the links, and what is said above every view."""

from collections.abc import Sequence
from pathlib import Path

import ipywidgets
import traitlets

from rashomon_explorer.explorer.family import families_on_screen
from rashomon_explorer.explorer.state import ExplorerState
from rashomon_explorer.explorer.views import View
from rashomon_explorer.explorer.widgets import Tabs

_HERE = Path(__file__).parent
_STYLE = "".join(
    (_HERE / name).read_text(encoding="utf-8") for name in ("style.css", "shell.css", "phone.css")
)
_SKIP = '<a class="rx-skip" href="#rx-draw">Skip to Draw</a>'


class Shell:
    """A bar, a rail and one view of several.

    Parameters
    ----------
    state : ExplorerState
        Its page is the view on screen.
    views : sequence of View
        In the order of their links.
    bar, rail : ipywidgets.Widget
        What stays in sight.
    chip : ipywidgets.Widget
        The selection, beside the links.
    above : sequence of ipywidgets.Widget
        What is said above every view.

    Attributes
    ----------
    tabs : Tabs
        The links.
    widget : ipywidgets.Widget
        The page.
    """

    def __init__(
        self,
        state: ExplorerState,
        views: Sequence[View],
        *,
        bar: ipywidgets.Widget,
        rail: ipywidgets.Widget,
        chip: ipywidgets.Widget,
        above: Sequence[ipywidgets.Widget],
    ) -> None:
        self.state = state
        self.views = {view.plan.name: view for view in views}
        self.tabs = Tabs([(view.plan.name, view.plan.title) for view in views], label="Views")
        traitlets.link((state, "page"), (self.tabs, "value"))
        state.observe(lambda _: self._turn(), "page")
        self._turn()
        self._offered: frozenset[str] = frozenset()
        state.observe(lambda _: self._offer(), ["family", "rashomon_set", "outside"])
        self._offer()
        links = ipywidgets.HBox([self.tabs, chip])
        links.add_class("rx-links")
        main = ipywidgets.VBox([links, *above, *(view.widget for view in views)])
        main.add_class("rx-main")
        body = ipywidgets.Box([rail, main])
        body.add_class("rx-body")
        style = ipywidgets.HTML(f"<style>{_STYLE}</style>")
        style.add_class("rx-style")
        skip = ipywidgets.HTML(_SKIP)
        skip.add_class("rx-skips")
        self.widget = ipywidgets.VBox([style, skip, bar, body])
        self.widget.add_class("rx-app")

    def _turn(self) -> None:
        for name, view in self.views.items():
            view.show(seen=name == self.state.page)

    def _offer(self) -> None:
        families = families_on_screen(self.state)
        if families != self._offered:
            self._offered = families
            for view in self.views.values():
                view.offer(families)

    def bring(self, name: str) -> None:
        """Turn to the view in which a panel or figure stands, and put it into sight."""
        for page, view in self.views.items():
            if view.bring(name):
                self.state.page = page
                return
        raise KeyError(f"no view has {name!r}")
