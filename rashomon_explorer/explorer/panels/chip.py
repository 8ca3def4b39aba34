"""The selection in a few words, with a button that clears it."""

from html import escape

import ipywidgets

from rashomon_explorer.explorer.state import ExplorerState
from rashomon_explorer.explorer.widgets import LiveText
from rashomon_explorer.plots.text import plural


class SelectionChip:
    """Which models, groups and people are picked, in every view; hidden while none are.

    Parameters
    ----------
    state : ExplorerState
        Its selection is told.

    Attributes
    ----------
    words : LiveText
        "3 of 20 models · sex = f · 2 people".
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
        self.clear.on_click(lambda _: state.pick_nothing())
        self.widget = ipywidgets.HBox([self.words, self.clear])
        self.widget.add_class("rx-chip")
        picked = ["selection", "people", "groups", "rashomon_set", "view"]
        state.observe(lambda _: self.refresh(), picked)
        self.refresh()

    def refresh(self) -> None:
        """Write the words again."""
        words = " · ".join(picked_in_words(self.state))
        self.widget.layout.display = None if words else "none"
        self.words.html = escape(words)


def picked_in_words(state: ExplorerState) -> list[str]:
    """Say which models, groups and people are picked; nothing where none are.

    >>> picked_in_words(ExplorerState(groups=(("sex", "f"),), people=(3, 7)))
    ['sex = f', '2 people']
    """
    chosen, models = state.selection, state.rashomon_set
    parts = [f"{len(chosen):,} of {plural(models.n_draws, 'model')}"] if chosen and models else []
    if state.view == "release":  # who is looked at is the curator's
        return parts
    columns = dict.fromkeys(column for column, _ in state.groups)
    for column in columns:
        levels = [level for own, level in state.groups if own == column]
        parts.append(f"{column} = {' or '.join(levels)}")
    if state.people:
        parts.append("1 person" if len(state.people) == 1 else f"{len(state.people):,} people")
    return parts
