"""Which draws count in a figure that says "the set": those inside it, in words too."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from rashomon_explorer.mechanisms.planning.weakness import has_hit_rate
from rashomon_explorer.plots.text import guaranteed, none_of, number, plural, promised_hits
from rashomon_explorer.plots.theme import curator_band, empty_figure
from rashomon_explorer.sets import RashomonSet, ReleasedSet


@dataclass(frozen=True, eq=False)
class Counted:
    """The models of a set that lie in it, and what a figure says of them."""

    models: Any
    places: NDArray[np.intp]
    words: str
    span: str

    @property
    def is_empty(self) -> bool:
        """Whether no model counts, so that there is nothing to measure."""
        return not len(self.places)

    def highlighted(self, draws: Any) -> NDArray[np.intp]:
        """Find the places among those inside of draws picked by row number of the whole set."""
        return np.flatnonzero(np.isin(self.places, np.asarray(draws, dtype=int)))


def counted(models: Any) -> Counted:
    """Keep the models inside ψ, with the words that say how many there were."""
    drawn = isinstance(models, RashomonSet) and models.as_drawn
    noun, everything = ("draw", "all draws") if drawn else ("model", "all models shown")
    every = np.arange(models.n_draws)
    if models.n_draws and math.isnan(models.least):
        words = f"of {plural(models.n_draws, noun)}, of unknown loss"
        return Counted(models, every, words, everything)
    places = every[np.asarray(models.losses <= models.least + models.psi)]
    if models.complete:
        whole = f"of the whole set: {plural(len(places), noun)}"
        return Counted(models.inside(), places, whole, "the whole set")
    if len(places) == models.n_draws:
        return Counted(models, places, f"of {plural(models.n_draws, noun)}, all inside", everything)
    words = (
        f"of the {plural(len(places), noun)} inside ψ = {number(models.psi)} "
        f"(of {models.n_draws:,})"
    )
    return Counted(models.inside(), places, words, f"{noun}s inside")


def need_inside(found: Counted, models: Any) -> Any:
    """Return the models inside, or raise a ValueError that says what to do where there are none."""
    if found.is_empty:
        raise ValueError(f"{empty_set_message(models)}: {_REMEDY}")
    return found.models


def empty_set_figure(title: str, models: Any) -> go.Figure:
    """Make the figure of a set without models inside: words, and no numbers."""
    text = f"{empty_set_message(models)},<br>so that nothing here would be of the set.<br>{_TO_DO}"
    return curator_band(empty_figure(title, text), guaranteed=models.guarantee.holds)


def of_all_draws(released: ReleasedSet) -> str:
    """Say of a release that all draws count: which lie inside, only its curator knows."""
    if not released.as_drawn:
        return f"of {plural(released.n_draws, 'chosen draw')}, inside the set or not"
    if has_hit_rate(released.plan):
        promised = f"promised hit rate {promised_hits(released.plan)}"
    else:
        promised = guaranteed(released.plan)
    return f"of all {plural(released.n_draws, 'draw')} ({promised})"


def empty_set_message(models: Any) -> str:
    """Say that no model lies inside."""
    if not models.n_draws:
        return "The set holds no models"
    return f"{none_of(models.n_draws)} inside ψ = {number(models.psi)}"


_REMEDY = "raise epsilon or psi, draw fewer models, or take more rows"
_TO_DO = "Raise <b>ε</b> or <b>ψ</b>, draw <b>fewer models</b>,<br>or take more rows."
