"""Card of the models' answers as one feature moves."""

from functools import partial
from typing import Any

import ipywidgets
import numpy as np
import pandas as pd

from rashomon_explorer.explorer.cards.base import Recipe, of_the_set
from rashomon_explorer.explorer.cards.study import StudyCard, keep_choice, ringed
from rashomon_explorer.explorer.picked import some, taken
from rashomon_explorer.measures import partial_dependence_band
from rashomon_explorer.plots import plot_profile
from rashomon_explorer.plots.counted import counted
from rashomon_explorer.plots.profile import MOST_ROWS


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
        return self.sampled(
            partial(plot_profile, models, table, feature, **asked),
            of_the_set(models, partial(_band, models, table, feature, encode)),
            (
                "from rashomon_explorer.plots import plot_profile",
                f"plot_profile(explorer.rashomon_set, explorer.picked.table, {feature!r}{through})",
            ),
        )


def _band(models: Any, table: pd.DataFrame, feature: Any, encode: Any) -> pd.DataFrame:
    rows = taken(table, some(np.arange(len(table)), MOST_ROWS))
    return partial_dependence_band(counted(models).models, rows, feature, transform=encode)
