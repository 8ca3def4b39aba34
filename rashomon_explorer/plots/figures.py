"""All figures of the package, one FigureSpec each."""

from itertools import chain

from rashomon_explorer.plots import (
    budget,
    coefficients,
    comparison,
    decomposition,
    fairness,
    guarantees,
    importance,
    importance_pairs,
    losses,
    penalties,
    people,
    person,
    prices,
    profile,
    ranges,
    rules,
    tree_answers,
    trees,
)
from rashomon_explorer.plots.registry import FigureSpec

_MODULES = (
    losses,
    coefficients,
    people,
    guarantees,
    prices,
    budget,
    ranges,
    importance,
    importance_pairs,
    profile,
    person,
    fairness,
    decomposition,
    comparison,
    penalties,
    trees,
    rules,
    tree_answers,
)
FIGURES: dict[str, FigureSpec] = {
    spec.name: spec for spec in chain.from_iterable(one.FIGURES for one in _MODULES)
}
"""Every figure by its name."""


def register(spec: FigureSpec) -> FigureSpec:
    """Add a figure to the pages and reports that are opened from now on."""
    if spec.name in FIGURES:
        raise ValueError(f"a figure is called {spec.name!r} already: choose another name")
    FIGURES[spec.name] = spec
    return spec
