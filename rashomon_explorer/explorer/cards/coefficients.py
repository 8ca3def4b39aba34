"""Cards of coefficients and their ranges."""

from functools import partial
from typing import Any, ClassVar

import ipywidgets
import plotly.graph_objects as go

from rashomon_explorer.explorer.background import SingleEntryCache
from rashomon_explorer.explorer.cards.base import (
    CURATOR_FIGURE,
    FigureCard,
    PrivateDataCard,
    Recipe,
    add_subtitle,
    empty,
    of_the_set,
    ringed,
)
from rashomon_explorer.explorer.family import trees_in
from rashomon_explorer.explorer.html import EXACT, PAID, SAMPLED
from rashomon_explorer.explorer.messages import LOGGER
from rashomon_explorer.explorer.model_inputs import ExternalModel
from rashomon_explorer.explorer.session import Session
from rashomon_explorer.measures.inputs import COLUMNS
from rashomon_explorer.plots import (
    plot_coefficient_spread,
    plot_exact_ranges,
    plot_importance,
    plot_ranges,
    plot_released_spread,
)
from rashomon_explorer.plots.coefficients import spread_table
from rashomon_explorer.plots.importance import (
    MOST_ROWS,
    importance_figure,
    importance_table,
    importances,
)
from rashomon_explorer.plots.text import counted, plural
from rashomon_explorer.sets.linear import groups_by_name

_READABLE = 11
"""Font size at which the names of all rows fit into half the height of a view."""


class CoefficientRangesCard(PrivateDataCard):
    """Exact range of every coefficient, and the range over the draws."""

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
        "▬ <b>exact</b>: min and max of θ<sub>j</sub> over all models with L(θ) ≤ min L + ψ, by "
        "two convex programmes per coefficient; each end is certified by a "
        "tangent. ∙∙∙ <b>sampled</b>: range over the draws within ψ. A range that contains 0: "
        "good models disagree on the sign. All rows are used, regardless of the selection."
    )

    def study(self) -> Recipe:
        """See `PrivateDataCard.study`."""
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
        return add_subtitle(ringed, "", finding)


class SetRangesCard(CoefficientRangesCard):
    """Coefficient ranges in the view Set: highlights selected models; shows releases."""

    name = "ranges"
    needs: ClassVar[tuple[str, ...]] = (*CoefficientRangesCard.needs, "selection")

    @property
    def _ringed(self) -> tuple[int, ...]:
        return tuple(self.state.selection)

    def _figure(self) -> go.Figure:
        """Hide the legend and explain the marks in the subtitle, to save space."""
        models = self.state.rashomon_set
        try:
            figure = super()._figure()
        except ValueError as error:  # the draws were made from other rows: no exact ranges
            LOGGER.info("no exact ranges for these rows", exc_info=error)
            drawn = plot_coefficient_spread(models, highlight=self._ringed)
            return add_subtitle(drawn, "exact ranges need the rows used for the draws")
        head = figure.layout.title.text.split("<br>")[0]
        inside = 0 if models is None else round(models.hit_rate * models.n_draws)
        shown = f"light: exact · dark: {plural(inside, 'draw')} inside" if inside else "exact"
        said = f"{shown} · × best · per scaled unit"
        figure.layout.title.text = f'{head}<br><span style="font-size:11.5px">{said}</span>'
        # Without an axis title there is room for one line of text per row.
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


_NOTHING = (
    "For a model that you fitted: <b>Explorer(model, data=(X, y))</b><br>"
    "shows the exact range of each coefficient. Nothing is charged."
)


class ExactCard(FigureCard):
    """Exact coefficient ranges for a model fitted elsewhere, over the models within ψ."""

    name = "exact"
    title = "How far each coefficient can go"
    label = "Exact range of every coefficient over the models within psi"
    linear = True
    needs = ("outside", "psi", "view")
    slow = True

    def recipe(self) -> Recipe:
        """See `FigureCard.recipe`."""
        outside, psi = self.state.outside, self.state.psi
        if outside is None:
            return empty(self.title, _NOTHING)
        if self.state.view == "release":
            return empty(self.title, CURATOR_FIGURE)
        return Recipe(
            partial(_figure, outside, psi),
            partial(outside.ranges, psi),
            (
                "from rashomon_explorer.plots import plot_exact_ranges",
                f"plot_exact_ranges(explorer.state.outside.ranges({psi!r}), "
                f"note=explorer.state.outside.flip_message({psi!r}))",
            ),
        )


