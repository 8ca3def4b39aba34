"""Key numbers of the draws, above the figures."""

import math
from html import escape

import ipywidgets

from rashomon_explorer.explorer.family import spent_delta
from rashomon_explorer.explorer.html import fact
from rashomon_explorer.explorer.messages import stale
from rashomon_explorer.explorer.panels.card import CodeToggle, hide_when_empty
from rashomon_explorer.explorer.state import SETTINGS, ExplorerState
from rashomon_explorer.mechanisms.planning.weakness import has_hit_rate
from rashomon_explorer.plots.text import cost_text, guaranteed, guaranteed_hits, number, percent
from rashomon_explorer.sets import PredictorSet, RashomonSet

_VIEWS = [("Curator", "curator"), ("Release", "release")]


class NumbersPanel:
    """Draws, hit rate, best loss and privacy cost, and the switch between the two views.

    Parameters
    ----------
    state : ExplorerState
        Its set is shown.

    Attributes
    ----------
    facts : ipywidgets.HTML
        The numbers.
    stale : ipywidgets.HTML
        Notice that the sliders moved after the draw; above every view.
    view : ipywidgets.ToggleButtons
        Curator or release; in the page's bar.
    widget : ipywidgets.Widget
        The panel.
    """

    def __init__(self, state: ExplorerState) -> None:
        self.state = state
        self.facts = ipywidgets.HTML()
        self.facts.add_class("rx-numbers")
        self.view = ipywidgets.ToggleButtons(
            options=_VIEWS,
            value="curator",
            tooltips=[
                "All figures, including those computed from private rows",
                "Only released results, which may be shown to others",
            ],
        )
        self.view.add_class("rx-view-switch")
        self._code = CodeToggle(self.lines, "Explore")
        self.view.observe(self._look, "value")
        self.stale = ipywidgets.HTML()
        self.stale.add_class("rx-stale")
        hide_when_empty(self.stale)
        state.observe(lambda _: self.refresh(), ["rashomon_set", "view", "phase", "account"])
        state.observe(
            lambda _: self._compare(), ["rashomon_set", "drawn_settings", "data", *SETTINGS]
        )
        top = ipywidgets.HBox([self.facts, self._code.button])
        top.add_class("rx-numbers-row")
        self.widget = ipywidgets.VBox([top, self._code.code])
        self.widget.add_class("rx-card")
        self.refresh()

    def lines(self) -> tuple[str, ...]:
        """Python that shows the same numbers."""
        if self.state.rashomon_set is None:
            return ("explorer.rashomon_set  # None before the first draw",)
        public = (
            "explorer.rashomon_set.n_draws",
            "explorer.guarantee.epsilon(explorer.rashomon_set.plan.delta)",
        )
        if self.state.view == "release":
            return (*public, "explorer.rashomon_set.release()")
        return (
            *public,
            "explorer.rashomon_set.hit_rate",
            "explorer.rashomon_set.minimum.value, explorer.rashomon_set.minimum.gap",
            "explorer.rashomon_set.excess.max()",
            "explorer.rashomon_set.clipped_share",
        )

    def refresh(self) -> None:
        """Update the numbers."""
        models = self.state.rashomon_set
        self._code.refresh()
        if models is None or not models.n_draws:
            self.facts.value = (
                '<p class="rx-note">Every dot is a model that fits the data almost as well '
                "as the best one. Choose data, check the guarantee under Plan, press Draw.</p>"
            )
            return
        rows = [fact("Draws", f"{models.n_draws:,}"), self._price(), *_columns(models)]
        if self.state.view == "curator" and isinstance(models, RashomonSet):
            rows += _curator_facts(models)
        elif self.state.view == "curator":
            rows += _facts_of_others(models)
        self.facts.value = f'<dl class="rx-facts">{"".join(rows)}</dl>'

    def _compare(self) -> None:
        """Warn if the sliders differ from the settings of the draws on screen."""
        words = stale(self.state)
        self.stale.value = f'<p class="rx-band rx-curator">{escape(words)}</p>' if words else ""

    def _price(self) -> str:
        models = self.state.rashomon_set
        if not models.guarantee.holds:
            return fact("Guarantee", "none", models.guarantee.theorem, kind="rx-over")
        delta = spent_delta(models.guarantee)
        paid = cost_text(models.guarantee.epsilon(delta))
        seed = "known seed: not private" if models.guarantee.reproducible else ""
        note = seed or f"at δ = {number(delta, rounding='up')}"
        return fact("Spent", paid, note, kind="rx-paid")

    def _look(self, _change: object) -> None:
        self.state.view = self.view.value


def _columns(models: PredictorSet) -> list[str]:
    if getattr(models, "scale", None) is None:  # only linear models may have one
        return []
    return [fact("Columns", "scaled", "privately")]


def _facts_of_others(models: PredictorSet) -> list[str]:
    if math.isnan(models.least):
        return [fact("Losses", "unknown", "build the set with losses or with y", kind="rx-curator")]
    told = "all" if models.complete else f"{round(models.hit_rate * models.n_draws):,}"
    inside = f"{told} of {models.n_draws:,} inside ψ = {number(models.psi)}"
    return [
        fact("Inside ψ", percent(models.hit_rate), inside, kind="rx-curator"),
        fact("Best loss", number(models.least, 4), models.loss, kind="rx-curator"),
    ]


def _promised(models: RashomonSet) -> str:
    if not has_hit_rate(models.plan):
        return guaranteed(models.plan)
    if models.psi == models.plan.psi:
        return guaranteed(models.plan)
    return f"{guaranteed_hits(models.plan)} guaranteed at ψ = {number(models.plan.psi)}"


def _curator_facts(models: RashomonSet) -> list[str]:
    where = "on the ball's boundary" if models.minimum.on_boundary else "inside the ball"
    return [
        fact(
            "Hit rate",
            percent(models.hit_rate),
            f"{round(models.hit_rate * models.n_draws):,} of {models.n_draws:,} inside ψ; "
            f"{_promised(models)}",
            kind="rx-curator",
        ),
        fact("Best loss", number(models.minimum.value, 4), where, kind="rx-curator"),
        fact(
            "Worst draw",
            f"+{number(float(models.excess.max()))}",
            f"ψ = {number(models.psi)}",
            kind="rx-curator",
        ),
        fact("Clipped rows", percent(models.clipped_share), kind="rx-curator"),
    ]
