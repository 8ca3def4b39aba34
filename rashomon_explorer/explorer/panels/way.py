"""The way to draw: chosen from public numbers, or named."""

from collections.abc import Mapping
from html import escape

import ipywidgets
import traitlets

from rashomon_explorer.explorer.panels.card import hide_when_empty
from rashomon_explorer.explorer.state import ExplorerState
from rashomon_explorer.planning.rule import AUTO
from rashomon_explorer.planning.trees import TreePlan
from rashomon_explorer.planning.weakness import has_hit_rate
from rashomon_explorer.plots.text import at_most, promised_hits

WAYS: Mapping[str, str] = {
    AUTO: "auto: what promises most",
    "exact": "exact: uniform on the set; may not come",
    "unthresholded": "unthresholded: near the best model; may not come",
    "langevin_average": "langevin_average: near the best model; always comes",
    "langevin_clipped": "langevin_clipped: one good model of few rows; always comes",
    "objective_perturbation": "objective_perturbation: one good model, pure; always comes",
    "ellipsoid": "ellipsoid: one price for any number; always comes",
    "ellipsoid_exact": "ellipsoid_exact: of the set near a private centre, many columns",
    "langevin": "langevin: a chain in the set; no hit rate is known",
    "finite_grid": "finite_grid: exact on a grid, up to three parameters",
    "hit_and_run": "hit_and_run: free, not private, curator only",
    "mala": "mala: free, not private, curator only",
}
"""What each way is, in a few words; every sampler of the estimators has its line."""


class WayPicker:
    """Which way the next draws are made, and why.

    Parameters
    ----------
    state : ExplorerState
        Its ``sampler`` is linked both ways.

    Attributes
    ----------
    way : ipywidgets.Dropdown
        ``"auto"``, or a sampler by name.
    why : ipywidgets.HTML
        What was taken and what it promises; why not where it cannot be had.
    widget : ipywidgets.Widget
        Both.
    """

    def __init__(self, state: ExplorerState) -> None:
        self.state = state
        self.way = ipywidgets.Dropdown(
            description="Way to draw", options=[(told, name) for name, told in WAYS.items()]
        )
        self.why = ipywidgets.HTML()
        self.why.add_class("rx-note")
        hide_when_empty(self.why)
        traitlets.link((self.way, "value"), (state, "sampler"))
        state.observe(lambda _: self.tell(), ["plan", "no_plan", "sampler"])
        self.widget = ipywidgets.VBox([self.way, self.why])
        self.tell()

    def tell(self) -> None:
        """Say what was taken and why, or why it cannot be."""
        self.why.value = f"<p>{escape(self._words())}</p>" if self._words() else ""

    def _words(self) -> str:
        state = self.state
        if state.no_plan:
            return f"This way cannot be taken: {state.no_plan}"
        if state.plan is None or isinstance(state.plan, TreePlan):
            return ""
        if state.uncharged:
            return f"Nothing is charged and nothing may be released: {state.uncharged}."
        taken, why = state.plan.sampler or state.sampler, state.plan.why
        if state.sampler == AUTO:
            return f"Taken: {taken.replace('_', ' ')}. {why[:1].upper()}{why[1:]}."
        if has_hit_rate(state.plan):
            return f"Promised: {promised_hits(state.plan)} of the draws within ψ."
        return (
            "No share of draws within ψ is promised; the expected excess loss is "
            f"{at_most(state.plan.excess_bound)}."
        )