def _figure(outside: ExternalModel, psi: float) -> go.Figure:
    return plot_exact_ranges(outside.ranges(psi), note=outside.flip_message(psi))


_CHOICES = (("importance", "importance"), ("coefficients", "coef"))
_MOST, _FEWEST_ROWS = 1_000_000, 100
_COLUMNS = ("importance of single columns", COLUMNS)


class SpreadCard(FigureCard):
    """Ranges of importance or of coefficients over the draws inside the set."""

    name = "importance"
    title = "How much the models rely on each feature"
    short = "Importance"
    label = "Ranges over the draws inside the set, one row per feature"
    linear = True
    and_trees = True
    slow = True
    needs = (*FigureCard.needs, "groups", "people")
    definition = (
        "Permutation importance: the rise of the loss when one feature is shuffled between people, "
        "over the models within ψ; the columns of one category are shuffled together."
    )

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self._found = SingleEntryCache()

    def controls(self) -> list[ipywidgets.Widget]:
        """See `FigureCard.controls`."""
        self._what = ipywidgets.Dropdown(description="show", options=_CHOICES)
        self._what.observe(lambda _: self.changed(), "value")
        return [self._what]

    def _offer(self, models: Any) -> None:
        """Update the choices: columns for grouped features, coefficients for linear models."""
        trees = trees_in(models) is not None
        groups = groups_by_name(models.models.feature_names) if trees else models.feature_groups
        columns = [_COLUMNS] if groups else []
        choices = (_CHOICES[0], *columns, *([] if trees else [_CHOICES[1]]))
        if tuple(self._what.options) != choices:
            value = self._what.value
            self._what.options = choices
            self._what.value = value if value in dict(choices).values() else _CHOICES[0][1]

    def recipe(self) -> Recipe | None:
        """See `FigureCard.recipe`."""
        state = self.state
        models = state.rashomon_set
        if models is None or not models.n_draws:
            return self.waiting()
        self._offer(models)
        if self._what.value == "coef":
            return self._coefficients()
        if state.view == "release":
            others = "" if trees_in(models) else "<br>Or show <b>coefficients</b>."
            return empty(self.title, f"{CURATOR_FIGURE}{others}")
        if state.busy:
            return self.deferred_recipe()
        if state.data is None:
            return empty(self.title, "Needs the rows: <b>Explorer(clf, data=data)</b>.")
        picked = self.session.picked
        inputs = models, picked.rows, picked.targets
        _, rows, targets = picked.names
        most = min(MOST_ROWS, max(_FEWEST_ROWS, _MOST // models.n_draws))
        features = COLUMNS if self._what.value == COLUMNS else None
        ringing = state.selection
        asked = f", features={COLUMNS!r}" if features else ""
        asked += ringed(state.selection)
        asked += f", max_rows={most}" if most < MOST_ROWS else ""
        options: dict[str, Any] = {"features": features, "max_rows": most}
        key = picked.people.tobytes(), features, most
        of = models, self.session.rows

        def figure() -> go.Figure:
            kept = counted(models)
            if kept.is_empty:
                return plot_importance(*inputs, **options)
            found = self._found.of(
                of, key, lambda: importances(kept.models, *inputs[1:], **options)
            )
            return importance_figure(models, found, len(picked.people), ringing)

        return Recipe(
            figure,
            of_the_set(models, partial(importance_table, *inputs, **options)),
            (
                "from rashomon_explorer.plots import plot_importance",
                f"plot_importance(explorer.rashomon_set, {rows}, {targets}{asked})",
            ),
            (SAMPLED,),
            of_people=True,
        )

    def _coefficients(self) -> Recipe:
        models = self.state.rashomon_set
        if self.state.view == "release":
            released = models.release()
            return Recipe(
                partial(plot_released_spread, released),
                partial(spread_table, released),
                (
                    "from rashomon_explorer.plots import plot_released_spread",
                    "plot_released_spread(explorer.rashomon_set.release())",
                ),
                marks=(PAID,),
            )
        return Recipe(
            partial(plot_coefficient_spread, models, highlight=self.state.selection),
            of_the_set(models, partial(spread_table, models)),
            (
                "from rashomon_explorer.plots import plot_coefficient_spread",
                "plot_coefficient_spread(explorer.rashomon_set)",
            ),
            marks=(SAMPLED,),
        )
