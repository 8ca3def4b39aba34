"""Cards about groups of people."""

from typing import TYPE_CHECKING, Any, ClassVar

import ipywidgets
import pandas as pd
import plotly.graph_objects as go

from rashomon_explorer.exceptions import DataError
from rashomon_explorer.explorer.background import SingleEntryCache
from rashomon_explorer.explorer.cards.base import (
    PrivateDataCard,
    Recipe,
    add_subtitle,
    empty,
    keep_choice,
    link_selection,
    ringed,
)
from rashomon_explorer.explorer.family import trees_in
from rashomon_explorer.explorer.html import EXACT, SAMPLED
from rashomon_explorer.explorer.session import Session
from rashomon_explorer.measures import (
    disagreement_decomposition,
    fairness_audit,
    multiplicity_by_person_group,
)
from rashomon_explorer.plots import (
    plot_burden,
    plot_decomposition,
    plot_fairness_range,
    plot_frontier,
)
from rashomon_explorer.plots.decomposition import decomposition_text
from rashomon_explorer.plots.text import number
from rashomon_explorer.sets import PredictorSet

if TYPE_CHECKING:
    from rashomon_explorer.explorer.state import ExplorerState


class ByColumn:
    """Mixin with a list of columns; the choice applies to the whole view."""

    session: Session
    state: "ExplorerState"

    def pick_column(self) -> ipywidgets.Dropdown:
        """Return the list of columns; it follows choices that are made elsewhere."""
        self._offering = False
        self._by = ipywidgets.Dropdown(description="by", options=[])
        self._by.observe(self._on_column, "value")
        self.state.observe(lambda _: self._offer_columns(), ["data", "group_column", "view"])
        self._offer_columns()
        return self._by

    @property
    def column(self) -> str:
        """The chosen column; the first one before a choice is made."""
        columns = self.session.picked.columns
        chosen = self.state.group_column
        return chosen if chosen in columns else columns[0] if columns else ""

    def _on_column(self, _: object) -> None:
        if not self._offering:
            self.state.group_column = self._by.value or ""

    def _offer_columns(self) -> None:
        """Update the list to the columns that define groups, and select the chosen one."""
        self._offering = True
        self._by.options = self.session.picked.columns
        self._by.value = self.column or None
        self._offering = False


NO_GROUPS = "No column of this table defines groups."
_PEOPLE = "explorer.selected.everyone"


class GroupCard(ByColumn, PrivateDataCard):
    """Figure of the groups of the column that is chosen for the whole view."""

    of_table: ClassVar[bool] = True
    of_targets: ClassVar[bool] = True
    of_people: ClassVar[bool] = False
    needs: ClassVar[tuple[str, ...]] = (*PrivateDataCard.needs, "group_column")

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self._found = SingleEntryCache()

    def controls(self) -> list[ipywidgets.Widget]:
        """See `FigureCard.controls`."""
        return [self.pick_column()]

    def _lacks(self) -> str:
        lacks = super()._lacks()
        if lacks:
            return lacks
        return "" if self.column else NO_GROUPS

    def _audit(self, models: Any, column: str) -> Any:
        people, session = self.session.picked.everyone, self.session

        def find() -> Any:
            rows = session.chunks
            if rows is not None:
                return fairness_audit(models, rows, session.all_targets, session.all_groups(column))
            return fairness_audit(models, people.rows, people.targets, people.groups(column))

        return self._found.of((models, session.rows), column, find)

    def _audit_line(self) -> str:
        if self.session.is_chunked:
            return (
                "audit = fairness_audit(explorer.rashomon_set, explorer.chunks, "
                f"explorer.session.all_targets, explorer.session.all_groups({self.column!r}))"
            )
        return (
            f"audit = fairness_audit(explorer.rashomon_set, {_PEOPLE}.rows, {_PEOPLE}.targets, "
            f"{_PEOPLE}.groups({self.column!r}))"
        )


class GapsCard(GroupCard):
    """Range of every group gap over the models within ψ."""

    name = "gaps"
    title = "How unequal are almost equally good models?"
    short = "Group gaps"
    label = "Range of each fairness gap over the models inside the set"
    of_inside: ClassVar[bool] = True
    definition = (
        "A gap is the largest minus the smallest rate over the groups: <b>demographic "
        "parity</b> of P(ŷ = 1), <b>equal opportunity</b> of P(ŷ = 1 | y = 1), <b>equalised "
        "odds</b> the wider of that and of P(ŷ = 1 | y = 0), and so on; 0 is equal. The bar covers "
        "the draws within ψ; the range of the whole set is at least as wide."
    )

    def study(self) -> Recipe:
        """See `PrivateDataCard.study`."""
        models, column = self.state.rashomon_set, self.column
        return Recipe(
            lambda: _gaps(self._audit(models, column), self.state.selection),
            lambda: self._audit(models, column).ranges(),
            (
                "from rashomon_explorer.measures import fairness_audit",
                "from rashomon_explorer.plots import plot_fairness_range",
                self._audit_line(),
                f"plot_fairness_range(audit{ringed(self.state.selection)})",
            ),
            (SAMPLED,),
        )


