"""Notes, selections and samples of points that figures share; and the models that they count."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from rashomon_explorer._utils.arrays import FloatArray, Mask
from rashomon_explorer._utils.formatting import hit_rate_text
from rashomon_explorer.mechanisms.planning.plan import Plan
from rashomon_explorer.mechanisms.planning.trees import TreePlan
from rashomon_explorer.mechanisms.planning.weakness import has_hit_rate, weak_guarantee_reason
from rashomon_explorer.plots.text import (
    at_most,
    guaranteed,
    guaranteed_hits,
    none_phrase,
    number,
    plural,
)
from rashomon_explorer.plots.theme import PURPLE, add_band, curator_band, empty_figure
from rashomon_explorer.sets import CuratorSet, RashomonSet, ReleasedSet, ReleasedTrees


@dataclass(frozen=True, eq=False)
class Counted:
    """Models of a set within ψ, with the text that a figure shows about them."""

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
    """Keep the models inside ψ, with a text of their number."""
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
    """Return the models inside ψ; raise a ValueError with a suggestion if there are none."""
    if found.is_empty:
        raise ValueError(f"{empty_set_message(models)}: {_REMEDY}")
    return found.models


def empty_set_figure(title: str, models: Any) -> go.Figure:
    """Make the figure of a set without models inside ψ: a message, and no numbers."""
    text = f"{empty_set_message(models)},<br>so there is nothing to show.<br>{_TO_DO}"
    return curator_band(empty_figure(title, text), guaranteed=models.guarantee.holds)


def of_all_draws(released: ReleasedSet) -> str:
    """Text for a release: all draws count, because only the curator knows which lie inside ψ."""
    if not released.as_drawn:
        return f"of {plural(released.n_draws, 'selected draw')}, inside ψ or not"
    if has_hit_rate(released.plan):
        promised = f"guaranteed hit rate {guaranteed_hits(released.plan)}"
    else:
        promised = guaranteed(released.plan)
    return f"of all {plural(released.n_draws, 'draw')} ({promised})"


def empty_set_message(models: Any) -> str:
    """Message that no model lies inside ψ."""
    if not models.n_draws:
        return "The set holds no models"
    return f"{none_phrase(models.n_draws)} inside ψ = {number(models.psi)}"


_REMEDY = "raise epsilon or psi, draw fewer models, or take more rows"
_TO_DO = "Raise <b>ε</b> or <b>ψ</b>, draw <b>fewer models</b>,<br>or take more rows."


MOST_POINTS = 20_000
"""More points than this are drawn as a fixed random subsample, and the figure says so."""

_OF_TREES = "released trees to plot_trees, plot_rules or plot_tree_use"


def need_curator(given: object, plot: str) -> RashomonSet:
    """Return `given` if it is a curator's set, else raise a TypeError with a suggestion."""
    if isinstance(given, CuratorSet):
        return cast(RashomonSet, given)
    raise TypeError(
        f"{plot} shows values computed from private rows and needs a RashomonSet, got "
        f"{type(given).__name__}; a ReleasedSet goes to plot_released_coefficients or "
        f"plot_released_spread, and {_OF_TREES}"
    )


def need_release(given: object, plot: str) -> ReleasedSet:
    """Return `given` if it is a `ReleasedSet`, else raise a TypeError with a suggestion."""
    if isinstance(given, ReleasedSet):
        return given
    if isinstance(given, ReleasedTrees):
        raise TypeError(f"{plot} is of linear models: {_OF_TREES}")
    raise TypeError(
        f"{plot} makes a figure for release and needs a ReleasedSet, got "
        f"{type(given).__name__}; call .release() on a RashomonSet first"
    )


