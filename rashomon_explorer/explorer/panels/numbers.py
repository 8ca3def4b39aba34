"""Key numbers of the draws, above the figures."""

import math
from collections.abc import Iterable
from html import escape

import ipywidgets
import traitlets

from rashomon_explorer.explorer import family, messages
from rashomon_explorer.explorer.html import fact
from rashomon_explorer.explorer.panels.card import Panel, column, region, styled
from rashomon_explorer.explorer.state import SETTINGS, ExplorerState
from rashomon_explorer.explorer.widgets import basic
from rashomon_explorer.mechanisms.planning.weakness import has_hit_rate
from rashomon_explorer.plots.text import cost_text, guaranteed, guaranteed_hits, number, percent
from rashomon_explorer.sets import PredictorSet, RashomonSet

_VIEWS = [("Curator", "curator"), ("Release", "release")]


class NumbersPanel(Panel):
    """Draws, hit rate, best loss and privacy cost, and the switch between the two views."""

    title = "Explore"
    needs = (
        "rashomon_set",
        "selection",
        "charged",
        "view",
        "phase",
        "drawn_settings",
        "data",
        *SETTINGS,
    )

    def __init__(self, state: ExplorerState) -> None:
        self.facts = styled(basic.HTML(), "rx-numbers")
        self.view = basic.ToggleButtons(
            options=_VIEWS,
            tooltips=[
                "All figures, including those computed from private rows",
                "Only released results, which may be shown to others",
            ],
        )
        styled(self.view, "rx-view-switch")
        traitlets.link((state, "view"), (self.view, "value"))
        self.stale = region("rx-stale")
        super().__init__(state, self.facts)

    def frame(self, children: Iterable[ipywidgets.Widget]) -> ipywidgets.Widget:
        """Return the numbers in one line, without a title."""
        return column([self.menu, *children], "rx-card", "rx-numbers-card")

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
        """Update the numbers, and warn if the sliders differ from the settings of the draws."""
        models, text = self.state.rashomon_set, messages.stale(self.state)
        self.stale.value = f'<p class="rx-band rx-curator">{escape(text)}</p>' if text else ""
        if models is None or not models.n_draws:
            self.facts.value = (
                '<p class="rx-note">Every dot is a model that fits the data almost as well '
                "as the best one. Choose data, check the guarantee under Plan, press Draw.</p>"
            )
            return
        rows = [self._price()]
        if not self.state.has_no_guarantee:
            rows = [fact("Draws", f"{models.n_draws:,}"), *rows, *_columns(models)]
        if self.state.view == "curator":
            linear = isinstance(models, RashomonSet)
            rows += _curator_facts(models) if linear else _facts_of_others(models)
            if linear and not self.state.busy:  # counted after the last draw
                clipped = percent(models.clipped_share)
                rows.append(fact("Clipped rows", clipped, kind="rx-curator"))
            if self.state.selection:
                selected = f"{len(self.state.selection):,}"
                rows.append(fact("Selected", selected, "the other numbers are of all draws"))
        self.facts.value = f'<dl class="rx-facts">{"".join(rows)}</dl>'

    def _price(self) -> str:
        models = self.state.rashomon_set
        if not models.guarantee.holds:
            return fact("Guarantee", "none", models.guarantee.theorem, kind="rx-over")
        delta = family.spent_delta(models.guarantee)
        seed = "known seed: not private" if models.guarantee.reproducible else ""
        note = seed or f"at δ = {number(delta, rounding='up')}"
        return fact("Spent", set_cost(self.state), note, kind="rx-paid")


def set_cost(state: ExplorerState) -> str:
    """Charge of the ledger for the set on screen, as text; without a charge, the set's own ε."""
    guarantee = state.rashomon_set.guarantee
    alone = guarantee.epsilon(family.spent_delta(guarantee))
    return cost_text(alone if state.charged is None else state.charged)


def _columns(models: PredictorSet) -> list[str]:
    if getattr(models, "scale", None) is None:  # only linear models may have one
        return []
    return [fact("Columns", "scaled", "privately")]


def _facts_of_others(models: PredictorSet) -> list[str]:
    if math.isnan(models.least):
        return [fact("Losses", "unknown", "build the set with losses or with y", kind="rx-curator")]
    hits = "all" if models.complete else f"{round(models.hit_rate * models.n_draws):,}"
    inside = f"{hits} of {models.n_draws:,} inside ψ = {number(models.psi)}"
    return [
        fact("Inside ψ", percent(models.hit_rate), inside, kind="rx-curator"),
        fact("Best loss", number(models.least, 4), models.loss, kind="rx-curator"),
    ]


def _promised(models: RashomonSet) -> str:
    if not has_hit_rate(models.plan) or models.psi == models.plan.psi:
        return guaranteed(models.plan)
    return f"{guaranteed_hits(models.plan)} guaranteed at ψ = {number(models.plan.psi)}"


def _curator_facts(models: RashomonSet) -> list[str]:
    where = "limited by the radius" if models.minimum.on_boundary else "certified minimum"
    promised = f"; {_promised(models)}" if models.guarantee.holds else ""
    return [
        fact(
            "Hit rate",
            percent(models.hit_rate),
            f"{round(models.hit_rate * models.n_draws):,} of {models.n_draws:,} inside ψ{promised}",
            kind="rx-curator",
        ),
        fact("Best loss", number(models.minimum.value, 4), where, kind="rx-curator"),
        fact(
            "Worst draw",
            f"+{number(float(models.excess.max()))}",
            f"ψ = {number(models.psi)}",
            kind="rx-curator",
        ),
    ]
