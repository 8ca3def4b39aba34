"""Card of one person: every model's answer, and what makes the answers differ."""

from typing import Any, ClassVar

import pandas as pd
import plotly.graph_objects as go

from rashomon_explorer.explorer.cards.base import Recipe, empty
from rashomon_explorer.explorer.cards.picking import picks
from rashomon_explorer.explorer.cards.study import StudyCard, ringed
from rashomon_explorer.explorer.marks import EXACT, SAMPLED
from rashomon_explorer.explorer.session import Session
from rashomon_explorer.plots import plot_person
from rashomon_explorer.plots.counted import counted
from rashomon_explorer.plots.person import contributions
from rashomon_explorer.rashomon_set import RashomonSet

_NOBODY = "Click on somebody in the table<br>or in the figure of everyone."


class PersonCard(StudyCard):
    """Every good model's answer to the person who was picked last."""

    name = "person"
    title = "One person"
    label = "Answers of the models to one person, and the spread of each feature's contribution"
    selectable = True
    definition = (
        "Left: a dot a model within ψ; the bar is the exact range over all of them. Right: what "
        "each feature adds to the score, θ<sub>j</sub>(x<sub>j</sub> − mean), over the draws: the "
        "widest drives the disagreement. <b>Abstain</b>: the lead of the first class is under two "
        "standard deviations over the draws (Ganesh, Thakurta and Upadhyay 2023). <b>Flips from "
        "ψ</b>: least excess loss at which some model says another class, proved to 1 %."
    )
    needs: ClassVar[tuple[str, ...]] = StudyCard.needs

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        picks(self)

    def study(self) -> Recipe:
        """See `StudyCard.study`."""
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
                f"{told.format(person=person)}, answer=explorer.picked.answer"
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
