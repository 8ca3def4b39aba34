"""Card of each person's range of answers, and whose label flips."""

from typing import ClassVar

import pandas as pd
import plotly.graph_objects as go

from rashomon_explorer.explorer.cards.base import Recipe
from rashomon_explorer.explorer.cards.picking import picks_people
from rashomon_explorer.explorer.cards.study import StudyCard
from rashomon_explorer.explorer.marks import EXACT, SAMPLED
from rashomon_explorer.explorer.session import Session
from rashomon_explorer.plots import plot_people_ranges
from rashomon_explorer.plots.text import plural


class PeopleRangesCard(StudyCard):
    """One dot a person: the best model's answer, what draws show of the range, what is proved."""

    name = "people_ranges"
    title = "Whose label can a good model flip?"
    short = "Everyone's range"
    label = "Scatter plot of people: the best model's answer and the range over the set"
    selectable = True
    of_outside: ClassVar[bool] = True
    needs: ClassVar[tuple[str, ...]] = (
        *(need for need in StudyCard.needs if need != "selection"),
        "psi",
    )
    definition = (
        "∙∙∙ <b>sampled</b>: least and largest answer of the draws within ψ. ▬ <b>exact</b>: least "
        "and largest over all models within ψ (two convex programmes a person). A label flips if "
        "some model within ψ says another class than the best model; their share is the "
        "<b>ambiguity</b> (Marx, Calmon and Ustun 2020), of which draws show a lower bound."
    )

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        picks_people(self)

    def study(self) -> Recipe:
        """See `StudyCard.study`."""
        exact, models = self.session.exact, self.state.rashomon_set
        drawn = () if models is None else (SAMPLED,)
        proved = () if exact.why_not else (EXACT,)
        return Recipe(
            self._figure,
            self._numbers,
            (
                "from rashomon_explorer.plots import plot_people_ranges",
                "plot_people_ranges(explorer.exact.people(explorer.picked.few), "
                "answer=explorer.picked.answer)",
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
        unproved = exact.why_not and "nothing is proved of these models"
        return plot_people_ranges(
            table,
            answer=picked.answer,
            highlight=self.state.people,
            guaranteed=models is None or models.guarantee.holds,
            note=" · ".join(filter(None, [words, unproved])),
        )