def need_as_drawn(given: object, plot: str) -> None:
    """Raise a ValueError for models without a guarantee: selected draws and imported models."""
    if not isinstance(given, CuratorSet):
        return
    planned: Any = getattr(given, "plan", None)
    if isinstance(planned, TreePlan):
        need_exact_draws(planned, plot)
    if not isinstance(given, RashomonSet) or math.isnan(given.plan.beta):
        raise ValueError(f"{plot} needs draws of an estimator: these models have no guarantee")
    need_exact_draws(given.plan, plot)
    if not given.as_drawn:
        raise ValueError(
            f"{plot} compares draws with the guarantee for all draws, and some were selected "
            f"({'; '.join(given.steps)}): pass the set as it was drawn"
        )


def need_exact_draws(planned: Plan | TreePlan, plot: str) -> None:
    """Raise a ValueError for a plan of inexact draws: theorems on exact draws do not apply."""
    if isinstance(planned, TreePlan):
        raise ValueError(
            f"{plot} shows guarantees of linear draws: plot_costs(plan) and explain(plan) "
            "show guarantees of trees"
        )
    if not planned.of_exact_draws:
        raise ValueError(
            f"{plot} shows guarantees of exact draws, and this plan is for "
            f"{planned.sampler or 'another sampler'}: explain(plan) states its guarantees; use a "
            "plan for sampler='exact' here"
        )


def subsample_points(n_points: int) -> tuple[NDArray[np.intp], str]:
    """Return which points to draw and the words that say so, empty when all are drawn."""
    if n_points <= MOST_POINTS:
        return np.arange(n_points), ""
    # A fixed seed: the same points at every redraw, or the figure would flicker.
    chosen = np.random.default_rng(0).choice(n_points, MOST_POINTS, replace=False)
    return np.sort(chosen), f"showing {MOST_POINTS:,} of {n_points:,}, chosen at random"


def models_band(figure: go.Figure, models: Any) -> go.Figure:
    """Mark a figure that was computed from private rows; warn if its guarantee is weak."""
    guaranteed = models.guarantee.holds
    doubt = weak_guarantee_note(models) if guaranteed else ""
    if not doubt:
        return curator_band(figure, guaranteed=guaranteed)
    # A line of its own: cards of small windows are too narrow for both.
    return add_band(figure, "curator", f"curator view: not private<br>{doubt}")


def weak_guarantee_note(models: Any) -> str:
    """Short warning about a weak guarantee; empty if the guarantee is not weak."""
    planned = models if isinstance(models, Plan | TreePlan) else getattr(models, "plan", None)
    chosen = planned is not models and not getattr(models, "as_drawn", True)
    if not isinstance(planned, Plan | TreePlan) or chosen or not weak_guarantee_reason(planned):
        return ""
    if has_hit_rate(planned):
        return f"guaranteed hit rate ≥ {hit_rate_text(planned.hit_rate_bound)}: weak guarantee"
    return f"guaranteed excess {at_most(planned.weighed_excess)}: weak guarantee"


SEEN, FADED = 0.8, 0.16
_REST = "rgba(128,128,128,0.7)"


def selection_mask(kept: np.ndarray, highlight: Sequence[int]) -> Mask:
    """Mark the dots whose model was selected."""
    return np.isin(kept, np.asarray(highlight, dtype=int))


def opacities(chosen: Mask) -> FloatArray:
    """Opacity of every dot: all are opaque if none is selected."""
    seen = chosen | (not chosen.any())
    return np.where(seen, SEEN, FADED)


def edges(chosen: Mask, picked: float, resting: float) -> dict[str, Any]:
    """Edge of every dot: wide and purple if it is selected."""
    return {
        "color": chosen.astype(np.float32),
        "colorscale": [[0, _REST], [1, PURPLE]],
        "cmin": 0,
        "cmax": 1,
        "width": np.where(chosen, picked, resting),
    }


def faded_words(chosen: Mask) -> str:
    """Return the number of faded dots as text; empty if none is selected."""
    picked = int(chosen.sum())
    return f"{plural(picked, 'model')} selected, {len(chosen) - picked:,} faded" if picked else ""