_GAPS = {
    "classification": (
        "demographic_parity",
        "equal_opportunity",
        "equalized_odds",
        "accuracy_score",
        "calibration_in_the_large",
    ),
    "regression": ("mean_prediction", "mean_absolute_error", "calibration_in_the_large"),
}


def _gaps(audit: Any, chosen: Any) -> go.Figure:
    ranges = audit.ranges()
    name = str(ranges.index[0])
    low, high = (number(float(ranges[end].iloc[0]), 2) for end in ("low", "high"))
    gap = name.removesuffix("_difference").replace("_", " ")
    finding = f"Good models' {gap} gap goes from {low} to {high}"
    return add_subtitle(plot_fairness_range(audit, highlight=chosen), "", finding)


def _frontier(audit: Any, gap: str, chosen: Any) -> go.Figure:
    """Plot the frontier, with the cost of the fairest good model in the title."""
    figure = plot_frontier(audit, gap, highlight=chosen)
    fairest = figure.layout.title.text.split(">", 2)[-1].split(" · ")[0]
    return add_subtitle(figure, "", fairest[0].upper() + fairest[1:])


class FrontierCard(GroupCard):
    """Accuracy against one gap, one dot per model."""

    name = "frontier"
    title = "What does fairness cost?"
    short = "Accuracy against a gap"
    label = "Scatter plot of accuracy against a group gap over the models inside the set"
    selectable = True
    of_inside: ClassVar[bool] = True
    definition = (
        "One dot per model within ψ; the line joins those that no other beats in both accuracy and "
        "gap. The model with the least gap on these rows looks fairer than it is: check it on "
        "other rows."
    )

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        link_selection(self)

    def controls(self) -> list[ipywidgets.Widget]:
        """See `FigureCard.controls`."""
        first = super().controls()
        self._gap = ipywidgets.Dropdown(description="gap", options=[])
        self._gap.observe(self._moved, "value")
        return [*first, self._gap]

    def _moved(self, _: object) -> None:
        if not self._offering:
            self.changed()

    def study(self) -> Recipe:
        """See `PrivateDataCard.study`."""
        models, column, chosen = self.state.rashomon_set, self.column, self.state.selection
        self._offering = True
        keep_choice(self._gap, _GAPS[models.task])
        self._offering = False
        gap = f"{self._gap.value}_difference"
        return Recipe(
            lambda: _frontier(self._audit(models, column), gap, chosen),
            lambda: self._audit(models, column).frontier(gap),
            (
                "from rashomon_explorer.measures import fairness_audit",
                "from rashomon_explorer.plots import plot_frontier",
                self._audit_line(),
                f"plot_frontier(audit, {gap!r}{ringed(self.state.selection)})",
            ),
            (SAMPLED,),
        )


class BurdenCard(GroupCard):
    """Measure of disagreement for each group."""

    name = "burden"
    title = "Who bears the multiplicity?"
    short = "Who bears it"
    label = "A measure of disagreement for each group of people"
    of_targets: ClassVar[bool] = False
    definition = (
        "<b>Ambiguity</b>: share of the group with a conflicting prediction by some model within "
        "ψ; dark: observed in the draws, light: exact for the people listed. <b>Disagreement"
        "</b>: probability that two draws differ for a person. Whiskers: Wilson's 95 % interval, "
        "treating these people as a sample; it is wide for small groups."
    )

    def controls(self) -> list[ipywidgets.Widget]:
        """See `FigureCard.controls`."""
        first = super().controls()
        self._measure = ipywidgets.Dropdown(description="of", options=[])
        self._measure.observe(self._moved, "value")
        return [*first, self._measure]

    def _moved(self, _: object) -> None:
        if not self._offering:
            self.changed()

    def study(self) -> Recipe:
        """See `PrivateDataCard.study`."""
        models, column = self.state.rashomon_set, self.column
        measures = _BURDENS[models.task]
        self._offering = True
        keep_choice(self._measure, measures)
        self._offering = False
        measure = self._measure.value
        proved = measure == "ambiguity" and not self.session.exact.why_not
        exact = ", exact=explorer.exact.ambiguity_by(explorer.selected.everyone, {column!r})"
        told = exact.format(column=column) if proved else ""
        return Recipe(
            lambda: self._figure(models, column, measure, proved),
            lambda: self._numbers(models, column),
            (
                "from rashomon_explorer.measures import multiplicity_by_person_group",
                "from rashomon_explorer.plots import plot_burden",
                f"table = multiplicity_by_person_group("
                f"explorer.selected.models, {self._whom(column)})",
                f"plot_burden(table, {measure!r}{told})",
            ),
            (EXACT, SAMPLED) if proved else (SAMPLED,),
        )

    def _whom(self, column: str) -> str:
        if self.session.is_chunked:
            return f"explorer.chunks, explorer.session.all_groups({column!r})"
        return f"{_PEOPLE}.rows, {_PEOPLE}.groups({column!r})"

    def _numbers(self, models: Any, column: str) -> pd.DataFrame:
        people, rows = self.session.picked.everyone, self.session.chunks
        if rows is not None:
            return multiplicity_by_person_group(
                self.session.picked.models, rows, self.session.all_groups(column)
            )
        return multiplicity_by_person_group(
            self.session.picked.models, people.rows, people.groups(column)
        )

    def _figure(self, models: Any, column: str, measure: str, proved: bool) -> go.Figure:
        people = self.session.picked.everyone
        exact = self.session.exact.ambiguity_by(people, column) if proved else None
        return plot_burden(
            self._numbers(models, column),
            measure,
            exact=exact,
            highlight=[level for own, level in self.state.groups if own == column],
            guaranteed=models.guarantee.holds,
            note=_whose(people, self.session.shape[0], exact is not None),
        )


