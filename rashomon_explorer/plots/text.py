"""Numbers, names and notes of figures; bounds are rounded so that they stay true."""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any, cast

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from numpy.typing import NDArray

from rashomon_explorer._utils import formatting
from rashomon_explorer._utils.arrays import Mask
from rashomon_explorer._utils.formatting import number, percent, plural
from rashomon_explorer.measures.inputs import fitted_set
from rashomon_explorer.mechanisms.plans import Plan
from rashomon_explorer.plots.theme import PURPLE, View, add_band, curator_band, empty_figure
from rashomon_explorer.sets import CuratorSet, PredictorSet, RashomonSet, ReleasedSet, ReleasedTrees
from rashomon_explorer.sets.models.fitted import FittedModels

_LONGEST_NAME = 24


def guaranteed_hits(planned: Plan) -> str:
    """Text of the hit rate that a plan guarantees; ``"none"`` if none is proved."""
    return "none" if planned.hit_rate is None else at_least(planned.hit_rate)


def guaranteed(planned: Plan) -> str:
    """Text of the guarantee for draws: a hit rate, or an excess if there is no hit rate."""
    if planned.hit_rate is not None:
        return f"guaranteed {guaranteed_hits(planned)}"
    subject = " of their centre" if planned.centre_excess is not None else ""
    return f"guaranteed: excess{subject} {at_most(planned.stated_excess)}"


def at_least(bound: float, *, share: bool = True) -> str:
    """Format a lower bound, rounded down, so that the printed bound holds."""
    return f"≥ {percent(bound, 'down') if share else number(bound, rounding='down')}"


def at_most(bound: float, *, share: bool = False) -> str:
    """Format an upper bound, rounded up, so that the printed bound holds."""
    return f"≤ {percent(bound, 'up') if share else number(bound, rounding='up')}"


def cost_text(epsilon: float, delta: float | None = None) -> str:
    """Format a privacy cost, rounded up, so that the printed cost is an upper bound."""
    at = "" if delta is None else f" at δ = {number(delta, rounding='up')}"
    return f"ε = {formatting.epsilon_text(epsilon)}{at}"


def join_notes(*notes: str) -> str:
    """Join the notes below a title, without the empty ones."""
    return " · ".join(filter(None, notes))


def sentence(words: str) -> str:
    """Text with a capital letter and a full stop; a symbol such as ε has no capital."""
    first = words[:1].upper() if words[:1].isascii() else words[:1]
    return f"{first}{words[1:]}" + "." * (not words.endswith("."))


def none_phrase(n_draws: int) -> str:
    """First words of a sentence that no draw lies in a region."""
    return "The one draw does not lie" if n_draws == 1 else f"None of {n_draws:,} draws lies"


def short_name(name: str) -> str:
    """Shorten a long column name and escape its markup."""
    return escape(_ended(name, _LONGEST_NAME), quote=False)


def short_names(names: Iterable[object], longest: int = _LONGEST_NAME) -> list[str]:
    """Shorten long names so that distinct names stay distinct."""
    full_names = [str(name) for name in names]
    ended = [_ended(name, longest) for name in full_names]
    last = (longest - 1) // 2
    halved = [
        name if len(name) <= longest else f"{name[: longest - 1 - last]}…{name[-last:]}"
        for name in full_names
    ]
    short = []
    for position, (end, half) in enumerate(zip(ended, halved, strict=True), start=1):
        cuts = [(end, ended), (half, halved)]
        distinct = (cut for cut, every in cuts if _is_one(cut, full_names, every))
        short.append(escape(next(distinct, f"{position}. {end}"), quote=False))
    return short


def _is_one(cut: str, names: list[str], cuts: list[str]) -> bool:
    """Whether this shortened text belongs to only one distinct name."""
    return len({name for name, shortened in zip(names, cuts, strict=True) if shortened == cut}) == 1


def _ended(name: str, longest: int) -> str:
    return name if len(name) <= longest else name[: longest - 1] + "…"


@dataclass(frozen=True, eq=False)
class ModelSelection:
    """Models of a set within ψ, with the text of a figure about them."""

    models: Any
    indices: NDArray[np.intp]
    words: str
    span: str

    @property
    def is_empty(self) -> bool:
        """Whether no model counts."""
        return not len(self.indices)

    def highlighted(self, draws: Any) -> NDArray[np.intp]:
        """Map row numbers of the whole set to indices among the models inside ψ."""
        return np.flatnonzero(np.isin(self.indices, np.asarray(draws, dtype=int)))


