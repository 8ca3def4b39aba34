"""Card of who is affected."""

from functools import partial

import ipywidgets

from rashomon_explorer.explorer.cards.base import (
    CURATOR_FIGURE,
    FigureCard,
    Recipe,
    empty,
    of_the_set,
)
from rashomon_explorer.explorer.marks import SAMPLED
from rashomon_explorer.plots import plot_people
from rashomon_explorer.plots.tables import people_table

_EVERYONE = "everyone"


class PeopleCard(FigureCard):
    """How far apart the models' predictions of each person are."""

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
            return self.later()
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
                f"explorer.picked.groups({by!r}), group_name={by!r})"
            )
        return Recipe(
            partial(plot_people, models, rows, groups, group_name=by),
            of_the_set(models, partial(people_table, models, rows, groups)),
            ("from rashomon_explorer.plots import plot_people", call),
            (SAMPLED,),
            of_people=True,
        )