_BURDENS = {
    "classification": ("ambiguity", "disagreement", "obscurity", "discrepancy", "range_width"),
    "regression": ("range_width", "score_std"),
}


def _whose(people: Any, n: int, proved: bool) -> str:
    words, asked = people.words, f"exact of {len(people.few):,} people" if proved else ""
    if people.sample_words:  # draws cover all rows; exact results cover a sample
        words, asked = f"draws: all {n:,} people", asked and f"{asked} of {people.sample_words}"
    return " · ".join(filter(None, [words, asked]))


_DRAWN_HERE = "The decomposition into set width and mechanism noise<br>needs draws made here."


class WidthOrNoiseCard(GroupCard):
    """Decomposition of the disagreement into model-set width and mechanism noise."""

    name = "decomposition"
    title = "Decomposition"
    label = "Disagreement of draws split into model-set width and mechanism noise"
    of_targets: ClassVar[bool] = False
    definition = (
        "Draws follow P = hU + (1 − h)Q, U uniform on the set, h the hit rate. <b>Width</b>: "
        "disagreement of two draws from U; <b>noise</b>: the part added by draws outside the set. "
        "Whiskers: 95 % jackknife intervals. All draws are used, regardless of the selection."
    )

    def study(self) -> Recipe:
        """See `PrivateDataCard.study`."""
        models, column = self.state.rashomon_set, self.column
        if isinstance(models, PredictorSet) and not models.independent:
            return empty(self.title, _DRAWN_HERE)
        answers = self.session.tree_answers if trees_in(models) else None
        every = "reference=explorer.tree_answers.class_of_draws(explorer.rashomon_set), "
        beside = every if answers else ""
        sampled = bool(answers) or not self.session.is_chunked
        rows = f"{_PEOPLE}.rows" if sampled else "explorer.chunks"
        groups = f"{_PEOPLE}.groups({column!r})"
        if not sampled:
            groups = f"explorer.session.all_groups({column!r})"
        return Recipe(
            lambda: _noise(self._split(models, column, answers)),
            lambda: self._split(models, column, answers).groups,
            (
                "from rashomon_explorer.measures import disagreement_decomposition",
                "from rashomon_explorer.plots import plot_decomposition",
                f"found = disagreement_decomposition("
                f"explorer.rashomon_set, {rows}, {beside}groups={groups})",
                "plot_decomposition(found)",
            ),
            (SAMPLED,),
            of_people=sampled,
        )

    def _split(self, models: Any, column: str, answers: Any) -> Any:
        session = self.session
        rows = None if answers is not None else session.chunks
        if rows is not None:
            return split_draws(models, rows, session.all_groups(column) if column else None)
        people = session.picked.everyone
        return split_draws(models, people.rows, people.groups(column) if column else None, answers)


def _noise(found: Any) -> go.Figure:
    return add_subtitle(plot_decomposition(found), "", decomposition_text(found))


def split_draws(models: Any, rows: Any, groups: Any = None, answers: Any = None) -> Any:
    """Decompose the disagreement of draws; ``answers`` adds all trees as the reference."""
    options: dict[str, Any] = {} if groups is None else {"groups": groups}
    if answers is not None:
        options["reference"] = answers.class_of_draws(models)
    try:
        return disagreement_decomposition(models, rows, **options)
    except ValueError as error:
        why = str(error).split(": pass")[0]
        raise DataError(f"No decomposition: {why}") from error
