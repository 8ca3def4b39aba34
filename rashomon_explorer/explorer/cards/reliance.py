"""Card of class reliance: how much good models can differ in what they rely on."""

import math
from functools import partial
from typing import ClassVar

import ipywidgets
import numpy as np
import pandas as pd
import plotly.graph_objects as go

from rashomon_explorer.explorer.cards.base import Recipe
from rashomon_explorer.explorer.cards.said import also_said
from rashomon_explorer.explorer.cards.study import StudyCard
from rashomon_explorer.explorer.marks import EXACT
from rashomon_explorer.measures.features import feature_groups
from rashomon_explorer.plots import plot_class_reliance
from rashomon_explorer.plots.text import plural

_SECONDS_A_ROW = 2e-4
_AT_ONCE = 20.0
"""Seconds that may pass before anyone asked for more features."""


class ClassRelianceCard(StudyCard):
    """Certified range of the reliance on each feature over the whole set."""

    name = "class_reliance"
    title = "Which features can a good model do without?"
    short = "Exact reliance"
    label = "Certified range of model reliance over all models within psi, one row a feature"
    linear = True
    of_targets: ClassVar[bool] = True
    needs: ClassVar[tuple[str, ...]] = ("rashomon_set", "view", "phase", "data")
    definition = (
        "Model class reliance (Fisher, Rudin and Dominici 2019): the least and the greatest rise "
        "of the loss, over all models within ψ, when a feature is switched between people. Each "
        "end is a bracket: <b>dark</b>, what some model attains; <b>light</b>, what none exceeds "
        "(proved). Reliance 0: a good model can ignore the feature. All rows count, whoever is "
        "picked."
    )

    def controls(self) -> list[ipywidgets.Widget]:
        """See `FigureCard.controls`."""
        self._all = ipywidgets.ToggleButton(description="All features", value=False)
        self._all.add_class("rx-quiet")
        self._all.observe(lambda _: self.changed(), "value")
        return [self._all]

    def _lacks(self) -> str:
        why = super()._lacks() or self.session.exact.why_not
        if not why and self.state.rashomon_set.link not in ("logistic", "identity"):
            return "Class reliance is known for squared loss and two classes."
        return why

    def study(self) -> Recipe:
        """See `StudyCard.study`."""
        features, left_out = self._asked()
        return Recipe(
            partial(self._figure, features, left_out),
            partial(self.session.exact.class_reliance, features),
            (
                "from rashomon_explorer.plots import plot_class_reliance",
                f"plot_class_reliance(explorer.exact.class_reliance({features!r}))",
            ),
            (EXACT,),
        )

    def _asked(self) -> tuple[tuple[str, ...], int]:
        """Features with the largest coefficients, as many as take a moment; how many are left."""
        models = self.state.rashomon_set
        groups = feature_groups(None, models.feature_names[:-1], models.feature_groups)
        size = {name: float(np.abs(models.best[places]).max()) for name, places in groups.items()}
        ranked = sorted(size, key=lambda name: -size[name])
        each = 0.5 + _SECONDS_A_ROW * len(self.session.rows)
        most = max(1, int(_AT_ONCE / each))
        self._all.layout.display = "none" if most >= len(ranked) else None
        wait = math.ceil(each * len(ranked) / 60)
        self._all.tooltip = f"All {len(ranked)} features: about {plural(wait, 'minute')}"
        kept = ranked if self._all.value else ranked[:most]
        return tuple(kept), len(ranked) - len(kept)

    def _figure(self, features: tuple[str, ...], left_out: int) -> go.Figure:
        table = self.session.exact.class_reliance(features)
        more = f"{plural(left_out, 'feature')} of smaller coefficients not measured yet"
        return also_said(plot_class_reliance(table), more if left_out else "", _finding(table))


def _finding(table: pd.DataFrame) -> str:
    """Count what no good model does without and what some good model ignores."""
    needed = int((table["lower"] > 0).sum())
    ignored = int((table["lower_attained"] <= 0).sum())
    parts = [
        f"no good model does without {plural(needed, 'feature')}" if needed else "",
        f"some good model ignores {_each(ignored, len(table))}" if ignored else "",
    ]
    words = "; ".join(filter(None, parts)) or "whether a feature can be ignored is not settled"
    return words[0].upper() + words[1:]


def _each(count: int, among: int) -> str:
    return (
        ("it" if among == 1 else f"any of these {among}")
        if count == among
        else f"each of {count} others"
    )
