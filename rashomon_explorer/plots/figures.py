"""All figures of the package, one FigureSpec each."""

from rashomon_explorer.plots import (
    budget,
    choices,
    coefficients,
    comparison,
    decomposition,
    dots,
    fairness,
    guarantees,
    importance,
    losses,
    path,
    people,
    person,
    prices,
    profile,
    ranges,
    rules,
    tree_answers,
    trees,
)
from rashomon_explorer.plots import map as model_map
from rashomon_explorer.plots.registry import FigureSpec

_SETS = (
    losses,
    model_map,
    path,
    coefficients,
    dots,
    people,
    guarantees,
    prices,
    budget,
    ranges,
    choices,
)
_MEASURES = (importance, profile, person, fairness, decomposition, comparison)
_MODULES = (*_SETS, *_MEASURES, trees, rules, tree_answers)
FIGURES: dict[str, FigureSpec] = {spec.name: spec for module in _MODULES for spec in module.FIGURES}
"""Every figure by its name."""


def register(spec: FigureSpec) -> FigureSpec:
    """Add a figure to the pages and reports that are opened from now on."""
    if spec.name in FIGURES:
        raise ValueError(f"a figure is called {spec.name!r} already: choose another name")
    FIGURES[spec.name] = spec
    return spec
