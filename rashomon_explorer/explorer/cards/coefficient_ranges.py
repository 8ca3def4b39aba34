"""Card of how far each coefficient can go over the whole set."""

from functools import partial
from typing import ClassVar

import plotly.graph_objects as go

from rashomon_explorer.explorer.cards.base import Recipe
from rashomon_explorer.explorer.cards.said import also_said
from rashomon_explorer.explorer.cards.study import StudyCard
from rashomon_explorer.explorer.guard import LOGGER
from rashomon_explorer.explorer.marks import EXACT, PAID, SAMPLED
from rashomon_explorer.plots import (
    plot_coefficient_spread,
    plot_exact_ranges,
    plot_ranges,
    plot_released_spread,
)
from rashomon_explorer.plots.tables import spread_table
from rashomon_explorer.plots.text import plural

_READABLE = 11
"""Rows whose names fit beside each other in half the height of a view."""


class CoefficientRangesCard(StudyCard):
    """Exact range of every coefficient, with what the draws reach of it."""

    name = "exact_ranges"
    title = "How far each coefficient can go"
    short = "Exact coefficients"
    label = "Exact range of every coefficient over all models within psi, with the draws inside"
    linear = True
    of_rows: ClassVar[bool] = False
    of_people: ClassVar[bool] = False
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
        ringed = f", highlight={self._ringed}" if self._ringed else ""
        return Recipe(
            self._figure,
            exact.coefficient_ranges,
            (
                "from rashomon_explorer.plots import plot_ranges, plot_exact_ranges",
                f"plot_ranges(explorer.rashomon_set, explorer.exact.coefficient_ranges(){ringed})"
                if self._drawn
                else "plot_exact_ranges(explorer.exact.coefficient_ranges())",
            ),
            (EXACT, SAMPLED) if self._drawn else (EXACT,),
        )

    @property
    def _ringed(self) -> tuple[int, ...]:
        return ()

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
        ringed = plot_ranges(self.state.rashomon_set, ranges, highlight=self._ringed)
        return also_said(ringed, "", finding)


class SetRangesCard(CoefficientRangesCard):
    """The same in the view of the set: picked models are ringed; a release shows what was paid."""

    name = "ranges"
    needs: ClassVar[tuple[str, ...]] = (*CoefficientRangesCard.needs, "selection")

    @property
    def _ringed(self) -> tuple[int, ...]:
        return tuple(self.state.selection)

    def _figure(self) -> go.Figure:
        """Leave the legend to words: the place is small, and every coefficient is a row."""
        models = self.state.rashomon_set
        try:
            figure = super()._figure()
        except ValueError as error:  # rows that the draws were not made of: nothing is proved
            LOGGER.info("no exact ranges of these rows", exc_info=error)
            drawn = plot_coefficient_spread(models, highlight=self._ringed)
            return also_said(drawn, "exact ranges need the rows that were drawn from")
        head = figure.layout.title.text.split("<br>")[0]
        inside = 0 if models is None else round(models.hit_rate * models.n_draws)
        shown = f"light: exact · dark: {plural(inside, 'draw')} inside" if inside else "exact"
        said = f"{shown} · × best · per scaled unit"
        figure.layout.title.text = f'{head}<br><span style="font-size:11.5px">{said}</span>'
        # Room for a line of words a row, which the title of the axis would take from them.
        figure.update_yaxes(tickfont={"size": _READABLE})
        figure.update_xaxes(title=None)
        return figure.update_layout(showlegend=False, margin={"b": 26})

    def recipe(self) -> Recipe | None:
        """See `FigureCard.recipe`."""
        models = self.state.rashomon_set
        if self.state.view != "release" or models is None or not models.n_draws:
            return super().recipe()
        released = models.release()
        return Recipe(
            partial(plot_released_spread, released),
            partial(spread_table, released),
            (
                "from rashomon_explorer.plots import plot_released_spread",
                "plot_released_spread(explorer.rashomon_set.release())",
            ),
            (PAID,),
        )
