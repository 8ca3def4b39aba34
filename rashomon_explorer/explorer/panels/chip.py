"""The selection in a few words, with a button that clears it."""

import ipywidgets

from rashomon_explorer.explorer.state import ExplorerState
from rashomon_explorer.explorer.widgets import LiveText
from rashomon_explorer.plots.text import plural


class SelectionChip:
    """Which models are picked, in every view; hidden while none are.

    Parameters
    ----------
    state : ExplorerState
        Its selection is told.

    Attributes
    ----------
    words : LiveText
        "3 of 20 models".
    clear : ipywidgets.Button
        Empties the selection.
    widget : ipywidgets.Widget
        The chip.
    """

    def __init__(self, state: ExplorerState) -> None:
        self.state = state
        self.words = LiveText(role="status", kind="rx-chip-words")
        self.clear = ipywidgets.Button(description="clear ✕", tooltip="Clear the selection")
        self.clear.add_class("rx-quiet")
        self.clear.on_click(lambda _: setattr(state, "selection", ()))
        self.widget = ipywidgets.HBox([self.words, self.clear])
        self.widget.add_class("rx-chip")
        state.observe(lambda _: self.refresh(), ["selection", "rashomon_set"])
        self.refresh()

    def refresh(self) -> None:
        """Write the words again."""
        chosen, models = self.state.selection, self.state.rashomon_set
        shown = bool(chosen) and models is not None
        self.widget.layout.display = None if shown else "none"
        self.words.html = f"{len(chosen)} of {plural(models.n_draws, 'model')}" if shown else ""
