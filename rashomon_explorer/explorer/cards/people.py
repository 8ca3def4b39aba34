"""Cards about people."""

from functools import partial
from typing import Any, ClassVar

import ipywidgets
import pandas as pd
import plotly.graph_objects as go

from rashomon_explorer.explorer.cards.base import (
    CURATOR_FIGURE,
    FigureCard,
    PrivateDataCard,
    Recipe,
    empty,
    link_selection,
    of_the_set,
    picks_people,
    ringed,
)
from rashomon_explorer.explorer.html import EXACT, SAMPLED
from rashomon_explorer.explorer.session import Session
from rashomon_explorer.plots import plot_people, plot_people_ranges, plot_person
from rashomon_explorer.plots.people import people_table
from rashomon_explorer.plots.person import contributions
from rashomon_explorer.plots.text import counted, plural
from rashomon_explorer.sets import RashomonSet

_EVERYONE = "everyone"


class PeopleCard(FigureCard):
    """Range of the models' predictions for each person."""

    name = "people"
    title = "Who is affected"
    label = "Range of predictions over the draws inside the set, for each person"
    short = "Widths"
    slow = True
    needs = (*FigureCard.needs, "groups", "people")

    def controls(self) -> list[ipywidgets.Widget]:
        """See `FigureCard.controls`."""
        self._by = ipywidgets.Dropdown(description="by", options=[_EVERYONE])
        self._by.observe(lambda _: self.changed(), "value")
        return [self._by]

    def _offer(self) -> None:
        data = self.state.data
        columns = (_EVERYONE, *self.session.picked.columns) if data is not None else ()
        if columns and tuple(self._by.options) != columns:
            self._by.options = columns
            sensitive = [name for name in map(str, data.sensitive.columns) if name in columns]
            self._by.value = sensitive[0] if sensitive else _EVERYONE

    def recipe(self) -> Recipe | None:
        """See `FigureCard.recipe`."""
        state = self.state
        self._offer()
        models = state.rashomon_set
        if models is None or not models.n_draws:
            return self.waiting()
        if state.view == "release":
            return empty(self.title, CURATOR_FIGURE)
        if state.busy:
            return self.deferred_recipe()
        if state.data is None and self.session.rows is None:
            return empty(self.title, "Needs the rows: <b>Explorer(clf, data=data)</b>.")
        by, picked = self._by.value, self.session.picked
        models, rows = picked.models, picked.rows
        of_models, of_rows, _ = picked.names
        if by == _EVERYONE:
            groups, call = None, f"plot_people({of_models}, {of_rows})"
        else:
            groups = picked.groups(by)
            call = (
                f"plot_people({of_models}, {of_rows}, "
                f"explorer.selected.groups({by!r}), group_name={by!r})"
            )
        return Recipe(
            partial(plot_people, models, rows, groups, group_name=by),
            of_the_set(models, partial(people_table, models, rows, groups)),
            ("from rashomon_explorer.plots import plot_people", call),
            (SAMPLED,),
            of_people=True,
        )


class PeopleRangesCard(PrivateDataCard):
    """Best model's prediction for each person, with sampled and exact ranges."""

    name = "people_ranges"
    title = "Whose label can a good model flip?"
    short = "Everyone's range"
    label = "Scatter plot of people: the best model's answer and the range over the set"
    selectable = True
    of_outside: ClassVar[bool] = True
    needs: ClassVar[tuple[str, ...]] = (
        *(need for need in PrivateDataCard.needs if need != "selection"),
        "psi",
    )
    definition = (
        "∙∙∙ <b>sampled</b>: least and largest answer of the draws within ψ. ▬ <b>exact</b>: least "
        "and largest over all models within ψ (two convex programmes a person). A label flips if "
        "some model within ψ predicts another class than the best model; the share of flips is the "
        "<b>ambiguity</b> (Marx, Calmon and Ustun 2020); draws give a lower bound on it."
    )

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        picks_people(self)

    def study(self) -> Recipe:
        """See `PrivateDataCard.study`."""
        exact, models = self.session.exact, self.state.rashomon_set
        drawn = () if models is None else (SAMPLED,)
        proved = () if exact.why_not else (EXACT,)
        return Recipe(
            self._figure,
            self._numbers,
            (
                "from rashomon_explorer.plots import plot_people_ranges",
                "plot_people_ranges(explorer.exact.people(explorer.selected.few), "
                "answer=explorer.selected.answer)",
            ),
            (*proved, *drawn),
        )

    def _numbers(self) -> pd.DataFrame:
        return self.session.exact.people(self.session.picked.few)

    def _figure(self) -> go.Figure:
        picked, models, exact = self.session.picked, self.state.rashomon_set, self.session.exact
        table = self._numbers()
        if self.session.sample_words:
            words = f"of {self.session.sample_words}"
        elif len(table) == len(self.session.rows):
            words = ""
        else:
            words = f"of {plural(len(self.session.rows), 'row')}, at random"
        unproved = exact.why_not and "no exact results for these models"
        return plot_people_ranges(
            table,
            answer=picked.answer,
            highlight=self.state.people,
            guaranteed=models is None or models.guarantee.holds,
            note=" · ".join(filter(None, [words, unproved])),
        )


_NOBODY = "Click a person in the table<br>or in the figure of all people."


class PersonCard(PrivateDataCard):
    """Every good model's prediction for the person selected last."""

    name = "person"
    title = "One person"
    label = "Answers of the models to one person, and the spread of each feature's contribution"
    selectable = True
    definition = (
        "Left: one dot per model within ψ; the bar is the exact range over all of them. Right: "
        "what each feature adds to the score, θ<sub>j</sub>(x<sub>j</sub> − mean), over the draws: "
        "the widest drives the disagreement. <b>Abstain</b>: the first class leads by less than "
        "two standard deviations over the draws (Ganesh, Thakurta and Upadhyay 2023). <b>Flips "
        "from ψ</b>: least excess loss at which a model predicts another class, certified to 1 %."
    )
    needs: ClassVar[tuple[str, ...]] = PrivateDataCard.needs

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        link_selection(self)

    def study(self) -> Recipe:
        """See `PrivateDataCard.study`."""
        if not self.state.people:
            return empty(self.title, _NOBODY)
        models, person = self.state.rashomon_set, int(self.state.people[-1])
        proved = not self.session.exact.why_not
        told = ", **explorer.exact.person({person})" if proved else ""
        linear = isinstance(models, RashomonSet) and models.hit_rate > 0
        return Recipe(
            lambda: self._figure(models, person),
            (lambda: self._numbers(models, person)) if linear else None,
            (
                "from rashomon_explorer.plots import plot_person",
                f"plot_person(explorer.rashomon_set, explorer.rows, {person}"
                f"{told.format(person=person)}, answer=explorer.selected.answer"
                f"{ringed(self.state.selection)})",
            ),
            (EXACT, SAMPLED) if proved else (SAMPLED,),
        )

    def _numbers(self, models: Any, person: int) -> pd.DataFrame:
        return contributions(counted(models).models, self.session.rows, person)

    def _figure(self, models: Any, person: int) -> go.Figure:
        exact = self.session.exact
        return plot_person(
            models,
            self.session.rows,
            person,
            answer=self.session.picked.answer,
            highlight=self.state.selection,
            **({} if exact.why_not else exact.person(person)),
        )
