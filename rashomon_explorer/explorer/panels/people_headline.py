"""What the view People & groups finds, in sentences, and who is looked at."""

from html import escape
from typing import Any

import ipywidgets
import numpy as np

from rashomon_explorer.explorer.family import trees_in
from rashomon_explorer.explorer.later import Later
from rashomon_explorer.explorer.marks import EXACT, SAMPLED, marks_html
from rashomon_explorer.explorer.session import Session
from rashomon_explorer.measures import enough_draws, width_or_noise
from rashomon_explorer.measures.decomposition import WidthOrNoise
from rashomon_explorer.plots.counted import counted
from rashomon_explorer.plots.text import number, percent, plural
from rashomon_explorer.plots.width_or_noise import told
from rashomon_explorer.rashomon_set import RashomonSet

_EVERYONE = "everyone"
_HALF_WIDTH = 0.02
_CLASSES_ONLY = "classification"


class PeopleHeadline:
    """Sentences about the people on screen, and a choice of the group that is looked at.

    Parameters
    ----------
    session : Session
        The models on screen and their rows.

    Attributes
    ----------
    column, group : ipywidgets.Dropdown
        The column by which people are told apart, and the group that is looked at.
    words : ipywidgets.HTML
        The sentences.
    widget : ipywidgets.Widget
        The panel.
    """

    def __init__(self, session: Session) -> None:
        self.session = session
        self.state = session.state
        self.column = ipywidgets.Dropdown(description="Groups by", options=[])
        self.group = ipywidgets.Dropdown(description="look at", options=[_EVERYONE])
        self.words = ipywidgets.HTML('<p class="rx-note">Press <b>Draw</b>.</p>')
        self._telling = False
        self.column.observe(self._by, "value")
        self.group.observe(self._look, "value")
        choices = ipywidgets.HBox([self.column, self.group])
        choices.add_class("rx-bar")
        self.widget = ipywidgets.HBox([self.words, choices])
        self.widget.add_class("rx-card")
        self.widget.add_class("rx-headline")
        self.state.observe(lambda _: self._offer(), ["data", "group_column", "groups", "view"])
        needs = ["rashomon_set", "outside", "data", "groups", "psi", "family"]
        self.later = Later(self.state, needs, "people", self.find, self._show)
        self._offer()

    def _offer(self) -> None:
        """Offer every column, those declared sensitive first, and the groups of the chosen one."""
        columns, state = self.session.picked.columns, self.state
        chosen = state.group_column if state.group_column in columns else None
        chosen = chosen or (columns[0] if columns else None)
        levels: tuple[str, ...] = ()
        if chosen and state.view == "curator":  # which groups there are is read from the rows
            levels = self.session.picked.everyone.levels(chosen)
        picked = [level for own, level in state.groups if own == chosen]
        self._telling = True
        if tuple(self.column.options) != columns:
            self.column.options = columns
        self.column.value = chosen
        options = (_EVERYONE, *levels)
        if tuple(self.group.options) != options:
            self.group.options = options
        self.group.value = picked[0] if len(picked) == 1 and picked[0] in levels else _EVERYONE
        self.column.disabled = self.group.disabled = not columns
        self._telling = False

    def _by(self, _change: object) -> None:
        if not self._telling:
            self.state.group_column = self.column.value or ""

    def _look(self, _change: object) -> None:
        if not self._telling:
            everyone = self.group.value == _EVERYONE
            self.state.groups = () if everyone else ((self.column.value, self.group.value),)

    def find(self) -> str:
        """Say how many labels flip, whose the disagreement is, and whether draws are enough."""
        state, session = self.state, self.session
        models = state.rashomon_set
        if state.view == "release" or session.rows is None or (models or state.outside) is None:
            return ""
        parts = [_of_all_trees(session), _ambiguity(session)]
        if models is not None and models.n_draws and models.task == _CLASSES_ONLY:
            trees = trees_in(models) is not None  # of which no noise is split off
            parts += [_enough(session)] if trees else [_width(session), _enough(session)]
        return "".join(f"<li>{part}</li>" for part in parts if part)

    def _show(self, found: Any) -> None:
        if isinstance(found, Exception):
            found = f"<li>{escape(str(found))}</li>"
        empty = '<p class="rx-note">Nothing to say about people yet.</p>'
        if self.state.view == "release":
            empty = '<p class="rx-note">Who is affected is read from private rows.</p>'
        self.words.value = f"<ul>{found}</ul>" if found else empty


