"""What trees may ask: thresholds of each column of numbers, and how many trees that makes."""

from collections.abc import Callable, Sequence
from functools import partial
from html import escape

import ipywidgets

from rashomon_explorer.exceptions import DataError
from rashomon_explorer.explorer.countable import class_in_words
from rashomon_explorer.explorer.family import of_trees
from rashomon_explorer.explorer.panels.card import hide_when_empty
from rashomon_explorer.explorer.state import ExplorerState
from rashomon_explorer.explorer.table import TableEditor
from rashomon_explorer.schema import Numeric, TableSchema

_HOW = (
    "Numbers, by commas; where nothing is said, the even steps in grey. Public knowledge, never "
    "read off the rows."
)


class QuestionsEditor:
    """Thresholds, a box a column of numbers, and the size of the class that follows.

    Parameters
    ----------
    state : ExplorerState
        Its data set's declaration is edited.

    Attributes
    ----------
    redeclare : callable
        Takes the declaration once it was changed; the owner sets it.
    opened : ipywidgets.ToggleButton
        Shows the boxes.
    boxes : dict of str to ipywidgets.Text
        By column; empty before anybody opened them.
    size : ipywidgets.HTML
        How many trees there are, and whether they can be counted. No row is read.
    widget : ipywidgets.Widget
        All of it.
    """

    def __init__(self, state: ExplorerState) -> None:
        self.state = state
        self.redeclare: Callable[[TableSchema], object] = lambda schema: None
        self.boxes: dict[str, ipywidgets.Text] = {}
        self.size = _words()
        self.size.add_class("rx-class-size")
        self.opened = ipywidgets.ToggleButton(
            description="Thresholds", tooltip="What trees ask the columns of numbers; public"
        )
        self.opened.add_class("rx-quiet")
        self._problem = _words()
        self._problem.add_class("rx-class-size")
        self._listed = ipywidgets.VBox([])
        self._listed.add_class("rx-thresholds")
        how = ipywidgets.HTML(f'<p class="rx-note">{_HOW}</p>')
        self._editor = ipywidgets.VBox([how, self._problem, self._listed])
        self.widget = ipywidgets.VBox([self.size, self.opened, self._editor])
        self.opened.observe(lambda _: self.refresh(), "value")
        self._telling = False
        watched = ["data", "family", "max_leaves", "max_depth", "phase", "view"]
        state.observe(lambda _: self.refresh(), watched)
        self.refresh()

    def refresh(self) -> None:
        """Write the size of the class again, and the boxes where they are shown."""
        state = self.state
        known = of_trees(state) and state.data is not None and state.data.classes is not None
        known = known and not state.withheld
        numbers = _numbers(state.data.schema) if known else ()
        self.size.value = f"<p>{escape(class_in_words(state))}</p>" if known else ""
        self.opened.layout.display = None if numbers else "none"
        shown = self.opened.value and bool(numbers)
        self._editor.layout.display = None if shown else "none"
        if shown or state.withheld:
            self._list(numbers)

    def _list(self, numbers: tuple[Numeric, ...]) -> None:
        if list(self.boxes) != [one.name for one in numbers]:
            self._problem.value = ""
            self.boxes = {one.name: self._box(one.name) for one in numbers}
            self._listed.children = tuple(self.boxes.values())
        self._telling = True
        for one in numbers:
            box = self.boxes[one.name]
            box.placeholder = _listed(one.even_cuts)
            box.disabled = self.state.busy
            box.value = _listed(one.thresholds)
        self._telling = False

    def _box(self, name: str) -> ipywidgets.Text:
        box = ipywidgets.Text(description=name, continuous_update=False)
        box.tooltip = f"Thresholds of {name}"
        box.observe(partial(self._typed, name), "value")
        return box

    def _typed(self, name: str, _change: object) -> None:
        if self._telling:
            return
        self._problem.value = ""
        try:
            table = TableEditor.of(self.state.data)
            self.redeclare(table.edited(name, "thresholds", self.boxes[name].value).schema)
        except DataError as error:
            told = str(error)
            self._problem.value = f"<p>{escape(told[:1].upper() + told[1:])}.</p>"


def _numbers(schema: TableSchema) -> tuple[Numeric, ...]:
    return tuple(one for one in schema.features if isinstance(one, Numeric))


def _listed(numbers: Sequence[float]) -> str:
    return ", ".join(f"{one:.6g}" for one in numbers)


def _words() -> ipywidgets.HTML:
    words = ipywidgets.HTML()
    words.add_class("rx-note")
    hide_when_empty(words)
    return words
