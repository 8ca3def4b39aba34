"""Settings of trees, and which family of models the next draw is of."""

import ipywidgets
import traitlets

from rashomon_explorer.explorer.state import LINEAR, TREES, ExplorerState
from rashomon_explorer.explorer.widgets import Dial

_FAMILIES = {"linear models": LINEAR, "sparse trees": TREES}


class FamilyPicker:
    """Linear models or sparse trees, and what only trees have.

    Parameters
    ----------
    state : ExplorerState
        Its ``family``, ``max_leaves`` and ``leaf_penalty`` are linked both ways.

    Attributes
    ----------
    family : ipywidgets.Dropdown
        Trees are offered where classes are predicted.
    dials : dict of str to Dial
        Settings of trees.
    widget : ipywidgets.Widget
        All of them.
    """

    def __init__(self, state: ExplorerState) -> None:
        self.state = state
        self.family = ipywidgets.Dropdown(description="Models", options=[*_FAMILIES.items()])
        self.dials = {
            "max_leaves": Dial(
                label="Leaves",
                unit="at most",
                help="All trees with so many leaves are counted; public.",
                low=1,
                high=8,
                integer=True,
                value=4,
            ),
            "leaf_penalty": Dial(
                label="Price of a leaf",
                unit="added to the loss",
                help="In shares of the rows; costs no privacy.",
                low=1e-4,
                high=0.1,
                log=True,
                zero=True,
                value=0.005,
            ),
        }
        traitlets.link((self.family, "value"), (state, "family"))
        traitlets.dlink((state, "leaf_penalty"), (self.dials["leaf_penalty"], "value"))
        traitlets.dlink((self.dials["leaf_penalty"], "value"), (state, "leaf_penalty"))
        traitlets.dlink((state, "max_leaves"), (self.dials["max_leaves"], "value"))
        self.dials["max_leaves"].observe(self._leaves, "value")
        self.own = ipywidgets.VBox([*self.dials.values()])
        self.widget = ipywidgets.VBox([self.family, self.own])
        state.observe(lambda _: self._show(), ["family", "data", "phase"])
        self._show()

    def lines(self) -> tuple[str, ...]:
        """Python that makes the estimator of trees."""
        state = self.state
        names = ("psi", "epsilon", "delta", "n_draws", "max_leaves", "leaf_penalty")
        settings = ", ".join(f"{name}={getattr(state, name)!r}" for name in names)
        return (
            "from rashomon_explorer import RashomonTreeClassifier",
            f"RashomonTreeClassifier({settings}, schema=explorer.data.schema)",
        )

    def _leaves(self, _change: object) -> None:
        self.state.max_leaves = int(self.dials["max_leaves"].value)

    def _show(self) -> None:
        state = self.state
        trees = state.family == TREES
        self.own.layout.display = None if trees else "none"
        numbers = state.data is not None and state.data.task == "regression"
        self.family.disabled = state.busy or numbers
        for dial in self.dials.values():
            dial.disabled = state.busy
