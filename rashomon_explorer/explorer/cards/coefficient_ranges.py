"""Card of how far each coefficient can go over the whole set."""

from typing import ClassVar

import plotly.graph_objects as go

from rashomon_explorer.explorer.cards.base import Recipe
from rashomon_explorer.explorer.cards.study import StudyCard, also_said
from rashomon_explorer.explorer.marks import EXACT, SAMPLED
from rashomon_explorer.plots import plot_exact_ranges, plot_ranges


class CoefficientRangesCard(StudyCard):
    """Exact range of every coefficient, with what the draws reach of it."""

    name = "exact_ranges"
    title = "How far each coefficient can go"
    short = "Exact coefficients"
    label = "Exact range of every coefficient over all models within psi, with the draws inside"
    linear = True
    of_rows: ClassVar[bool] = False
    of_outside: ClassVar[bool] = True
    needs: ClassVar[tuple[str, ...]] = ("rashomon_set", "outside", "view", "phase", "data", "psi")
    definition = (
        "▬ <b>exact</b>: min and max of θ<sub>j</sub> over all models with L(θ) ≤ min L + ψ, two "
        "convex programmes a coefficient, each end proved by a tangent. ∙∙∙ <b>sampled</b>: what "
        "the draws within ψ reach of it. A range on both sides of 0: good models do not agree on "
        "the sign. All rows count, whoever is picked."
    )

    def study(self) -> Recipe:
        """See `StudyCard.study`."""
        exact = self.session.exact
        return Recipe(
            self._figure,
            exact.coefficient_ranges,
            (
                "from rashomon_explorer.plots import plot_ranges, plot_exact_ranges",
                "plot_ranges(explorer.rashomon_set, explorer.exact.coefficient_ranges())"
                if self._drawn
                else "plot_exact_ranges(explorer.exact.coefficient_ranges())",
            ),
            (EXACT, SAMPLED) if self._drawn else (EXACT,),
        )

    def _lacks(self) -> str:
        return super()._lacks() or self.session.exact.why_not

    @property
    def _drawn(self) -> bool:
        models = self.state.rashomon_set
        return models is not None and models.hit_rate > 0

    def _figure(self) -> go.Figure:
        ranges = self.session.exact.coefficient_ranges()
        alone = plot_exact_ranges(ranges)
        if not self._drawn:
            return alone
        finding = alone.layout.title.text.split("<br>")[0]
        return also_said(plot_ranges(self.state.rashomon_set, ranges), "", finding)
