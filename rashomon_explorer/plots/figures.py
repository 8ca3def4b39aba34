"""All figures of the package, one FigureSpec each."""

from itertools import chain

from rashomon_explorer import plots
from rashomon_explorer.plots.registry import FigureSpec

_MODULES = (
    plots.losses,
    plots.coefficients,
    plots.people,
    plots.guarantees,
    plots.prices,
    plots.budget,
    plots.ranges,
    plots.importance,
    plots.profile,
    plots.person,
    plots.fairness,
    plots.decomposition,
    plots.columns,
    plots.comparison,
    plots.penalties,
    plots.trees,
    plots.rules,
    plots.tree_answers,
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