def _of_all_trees(session: Any) -> str:
    """Say whose label some tree flips, of all that the settings allow; empty of linear models."""
    if session.tree_answers.why_not or trees_in(session.state.rashomon_set) is None:
        return ""
    flips = session.tree_answers.flips()["psi"].to_numpy()
    psi, everyone = float(session.state.psi), f"all {len(flips):,} people"
    everyone = session.sample_words or everyone
    return (
        f"{marks_html(EXACT)} some tree within ψ = {number(psi)} flips the label of "
        f"<b>{percent(float((flips <= psi).mean()))}</b> of {everyone}"
    )


def _ambiguity(session: Any) -> str:
    """Say whose label flips, as draws show it beside what is proved."""
    table = session.exact.people(session.picked.few)
    people = f"{len(table):,} people"
    if session.sample_words:
        people = f"{people} of {session.sample_words}"
    elif len(table) < len(session.rows):
        people = f"{people} of {len(session.rows):,}"
    drawn, proved = table.get("drawn_flips"), table.get("flips")
    shown = "" if drawn is None else percent(float((drawn > 0).mean()))
    if proved is None:
        more = "" if trees_in(session.state.rashomon_set) else ", and the set perhaps more"
        told = f"draws flip the label of {shown} of {people}{more}"
        return f"{marks_html(SAMPLED)} {told}" if shown else ""
    low, high = ((proved == "yes").mean(), (proved != "no").mean())
    exact = percent(float(low)) if low == high else f"{percent(float(low))} to {percent(high)}"
    words = f"{marks_html(EXACT)} good models can flip the label of <b>{exact}</b> of {people}"
    return f"{words}; {marks_html(SAMPLED)} the draws show it of {shown}" if shown else words


def _width(session: Any) -> str:
    """Say how much of the disagreement is the set's own."""
    models, people = session.state.rashomon_set, session.picked.everyone
    if counted(models).models.n_draws < 2:
        return "Width and noise cannot be told apart by fewer than two draws within ψ."
    try:
        rows = session.blocks
        found: WidthOrNoise = width_or_noise(models, people.rows if rows is None else rows)
    except ValueError as error:
        return f"Width or noise cannot be told: {escape(str(error).split(':')[0])}."
    return f"{marks_html(SAMPLED)} {escape(told(found))}"


def _enough(session: Any) -> str:
    """Say whether so many draws fix the disagreement."""
    models = session.state.rashomon_set
    inside = counted(models).models
    drawn = isinstance(models, RashomonSet) or models.independent
    if not drawn or inside.n_draws < 2:
        return "Too few draws lie within ψ to say how far good models disagree."
    labels = np.asarray(inside.labels(session.picked.rows))
    try:
        found = enough_draws("disagreement", labels, half_width=_HALF_WIDTH, sampler=models.sampler)
    except (ValueError, ImportError) as error:
        return f"Whether the draws are enough cannot be told: {escape(str(error).split(':')[0])}."
    ends = f"{percent(max(found.low, 0.0), 'down')} to {percent(min(found.high, 1.0), 'up')}"
    # Two by two: pairs that share a model are no new evidence.
    answer = "are enough" if found.enough else "are <b>not enough</b>"
    people = session.sample_words or "people"
    return (
        f"{marks_html(SAMPLED)} two good models disagree on {percent(found.value)} of {people}, "
        f"{ends} at 95 %: {plural(found.n_draws // 2, 'pair')} of draws {answer} for "
        f"± {percent(_HALF_WIDTH)}."
    )
