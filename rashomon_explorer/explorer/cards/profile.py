"""Card of the models' answers as one feature moves."""

from typing import Any

import ipywidgets
import plotly.graph_objects as go

from rashomon_explorer.explorer.cards.base import Recipe, of_the_set
from rashomon_explorer.explorer.cards.study import StudyCard, keep_choice, ringed
from rashomon_explorer.explorer.remembered import Remembered
from rashomon_explorer.explorer.session import Session
from rashomon_explorer.plots import plot_profile
from rashomon_explorer.plots.counted import counted
from rashomon_explorer.plots.profile import MOST_ROWS, profile_figure, profiles

_MOST_ANSWERS, _FEWEST_ROWS = 500_000, 100


class ProfileCard(StudyCard):
    """What the models answer on average when everyone has the same value of one feature."""

    name = "profile"
    title = "The models' average answer as one feature moves"
    short = "Profile of a feature"
    label = "Band of partial dependence on one feature over the models inside the set"
    definition = (
        "Partial dependence: PD<sub>f</sub>(v) = mean over people of f(x with x<sub>j</sub> = v), "
        "for every model f within ψ; the band is over models. It also asks about people who do not "
        "exist: where features go together, read it with that in mind."
    )

    def __init__(self, session: Session) -> None:
        super().__init__(session)
        self._found = Remembered()

    def controls(self) -> list[ipywidgets.Widget]:
        """See `FigureCard.controls`."""
        self._offering = False
        self._feature = ipywidgets.Dropdown(description="feature", options=[])
        self._feature.observe(self._moved, "value")
        return [self._feature]

    def _moved(self, _: object) -> None:
        if not self._offering:
            self.changed()

    def study(self) -> Recipe:
        """See `StudyCard.study`."""
        models, picked = self.state.rashomon_set, self.session.picked
        table, encode = picked.table, picked.encode
        self._offering = True
        keep_choice(self._feature, picked.features)
        self._offering = False
        feature = next(name for name in table.columns if str(name) == self._feature.value)
        asked: dict[str, Any] = {"transform": encode, "highlight": self.state.selection}
        asked["answer"] = picked.answer
        through = "" if encode is None else ", transform=explorer.picked.encode"
        through += ", answer=explorer.picked.answer" if picked.answer else ""
        through += ringed(self.state.selection)
        of, key = (models, self.session.rows), (picked.people.tobytes(), feature)
        n_people = len(picked.people)
        most = min(MOST_ROWS, max(_FEWEST_ROWS, _MOST_ANSWERS // models.n_draws))
        asked["max_rows"] = most
        through += f", max_rows={most}" if most < MOST_ROWS else ""

        def found() -> Any:
            inside = counted(models).models
            return self._found.of(
                of, key, lambda: profiles(inside, table, feature, encode, max_rows=most)
            )

        def figure() -> go.Figure:
            if counted(models).nobody or not n_people:
                return plot_profile(models, table, feature, **asked)
            return profile_figure(models, found(), feature, asked["answer"], asked["highlight"])

        return self.sampled(
            figure,
            of_the_set(models, lambda: found()[1]),
            (
                "from rashomon_explorer.plots import plot_profile",
                f"plot_profile(explorer.rashomon_set, explorer.picked.table, {feature!r}{through})",
            ),
        )
