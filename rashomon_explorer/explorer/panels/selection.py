"""The draws that were picked in a figure."""

import ipywidgets
import pandas as pd

from rashomon_explorer.explorer.html import table_html
from rashomon_explorer.explorer.panels.card import CodeToggle, card
from rashomon_explorer.explorer.state import UNPAID, ExplorerState
from rashomon_explorer.plots.tables import coefficients_table, losses_table
from rashomon_explorer.plots.text import plural
from rashomon_explorer.rashomon_set import RashomonSet

_MOST = 12
_OTHERS = "These models have no coefficients of one kind that could stand side by side."
_NOTHING = "Nothing is picked: tick models in the table, click a dot, or drag a box around some."


class SelectionPanel:
    """Side by side, the models that were clicked or boxed.

    Parameters
    ----------
    state : ExplorerState
        Its selection is shown.

    Attributes
    ----------
    table : ipywidgets.HTML
        One column a model.
    clear : ipywidgets.Button
        Empties the selection.
    widget : ipywidgets.Widget
        The panel.
    """

    linear = True  # it lists coefficients
    title = "Picked models, coefficient by coefficient"

    def __init__(self, state: ExplorerState) -> None:
        self.state = state
        self.table = ipywidgets.HTML()
        self.clear = ipywidgets.Button(description="Clear the selection")
        self.clear.add_class("rx-quiet")
        self.clear.on_click(lambda _: setattr(state, "selection", ()))
        self._code = CodeToggle(self.lines, "Selected models")
        self.widget = card("", "Selected models", [self.table, self.clear], self._code)
        self.widget.add_class("rx-selection")
        state.observe(lambda _: self.refresh(), ["selection", "rashomon_set", "view"])
        self.refresh()

    def lines(self) -> tuple[str, ...]:
        """Python that shows the same numbers."""
        chosen = f"[{', '.join(map(str, self.state.selection))}]"
        public = f"explorer.rashomon_set.coef[{chosen}]"
        if self.state.view == "release":
            return (public,)
        return (public, f"explorer.rashomon_set.excess[{chosen}]")

    def refresh(self) -> None:
        """Write the table again."""
        chosen = self.state.selection[:_MOST]
        models = self.state.rashomon_set
        linear = isinstance(models, RashomonSet)
        if self.state.unpaid:
            self.table.value = f'<p class="rx-note">{UNPAID}</p>'
            self.clear.disabled = not chosen
            return
        if not chosen or not linear or max(chosen) >= models.n_draws:
            self.table.value = f'<p class="rx-note">{_NOTHING if linear else _OTHERS}</p>'
            self.clear.disabled = True
            return
        self.clear.disabled = False
        frame = coefficients_table(models).iloc[list(chosen)].T
        names = [f"draw {draw}" for draw in chosen]
        if self.state.view == "curator":
            known = losses_table(models).iloc[list(chosen)]
            frame.loc["excess loss (curator)"] = known["excess"]
            names = [
                name if inside else f"{name}, outside ψ"
                for name, inside in zip(names, known["within ψ"], strict=True)
            ]
            frame.insert(0, "best (curator)", [*models.best, 0.0])
            names = ["best (curator)", *names]
        frame.index.name, frame.columns = "coefficient", pd.Index(names)
        n_selected = len(self.state.selection)
        caption = plural(n_selected, "selected model")
        if n_selected > _MOST:
            caption = f"{_MOST} of {caption} shown"
        self.table.value = table_html(frame, caption)
        self._code.refresh()