def models_within_psi(models: Any) -> ModelSelection:
    """Select the models inside ψ, with a text of their number; of a release all draws."""
    every = np.arange(models.n_draws)
    if isinstance(models, ReleasedTrees):
        return ModelSelection(models, every, f"of all {plural(len(every), 'tree')}", "all draws")
    if isinstance(models, ReleasedSet):
        return ModelSelection(models, every, release_scope(models), "all draws")
    drawn = isinstance(models, RashomonSet) and models.as_drawn
    noun, everything = ("draw", "all draws") if drawn else ("model", "all models shown")
    if models.n_draws and math.isnan(models.least):
        words = f"of {plural(models.n_draws, noun)}, of unknown loss"
        return ModelSelection(models, every, words, everything)
    inside = every[np.asarray(models.losses <= models.least + models.psi)]
    if models.complete:
        text = f"of the whole set: {plural(len(inside), noun)}"
        return ModelSelection(models.inside(), inside, text, "the whole set")
    if len(inside) == models.n_draws:
        return ModelSelection(
            models, inside, f"of {plural(models.n_draws, noun)}, all inside", everything
        )
    words = (
        f"of the {plural(len(inside), noun)} inside ψ = {number(models.psi)} "
        f"(of {models.n_draws:,})"
    )
    return ModelSelection(models.inside(), inside, words, f"{noun}s inside")


def need_inside(models: Any) -> Any:
    """Return the models inside ψ; raise a ValueError with a suggestion if there are none."""
    selection = models_within_psi(models)
    if selection.is_empty:
        raise ValueError(
            f"{empty_set_message(models)}: raise epsilon or psi, draw fewer models, or use more "
            "rows"
        )
    return selection.models


def empty_set_figure(title: str, models: Any) -> go.Figure:
    """Figure of a set without models inside ψ: a message, and no values."""
    text = (
        f"{empty_set_message(models)}.<br>Raise <b>ε</b> or <b>ψ</b>, or draw <b>fewer models</b>."
    )
    return models_band(empty_figure(title, text), models)


def release_scope(released: Any) -> str:
    """Text for a release: all draws count, because only the curator knows which lie inside ψ."""
    if not released.as_drawn:
        return f"of {plural(released.n_draws, 'selected draw')}, inside ψ or not"
    if released.plan.hit_rate is not None:
        guarantee = f"guaranteed hit rate {guaranteed_hits(released.plan)}"
    else:
        guarantee = guaranteed(released.plan)
    return f"of all {plural(released.n_draws, 'draw')} ({guarantee})"


def empty_set_message(models: Any) -> str:
    """Message that no model lies inside ψ."""
    if not models.n_draws:
        return "The set contains no models"
    return f"{none_phrase(models.n_draws)} inside ψ = {number(models.psi)}"


_SURE = 1.96


def wilson(share: float, count: int) -> tuple[float, float]:
    """95 % interval of a sample share (Wilson 1927)."""
    if count < 1:
        return 0.0, 1.0
    square = _SURE**2 / count
    middle = (share + square / 2) / (1 + square)
    half = _SURE * np.sqrt(share * (1 - share) / count + square / (4 * count)) / (1 + square)
    return float(middle - half), float(middle + half)


MOST_POINTS = 20_000
"""Maximum number of points; larger sets are subsampled at random, which the figure states."""


def need_curator(models: object, plot: str) -> RashomonSet:
    """Curator's set, or that of a fitted estimator; otherwise raise a TypeError."""
    models = fitted_set(models)
    if isinstance(models, CuratorSet):
        return cast(RashomonSet, models)
    raise TypeError(
        f"{plot} shows values computed from private rows and needs a RashomonSet, got "
        f"{type(models).__name__}; a ReleasedSet goes to plot_map or "
        "plot_coefficient_spread, and released trees to plot_trees, plot_rules or plot_tree_use"
    )


def need_linear(models: object, plot: str) -> Any:
    """Set of linear models, a curator's or released, or that of a fitted estimator."""
    models = fitted_set(models)
    if isinstance(models, PredictorSet) and isinstance(models.models, FittedModels):
        return models.linear
    if isinstance(models, RashomonSet | ReleasedSet):
        return models
    raise TypeError(
        f"{plot} needs linear models, a RashomonSet or a ReleasedSet, got {type(models).__name__}; "
        "trees go to plot_trees, plot_rules or plot_tree_use"
    )


def need_as_drawn(models: object, plot: str) -> None:
    """Raise a ValueError for models without a guarantee: selected draws and imported models."""
    if not isinstance(models, CuratorSet):
        return
    planned: Any = getattr(models, "plan", None)
    if planned.of_trees:
        need_exact_draws(planned, plot)
    if not isinstance(models, RashomonSet) or math.isnan(models.plan.beta):
        raise ValueError(f"{plot} needs draws of an estimator: these models have no guarantee")
    need_exact_draws(models.plan, plot)
    if not models.as_drawn:
        raise ValueError(
            f"{plot} compares draws with the guarantee for all draws, and some were selected "
            f"({'; '.join(models.steps)}): pass the set before selection"
        )


def need_exact_draws(planned: Plan, plot: str) -> None:
    """Raise a ValueError for a plan of inexact draws: theorems on exact draws do not apply."""
    if planned.of_trees:
        raise ValueError(
            f"{plot} shows guarantees of linear draws: plot_costs(plan) and explain(plan) "
            "show guarantees of trees"
        )
    if not planned.has_gibbs_law:
        raise ValueError(
            f"{plot} shows guarantees of exact draws, and this plan is for "
            f"{planned.mechanism or 'another sampler'}: explain(plan) states its guarantees; use a "
            "plan for mechanism='exact' here"
        )


def sample_rows(n_rows: int, most: int) -> NDArray[np.intp]:
    """Positions of at most `most` rows, sampled with a fixed seed."""
    if n_rows <= most:
        return np.arange(n_rows)
    # A fixed seed: a different subsample at every redraw would make the figure flicker.
    return np.sort(np.random.default_rng(0).choice(n_rows, most, replace=False))


def subsample_points(n_points: int) -> tuple[NDArray[np.intp], str]:
    """Return the indices of the points to draw, and a text that is empty if all are drawn."""
    cut = f"showing {MOST_POINTS:,} of {n_points:,}, chosen at random"
    return sample_rows(n_points, MOST_POINTS), cut if n_points > MOST_POINTS else ""


def models_band(figure: go.Figure, models: Any) -> go.Figure:
    """Mark a figure of models as not private, or with the privacy cost of their release."""
    doubt = weak_guarantee_note(models) if models.guarantee.holds else ""
    view: View
    if not isinstance(models, CuratorSet):
        view, words = "release", _release_words(models)
    elif doubt:
        view, words = "curator", "curator view: not private"
    else:
        return curator_band(figure, guaranteed=models.guarantee.holds)
    # On a separate line, because small windows have no room for both.
    return add_band(figure, view, f"{words}<br>{doubt}" if doubt else words)


def _release_words(models: Any) -> str:
    guarantee = models.guarantee
    if isinstance(models, ReleasedSet):
        delta, seed = models.plan.delta, ""
    else:
        delta = guarantee.requested[1] if guarantee.requested else 1e-6
        seed = " · known seed: not private" if guarantee.seeded else ""
    return f"released: {cost_text(guarantee.epsilon(delta), delta)} by itself{seed}"


def weak_guarantee_note(models: Any) -> str:
    """Short warning about a weak guarantee; empty if the guarantee is not weak."""
    planned = models if isinstance(models, Plan) else getattr(models, "plan", None)
    filtered = planned is not models and not getattr(models, "as_drawn", True)
    if not isinstance(planned, Plan) or filtered or not planned.weakness:
        return ""
    if planned.expected is not None:
        return f"expected to reach {planned.expected.span} of the possible gain"
    if planned.hit_rate is not None:
        bound = formatting.hit_rate_text(planned.hit_rate_bound)
        return f"guaranteed hit rate ≥ {bound}: weak guarantee"
    return f"guaranteed excess {at_most(planned.stated_excess)}: weak guarantee"


SEEN, FADED = 0.8, 0.16
_REST = "rgba(128,128,128,0.7)"


def selection_mask(draws: np.ndarray, highlight: Sequence[int]) -> Mask:
    """Mark the dots whose model was selected."""
    return np.isin(draws, np.asarray(highlight, dtype=int))


def selection_look(selected: Mask, size: float) -> dict[str, Any]:
    """Size, opacity and edge of dots: selected ones are large, opaque and purple."""
    edge = {
        "color": selected.astype(np.float32),
        "colorscale": [[0, _REST], [1, PURPLE]],
        "cmin": 0,
        "cmax": 1,
        "width": np.where(selected, 3, 0.8),
    }
    opaque = selected | (not selected.any())
    opacity = np.where(opaque, SEEN, FADED)
    return {"size": np.where(selected, size + 4, size), "opacity": opacity, "line": edge}


def selection_count_text(selected: Mask) -> str:
    """Return the number of faded dots as text; empty if none is selected."""
    count = int(selected.sum())
    faded = f"{plural(count, 'model')} selected, {len(selected) - count:,} faded"
    return faded if count else ""


_ROUNDED: dict[str, Callable[[float], float]] = {
    "up": lambda value: float(formatting.rounded_up(value)),
    "down": lambda value: float(formatting.rounded_down(value)),
}


def rounded_bounds(frame: pd.DataFrame) -> pd.DataFrame:
    """Round the bounds of a table to four digits, so that they stay true."""
    rounded = frame.copy()
    for name, side in frame.attrs.get("rounding", {}).items():
        if name == frame.index.name:
            rounded.index = pd.Index(frame.index.map(_ROUNDED[side]), name=name)
        else:
            # By position, because the labels of the index may have changed.
            rounded[name] = frame[name].map(_ROUNDED[side]).to_numpy()
    return rounded
